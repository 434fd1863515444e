"""What happens to replicas that share the objects. Each fault of one operator can also strike three of them."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

from pykb.testing import eventually
from tests.chaos.faults.process import DAY, SOME, is_working, latest_begin, lease_time
from tests.chaos.faults.server import restart
from tests.chaos.play import Fault, Scene, Setting, Size

LONG = timedelta(seconds=120)
GATE = "ShardedListAndWatch"


def _term(size: Size) -> float:
    """How long a Lease lasts, in seconds. Nobody takes the ranges of a frozen replica earlier."""
    return 15.0 if size.true_times else 4.0


def _three(size: Size) -> Setting:
    return Setting(replicas=3, shards=8, arguments=lease_time(size))


async def _all_work(scene: Scene) -> None:
    """Wait until each replica has reconciled something."""
    await eventually(lambda: all(latest_begin(subject).at for subject in scene.subjects), timeout=LONG)


async def _works(scene: Scene, number: int) -> None:
    """Wait until the process that runs now has reconciled something."""
    subject = scene.subjects[number]
    await eventually(lambda: latest_begin(subject).pid == subject.pid, timeout=LONG)


async def _one_by_one(scene: Scene) -> AsyncIterator[int]:
    """Yield the position of the member to strike next, as soon as all of them work."""
    for number in range(max(1, scene.size.times // 4)):
        await _all_work(scene)
        yield number % len(scene.subjects)


class Sharded:
    """A fault of one operator, for three replicas that share the objects."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        self.name = f"{fault.name}, 3 members with shards"

    def setting(self, size: Size) -> Setting:
        """That of the fault, with three replicas."""
        return replace(self._fault.setting(size), replicas=3, shards=8)

    async def strike(self, scene: Scene) -> None:
        """Strike all of them."""
        await _all_work(scene)
        await self._fault.strike(scene)


class MemberKilled:
    """One of three dies; the others take its ranges, or it does when it is back."""

    name = "member killed (SIGKILL), 3 members with shards"

    def setting(self, size: Size) -> Setting:
        """Three replicas."""
        return _three(size)

    async def strike(self, scene: Scene) -> None:
        """Kill one after the other."""
        async for number in _one_by_one(scene):
            victim = scene.subjects[number]
            victim.kill()
            await scene.load.progress(scene.size.writes)
            await victim.ready()


