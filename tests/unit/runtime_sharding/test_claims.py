"""Members share ranges by Leases, on a clock that stands still: who holds what, to the second."""

import asyncio
from datetime import datetime, timedelta

import pytest

from pykb.api.coordination.v1 import Lease
from pykb.client import Client
from pykb.client.clock import VirtualClock
from pykb.client.errors import error_from_status
from pykb.client.ranges import Ranges
from pykb.runtime import _election
from pykb.runtime._election import LeadershipLost
from pykb.runtime.sharding import _board

from .conftest import settle  # noqa: TID252 - shared by this folder only


async def test_one_member_works_on_all_ranges(group_of):
    """After the moment in which others could join."""
    group = group_of(8)
    group.join("one")
    await group.pass_time(3)
    assert group.counts == [8]


async def test_a_member_that_joins_has_its_share_within_ten_seconds(group_of):
    """The others give up what is too much, and only that."""
    group = group_of(9)
    for name in ("one", "two"):
        group.join(name)
    await group.pass_time(6)
    assert group.counts == [4, 5]
    before = {member.name: set(member.works_on) for member in group.members}
    group.join("three")
    await group.pass_time(10)
    assert group.counts == [3, 3, 3]
    assert all(member.works_on <= before[member.name] for member in group.members[:2])


async def test_a_member_with_other_controllers_is_named_once(group_of, caplog):
    """Two operators with one id divide each other's objects. Each says so."""
    group = group_of(8)
    group.join("one", controllers=("app", "web"))
    group.join("two", controllers=("web", "app"))
    await group.pass_time(8)
    assert caplog.messages == []
    group.join("three", controllers=("other",))
    await group.pass_time(8)
    assert [message.partition(":")[0] for message in caplog.messages] == [
        "a replica with other controllers shares the ranges"
    ] * 4
    assert [record.replica for record in caplog.records].count("three") == 2


async def test_a_member_that_stops_leaves_its_ranges_at_once(group_of):
    """It deletes its own Lease. Nobody waits for its end."""
    group = group_of(8)
    one, _ = group.join("one"), group.join("two")
    await group.pass_time(8)
    await one.stop()
    await group.pass_time(3)
    assert group.counts == [8]
    leases = await Client(group.server).list(Lease, namespace="default")
    assert [lease.metadata.name for lease in leases.items if "member" in lease.metadata.name] == ["group-member-two"]


async def test_ranges_of_a_dead_member_are_taken_after_its_lease_and_not_before(group_of):
    """Its Lease must have been seen without a renewal for 15 s."""
    group = group_of(8)
    own = VirtualClock()
    dead = group.join("dead", clock=own)
    group.join("two")
    for _ in range(12):
        own.advance(group.members[1].claims._options.period / 4)
        await group.pass_time(0.5)
    assert group.counts == [4, 4]
    dead.frozen = True
    await group.pass_time(14)
    assert len(group.members[1].works_on) == 4
    await group.pass_time(7)
    assert len(group.members[1].works_on) == 8
    # It thaws: its own clock has moved, and it may not write any more.
    own.advance(group.members[1].claims._options.period * 20)
    dead.frozen = False
    assert not dead.elector.is_leader
    assert group.counts == [0, 8]
    await settle()
    for _ in range(5):
        own.advance(group.members[1].claims._options.period)
        await settle()
    assert isinstance(dead.task.exception(), LeadershipLost)


async def test_a_lease_lasts_as_long_as_its_holder_says(group_of):
    """In a rollout that changes the duration. The holder may write for longer than the others' Leases last."""
    group = group_of(8)
    own = VirtualClock()
    dead = group.join("dead", clock=own, lease_duration=timedelta(seconds=60), renew_deadline=timedelta(seconds=40))
    own.advance(timedelta(seconds=2))
    await settle(200)
    own.advance(timedelta(seconds=2))
    await settle(200)
    assert len(dead.may_write) == 8
    two = group.join("two")
    await group.pass_time(50)
    assert two.works_on == set()
    dead.frozen = True
    await group.pass_time(25)
    assert len(two.works_on) == 8


async def test_a_range_is_given_up_when_its_reconciles_have_ended(group_of):
    """Until then nobody else works on it."""
    group = group_of(4)
    one = group.join("one")
    await group.pass_time(4)
    one.busy = set(range(4))
    two = group.join("two")
    await group.pass_time(10)
    assert (len(one.works_on), len(two.works_on)) == (4, 0)
    one.idle.set()
    await group.pass_time(5)
    assert group.counts == [2, 2]


