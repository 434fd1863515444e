"""What users copy bears faults: crashes around each write, old caches, renamed children, names that are taken, deletions.

Each disturbed run has to end as an undisturbed one.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any

import pytest

from pykb.api.object import Unstructured
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime import ApiError, Client, Manager, NotControlled
from pykb.testing import eventually, running
from tests.golden_projects.operators import (
    CLAIM,
    DEPLOYMENT,
    INGRESS,
    SERVICE,
    STATEFUL_SET,
    Cluster,
    DiedError,
    Edit,
    Gate,
    Old,
    Sample,
    importable,
    samples,
)


@pytest.fixture(scope="module")
def _importable() -> Iterator[None]:
    """The samples' packages, for the time of these tests."""
    with importable():
        yield


@pytest.fixture(params=samples(), ids=str)
def sample(request: pytest.FixtureRequest, _importable: None) -> Sample:
    """Each sample that writes."""
    fresh: Sample = copy.copy(request.param)
    fresh.outside = []
    if fresh.folder == "virtulmachine":
        fresh.outside.append(import_module("sealvm.hypervisor").Hypervisor(cpus=4))
    return fresh


def _nothing(_: dict[str, Any]) -> None:
    """Leave the spec."""


async def _reached(sample: Sample, *edits: Edit) -> Any:
    """The state that undisturbed processes reach, each after one edit."""
    cluster = Cluster(copy.deepcopy(sample))
    await cluster.create()
    for edit in edits:
        await cluster.edit(edit)
        await cluster.run()
    return await cluster.state()


def _back(sample: Sample) -> Edit:
    def edit(spec: dict[str, Any]) -> None:
        spec.clear()
        spec.update(sample.object().data["spec"])

    return edit


async def _after(sample: Sample, *edits: Edit) -> Cluster:
    cluster = Cluster(copy.deepcopy(sample))
    await cluster.create()
    for edit in edits:
        await cluster.run()
        await cluster.edit(edit)
    return cluster


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("edited", [False, True])
async def test_a_process_may_end_at_any_write(sample: Sample, edited: bool, when: str) -> None:
    """The next one reaches the state that one alone reaches."""
    edits = [sample.edit] if edited else []
    writes = await (await _after(sample, *edits)).run()
    for at in range(1, writes + 1):
        cluster = await _after(sample, *edits)
        with pytest.raises(DiedError):
            await cluster.run(Gate(cluster.server, at, when))
        await cluster.run()
        assert await cluster.state() == await _reached(sample, *(edits or [_nothing])), f"at write {at} of {writes}"


async def test_a_state_is_the_same_whatever_was_before(sample: Sample) -> None:
    """Another spec, and back: nothing is left of it, whether it was seen or not."""
    for edits in ([sample.edit], [sample.edit, _back(sample)], [sample.edit, _back(sample), sample.edit]):
        wanted = await _reached(sample, _nothing if len(edits) == 2 else sample.edit)
        assert await _reached(sample, *edits) == wanted
        unseen = Cluster(copy.deepcopy(sample))
        await unseen.create()
        for edit in edits:
            await unseen.edit(edit)
        await unseen.run()
        assert await unseen.state() == wanted


async def test_a_manager_reaches_the_same(sample: Sample) -> None:
    """With caches, a queue and retries; an edit may come at any time, and so may the end."""
    cluster = Cluster(copy.deepcopy(sample))
    manager = Manager(client=cluster.client)
    cluster.sample.start(manager.client).setup(manager)  # type: ignore[attr-defined]

    async def is_like(wanted: Any) -> None:
        await cluster.collect()
        before = cluster.writes
        for _ in range(200):  # what wakes itself writes again within these
            await asyncio.sleep(0)
        assert (await cluster.state(), cluster.writes) == (wanted, before)

    async with running(manager):
        await cluster.create()
        for edit in (sample.edit, _back(sample), sample.edit):
            await cluster.edit(edit)
        await eventually(partial(is_like, await _reached(sample, sample.edit)))
        await cluster.edit(_back(sample))
        await eventually(partial(is_like, await _reached(sample, _nothing)))
        await cluster.delete()
        await eventually(partial(is_like, await Cluster(copy.deepcopy(sample)).state()))


@pytest.mark.parametrize("when", ["before", "after"])
async def test_it_may_be_deleted_at_any_write(sample: Sample, when: str) -> None:
    """Nothing is left, inside or outside."""
    empty = Cluster(copy.deepcopy(sample))
    wanted = await empty.state()
    for edits in ([], [sample.edit]):
        writes = await (await _after(sample, *edits)).run()
        for at in range(1, writes + 1):
            cluster = await _after(sample, *edits)
            await cluster.run(Gate(cluster.server, at, when, cluster.delete))
            await cluster.run()
            assert await cluster.state() == wanted, f"at write {at} of {writes}"


async def test_an_old_cache_destroys_nothing(sample: Sample) -> None:
    """A process that sees any state of the past deletes nothing of today's, and the next one mends what it did."""
    past = Cluster(copy.deepcopy(sample))
    seen = [await past.objects()]
    await past.create()
    for edit in (_nothing, sample.edit, _back(sample)):
        seen.append(await past.objects())
        await past.edit(edit)
        seen.append(await past.objects())
        await past.run()
    today = await past.state()
    names = {(obj["kind"], obj["metadata"]["name"]) for obj in await past.objects()}
    for snapshot in seen:
        reconciler = past.sample.start(Client(Gate(past.server)).with_cache(Old(snapshot)))
        with suppress(ApiError, NotControlled, ExceptionGroup):
            await reconciler.reconcile(past.request)
        assert names <= {(obj["kind"], obj["metadata"]["name"]) for obj in await past.objects()}
        await past.run()
        assert await past.state() == today


async def test_what_others_made_is_never_touched(sample: Sample) -> None:
    """Neither under the first name nor under the next, neither while the object is there nor when it goes."""
    for gvk in sample.children:
        for name in dict.fromkeys(sample.names):
            cluster = Cluster(copy.deepcopy(sample))
            theirs = await cluster.client.create(_foreign(gvk, name))
            await cluster.create()
            for edit in (_nothing, sample.edit, _back(sample), sample.edit):
                await cluster.edit(edit)
                await cluster.run()
            await cluster.delete()
            await cluster.run()
            assert (await cluster.client.get(gvk, theirs)).data == theirs.data
            assert len(await cluster.objects()) == 1


def _foreign(gvk: GroupVersionKind, name: str) -> Unstructured:
    obj = Unstructured.of(gvk, name, "team")
    labels = {"app": "theirs"}
    if gvk in (DEPLOYMENT, STATEFUL_SET):
        pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "theirs", "image": "theirs:1"}]}}
        obj.data["spec"] = {"selector": {"matchLabels": labels}, "template": pod}
    elif gvk == SERVICE:
        obj.data["spec"] = {"selector": labels, "ports": [{"port": 1}]}
    elif gvk == INGRESS:
        obj.data["spec"] = {"defaultBackend": {"service": {"name": "theirs", "port": {"number": 1}}}}
    elif gvk == CLAIM:
        obj.data["spec"] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return obj
