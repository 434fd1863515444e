"""What user code does about time, threads and processes: it works in virtual time, or the explorer names its line."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timezone
from pathlib import Path
from time import time as now
from typing import Any

import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.diagnostics import Span
from pykb.explore import Explorer, History, Report, Step, Subject, Verb
from pykb.explore import _time as virtual
from pykb.explore._gate import Sent, place_in
from pykb.explore._outcome import Outcome
from pykb.explore._runner import Runner
from pykb.runtime import AlreadyExists, ControllerBuilder, Manager, NotFound, Reconciler, Request
from tests.explorer.zoo.kinds import CRDS, SAMPLE, Animal

HERE = Path(__file__).parent
WORK = [sys.executable, "-c", "import time; time.sleep(0.2)"]


class Waits(Reconciler):
    """Base: waits in some way, then writes how much time has passed."""

    async def reconcile(self, request: Request) -> None:
        """Wait and write."""
        animal = await self.client.find(Animal, request)
        if animal is None or animal.status.phase is not None:
            return
        began = time.monotonic()
        await self.wait()
        animal.status.phase = f"{time.monotonic() - began:g}"
        await self.client.status.update(animal)

    async def wait(self) -> None:
        """Wait."""

    def setup(self, manager: Manager) -> None:
        """Register with the manager."""
        ControllerBuilder(manager).for_(Animal).complete(self)


class Sleeps(Waits):
    """Blocks the event loop."""

    async def wait(self) -> None:
        """Wait for an hour."""
        time.sleep(3600)  # noqa: ASYNC251 - as users do


class SleepsInThread(Waits):
    """By `asyncio.to_thread`."""

    async def wait(self) -> None:
        """Wait for an hour."""
        await asyncio.to_thread(time.sleep, 3600)


class SleepsInPool(Waits):
    """By a pool of its own."""

    async def wait(self) -> None:
        """Wait for an hour, twice."""
        with ThreadPoolExecutor() as pool:
            loop = asyncio.get_running_loop()
            await asyncio.gather(*(loop.run_in_executor(pool, time.sleep, 3600) for _ in range(2)))


class Computes(Waits):
    """In a thread, which takes no virtual time."""

    async def wait(self) -> None:
        """Compute."""
        await asyncio.to_thread(sum, range(2_000_000))


class Calls(Waits):
    """A program, for which it waits."""

    async def wait(self) -> None:
        """Run it."""
        await asyncio.to_thread(subprocess.run, WORK, check=True, timeout=60)


class Follows(Waits):
    """A program, on the event loop."""

    async def wait(self) -> None:
        """Run it."""
        program = await asyncio.create_subprocess_exec(*WORK, stdout=subprocess.PIPE)
        await program.communicate()


class Plain(Reconciler):
    """A plain function, which runs in a thread."""

    def reconcile(self, request: Request) -> None:
        """Wait and write."""
        try:
            animal = self.client.sync.get(Animal, request)
        except NotFound:
            return
        if animal.status.phase is None:
            began = now()
            time.sleep(3600)
            animal.status.phase = f"{now() - began:g}"
            self.client.sync.status.update(animal)

    setup = Waits.setup


def explored(operator: type[Reconciler], code: str = "explore-crash", **options: Any) -> Report:
    """What the explorer says of an operator."""

    def register(manager: Manager) -> None:
        operator(manager.client).setup(manager)  # type: ignore[attr-defined]

    return Explorer(Subject(register, CRDS, [SAMPLE], None, HERE), only=(code,), histories=10, **options).run()


@pytest.mark.parametrize(
    ("operator", "passed"),
    [
        (Sleeps, "3600"),
        (SleepsInThread, "3600"),
        (SleepsInPool, "3600"),
        (Plain, "3600"),
        (Computes, "0"),
        (Calls, "0"),
        (Follows, "0"),
    ],
)
def test_waiting_takes_virtual_time(operator, passed):
    """However it is done, and what really works takes none. An operator that waits is not accused."""
    report = explored(operator)
    assert not report.diagnostics()
    assert not report.notes()
    assert report.histories["explore-crash"]
    assert phase_of(operator) == passed


class OwnThread(Waits):
    """Polls in a thread of its own."""

    async def wait(self) -> None:
        """Start it."""
        threading.Thread(target=int, daemon=True).start()


class Slow(Waits):
    """Waits for something that is not in the world."""

    async def wait(self) -> None:
        """Wait."""
        await asyncio.to_thread(threading.Event().wait, 0.3)


class Connects(Waits):
    """To a server that does not answer."""

    async def wait(self) -> None:
        """Wait for its answer."""
        server = socket.create_server(("127.0.0.1", 0))
        with server, contextlib.suppress(TimeoutError):
            reader, writer = await asyncio.open_connection(*server.getsockname())
            try:
                await asyncio.wait_for(reader.read(1), 0.1)
            finally:
                writer.close()


class KeepsClock(Waits):
    """Has a default that is the real clock's."""

    async def wait(self, *, clock: Callable[[timezone], datetime] = datetime.now) -> None:
        """Write the time."""
        made = ConfigMap(metadata=ObjectMeta(name="times", namespace="default"), data={"at": clock(UTC).isoformat()})
        with contextlib.suppress(AlreadyExists):
            await self.client.create(made)


