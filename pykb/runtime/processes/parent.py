"""The parent: it starts the processes, keeps them running, and speaks for all of them.

Counters and histograms of a process that has ended stay in the sums of metrics. Otherwise they would fall, and
Prometheus would take that for a restart and count everything again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from pykb.runtime._metrics import Metrics
from pykb.runtime.clock import Clock
from pykb.runtime.manager._program import StopSignals, run_program
from pykb.runtime.manager._runnables import RunnableGroup, unless
from pykb.runtime.manager._servers import Checks, Servers
from pykb.runtime.manager.options import ManagerOptions
from pykb.runtime.manager.watchdog import MARGIN, Ending
from pykb.runtime.processes.channel import HEALTHY, METRICS, READY, Channel, Place

logger = logging.getLogger(__name__)

ANSWER_LIMIT = timedelta(seconds=8)
"""How long a process may take to answer. It is less than the limit of a check."""

FIRST_PAUSE = timedelta(seconds=1)
LONGEST_PAUSE = timedelta(seconds=60)
"""Pauses before a process is started again. Each is twice as long as the one before."""

SETTLED = timedelta(minutes=10)
"""After this time, the next pause is the first one again. The kubelet's limit for containers."""

READY_INTERVAL = timedelta(milliseconds=500)

_STOPPED = (0, -signal.SIGTERM)  # the latter if it had not yet come to its handlers


class Parent:
    """Runs a program as several processes."""

    def __init__(
        self,
        options: ManagerOptions,
        servers: Callable[[Metrics, Sequence[Checks]], Servers],
        clock: Clock,
    ) -> None:
        """Prepare the parent.

        Args:
            options: The options of the program.
            servers: Makes the servers for probes and metrics.
            clock: Measures the pauses.
        """
        self._grace = options.graceful_shutdown_timeout + MARGIN
        self._clock = clock
        self._processes = [_Process(number) for number in range(1, options.processes + 1)]
        metrics = SummedMetrics(self._scrapes)
        self._restarts = [metrics.restarts.labels(process.name) for process in self._processes]
        metrics.running.set_function(lambda: sum(process.channel is not None for process in self._processes))
        healthz, readyz = Checks("/healthz"), Checks("/readyz")
        healthz.add("processes", lambda: self._all_say(HEALTHY))
        readyz.add("processes", lambda: self._all_say(READY))
        self._servers = servers(metrics, (healthz, readyz))
        self._ending = Ending()
        self._stopping = asyncio.Event()
        self._was_ready = False
        self._code = 0
        self._failure: BaseException | None = None

    def run(self) -> None:
        """Run until SIGTERM or Ctrl-C.

        Raises:
            SystemExit: A process could not start, or did not stop in order.
        """
        run_program(self._main, self._ending, logger)
        if self._code:
            raise SystemExit(self._code)

    async def _main(self) -> None:
        signals = StopSignals(self._stopping, self._ending, self._grace, dump=self._dump)
        signals.install()
        servers = RunnableGroup("servers", self._fail)
        self._servers.add_to(servers)
        servers.start()
        logger.info("starting", extra={"processes": len(self._processes)})
        try:
            async with asyncio.TaskGroup() as tasks:
                for process in self._processes:
                    tasks.create_task(self._keep(process))
        finally:
            await servers.stop(asyncio.get_running_loop().time() + MARGIN.total_seconds())
            signals.release()
        if self._failure is not None:
            raise self._failure

    async def _keep(self, process: _Process) -> None:
        """Start a process, and start it again whenever it dies, until the program stops."""
        pause = FIRST_PAUSE
        while not self._stopping.is_set():
            began = self._clock.now()
            code = await self._run_one(process)
            if self._stopping.is_set():
                self._code = self._code or (code not in _STOPPED)
                return
            if code == 0 or not self._was_ready:
                # The program has ended by itself, or cannot start: no other attempt would be better.
                self._code = self._code or _exit_code(code)
                self._stopping.set()
                return
            if self._clock.now() - began > SETTLED.total_seconds():
                pause = FIRST_PAUSE
            seconds = pause.total_seconds()
            logger.error("process ended", extra={"member": process.name, "code": code, "restart_in_seconds": seconds})
            self._restarts[process.number - 1].inc()
            await unless(self._stopping, self._clock.sleep(pause))
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _run_one(self, process: _Process) -> int:
        """Run a process to its end and return its exit code."""
        running = await process.start()
        ended = asyncio.ensure_future(running.wait())
        watching = asyncio.ensure_future(self._watch_until_ready(process))
        try:
            await unless(self._stopping, asyncio.shield(ended))
            if not ended.done():
                with contextlib.suppress(ProcessLookupError):
                    running.terminate()
                await asyncio.wait({ended}, timeout=(self._grace + MARGIN).total_seconds())
            if not ended.done():
                logger.error("process killed: it did not stop", extra={"member": process.name})
                running.kill()
            return await ended
        finally:
            watching.cancel()
            process.leave()

    async def _watch_until_ready(self, process: _Process) -> None:
        while not self._was_ready:
            with contextlib.suppress(OSError):
                if await process.ask(READY):
                    self._was_ready = True
            await self._clock.sleep(READY_INTERVAL)

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
        self._stopping.set()

    def _dump(self, _: asyncio.AbstractEventLoop) -> None:
        for process in self._processes:
            process.signal(signal.SIGUSR1)

    # -- speaking for all

    async def _all_say(self, question: str) -> None:
        """Pass if each running process says yes. A process that is started again does not count."""
        running = [process for process in self._processes if process.channel is not None]
        answers = await asyncio.gather(*(process.ask(question) for process in running), return_exceptions=True)
        failed = [process.name for process, answer in zip(running, answers, strict=True) if answer is not True]
        if failed:
            raise RuntimeError(f"failed in process {', '.join(failed)}")
        if not running:
            raise RuntimeError("no process runs")

    async def _scrapes(self) -> list[Sums]:
        await asyncio.gather(*(process.scrape() for process in self._processes))
        return [sums for process in self._processes for sums in (process.before, process.last)]


