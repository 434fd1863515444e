"""Replicas with shards, with other shards and without: only those of one mode work, and none waits for ever."""

import asyncio
import random
from datetime import timedelta
from itertools import combinations

import pytest

from pykb.client import Client
from pykb.client.clock import VirtualClock
from pykb.client.ranges import Ranges, ShardBy
from pykb.client.task import check_fence
from pykb.diagnostics.codes.environment import CLUSTER_UNREACHABLE
from pykb.runtime import Forbidden, ServerUnreachable
from pykb.runtime._election import LeaderElectionOptions, LeaderElector
from pykb.runtime.fake import FakeApiServer
from pykb.runtime.sharding._board import member_lease
from pykb.runtime.sharding._claims import Claims
from pykb.runtime.sharding._modes import Group, GroupOptions

from .conftest import settle  # noqa: TID252 - shared by this folder only

TICK = timedelta(seconds=0.25)
ALONE = None
MODES = [ALONE, Ranges(4), Ranges(8), Ranges(4, ShardBy.NAMESPACE)]


class Process:
    """A replica. It can be frozen and killed; its requests and their answers can be late."""

    def __init__(self, world, name, ranges):
        self.world, self.name, self.ranges = world, name, ranges
        self.clock = VirtualClock()
        self.missed = timedelta()
        self.works_on = set()
        self.is_frozen = self.is_dead = self.is_stopping = False
        client = Client(self)
        place = GroupOptions("group", "default", name, ranges)
        lease = {"name": "group"}
        if ranges is not None:
            lease = {"name": member_lease("group", name), "labels": place.labels, "own": True}
        self.elector = LeaderElector(
            client, LeaderElectionOptions(namespace="default", identity=name, **lease), clock=self.clock
        )
        if ranges is None:
            self.group = Group(client, place, clock=self.clock)
            self._run = self._lead
        else:
            self.claims = Claims(client, place, self, clock=self.clock)
            self.group, self._run = self.claims.group, self.claims.run
        self.task = asyncio.create_task(self.group.work(self.elector, self._work))

    async def _lead(self):
        self.works_on = {"everything"}
        await asyncio.get_running_loop().create_future()

    async def _work(self):
        try:
            await self._run()
        finally:
            await self.clock.sleep(timedelta(seconds=self.world.chance.choice([0, 0, 2])))  # reconciles end
            self.works_on = set()

    # -- as what works on the ranges

    def gained(self, numbers):
        self.works_on = self.works_on | numbers

    async def leaving(self, number):
        await self.clock.sleep(timedelta(seconds=self.world.chance.choice([0, 0, 1])))
        self.works_on = self.works_on - {number}

    @property
    def may_write(self):
        """What its fence lets it work on."""
        return self.works_on if self.elector.is_leader and not self.is_frozen and not self.is_dead else set()

    # -- as its connection

    async def request(self, call):
        if call.method != "GET":
            check_fence()
        await self._late()
        await self.world.together(call)
        answer = await self.world.server.request(call)
        await self._late()
        while self.is_frozen:
            await self.world.clock.sleep(TICK)
        return answer

    async def close(self):
        pass

    async def _late(self):
        if self.world.chance.random() < 0.3:
            await self.world.clock.sleep(timedelta(seconds=self.world.chance.random() * 3))
        if self.is_dead:
            await self.world.ended.wait()
            raise ServerUnreachable(CLUSTER_UNREACHABLE.at(None, "the process was killed"))

    # -- what happens to it

    def thaw(self):
        """Go on, late."""
        self.is_frozen = False
        self.clock.advance(self.missed)
        self.missed = timedelta()

    def stop(self):
        """SIGTERM."""
        self.thaw()
        if not self.is_stopping:
            self.is_stopping = True
            self.task.cancel()


class World:
    """An API server and the replicas of one group."""

    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.clock = VirtualClock()
        self.server = FakeApiServer()
        self.processes = []
        self.ended = asyncio.Event()
        self.seen = set()
        """The modes that have worked."""
        self.at_once = self._creations = 0
        """How many creations of Leases wait for each other in the beginning."""

    @property
    def running(self):
        return [each for each in self.processes if not each.task.done() and not each.is_dead]

    def start(self, ranges):
        name = f"host_{len(self.processes)}"
        self.processes.append(Process(self, name, ranges))
        return self.processes[-1]

    async def together(self, call):
        if call.method == "POST":
            self._creations += 1
            while self._creations < self.at_once:
                await self.clock.sleep(TICK)

    def kill(self, process):
        process.is_dead = True

    async def pass_time(self, seconds):
        """Let time pass. At no moment do two replicas work on one object."""
        for _ in range(round(seconds / TICK.total_seconds())):
            self.clock.advance(TICK)
            for process in self.processes:
                if process.is_frozen:
                    process.missed += TICK
                else:
                    process.clock.advance(TICK)
            await settle(30)
            self.check()

    def check(self):
        working = [(each.ranges, number) for each in self.processes for number in each.may_write]
        modes = {mode for mode, _ in working}
        assert len(modes) <= 1, f"they work at the same time: {modes}"
        assert len(working) == len(set(working)), working
        self.seen |= modes

    def works(self, ranges):
        """Whether replicas of a mode work on everything."""
        numbers = {number for each in self.processes if each.ranges == ranges for number in each.may_write}
        return numbers == ({"everything"} if ranges is ALONE else set(range(ranges.count)))

    async def until_all_work(self, *modes):
        """Let time pass until those of one of these modes work on everything: some may have died, and answers are late."""
        for _ in range(60):
            if any(map(self.works, modes)):
                return
            await self.pass_time(1)
        working = {each.name: sorted(map(str, each.may_write)) for each in self.running}
        raise AssertionError(f"{modes}: nobody works on some objects: {working}")

    async def roll(self, ranges, count=3):
        """Replace all replicas, as a Deployment does: one more at a time, and one of the old ones less."""
        old = self.running
        for number in range(max(count, len(old))):
            if number < count:
                self.start(ranges)
            await self.pass_time(self.chance.choice([1, 3, 8]))
            for process in old[number : number + 1]:
                process.stop()
        for process in old[count:]:
            process.stop()

    async def close(self):
        self.ended.set()
        for process in self.processes:
            process.is_dead = True
            process.stop()
        while not all(process.task.done() for process in self.processes):
            await self.pass_time(1)
        await asyncio.gather(*(process.task for process in self.processes), return_exceptions=True)


