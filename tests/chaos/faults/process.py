"""What happens to the operator's process, and in it."""

from __future__ import annotations

from datetime import timedelta

from pykb.api.coordination.v1 import Lease
from pykb.testing import eventually
from tests.chaos.journal import Line
from tests.chaos.play import Scene, Setting, Size
from tests.chaos.subject import Subject

LONG = timedelta(seconds=120)
LEASE = "chaos"
DAY = 86400
SOME = 20  # gadgets that are made slow: enough for every worker to be in the middle of one


def lease_time(size: Size) -> list[str]:
    """The arguments for a short lease in a quick round."""
    return [] if size.true_times else ["--lease=4"]


async def _holder(scene: Scene) -> str:
    lease = await scene.cluster.client.get(Lease, f"{scene.namespace}/{LEASE}")
    return (lease.spec.holder_identity if lease.spec else None) or ""


def _leader(scene: Scene) -> Subject:
    """The replica whose reconciles are the latest."""
    return max(scene.subjects, key=lambda subject: latest_begin(subject).at)


def latest_begin(subject: Subject) -> Line:
    """When a replica began its latest reconcile."""
    begins = (line for line in subject.lines if line.do == "begin")
    return max(begins, key=lambda line: line.at, default=Line(0.0, 0, "begin", ""))


async def _taken_over(scene: Scene, before: int) -> None:
    """Wait until another process leads than this one: the standby, or a killed leader that was started again."""
    await eventually(lambda: latest_begin(_leader(scene)).pid != before, timeout=LONG)


