"""Random histories of members and objects in virtual time, with late answers and events: in the end, all is right."""

import asyncio
import contextlib
import random
import uuid
from datetime import timedelta

import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.client import Client
from pykb.client.clock import VirtualClock
from pykb.client.ranges import ShardBy
from pykb.client.task import check_fence
from pykb.diagnostics.codes.environment import CLUSTER_UNREACHABLE
from pykb.runtime import ControllerBuilder, MergePatch, NotFound, ServerUnreachable
from pykb.runtime.cache._options import InformerOptions
from pykb.runtime.cache.informer_cache import CacheOptions
from pykb.runtime.fake import FakeApiServer
from pykb.runtime.manager.manager import Manager
from pykb.runtime.options import ManagerOptions
from tests.chaos.kinds import Gadget, GadgetSpec
from tests.chaos.program import GadgetReconciler
from tests.chaos.verdict import look

from .conftest import settle  # noqa: TID252 - shared by this folder only

NAMES = [f"g{number}" for number in range(6)]
SEEDS = [6, 20, 51]
"""With each of them, a child was once left over. To look for more: ``range(100)``, half a second each."""


class Line:
    """The connection of one member. Answers and events can be late, and it can be cut."""

    def __init__(self, server, clock, chance):
        self._server, self._clock, self._chance = server, clock, chance
        self.is_cut = False
        self._ended = asyncio.Event()

    def cut(self):
        """As if the process was killed: nothing arrives at either side any more."""
        self.is_cut = True

    def end(self):
        """Let everything fail that still waits."""
        self.is_cut = True
        self._ended.set()

    async def request(self, call):
        if call.method != "GET":
            check_fence()
        await self._pass("/leases" in call.path)
        answer = await self._server.request(call)
        await self._pass("/leases" in call.path)
        return answer

    @contextlib.asynccontextmanager
    async def stream(self, call):
        await self._pass()
        async with self._server.stream(call) as lines:
            yield self._late(lines)

    async def close(self):
        pass

    async def _late(self, lines):
        async for line in lines:
            await self._pass()
            yield line

    async def _pass(self, at_once=False):
        if not at_once and self._chance.random() < 0.2:
            await self._clock.sleep(timedelta(seconds=self._chance.random()))
        if self.is_cut:
            await self._ended.wait()
            raise ServerUnreachable(CLUSTER_UNREACHABLE.at(None, "the member was killed"))


class Notes:
    """What one member works on. Two must never work on the same object."""

    def __init__(self, world, line):
        self._world, self._line = world, line
        self._working = {}

    def note(self, do, about, error=""):
        """As the journal of the program under chaos."""
        if self._line.is_cut:
            return
        if do == "object":
            self._working[about] = error
            others = [each for each in self._world.notes if each is not self and not each._line.is_cut]
            if any(error in each._working.values() for each in others):
                self._world.overlaps.append(about)
        elif do != "hang":
            self._working.pop(about, None)


class World:
    """An API server, its members, and what happens to them."""

    def __init__(self, seed, by, *, filters, is_whole, modes=(4,)):
        self.seed = seed
        self.by = by
        self.modes = modes
        self.notes = []
        self.overlaps = []
        self.cache = CacheOptions(by_kind={Gadget.gvk: InformerOptions(sharded=not is_whole)})
        self.chance = random.Random(seed)
        self.clock = VirtualClock()
        self.server = FakeApiServer(kinds=[Gadget], filters_by_shard=filters)
        self.client = Client(self.server)
        self.running = []
        self.ended = []

    def join(self):
        line = Line(self.server, self.clock, self.chance)
        shards = self.chance.choice(self.modes) if len(self.modes) > 1 else self.modes[0]
        options = ManagerOptions(shards=shards, leader_elect=not shards, shard_by=self.by, cache=self.cache)
        manager = Manager(options, client=Client(line), clock=self.clock)
        build = ControllerBuilder(manager).for_(Gadget).owns(ConfigMap)
        self.notes.append(Notes(self, line))
        build.complete(GadgetReconciler(manager.client, self.notes[-1]))
        self.running.append((manager, line, asyncio.create_task(manager.start())))

    def kill(self):
        member = self.running.pop(self.chance.randrange(len(self.running)))
        member[1].cut()
        self.ended.append(member)

    def stop(self):
        member = self.running.pop(self.chance.randrange(len(self.running)))
        member[0].stop()
        self.ended.append(member)

    def compact(self):
        """End all watches, and forget what they have not brought yet."""
        self.server.storage.compact(at_once=True)

    async def write(self):
        """Create, change or delete an object, with or without its finalizer."""
        name = self.chance.choice(NAMES)
        gadget = Gadget(
            metadata=ObjectMeta(name=name, namespace="default"), spec=GadgetSpec(size=self.chance.randrange(1000))
        )
        if await self.client.find(Gadget, f"default/{name}") is None:
            await self.client.create(gadget)
            return
        match self.chance.randrange(4):
            case 0:
                await self.client.delete(gadget)
            case 1:
                await self.client.patch(gadget, MergePatch({"metadata": {"finalizers": None}}))
                await self.client.delete(gadget, missing_ok=True)
            case _:
                await self.client.patch(gadget, MergePatch({"spec": {"size": gadget.spec.size}}))

    async def pass_time(self, seconds):
        for _ in range(round(seconds * 4)):
            self.clock.advance(timedelta(seconds=0.25))
            await settle(120)

    async def step(self):
        """Let one thing happen, and some time pass."""
        many = len(self.running) > 1
        happen = self.chance.choice(
            [self.kill, self.stop, self.compact, None] if many else [self.join, self.join, None]
        )
        if happen is not None:
            happen()
        for _ in range(self.chance.randrange(8)):
            with contextlib.suppress(NotFound):  # the finalizer was released at this moment
                await self.write()
            await self.pass_time(self.chance.choice([0, 0, 0.25, 1]))
        await self.pass_time(self.chance.choice([0, 1, 8]))

    async def close(self):
        for manager, line, _ in [*self.running, *self.ended]:
            manager.stop()
            line.end()
        while not all(task.done() for _, _, task in [*self.running, *self.ended]):
            await self.pass_time(1)


@pytest.mark.parametrize("is_whole", [False, True], ids=["part", "whole"])
@pytest.mark.parametrize("filters", [True, False], ids=["filtered", "unfiltered"])
@pytest.mark.parametrize("by", ShardBy)
@pytest.mark.parametrize("seed", SEEDS)
async def test_in_the_end_everything_is_right(monkeypatch, seed, by, filters, is_whole):
    """Each object has its child, and no child is left over."""
    await play(World(seed, by, filters=filters, is_whole=is_whole), monkeypatch)


@pytest.mark.parametrize("seed", [11, 16, 19, 26, 40])
async def test_members_of_all_modes_never_work_on_one_object(monkeypatch, seed):
    """With two numbers of ranges, and without shards."""
    await play(World(seed, ShardBy.UID, filters=bool(seed % 2), is_whole=False, modes=(0, 4, 8)), monkeypatch)


async def play(world, monkeypatch):
    """Let things happen, and check what came of it."""
    random.seed(world.seed)
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=world.chance.getrandbits(128), version=4))
    world.join()
    for _ in range(12):
        await world.step()
    if not world.running:
        world.join()
    await world.pass_time(60)
    found = await look(world.client, "default")
    await world.close()
    assert world.overlaps == []
    assert str(found) == "nothing"