async def test_a_range_that_is_given_up_while_the_leases_are_read_is_not_taken_for_a_claim(group_of, monkeypatch):
    """The answer is older than the release: it still names this member as the holder."""
    group = group_of(4)
    one = group.join("one")
    await group.pass_time(4)
    one.busy = set(range(4))
    two = group.join("two")
    await group.pass_time(6)
    client = one.claims.group._client
    look = client.list

    async def slowly(*args, **kwargs):
        answer = await look(*args, **kwargs)
        one.idle.set()
        await settle()
        assert not one.claims.leaving
        return answer

    monkeypatch.setattr(client, "list", slowly)
    await group.pass_time(6)
    assert not one.claims.held & two.claims.held
    assert group.counts == [2, 2]
    assert one.claims.taken == 4


async def test_a_frozen_member_cannot_renew_after_its_lease_was_deleted(group_of):
    """Its renewal is under way while it is declared dead. It arrives too late and fails."""
    group = group_of(2)
    one = group.join("one")
    await group.pass_time(4)
    client = Client(group.server)
    lease = await client.get(Lease, "default/group-member-one")
    await client.delete(lease)
    await group.pass_time(2.5)
    assert isinstance(one.task.exception(), LeadershipLost)
    leases = await client.list(Lease, namespace="default", labels="pykb-shards")
    assert leases.items == []


async def test_another_number_of_ranges_is_fine_when_the_old_members_are_dead(group_of):
    """They may have left their Leases."""
    group = group_of(8)
    dead = group.join("dead", clock=VirtualClock())
    dead.elector._clock.advance(dead.claims._options.period)
    await settle(200)
    new = group.join("new", ranges=Ranges(4))
    await group.pass_time(28)
    assert len(new.works_on) == 4


async def test_leases_of_ranges_that_are_no_more_are_deleted(group_of):
    """After a smaller number of ranges, by one member."""
    group = group_of(12)
    old = group.join("old")
    await group.pass_time(4)
    await old.stop()
    for name in ("one", "two"):
        group.join(name, ranges=Ranges(2))
    await group.pass_time(12)
    leases = await Client(group.server).list(Lease, namespace="default", labels="!pykb-shards")
    assert sorted(lease.metadata.name for lease in leases.items) == ["group-shard-0", "group-shard-1"]
    assert len([call for call in group.requests("DELETE") if "-shard-" in call.path]) == 10


async def test_a_claim_whose_answer_was_lost_is_kept(group_of):
    """The next look shows it."""
    group = group_of(4)
    lost = []

    def react(call):
        if call.method == "POST" and "shard" in call.body.decode() and not lost:
            lost.append(call)

    group.server.react = react
    original = group.server.request

    async def request(call):
        answer = await original(call)
        if lost == [call]:
            lost.append(None)
            raise error_from_status(504, {"reason": "Timeout", "message": "no answer"})
        return answer

    group.server.request = request
    one = group.join("one")
    await group.pass_time(6)
    assert len(lost) == 2
    assert one.works_on == {0, 1, 2, 3}


async def test_thirty_members_that_join_at_once_do_not_race(group_of):
    """Few claims fail, the shares are fair, and nothing moves any more afterwards."""
    group = group_of(40)
    for number in range(30):
        group.join(f"member-{number}")
    await group.pass_time(20, turns=100)
    assert group.counts == [1] * 20 + [2] * 10
    claims = [call for call in group.requests() if "-shard-" in call.path or b"-shard-" in (call.body or b"")]
    moved = sum(member.claims.taken for member in group.members)
    assert moved <= 40 * 2
    assert len(claims) <= 40 * 4
    before = len(group.requests())
    await group.pass_time(4, turns=100)
    assert sum(member.claims.taken for member in group.members) == moved
    # Each member sends one renewal and one list in 2 s.
    assert len(group.requests()) - before <= 30 * 2 * 2 * 1.25


async def test_one_of_fifty_buries_the_dead(group_of):
    """The others see that it is gone."""
    group = group_of(50)
    own = VirtualClock()
    dead = group.join("dead", clock=own)
    own.advance(dead.claims._options.period)
    await settle(200)
    for number in range(20):
        group.join(f"member-{number}")
    await group.pass_time(25, turns=100)
    assert len(group.requests("DELETE")) <= 3
    assert sum(len(member.works_on) for member in group.members[1:]) == 50
    assert max(len(member.works_on) for member in group.members[1:]) == 3


