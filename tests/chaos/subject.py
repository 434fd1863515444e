"""An operator under test: a process, kept alive as a kubelet would, that can be killed, frozen and asked."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from datetime import timedelta
from pathlib import Path

import aiohttp

from pykb.envtest.components import Component
from pykb.envtest.processes import Processes
from pykb.testing import eventually
from tests.chaos.journal import Journal, JournalReader, Line

ROOT = Path(__file__).parents[2]
LONG = timedelta(seconds=60)
ERRORS = "controller_runtime_reconcile_errors_total"
TIMEOUTS = "controller_runtime_reconcile_timeouts_total"


class Subject:
    """One replica of the operator.

    Args:
        name: Of the replica; names its files.
        folder: Where its journal and its log are.
        arguments: Of the program.
        clock: A file that holds by how many seconds its wall clock is off.
    """

    def __init__(self, name: str, folder: Path, arguments: list[str], clock: Path | None = None) -> None:
        self.name = name
        self.restarts = 0
        """How often it ended by itself and was started again."""
        self._journal = folder / f"{name}.journal"
        self._reader = JournalReader(self._journal)
        self._log = folder / f"{name}.log"
        module = (
            ["tests.chaos.program"] if clock is None else ["tests.chaos.jumping", str(clock), "tests.chaos.program"]
        )
        argv = [sys.executable, "-m", *module, "--journal", str(self._journal), "--log-format=json", *arguments]
        argv += ["--metrics-bind-address=127.0.0.1:0", "--metrics-secure=false", "--health-probe-bind-address=0"]
        self._component = Component(name, tuple(argv), self._log, ROOT)
        self._processes = Processes()
        self.timeouts = 0
        """How many reconciles took too long, by the metrics when they were last read."""
        self._uncounted: dict[int, int] = {}
        self._killed: set[int] = set()
        self._keeper: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start it, and keep it running from now on."""
        self._processes.start(self._component)
        self._keeper = asyncio.create_task(self._keep())

    async def ready(self) -> None:
        """Wait until the caches of the process that runs now are warm."""
        try:
            await eventually(lambda: self._port() is not None, timeout=LONG)
        except AssertionError as error:
            said = self._log.read_text(encoding="utf-8", errors="replace")
            raise AssertionError(f"{self.name} is not ready; it said last:\n{said[-2000:]}") from error

    @property
    def pid(self) -> int:
        """Of the process that runs now; 0 when none does."""
        return self._processes.state().running.get(self.name, 0)

    @property
    def lines(self) -> list[Line]:
        """The journal of all its processes."""
        return self._reader.lines

    def kill(self) -> None:
        """End it the hard way; it is started again."""
        pid = self.pid
        self._killed.add(pid)
        self._processes.signal(self.name, signal.SIGKILL)
        Journal(self._journal).note("killed", pid=pid)

    def freeze(self) -> None:
        """Have the system give it no time."""
        pid = self.pid
        self._processes.signal(self.name, signal.SIGSTOP)
        Journal(self._journal).note("frozen", pid=pid)

    def thaw(self) -> None:
        """Let it go on."""
        self._processes.signal(self.name, signal.SIGCONT)

    async def terminate(self) -> int:
        """Ask it to end, as Kubernetes does, and wait; gives the exit code. It is not started again."""
        await self.count()
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait({self._keeper})
        self._processes.signal(self.name, signal.SIGTERM)
        await eventually(lambda: not self.pid, timeout=LONG)
        return self._processes.state().exited[self.name]

    def close(self) -> None:
        """End whatever still runs."""
        if self._keeper is not None:
            self._keeper.cancel()
        self._processes.close()

    async def count(self) -> None:
        """Compare the journal with the log and with the metrics of the process that runs now."""
        port, pid = self._port(), self.pid
        if port is None:
            return
        noted = sum(line.do == "raise" and line.pid == pid for line in self.lines)
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/metrics") as response:
            text = await response.text()
        self.timeouts = _value(text, TIMEOUTS)
        # A timeout is the controller's error, not one that the reconciler raised.
        self._uncounted[pid] = max(0, noted - (_value(text, ERRORS) - self.timeouts))

    @property
    def errors(self) -> int:
        """How many reconciles raised."""
        return sum(line.do == "raise" for line in self.lines)

    @property
    def unreported(self) -> int:
        """How many of them are missing in the log, or were in the metrics."""
        logged = 0
        for text in self._log.read_text(encoding="utf-8", errors="replace").splitlines():
            line = json.loads(text) if text.startswith("{") else {}
            if line.get("msg", "").startswith("reconcile failed"):
                logged += not line["error"].startswith("ReconcileTimeout")
        # A process that was killed may not have come to log what it had just noted.
        return max(0, self.errors - logged - len(self._killed)) + sum(self._uncounted.values())

    def _port(self) -> int | None:
        pid = self.pid
        return next((int(line.about) for line in self.lines if line.do == "ready" and line.pid == pid), None)

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(0.1)
            if not self.pid:
                self.restarts += 1
                self._processes.start(self._component)


def _value(metrics: str, name: str) -> int:
    return sum(int(float(line.split()[-1])) for line in metrics.splitlines() if line.startswith(name))