class MemberFrozen:
    """One of three stands still in the middle of its work, and wakes up later."""

    name = "member frozen (SIGSTOP), then thawed, 3 members with shards"

    def setting(self, size: Size) -> Setting:
        """Three replicas."""
        return _three(size)

    async def strike(self, scene: Scene) -> None:
        """Freeze one between reading and writing; thaw it when others have its objects."""
        async for number in _one_by_one(scene):
            victim = scene.subjects[number]
            some = scene.load.names[:SOME]
            await scene.load.trouble("slow", some)
            await eventually(lambda victim=victim: is_working(victim), timeout=LONG)
            pid, theirs = victim.pid, {line.about for line in victim.lines if line.do == "end"}
            frozen_at = time.monotonic()
            victim.freeze()
            others = [subject for subject in scene.subjects if subject is not victim]
            await eventually(
                lambda others=others, theirs=theirs, since=frozen_at: any(
                    line.about in theirs and line.at > since + _term(scene.size) and line.do == "end"
                    for other in others
                    for line in other.lines
                ),
                timeout=LONG,
            )
            await scene.load.progress(scene.size.writes // 4)
            victim.thaw()
            await eventually(lambda victim=victim, pid=pid: victim.pid not in (0, pid), timeout=LONG)
            await victim.ready()
            await scene.load.trouble(None, some)
            await scene.load.progress(scene.size.writes // 4)


class MembersComeAndGo:
    """Members join and leave at random; sometimes one is left, sometimes all are there."""

    name = "members join and leave at random, up to 3 with shards"

    def setting(self, size: Size) -> Setting:
        """Three replicas."""
        return _three(size)

    async def strike(self, scene: Scene) -> None:
        """Stop or kill a member that runs, or start one that was stopped."""
        chance = random.Random(5)
        stopped: set[int] = set()
        await _all_work(scene)
        for _ in range(max(4, scene.size.times)):
            number = chance.randrange(len(scene.subjects))
            subject = scene.subjects[number]
            if number in stopped:
                stopped.discard(number)
                await subject.start()
                await subject.ready()
            elif len(stopped) < len(scene.subjects) - 1 and chance.random() < 0.7:
                await subject.ready()
                code = await subject.terminate()
                scene.expect(code == 0, f"{subject.name} was stopped and ended with {code}")
                stopped.add(number)
            else:
                subject.kill()
                await eventually(lambda subject=subject: subject.pid, timeout=LONG)
            # Short and long pauses: the ranges have come to rest, or they are on their way.
            await scene.load.progress(chance.randrange(max(2, scene.size.writes)))
        for number in sorted(stopped):
            await scene.subjects[number].start()
        for number in range(len(scene.subjects)):
            await _works(scene, number)


class LeasesLate:
    """The API server answers requests for Leases late: first within the time of a renewal, then later than that."""

    name = "Leases answered late, 3 members with shards"

    def setting(self, size: Size) -> Setting:
        """Three replicas."""
        return _three(size)

    async def strike(self, scene: Scene) -> None:
        """Delay the answers for all, and then so long for one that it must go."""
        term = _term(scene.size)
        async for victim in _one_by_one(scene):
            restarts = [subject.restarts for subject in scene.subjects]
            for proxy in scene.proxies:
                proxy.slow = {"leases": term / 6}
            await scene.load.progress(scene.size.writes // 2)
            await asyncio.sleep(term)
            scene.expect(restarts == [each.restarts for each in scene.subjects], "a member went, and had no need to")
            subject, pid = scene.subjects[victim], scene.subjects[victim].pid
            scene.proxies[victim].slow = {"leases": 2 * term}
            await eventually(lambda subject=subject, pid=pid: subject.pid not in (0, pid), timeout=LONG)
            await scene.load.progress(scene.size.writes // 2)
            for proxy in scene.proxies:
                proxy.slow = {}
            await _works(scene, victim)


class ClockOfOneJumps:
    """Somebody sets the time of one member's machine."""

    name = "wall clock of one jumps, 3 members with shards"

    def setting(self, size: Size) -> Setting:
        """Three replicas, with the real times of leases: nobody waits for one."""
        return replace(_three(size), clocks=True, arguments=[])

    async def strike(self, scene: Scene) -> None:
        """Jump a day ahead and back. Nobody goes, and nobody takes the ranges of another."""
        await _all_work(scene)
        pids = [subject.pid for subject in scene.subjects]
        for number in range(max(1, scene.size.times // 4)):
            for offset in (DAY, -DAY, 0):
                scene.clocks[number % len(scene.clocks)].write_text(str(offset), encoding="utf-8")
                await asyncio.sleep(2.5)  # more than the pause between two renewals
                await scene.load.progress(scene.size.writes // 2)
        scene.expect(pids == [subject.pid for subject in scene.subjects], "a member went")


class GateLost:
    """The API server filters by shard, and no longer does so after a restart."""

    name = f"API server loses {GATE}, 3 members with shards"

    def setting(self, size: Size) -> Setting:
        """Three replicas."""
        return _three(size)

    async def strike(self, scene: Scene) -> None:
        """Switch the gate on and start the members anew, since they ask only then. Switch it off again."""
        plane = scene.cluster.plane
        for _ in range(max(1, scene.size.times // 10)):
            plane.feature_gates[GATE] = True
            await asyncio.to_thread(restart, plane)
            for subject in scene.subjects:
                pid = subject.pid
                subject.kill()
                await eventually(lambda subject=subject, pid=pid: subject.pid not in (0, pid), timeout=LONG)
                await subject.ready()
            for number in range(len(scene.subjects)):
                await _works(scene, number)
            await scene.load.progress(scene.size.writes // 2)
            filtered = [sum("shardSelector" in path for path in proxy.seen.watched) for proxy in scene.proxies]
            scene.expect(all(filtered), f"watches with a selector: {filtered}")
            del plane.feature_gates[GATE]
            await asyncio.to_thread(restart, plane)
            await scene.load.progress(scene.size.writes)