@pytest.mark.parametrize(
    ("operator", "said", "remedy"),
    [
        (OwnThread, "starts a thread of its own", "asyncio.to_thread"),
        (Slow, "takes seconds of real time", "give the reconciler a double"),
        (Connects, "takes seconds of real time", "give the reconciler a double"),
        (KeepsClock, "writes the time of the real clock", "datetime.now(UTC)"),
    ],
)
def test_what_leaves_the_virtual_world_is_named(operator, said, remedy, monkeypatch):
    """With the line and the remedy. The rest is explored."""
    monkeypatch.setattr(virtual, "PATIENCE", 0.05)
    report = explored(operator)
    lines, first = inspect.getsourcelines(operator.wait)
    [note] = report.notes()
    assert note.code.slug == "explore-real-world"
    assert said in note.message
    assert remedy in note.help[0]
    assert note.span.path == Path(__file__).name
    assert first <= note.span.line < first + len(lines)
    assert report.histories["explore-crash"]


class Lucky(Waits):
    """Writes a password."""

    async def wait(self) -> None:
        """Write it."""
        words = (secrets.token_urlsafe(), secrets.choice("abcdef"), str(secrets.randbelow(1000)), str(uuid.uuid4()))
        made = ConfigMap(metadata=ObjectMeta(name="luck", namespace="default"), data={"words": " ".join(words)})
        with contextlib.suppress(AlreadyExists):
            await self.client.create(made)


def test_the_same_seed_gives_the_same_world():
    """Times, threads and random values."""
    for operator in (Plain, SleepsInPool, Lucky):
        first, second, other = played(operator), played(operator), played(operator, seed=1)
        assert first.changes == second.changes
        assert [vars_of(sent) for sent in first.sent] == [vars_of(sent) for sent in second.sent]
        if operator is Lucky:
            assert first.states != other.states


def test_a_place_is_found_behind_links(tmp_path):
    """The user's folder is given by a link, and its modules by another."""
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "one").symlink_to(real)
    (tmp_path / "two").symlink_to(real)
    file = str(tmp_path / "two" / "module.py")
    assert place_in(tmp_path / "one", [(__file__, 1), (file, 7)]) == Span("module.py", 7, 1)
    assert place_in(tmp_path / "one", [(__file__, 1)]) is None
    assert place_in(None, [(file, 7)]) is None


def phase_of(operator: type[Reconciler]) -> str:
    """The phase that an operator writes."""
    [animal] = (found for each, found in played(operator).states[-1].items() if each.kind == "Animal")
    return str(animal["status"]["phase"])


def played(operator: type[Reconciler], seed: int = 0) -> Outcome:
    """What comes of the creation of an object."""

    def register(manager: Manager) -> None:
        operator(manager.client).setup(manager)  # type: ignore[attr-defined]

    subject = Subject(register, CRDS, [SAMPLE], None, HERE)
    with Runner(subject, seed) as runner:
        return runner.run(History((Step(Verb.CREATE, SAMPLE),)))


def vars_of(sent: Sent) -> tuple[object, ...]:
    """What can be compared of a request."""
    return (sent.verb, sent.resource, sent.name, sent.at, sent.status)


class Leaves(Waits):
    """Ends its process."""

    async def wait(self) -> None:
        """Leave."""
        os._exit(3)  # here


class LeavesByKill(Waits):
    """Asks for its end."""

    async def wait(self) -> None:
        """As `kill` in a shell."""
        os.kill(os.getpid(), signal.SIGTERM)  # here


class LeavesInThread(Waits):
    """Ends its process in a thread."""

    async def wait(self) -> None:
        """Leave."""
        await asyncio.to_thread(os._exit, 3)  # here


@pytest.mark.parametrize("operator", [Leaves, LeavesByKill, LeavesInThread])
def test_what_ends_the_process_is_said_with_its_line(operator):
    """And does not end the explorer."""
    [problem] = explored(operator).problems
    assert "SystemExit: " in problem.message
    assert problem.span is not None
    lines = (HERE / problem.span.path).read_text(encoding="utf-8").splitlines()
    assert "# here" in lines[problem.span.line - 1]


class LeavesForSome(Waits):
    """Ends its process for one spec that the schema accepts."""

    async def reconcile(self, request: Request) -> None:
        """Leave, or work."""
        animal = await self.client.find(Animal, request)
        if animal is not None and animal.spec.count == SAMPLE["spec"]["count"] + 1:
            os._exit(3)  # here
        await super().reconcile(request)


def test_what_ends_the_process_for_some_specs_is_a_finding_with_its_line():
    """In a cluster, the operator starts again and again then, and does nothing for anybody."""
    subject = Subject(lambda manager: LeavesForSome(manager.client).setup(manager), CRDS, [SAMPLE], root=HERE)
    [finding] = Explorer(subject, only=["explore-history", "explore-bug"], histories=20).run().findings
    assert finding.message == "the process ends, though the schema accepts `spec.count = 3`: SystemExit: 3"
    assert finding.span is not None
    lines = (HERE / finding.span.path).read_text(encoding="utf-8").splitlines()
    assert "# here" in lines[finding.span.line - 1]


class LeavesInTask(Waits):
    """Ends its process in a task that nobody waits for."""

    async def wait(self) -> None:
        """Start it."""
        asyncio.get_running_loop().call_soon(sys.exit, 3)
        await asyncio.sleep(1)


def test_what_ends_the_process_later_is_a_finding():
    """It has no line if none of the operator's lines did it."""
    [finding] = explored(LeavesInTask).findings
    assert finding.message.endswith("it ends the process")