@pytest.fixture
async def world_of():
    """Make worlds, which end at the end."""
    worlds = []

    def make(seed):
        random.seed(seed)
        worlds.append(World(seed))
        return worlds[-1]

    yield make
    for world in worlds:
        await world.close()


@pytest.mark.parametrize("after", MODES, ids=str)
@pytest.mark.parametrize("before", MODES, ids=str)
async def test_a_rolling_update_goes_to_the_end_and_back(world_of, before, after):
    """From each mode to each. The old replicas work until the last of them has stopped."""
    world = world_of(1)
    for _ in range(3):
        world.start(before)
    await world.until_all_work(before)
    await world.roll(after)
    await world.until_all_work(after)
    await world.roll(before)
    await world.until_all_work(before)


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("other", MODES, ids=str)
async def test_whoever_came_first_works(world_of, mode, other, caplog):
    """The others stand by, for as long as it takes, and say so once."""
    caplog.set_level("INFO", logger="pykb.runtime.sharding")
    world = world_of(2)
    for _ in range(2):
        world.start(mode)
    await world.until_all_work(mode)
    late = [world.start(other) for _ in range(2)]
    await world.pass_time(60)
    assert world.works(mode)
    assert world.seen == {mode}
    assert [each.group.has_stood_by for each in late] == [mode != other] * 2
    said = [record for record in caplog.records if record.message.startswith("standing by")]
    assert len(said) == (0 if mode == other else 2)


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize(("one", "two"), list(combinations(MODES, 2)), ids=str)
async def test_one_mode_works_if_replicas_of_two_start_at_once(world_of, one, two, count):
    """They raise their flags at the same moment, see each other's, and those of one mode go back."""
    world = world_of(4)
    world.at_once = count if ALONE not in (one, two) else count // 2 + 1  # only one can create the leader's Lease
    for _ in range(count // 2):
        world.start(one)
        world.start(two)
    await world.until_all_work(one, two)


@pytest.mark.parametrize("before", MODES, ids=str)
@pytest.mark.parametrize("after", [ALONE, Ranges(8)], ids=str)
async def test_those_that_stand_by_begin_after_all_others_have_died(world_of, before, after):
    """Nobody has taken down their flags."""
    world = world_of(3)
    dead = [world.start(before) for _ in range(2)]
    await world.until_all_work(before)
    for _ in range(2):
        world.start(after)
    await world.pass_time(5)
    for process in dead:
        world.kill(process)
    await world.until_all_work(after)


@pytest.mark.parametrize("mode", [ALONE, Ranges(4)], ids=str)
async def test_nobody_works_without_the_permission_to_look(world_of, mode, caplog):
    """What is forbidden is in the log."""
    world = world_of(5)

    def react(call):
        if call.method == "GET" and call.path.endswith("/leases"):
            raise Forbidden(403, "Forbidden", "leases is forbidden: cannot list")

    world.server.react = react
    late = world.start(mode)
    await world.pass_time(20)
    assert world.seen == set()
    assert not late.group.has_stood_by
    assert "leases is forbidden: cannot list" in caplog.records[0].error
    world.server.react = None
    await world.until_all_work(mode)


@pytest.mark.parametrize("seed", [3, 11, 56, 105, 202, 224, 332])
async def test_random_histories(world_of, seed):
    """Replicas of all modes start, stop, die and freeze, with late answers. Then those of one mode stay."""
    world = world_of(seed)
    chance = world.chance
    for _ in range(25):
        match chance.choice(["start", "start", "stop", "stop", "kill", "freeze", "thaw"]):
            case "start" if len(world.running) < 7:
                world.start(chance.choice(MODES))
            case "stop" if world.running:
                chance.choice(world.running).stop()
            case "kill" if world.running:
                world.kill(chance.choice(world.running))
            case "freeze" if world.running:
                chance.choice(world.running).is_frozen = True
            case "thaw":
                for process in world.running:
                    process.thaw()
        await world.pass_time(chance.choice([0.25, 1, 4, 20]))
    staying = chance.choice(MODES)
    for process in world.running:
        process.stop()
    for _ in range(2):
        world.start(staying)
    await world.until_all_work(staying)