class _Process:
    """One of the processes. Its number stays when it is started again."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.name = str(number)
        self.channel: Channel | None = None
        self._running: asyncio.subprocess.Process | None = None
        self.before, self.last = Sums(), Sums()
        """The counts of those that have ended, and the last scrape."""

    async def start(self) -> asyncio.subprocess.Process:
        """Start the program once more, with the same arguments."""
        own, theirs = socket.socketpair()
        with theirs:
            self._running = await asyncio.create_subprocess_exec(
                sys.executable,
                *sys.orig_argv[1:],
                env=os.environ | Place(self.number, theirs.fileno()).environment(),
                pass_fds=(theirs.fileno(),),
                # Ctrl-C in a terminal reaches only the parent. It stops the others in order.
                start_new_session=True,
            )
        self.channel = await Channel.open(own)
        return self._running

    def leave(self) -> None:
        """Forget a process that has ended."""
        self._running = None
        if self.channel is not None:
            self.channel.close()
            self.channel = None
        self.before.add_counted(self.last.collect())
        self.last = Sums()

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        if self._running is not None:
            with contextlib.suppress(ProcessLookupError):
                self._running.send_signal(number)

    async def ask(self, question: str) -> object:
        """Ask it.

        Raises:
            OSError: It does not run, or does not answer.
        """
        if self.channel is None:
            raise ConnectionResetError("the process does not run")
        return await self.channel.ask(question, ANSWER_LIMIT)

    async def scrape(self) -> None:
        """Read its metrics. If it does not answer, the last ones stay."""
        try:
            text = await self.ask(METRICS)
        except OSError:
            return
        sums = Sums()
        sums.add(str(text))
        self.last = sums


class SummedMetrics(Metrics):
    """The metrics of the parent and of all processes."""

    def __init__(self, scrapes: Callable[[], Awaitable[Iterable[Sums]]]) -> None:
        """Make the metrics. ``scrapes`` returns what the processes have counted."""
        super().__init__()
        self._scrapes = scrapes
        self.restarts = Counter(
            "pykb_process_restarts",
            "Processes started again",
            ["process"],
            registry=self.registry,
        )
        self.running = Gauge("pykb_processes", "Processes that run", registry=self.registry)

    async def scrape(self) -> tuple[bytes, str]:
        """Return the sums and the content type."""
        sums = Sums()
        sums.add(self.render()[0].decode())
        for each in await self._scrapes():
            sums.add_all(each.collect())
        registry = CollectorRegistry()
        registry.register(sums)
        return generate_latest(registry), CONTENT_TYPE_LATEST


def _exit_code(code: int) -> int:
    """The exit code of a program whose process has ended with this code. A signal's is negative."""
    return code if code >= 0 else 128 - code


Label = tuple[tuple[str, str], ...]
_COUNTED = ("counter", "histogram", "summary")

# Gauges are added, but not these.
_OTHERWISE: dict[str, Callable[[float, float], float]] = {
    "leader_election_master_status": max,
    "process_max_fds": max,
    "process_start_time_seconds": min,
    "pykb_certificate_expiration_timestamp_seconds": min,
    "pykb_shard_members": max,
    "pykb_watch_silence_seconds": max,
    "python_info": max,
    "workqueue_longest_running_processor_seconds": max,
}


@dataclass(slots=True)
class _Family:
    documentation: str
    type: str
    values: dict[tuple[str, Label], float] = field(default_factory=dict)


class Sums(Collector):
    """The sum of several scrapes."""

    def __init__(self) -> None:
        self._families: dict[str, _Family] = {}

    def add(self, text: str) -> None:
        """Add a scrape in Prometheus' text format."""
        self.add_all(text_string_to_metric_families(text))

    def add_all(self, metrics: Iterable[Metric]) -> None:
        """Add metrics."""
        for metric in metrics:
            self._add(metric)

    def add_counted(self, metrics: Iterable[Metric]) -> None:
        """Add what only grows: counters, histograms and summaries."""
        self.add_all(metric for metric in metrics if metric.type in _COUNTED)

    def _add(self, metric: Metric) -> None:
        family = self._families.setdefault(metric.name, _Family(metric.documentation, metric.type))
        for sample in metric.samples:
            key = (sample.name, tuple(sample.labels.items()))
            before = family.values.get(key)
            family.values[key] = sample.value if before is None else _combined(sample.name)(before, sample.value)

    def collect(self) -> Iterator[Metric]:
        """Return the sums."""
        for name, family in self._families.items():
            metric = Metric(name, family.documentation, family.type)
            for (sample, labels), value in family.values.items():
                metric.add_sample(sample, dict(labels), value)
            yield metric


def _combined(name: str) -> Callable[[float, float], float]:
    if name.endswith("_created"):  # when a counter began
        return min
    return _OTHERWISE.get(name, _plus)


def _plus(one: float, other: float) -> float:
    return one + other
