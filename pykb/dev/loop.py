"""The loop: generate, apply, run, and again after every change. Errors in edited files do not end it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from enum import StrEnum
from typing import Protocol

from pykb.dev._webhooks import SWITCH, LocalWebhooks, is_wanted
from pykb.dev.project import DevProject, next_change, shown
from pykb.dev.target import Target
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.render import render
from pykb.envtest.assets import find_assets
from pykb.envtest.cache import CONTROLLER_MANAGER
from pykb.envtest.components import Component
from pykb.envtest.processes import Processes
from pykb.tools.process import describe_exit

MANAGER = "manager"
BUILD = "build"
STOP_GRACE = timedelta(seconds=10)
POLL_SECONDS = 0.2
SERVING_SOON = timedelta(seconds=10)
"""How long a started manager may take to serve its webhooks before the loop reports it."""


class Source(StrEnum):
    """The source of a line."""

    PYKB = "pykb"
    GENERATE = "generate"
    MANAGER = "manager"


class Output(Protocol):
    """Shows lines. The command line implements it."""

    def line(self, source: Source, text: str) -> None:
        """Show one line, which may contain ANSI colours of the program that wrote it."""

    def error(self, text: str) -> None:
        """Show a diagnostic, which may be several lines."""


class DevLoop:
    """Restarts a manager whenever its files change.

    Invariant: at most one manager runs, and it was started from code whose manifests were generated and applied. When
    generating fails, the running manager continues.
    """

    def __init__(
        self,
        project: DevProject,
        target: Target,
        output: Output,
        *,
        arguments: tuple[str, ...],
        colour: bool,
    ) -> None:
        self._project = project
        self._target = target
        self._output = output
        self._arguments = arguments
        self._colour = colour
        self._stop = asyncio.Event()
        self._applied = ""
        self._runs = False
        self._webhooks = LocalWebhooks(project, target.kubeconfig) if target.is_local else None
        self._told_of_webhooks = False
        self._serving: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Loop until SIGINT, SIGTERM or SIGHUP. Ends everything that it started."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._stop.set)
        self._processes = Processes(output=True)
        tasks = [asyncio.create_task(work()) for work in (self._follow_files, self._show_output, self._watch_manager)]
        if self._target.own is not None and not self._target.own.has_controller_manager:
            tasks.append(asyncio.create_task(self._add_controller_manager()))
        stopping = asyncio.create_task(self._stop.wait())
        try:
            done, _ = await asyncio.wait({stopping, *tasks[:1]}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()  # re-raise internal errors
        finally:
            self._output.line(Source.PYKB, "stopping")
            self._runs = False
            await self._take_back_webhooks()
            await asyncio.to_thread(self._processes.stop, (MANAGER, BUILD), grace=STOP_GRACE)
            await asyncio.to_thread(self._processes.close)
            await tasks[1]  # the last output of the manager
            for task in (stopping, *tasks):
                task.cancel()
            await asyncio.gather(stopping, *tasks, return_exceptions=True)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)

    # -- following the files

    async def _follow_files(self) -> None:
        watched = self._project.watched
        known = watched.stamps()
        await self._attempt(self._renew)
        while True:
            paths, known = await next_change(watched, known)
            self._output.line(Source.PYKB, f"changed: {shown(paths, self._project.root)}")
            await self._attempt(self._renew)

    async def _attempt(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do the work and show environment problems. The next change starts another attempt."""
        try:
            await work()
        except EnvironmentProblem as problem:
            self._output.error(render([problem.diagnostic], colour=self._colour))
            self._output.line(Source.PYKB, "waiting for a change")

    async def _renew(self) -> None:
        if not await self._generate():
            state = "the manager still runs the previous code" if self._runs else "no manager runs"
            self._output.line(Source.PYKB, f"nothing was generated; {state}; waiting for a change")
            return
        digest = self._project.crds_digest()
        if digest != self._applied:
            folder = self._project.crds  # a project with only external kinds has none
            names = await asyncio.to_thread(self._target.install, folder) if folder.is_dir() else []
            self._applied = digest
            for name in names:
                self._output.line(Source.PYKB, f"installed {name}")
        if self._webhooks is not None:
            for line in await asyncio.to_thread(list, self._webhooks.renew(digest)):
                self._output.line(Source.PYKB, line)
        await self._restart_manager()

    async def _generate(self) -> bool:
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        if self._colour:
            environment["FORCE_COLOR"] = "1"
        process = await asyncio.create_subprocess_exec(
            *self._project.generate_command,
            cwd=self._project.root,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            written, _ = await process.communicate()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        for line in written.decode("utf-8", "replace").splitlines():
            self._output.line(Source.GENERATE, line)
        return process.returncode == 0

    # -- the manager

    async def _restart_manager(self) -> None:
        self._runs = False
        await asyncio.to_thread(self._processes.stop, (MANAGER,), grace=STOP_GRACE)
        flags = () if self._webhooks is None else self._webhooks.flags()
        command = self._project.manager_command(self._arguments, flags)
        environment = {"KUBECONFIG": str(self._target.kubeconfig), "PYTHONUNBUFFERED": "1"}
        if self._webhooks is None:
            environment[SWITCH] = "false"
            self._tell_that_webhooks_are_off()
        self._processes.start_piped(MANAGER, command, folder=self._project.root, env=environment)
        self._runs = True
        self._output.line(Source.PYKB, "manager started")
        if self._serving is not None:
            self._serving.cancel()
        self._serving = asyncio.create_task(self._await_webhooks()) if flags else None

    async def _watch_manager(self) -> None:
        """Report when the manager ends by itself."""
        while True:
            code = await self._end_of(MANAGER)
            if self._runs:
                self._runs = False
                if self._serving is not None:
                    self._serving.cancel()  # an ended manager serves nothing, so there is nothing to report
                self._output.line(
                    Source.PYKB, f"the manager ended with {describe_exit(code)}; a change starts it again"
                )
                if self._webhooks is not None and self._webhooks.url:
                    self._output.line(
                        Source.PYKB, "until then the API server refuses requests that its webhooks would check"
                    )

    async def _end_of(self, name: str) -> int:
        """Wait until a process ends by itself. Returns its exit code."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if name == MANAGER and not self._runs:
                continue
            exited = (await asyncio.to_thread(self._processes.state)).exited
            if name in exited:
                return exited[name]

    async def _show_output(self) -> None:
        """Show the manager's output until the supervisor closes the pipe."""
        descriptor = self._processes.output
        if descriptor is None:
            return
        reader = asyncio.StreamReader(limit=1 << 20)
        pipe = os.fdopen(descriptor, "rb", buffering=0)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        try:
            while line := await _read_line(reader):
                self._output.line(Source.MANAGER, line.decode("utf-8", "replace").rstrip("\r\n"))
        finally:
            transport.close()

    # -- its webhooks

    def _tell_that_webhooks_are_off(self) -> None:
        if not self._told_of_webhooks and is_wanted(self._project):
            self._told_of_webhooks = True
            self._output.line(
                Source.PYKB,
                f"webhooks are off ({SWITCH}=false): a cluster that is not local cannot call this machine",
            )

    async def _await_webhooks(self) -> None:
        """Report when the webhooks answer, and which are missing.

        Until then, the API server refuses matching requests.
        """
        webhooks = self._webhooks
        if webhooks is None:
            return
        try:
            async with asyncio.timeout(SERVING_SOON.total_seconds()):
                await _until_answered(webhooks)
        except TimeoutError:
            await self._tell_unserved(webhooks)  # the manager may not serve any webhooks
            await _until_answered(webhooks)
        self._output.line(Source.PYKB, f"webhooks are served at {webhooks.url}")
        await self._tell_unserved(webhooks)

    async def _tell_unserved(self, webhooks: LocalWebhooks) -> None:
        with contextlib.suppress(EnvironmentProblem):  # a problem of the manifest was reported when it was installed
            for diagnostic in await asyncio.to_thread(webhooks.unserved):
                self._output.error(render([diagnostic], colour=self._colour))

    async def _take_back_webhooks(self) -> None:
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.gather(self._serving, return_exceptions=True)
        if self._webhooks is not None:
            with contextlib.suppress(EnvironmentProblem):  # the control plane may have ended first
                await asyncio.to_thread(self._webhooks.close, stays=self._target.own is None)

    # -- the controller manager

    async def _add_controller_manager(self) -> None:
        """Get the controller manager in the background and start it.

        It is fetched in its own process group, which ends with the loop.
        """
        own = self._target.own
        if own is None:
            return
        self._output.line(
            Source.PYKB,
            "getting the missing kube-controller-manager; until then no garbage collection, no pods of Deployments, "
            "namespaces stay Terminating",
        )
        command = (sys.executable, "-m", "pykb", "envtest", "use")
        log = own.layout.log(BUILD)
        self._processes.start(Component(BUILD, command, log, self._project.root))
        code = await self._end_of(BUILD)
        found = find_assets() if code == 0 else None
        if found is None or found.kube_controller_manager is None:
            last = (own.log(BUILD).strip().splitlines() or [""])[-1]
            self._output.line(Source.PYKB, f"kube-controller-manager cannot be obtained: {last}")
            return
        await asyncio.to_thread(own.start_controller_manager, found.kube_controller_manager)
        self._output.line(Source.PYKB, f"{CONTROLLER_MANAGER} started")


async def _until_answered(webhooks: LocalWebhooks) -> None:
    while True:
        if await asyncio.to_thread(webhooks.answers):
            return
        await asyncio.sleep(POLL_SECONDS)


async def _read_line(reader: asyncio.StreamReader) -> bytes:
    """One line, or a part of a very long line."""
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        return error.partial
    except asyncio.LimitOverrunError as error:
        return await reader.read(error.consumed or 1)
