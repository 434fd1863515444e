"""The chaos tests see what must not be: two replicas on one object, and a write by one that does not hold it."""

from __future__ import annotations

import asyncio

import pytest

from pykb.api.coordination.v1 import Lease, LeaseSpec
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.ranges import Ranges
from pykb.runtime.fake import fake_client
from tests.chaos.holders import Holders
from tests.chaos.journal import Line, modes_at_once, shared_overlaps
from tests.chaos.proxy import Change


def _reconcile(pid: int, begin: float, end: float, *, how: str = "end", uid: str = "u") -> list[Line]:
    return [
        Line(begin, pid, "begin", "ns/a"),
        Line(begin, pid, "object", "ns/a", uid),
        Line(end, pid, how, "ns/a"),
    ]


@pytest.mark.parametrize("how", ["end", "raise", "cancel"])
@pytest.mark.parametrize("until", [1.5, 30])
def test_two_processes_on_one_object_overlap_however_they_end(how: str, until: float):
    """Whether it takes long or not."""
    assert shared_overlaps(_reconcile(1, 0, until, how=how) + _reconcile(2, 1, 2)) == 1


def test_what_follows_or_is_another_object_does_not_overlap():
    """An object that is made again has another uid."""
    assert shared_overlaps(_reconcile(1, 0, 1) + _reconcile(2, 1, 2)) == 0
    assert shared_overlaps(_reconcile(1, 0, 2) + _reconcile(2, 1, 2, uid="v")) == 0


@pytest.mark.parametrize("what", ["killed", "frozen"])
def test_a_process_works_until_it_is_frozen_or_killed(what: str):
    """Not until it notes the end of what it cannot do any more."""
    stopped = Line(1, 1, what, "")
    assert shared_overlaps([*_reconcile(1, 0, 9), stopped, *_reconcile(2, 5, 6)]) == 0
    assert shared_overlaps([*_reconcile(1, 0, 9), stopped, *_reconcile(2, 0.5, 6)]) == 1
    assert shared_overlaps([*_reconcile(1, 0, 9), stopped, *_reconcile(2, 5, 8), *_reconcile(1, 7, 8)]) == 1


@pytest.mark.parametrize("how", ["end", "raise", "cancel"])
def test_two_modes_overlap_whatever_they_work_on(how: str):
    """Also on other objects, or on those that are gone. Processes of one mode may."""
    modes = [Line(0, 1, "mode", "--shards=8"), Line(0, 2, "mode", "--leader-elect"), Line(0, 3, "mode", "--shards=8")]
    first = _reconcile(1, 1, 3, how=how)
    gone = [Line(2, 2, "begin", "ns/b"), Line(4, 2, "end", "ns/b")]
    assert modes_at_once([*modes, *first, *gone]) == 1
    assert modes_at_once([*modes, *first, *_reconcile(3, 2, 4)]) == 0
    assert modes_at_once([*modes, *first, *_reconcile(2, 3.5, 4)]) == 0


async def test_a_write_is_judged_by_the_leases_at_its_version():
    """It takes the Lease of the range and that of the member."""
    client = fake_client()
    holders = Holders(client, "default", 4)
    following = asyncio.create_task(holders.follow())
    number = Ranges(4).of("u")

    async def put(name: str, holder: str) -> int:
        lease = Lease(metadata=ObjectMeta(name=name, namespace="default"), spec=LeaseSpec(holder_identity=holder))
        found = await client.find(Lease, f"default/{name}")
        lease.metadata.resource_version = found.metadata.resource_version if found else None
        written = await (client.update(lease) if found else client.create(lease))
        return int(written.metadata.resource_version)

    def change(version: int) -> Change:
        return Change(0.0, "/", "u", version)

    await put("chaos-member-one", "host_one")
    await put("chaos-member-two", "host_two")
    taken = await put(f"chaos-shard-{number}", "host_one")
    moved = await put(f"chaos-shard-{number}", "host_two")
    await client.delete(Lease, "default/chaos-member-two")
    ended = await put("other", "")
    for _ in range(100):
        await asyncio.sleep(0)
    following.cancel()
    assert [holders.allows("host_one", change(version)) for version in (taken - 1, taken, moved)] == [
        False,
        True,
        False,
    ]
    assert [holders.allows("host_two", change(version)) for version in (taken, moved, ended)] == [False, True, False]