async def test_a_broken_api_server_moves_nothing(group_of):
    """Members keep what they have while they can renew their Leases, and go when they cannot."""
    group = group_of(4)
    one, two = group.join("one"), group.join("two")
    await group.pass_time(8)

    def react(call):
        if call.method == "GET":
            raise error_from_status(500, {"reason": "InternalError", "message": "etcd is slow"})

    group.server.react = react
    await group.pass_time(20)
    assert group.counts == [2, 2]

    def refuse(call):
        raise error_from_status(500, {"reason": "InternalError", "message": "etcd is slow"})

    group.server.react = refuse
    await group.pass_time(12)
    assert isinstance(one.task.exception(), LeadershipLost)
    assert isinstance(two.task.exception(), LeadershipLost)


@pytest.mark.parametrize("applied", [False, True])
async def test_an_api_server_that_restarts_during_a_hand_over_loses_no_range(group_of, applied):
    """The old holder tries to release them until it knows what became of its writes, also if an answer was lost."""
    group = group_of(8)
    one = group.join("one")
    await group.pass_time(4)
    one.busy = set(range(8))
    two = group.join("two")
    await group.pass_time(5)
    assert len(one.claims.leaving) == 4
    original = group.server.request

    async def restarting(call):
        if applied and call.method == "PUT" and "-shard-" in call.path:
            await original(call)
        raise error_from_status(503, {"reason": "ServiceUnavailable", "message": "starting"})

    group.server.request = restarting
    one.idle.set()
    await group.pass_time(6)
    assert (len(one.works_on), two.works_on) == (4, set())
    group.server.request = original
    await group.pass_time(6)
    assert group.counts == [4, 4]
    assert one.claims.held == one.works_on


async def test_a_member_whose_range_has_no_lease_any_more_ends(group_of):
    """Somebody has deleted it by hand. Another member can take the range at once."""
    group = group_of(4)
    one = group.join("one")
    await group.pass_time(4)
    await Client(group.server).delete(Lease, "default/group-shard-2")
    await group.pass_time(2.5)
    with pytest.raises(LeadershipLost, match="range 2 was lost to ``: was its lease deleted"):
        await one.task
    group.join("two")
    await group.pass_time(4)
    assert group.counts == [4]


async def test_a_wall_clock_that_jumps_moves_nothing(group_of, monkeypatch):
    """It is only shown in the Leases. The monotonic clock measures."""
    group = group_of(8)
    one, two = group.join("one"), group.join("two")
    await group.pass_time(8)

    class Jumping(datetime):
        by = timedelta()

        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + cls.by

    for module in (_election, _board):
        monkeypatch.setattr(module, "datetime", Jumping)
    before = set(one.works_on), set(two.works_on)
    for hours in (-5, 5, -1):
        Jumping.by = timedelta(hours=hours)
        await group.pass_time(20)
    assert (one.works_on, two.works_on) == before
    assert (one.claims.taken, two.claims.taken) == (4, 4)


async def test_members_live_with_an_api_server_that_takes_three_seconds(group_of):
    """One has claimed 64 ranges before another joins. Both keep their Leases."""
    group = group_of(64)
    delay_answers(group, 3)
    one = group.join("one")
    await group.pass_time(54)
    assert group.counts == [64]
    two = group.join("two")
    await group.pass_time(80)
    assert group.counts == [32, 32]
    assert not one.task.done()
    assert not two.task.done()


async def test_a_member_ends_if_answers_take_so_long_that_it_cannot_renew(group_of):
    """With 5 s for an answer, the second renewal would come more than 10 s after the first one was sent."""
    group = group_of(8)
    delay_answers(group, 5)
    one = group.join("one")
    await group.pass_time(40)
    with pytest.raises(LeadershipLost):
        await one.task


async def test_a_claim_that_arrives_after_its_member_has_gone_holds_nothing(group_of):
    """It was stopped while it claimed. Its own Lease is gone, so the range is free."""
    group = group_of(4)
    original, late = group.server.request, []

    async def holding(call):
        if call.method == "POST" and b"-shard-" in (call.body or b""):
            late.append(call)
            await asyncio.get_running_loop().create_future()
        return await original(call)

    group.server.request = holding
    one = group.join("one")
    await group.pass_time(3)
    await one.stop()
    assert len(late) == 4
    for call in late:
        await original(call)
    group.server.request = original
    group.join("two")
    await group.pass_time(4)
    assert group.counts == [4]


def delay_answers(group, seconds):
    """Let each request wait on the group's clock."""
    original = group.server.request

    async def request(call):
        await group.clock.sleep(timedelta(seconds=seconds))
        return await original(call)

    group.server.request = request