class LeaderKilled:
    """The leader dies; the standby takes over, or the dead one does, which a kubelet starts again at once."""

    name = "leader killed (SIGKILL)"

    def setting(self, size: Size) -> Setting:
        """Two replicas."""
        return Setting(replicas=2, proxied=True, arguments=lease_time(size))

    async def strike(self, scene: Scene) -> None:
        """Kill whoever leads."""
        for _ in range(max(1, scene.size.times // 4)):
            leader = _leader(scene)
            pid = leader.pid
            leader.kill()
            await _taken_over(scene, pid)
            await scene.load.progress(scene.size.writes)
            await leader.ready()


class LeaderFrozen:
    """The leader stands still in the middle of its work, and wakes up when another one leads."""

    name = "leader frozen (SIGSTOP), then thawed"

    def setting(self, size: Size) -> Setting:
        """Two replicas."""
        return Setting(replicas=2, proxied=True, arguments=lease_time(size))

    async def strike(self, scene: Scene) -> None:
        """Freeze whoever leads while it is between reading and writing; thaw it under the new leader."""
        for _ in range(max(1, scene.size.times // 4)):
            leader = _leader(scene)
            some = scene.load.names[:SOME]
            await scene.load.trouble("slow", some)
            await eventually(lambda leader=leader: is_working(leader), timeout=LONG)
            pid = leader.pid
            leader.freeze()
            await _taken_over(scene, pid)
            await scene.load.progress(scene.size.writes // 4)
            leader.thaw()
            await eventually(lambda leader=leader, pid=pid: leader.pid not in (0, pid), timeout=LONG)
            await leader.ready()
            await scene.load.trouble(None, some)
            await scene.load.progress(scene.size.writes // 4)


def is_working(subject: Subject) -> bool:
    """Whether a reconcile has begun and nothing has been noted since."""
    lines = subject.lines
    return bool(lines) and lines[-1].do in ("begin", "object")


class ReconcileHangs:
    """Some reconciles never come back; each call has a time limit."""

    name = "reconcile hangs (time limit)"

    def setting(self, size: Size) -> Setting:
        """One operator with a limit."""
        return Setting(arguments=["--reconcile-timeout=5" if size.true_times else "--reconcile-timeout=1"])

    async def strike(self, scene: Scene) -> None:
        """Have some gadgets hang, for longer than the limit."""
        names = scene.load.names[: max(2, scene.size.objects // 50)]
        await scene.load.trouble("hang", names)

        async def has_hung() -> bool:
            for subject in scene.subjects:
                await subject.count()
            return sum(subject.timeouts for subject in scene.subjects) >= len(names)

        await eventually(has_hung, timeout=LONG)
        await scene.load.trouble(None, names)


class ReconcileFails:
    """Some reconciles raise, on purpose or by a bug."""

    name = "reconcile raises"

    def setting(self, size: Size) -> Setting:
        """One operator."""
        return Setting()

    async def strike(self, scene: Scene) -> None:
        """Have a fifth of the gadgets fail for a while."""
        names = scene.load.names[::5]
        await scene.load.trouble("raise", names[::2])
        await scene.load.trouble("bug", names[1::2])
        await eventually(lambda: sum(subject.errors for subject in scene.subjects) > 2 * len(names), timeout=LONG)
        await scene.load.trouble(None, names)


class Terminated:
    """The operator is told to stop while it works, and started again later."""

    name = "stopped (SIGTERM) while working"

    def setting(self, size: Size) -> Setting:
        """One operator; the time to stop in is short for a quick round."""
        return Setting(arguments=["--grace=5" if size.true_times else "--grace=2"])

    async def strike(self, scene: Scene) -> None:
        """Stop it with one reconcile that never ends and others that do, go on with the load, start it again."""
        load = scene.load
        hanging = load.names[:1]
        for _ in range(max(1, scene.size.times // 4)):
            await load.trouble("slow", load.names[1:SOME])
            await load.trouble("hang", hanging)
            await eventually(lambda: any(_is_hanging(each, hanging[0]) for each in scene.subjects), timeout=LONG)
            subject = next(each for each in scene.subjects if _is_hanging(each, hanging[0]))
            code = await subject.terminate()
            scene.expect(code == 1, f"not all stopped in time, and it ended with {code}")
            stopped = {line.about for line in subject.lines if line.do == "cancel"}
            scene.expect(any(each.endswith(hanging[0]) for each in stopped), "what hung was not cancelled")
            await load.trouble(None, load.names[:SOME])
            await load.progress(scene.size.writes)
            await subject.start()
            await subject.ready()


def _is_hanging(subject: Subject, name: str) -> bool:
    last = next((line for line in reversed(subject.lines) if line.about.endswith(name)), None)
    return last is not None and last.do == "hang"


class ClockJumps:
    """Somebody sets the time, of the leader's machine and of the standby's."""

    name = "wall clocks jump"

    def setting(self, size: Size) -> Setting:
        """Two replicas, with the real times of leases: nobody waits for one."""
        return Setting(replicas=2, proxied=True, clocks=True)

    async def strike(self, scene: Scene) -> None:
        """Jump a day ahead and back, each clock for itself; the leader stays the leader."""
        holder = await _holder(scene)
        names = scene.load.names[::5]
        await scene.load.trouble("raise", names)  # what waits for its next try waits by a clock, too
        jumps = [(DAY, 0), (-DAY, DAY), (0, 0)] * max(1, scene.size.times // 4)
        for leader, standby in jumps:
            for path, offset in zip(scene.clocks, (leader, standby), strict=True):
                path.write_text(str(offset), encoding="utf-8")
            renewed = await _renewal(scene)
            await scene.load.progress(scene.size.writes // 2)
            scene.expect(renewed == holder, f"`{holder}` led, and now `{renewed}` does")
        await scene.load.trouble(None, names)


async def _renewal(scene: Scene) -> str:
    """Wait until the lease is written once more; gives its holder."""
    before = (await scene.cluster.client.get(Lease, f"{scene.namespace}/{LEASE}")).metadata.resource_version

    async def is_renewed() -> bool:
        lease = await scene.cluster.client.get(Lease, f"{scene.namespace}/{LEASE}")
        return lease.metadata.resource_version != before

    await eventually(is_renewed, timeout=LONG)
    return await _holder(scene)
