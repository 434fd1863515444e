"""One fault from beginning to end: operators and load start, the fault strikes, everything must come right."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from tests.chaos.cluster import Cluster
from tests.chaos.holders import Holders, unheld_writes
from tests.chaos.journal import overlaps, shared_overlaps
from tests.chaos.kinds import Gadget
from tests.chaos.load import CALM, QUICK, Load
from tests.chaos.proxy import Proxy
from tests.chaos.subject import Subject
from tests.chaos.verdict import Verdict, until_right


@dataclass(frozen=True)
class Size:
    """How much of everything.

    Attributes:
        objects: Names that the load uses.
        times: How often a fault strikes that strikes repeatedly.
        writes: Writes of the load before, between and after strikes.
        pause: Seconds between two writes of a driver of the load.
        patience: How long the end may take. No test waits for it: it only ends one that would never end.
        true_times: Whether the operators keep their own time limits, which are too long for a quick round.
    """

    objects: int
    times: int
    writes: int
    pause: float
    patience: timedelta
    true_times: bool


SMALL = Size(objects=16, times=1, writes=16, pause=CALM, patience=timedelta(seconds=100), true_times=False)
FULL = Size(objects=200, times=20, writes=200, pause=QUICK, patience=timedelta(minutes=15), true_times=True)


@dataclass
class Setting:
    """How a fault wants its operators to run.

    Attributes:
        replicas: How many of them; more than one elect a leader.
        proxied: Whether they reach the API server through proxies, one each. With shards they always do.
        plugin: Whether they log in by a credential plugin rather than a token file.
        clocks: Whether their wall clocks can be made to jump.
        shards: Into how many ranges the replicas divide the objects, instead of electing a leader.
        arguments: Of the program.
    """

    replicas: int = 1
    proxied: bool = False
    plugin: bool = False
    clocks: bool = False
    shards: int = 0
    arguments: list[str] = field(default_factory=list)


class Fault(Protocol):
    """Something that goes wrong."""

    @property
    def name(self) -> str:
        """What it is, as in the table."""
        ...

    def setting(self, size: Size) -> Setting:
        """What it needs."""
        ...

    async def strike(self, scene: Scene) -> None:
        """Do it, under load, and mend what nobody else would; returns when the fault is over.

        Raises:
            AssertionError: It did not come to what it was to try.
        """
        ...


@dataclass
class Scene:
    """What a fault can reach."""

    cluster: Cluster
    size: Size
    namespace: str
    load: Load
    subjects: list[Subject]
    proxies: list[Proxy]
    token_files: list[Path]
    clocks: list[Path]
    problems: list[str] = field(default_factory=list)
    holders: Holders | None = None

    @property
    def subject(self) -> Subject:
        """The only operator."""
        return self.subjects[0]

    @property
    def proxy(self) -> Proxy:
        """Its proxy."""
        return self.proxies[0]

    def expect(self, holds: object, what: str) -> None:
        """Put down what does not hold."""
        if not holds:
            self.problems.append(what)


async def play(fault: Fault, cluster: Cluster, size: Size) -> Verdict:
    """Let one fault strike and judge what comes of it."""
    verdict = Verdict(fault.name, size.objects)
    async with _scene(fault, cluster, size) as scene:
        load = scene.load
        await load.create_all()
        moment, found = await until_right(cluster.client, scene.namespace, size.patience)
        scene.expect(moment, f"not right before the fault: {found}")
        load.start()
        await load.progress(size.writes)
        try:
            await fault.strike(scene)
        except AssertionError as error:
            scene.problems.append(f"it could not strike to the end: {error}")
        over = time.monotonic()
        await load.stop()
        moment, found = await until_right(cluster.client, scene.namespace, size.patience)
        verdict.recovery = moment - over if moment else None
        if moment:  # that all is right now does not say that anybody still listens
            await load.create_all()
            moment, found = await until_right(cluster.client, scene.namespace, size.patience)
        if moment:  # and in the end everything goes, which leaves nothing behind for the next round either
            await cluster.client.delete_all_of(Gadget, namespace=scene.namespace)
            moment, found = await until_right(cluster.client, scene.namespace, size.patience)
        verdict.lost = [f"{name} {why}" for name, why in sorted(found.wrong.items())]
        verdict.left_over = found.left_over
        for subject in scene.subjects:
            code = await subject.terminate()
            scene.expect(code == 0, f"{subject.name} ended with {code}")
        verdict.writes = load.done.total()
        verdict.errors = sum(subject.errors for subject in scene.subjects)
        verdict.unreported = sum(subject.unreported for subject in scene.subjects)
        lines = [line for subject in scene.subjects for line in subject.lines]
        if scene.holders is not None:
            changes = [proxy.seen.changes for proxy in scene.proxies]
            unheld = await unheld_writes(scene.holders, scene.subjects, changes)
            scene.expect(sum(map(len, changes)) > size.objects, "hardly any write came by")
            scene.problems.extend(unheld[:5])
            verdict.duplicated = shared_overlaps(lines) + len(unheld)
        else:
            verdict.duplicated = overlaps(lines)
            verdict.duplicated += writes_after_loss(scene) if len(scene.proxies) > 1 else 0
        verdict.problems = scene.problems
    return verdict


def writes_after_loss(scene: Scene) -> int:
    """How many writes came from a process when another had begun to write after it. A process leads at most once."""
    moments: list[tuple[float, int]] = []
    for subject, proxy in zip(scene.subjects, scene.proxies, strict=True):
        starts = [line for line in subject.lines if line.do == "ready"]
        for write in proxy.seen.writes:
            pid = max((line for line in starts if line.at <= write.at), key=lambda line: line.at).pid
            moments.append((write.at, pid))
    led: set[int] = set()
    last = 0
    count = 0
    for _, pid in sorted(moments):
        if pid != last and pid in led:
            count += 1
            continue
        led.add(pid)
        last = pid
    return count


@contextlib.asynccontextmanager
async def _scene(fault: Fault, cluster: Cluster, size: Size) -> AsyncIterator[Scene]:
    setting = fault.setting(size)
    folder = cluster.folder / f"{uuid.uuid4().hex[:8]}"
    folder.mkdir()
    namespace = f"chaos-{folder.name}"
    await cluster.make_namespace(namespace)
    async with contextlib.AsyncExitStack() as stack:
        load = Load(cluster.client, namespace, size.objects, size.pause)
        scene = Scene(cluster, size, namespace, load, [], [], [], [])
        leases = namespace
        if setting.shards:  # as in a cluster, where objects and the operator are in different namespaces
            leases = f"{namespace}-leases"
            await cluster.make_namespace(leases)
            scene.holders = Holders(cluster.client, leases, setting.shards)
            following = asyncio.create_task(scene.holders.follow())
            stack.callback(following.cancel)
        for number in range(setting.replicas):
            name = f"{folder.name}-{number}"
            server = cluster.plane.url
            if setting.proxied or setting.shards:
                scene.proxies.append(await stack.enter_async_context(Proxy(cluster.plane)))
                server = scene.proxies[-1].url
            token = folder / f"{number}.token"
            scene.token_files.append(token)
            user = cluster.plugin_user(token) if setting.plugin else cluster.token_file_user(token)
            arguments = [f"--kubeconfig={cluster.kubeconfig(name, server, user)}", *setting.arguments]
            if setting.replicas > 1:
                how = f"--shards={setting.shards}" if setting.shards else "--leader-elect"
                arguments += [how, f"--leader-election-namespace={leases}"]
            clock = None
            if setting.clocks:
                clock = folder / f"{number}.clock"
                clock.write_text("0", encoding="utf-8")
                scene.clocks.append(clock)
            subject = Subject(name, folder, arguments, clock)
            stack.callback(subject.close)
            scene.subjects.append(subject)
            await subject.start()
            await subject.ready()
        stack.push_async_callback(load.abort)
        yield scene
