"""The loop: generate, apply, run, and again after every change. Errors in edited files do not end it."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import socket
import ssl
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from pykb._regular_file import read_bytes, real_path
from pykb.client.ending import end_tasks
from pykb.deployment.apply import apply_all
from pykb.deployment.manifests import as_deployed, is_converted
from pykb.dev._exploring import Explored, explore
from pykb.dev._signals import interrupted
from pykb.dev.page.history import History, received
from pykb.dev.page.objects import Cluster as PageCluster
from pykb.dev.page.recording import recorded
from pykb.dev.page.server import Page, Workbench
from pykb.dev.project import DevProject, next_change, shown, within
from pykb.diagnostics import Diagnostic, EnvironmentProblem
from pykb.diagnostics.codes.environment import DEV_RUNNING, RECORDING
from pykb.diagnostics.render import render
from pykb.envtest.assets import find_assets, get_assets
from pykb.envtest.cache import CONTROLLER_MANAGER
from pykb.envtest.cluster import Cluster
from pykb.envtest.components import LOOPBACK, Component, new_sockets, remove_sockets, write_serving_certificate
from pykb.envtest.control_plane import ControlPlane, ExistingCluster
from pykb.envtest.crds import (
    Converted,
    clear_conversions,
    install_conversions,
    install_crds,
    read_crds,
    remove_conversions,
)
from pykb.envtest.processes import Processes
from pykb.envtest.reporter import Reporter, Silent
from pykb.envtest.rest import Rest
from pykb.envtest.webhooks import Serving, WebhookManifest, install_webhooks, installed_with, remove_webhooks
from pykb.files.state import opened
from pykb.meta.gvk import GroupKind
from pykb.project import FILE_NAME
from pykb.project.settings import config_path
from pykb.runtime.manager.manager import RECORDS
from pykb.runtime.options import FALSE
from pykb.tools.kubectl import Kubectl
from pykb.tools.process import describe_exit

# The cluster that the manager works on: a new control plane, the project's background cluster, or a real cluster.


CRD_TIMEOUT = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class LocalTarget:
    """A control plane that pykb started.

    Attributes:
        title: The name of this cluster, for people.
        kubeconfig: The kubeconfig of the cluster.
        own: The control plane, if it ends with the loop.
        is_local: Whether its API server runs on this machine and can call webhooks here.
    """

    title: str
    kubeconfig: Path
    own: ControlPlane | None = None
    is_local: bool = True

    def install(self, crds: Path) -> list[str]:
        """Apply the definitions of a folder and wait until they are served; returns their names."""
        return install_crds(Rest.from_kubeconfig(self.kubeconfig), [crds], timeout=CRD_TIMEOUT)


@dataclass(frozen=True, slots=True)
class RealTarget:
    """An existing cluster; see :class:`LocalTarget`.

    kubectl applies the definitions, since it supports every kind of login.
    """

    title: str
    kubeconfig: Path
    kubectl: Kubectl
    own: None = None
    is_local: bool = False

    def install(self, crds: Path) -> list[str]:
        """Apply the definitions of a folder and wait until they are established; returns their names."""
        definitions = {definition["metadata"]["name"]: definition for _, definition in read_crds([crds])}
        root = next((folder for folder in crds.parents if (folder / FILE_NAME).is_file()), crds.parents[2])
        if any(map(is_converted, definitions.values())) and config_path(root, "default").is_dir():
            definitions |= {each["metadata"]["name"]: each for each in as_deployed(root, set(definitions))}
        names = list(definitions)
        if names:
            apply_all(self.kubectl, list(definitions.values()), Silent())
        return names


Target = LocalTarget | RealTarget
"""A cluster for the loop."""


@contextlib.contextmanager
def open_target(root: Path, kubeconfig: Path | None, reporter: Reporter) -> Iterator[Target]:
    """Open the cluster of ``kubeconfig``, else the project's running background cluster, else a new control plane.

    A new control plane writes its kubeconfig to the same path in every run, so that KUBECONFIG in another shell stays
    valid.

    Raises:
        EnvironmentProblem: The cluster cannot be reached or started, or another loop runs one in this project.
    """
    if kubeconfig is not None:
        cluster = ExistingCluster(kubeconfig.absolute())
        yield RealTarget(cluster.url, cluster.kubeconfig, Kubectl.find(kubeconfig=cluster.kubeconfig))
        return
    background = Cluster(root / ".pykb" / "cluster").status()
    if background.complete:
        yield LocalTarget(f"the cluster of `pykb cluster up`, {background.url}", background.kubeconfig)
        return
    with _only_one(root):
        assets = get_assets(reporter=reporter)
        # True even before the controller manager is available: it is added while the loop runs.
        with ControlPlane(assets=assets, controller_manager=True, reporter=reporter) as control_plane:
            with opened(root, "dev") as folder:
                folder.put("kubeconfig", control_plane.kubeconfig.read_bytes())
                stable = folder.path / "kubeconfig"
            try:
                yield LocalTarget(f"a control plane of its own, {control_plane.url}", stable, control_plane)
            finally:
                with contextlib.suppress(OSError), opened(root) as state:
                    state.remove_tree("dev")


@contextlib.contextmanager
def _only_one(root: Path) -> Iterator[None]:
    """Hold the lock that allows one loop with its own control plane per project.

    The system frees the lock if this process dies.
    """
    with opened(root) as state, state.lock("dev.lock") as free:
        if not free:
            helps = ("stop the other one", "or use one cluster for both: `pykb cluster up`")
            raise DEV_RUNNING.problem("`pykb dev` already runs in this project, with its own control plane", *helps)
        yield


MANAGER = "manager"
BUILD = "build"
STOP_GRACE = timedelta(seconds=10)
POLL_SECONDS = 0.2
_MOST_CHANGED = 20
_MOST_LINES = 20
"""Lines of the manager's output that the page shows when it has ended."""

_LONGEST_LINE = 2000
SERVING_SOON = timedelta(seconds=10)
"""How long a started manager may take to serve its webhooks before the loop reports it."""


class Source(StrEnum):
    """The source of a line."""

    PYKB = "pykb"
    GENERATE = "generate"
    MANAGER = "manager"
    EXPLORE = "explore"


class Output(Protocol):
    """Shows lines. The command line implements it."""

    def line(self, source: Source, text: str) -> None:
        """Show one line, which may contain ANSI colours of the program that wrote it."""

    def error(self, text: str) -> None:
        """Show a diagnostic, which may be several lines."""


@dataclass(eq=False)
class DevLoop:
    """Restarts a manager whenever its files change.

    Invariant: at most one manager runs, and it was started from code whose manifests were generated and applied. When
    generating fails, the running manager continues.

    Attributes:
        project: The project.
        target: The cluster.
        output: Shows what happens.
        arguments: Flags for the manager.
        colour: Whether to colour diagnostics.
        port: The port of the page; 0 is a free one. ``None`` is no page.
        record: A new file that gets what the page shows.
        explores: Whether to run the explorer after each start of the manager.
        editor: The address that opens a file in the user's editor, with ``{path}`` and ``{line}``.
    """

    project: DevProject
    target: Target
    output: Output
    arguments: tuple[str, ...]
    colour: bool
    port: int | None = None
    record: Path | None = None
    explores: bool = False
    editor: str = ""

    def __post_init__(self) -> None:
        """Prepare the state of the loop. Nothing runs yet."""
        self._history = History(project=self.project.package, cluster=self.target.title, editor=self.editor)
        self._records = ""
        self._began = time.monotonic()
        self._changed: list[str] = []
        self._installed: list[str] = []
        self._last_lines: deque[str] = deque(maxlen=_MOST_LINES)
        self._one_at_a_time = asyncio.Lock()
        self._applied = ""
        self._runs = False
        self._webhooks = LocalWebhooks(self.project, self.target.kubeconfig) if self.target.is_local else None
        self._told_of_webhooks = False
        self._serving: asyncio.Task[None] | None = None
        self._exploring: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Loop until SIGINT, SIGTERM or SIGHUP. Ends everything that it started.

        Raises:
            EnvironmentProblem: The port of the page is in use, or the file for the recording exists or cannot be made.
        """
        async with contextlib.AsyncExitStack() as stack:
            if self.port is not None:
                await self._open_page(stack, self.port)
            if self.record is not None:
                self._check_not_watched(self.record)
                stack.enter_context(recorded(self._history, self.record, self._say_recording_ended))
                self._say(f"recording to {self.record}")
            await self._loop()

    def _check_not_watched(self, record: Path) -> None:
        places = self.project.watched.places
        if any(real_path(record).is_relative_to(real_path(place)) for place in places):
            where = os.path.relpath(record.parent, self.project.root)
            message = f"a recording in `{where}` would restart the manager with each of its lines"
            raise RECORDING.problem(message, "record to a file in another folder")

    def _say_recording_ended(self, reason: str) -> None:
        self._say(f"the recording has ended: {self.record}: {reason}")

    async def _open_page(self, stack: contextlib.AsyncExitStack, port: int) -> None:
        page = Page(
            history=self._history,
            cluster=PageCluster(lambda: Rest.from_kubeconfig(self.target.kubeconfig)),
            kinds=self.project.kinds,
            workbench=Workbench(
                samples=config_path(self.project.root, "samples"),
                root=self.project.root,
                restart=lambda: self._attempt(self._restart_manager),
                schemas=self.project.schemas,
                is_read_only=not self.target.is_local,
            ),
            port=port,
        )
        url = await stack.enter_async_context(page.served())
        sockets = new_sockets()
        stack.callback(remove_sockets, sockets)
        await stack.enter_async_context(received(self._history, sockets / "records"))
        self._records = str(sockets / "records")
        self._say(f"page: {url}")

    async def _loop(self) -> None:
        with interrupted() as stop:
            await self._run_until(stop)

    async def _run_until(self, stop: asyncio.Event) -> None:
        self._processes = Processes(output=True)
        tasks = [asyncio.create_task(work()) for work in (self._follow_files, self._show_output, self._watch_manager)]
        if self.target.own is not None and not self.target.own.has_controller_manager:
            tasks.append(asyncio.create_task(self._add_controller_manager()))
        stopping = asyncio.create_task(stop.wait())
        try:
            done, _ = await asyncio.wait({stopping, *tasks[:1]}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()  # re-raise internal errors
        finally:
            self._say("stopping")
            self._runs = False
            await self._end_exploring()
            await self._take_back_webhooks()
            await asyncio.to_thread(self._processes.stop, (MANAGER, BUILD), grace=STOP_GRACE)
            await asyncio.to_thread(self._processes.close)
            await tasks[1]  # the last output of the manager
            await end_tasks(stopping, *tasks)

    def _say(self, text: str) -> None:
        self.output.line(Source.PYKB, text)

    def _note(self, state: str, reason: str = "") -> None:
        """Show on the page what became of the manager, and why."""
        log = [*self._last_lines] if state == "ended" else []
        told = {"at": time.time(), "state": state, "reason": reason, "log": log}
        told |= {"took": time.monotonic() - self._began, "files": self._changed, "crds": self._installed}
        self._changed, self._installed = [], []
        self._history.add("manager", told)

    # -- following the files

    async def _follow_files(self) -> None:
        watched = self.project.watched
        known = watched.stamps()
        await self._attempt(self._renew)
        while True:
            paths, known = await next_change(watched, known)
            self._say(f"changed: {shown(paths, self.project.root)}")
            self._changed = within(paths[:_MOST_CHANGED], self.project.root)
            await self._attempt(self._renew)

    async def _attempt(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do the work and show environment problems. The next change starts another attempt.

        One attempt runs at a time: the page may restart the manager while a change is followed.
        """
        try:
            async with self._one_at_a_time:
                self._began = time.monotonic()
                await work()
        except EnvironmentProblem as problem:
            self.output.error(render([problem.diagnostic], colour=self.colour))
            self._say("waiting for a change")
            self._note("waiting", problem.diagnostic.message)

    async def _renew(self) -> None:
        await self._end_exploring()
        if not await self._generate():
            state = "the manager still runs the previous code" if self._runs else "no manager runs"
            self._say(f"nothing was generated; {state}; waiting for a change")
            self._note("waiting", f"nothing was generated; {state}")
            return
        digest = self.project.crds_digest()
        if digest != self._applied:
            folder = self.project.crds  # a project with only external kinds has none
            names = await asyncio.to_thread(self.target.install, folder) if folder.is_dir() else []
            self._applied = digest
            for name in names:
                self._say(f"installed {name}")
            self._installed = names
        if self._webhooks is not None:
            for line in await asyncio.to_thread(list, self._webhooks.renew(digest)):
                self._say(line)
        await self._restart_manager()
        if self.explores:
            self._exploring = asyncio.create_task(self._explore())

    async def _explore(self) -> None:
        """Show what the explorer finds in the code that runs now."""
        self._history.add("findings", Explored("running").to_json())
        found = await explore(self.project, lambda: self._runs)
        if found is None:
            found = Explored("failed", message="the manager has ended")
        self._history.add("findings", found.to_json())
        for line in found.lines():
            self.output.line(Source.EXPLORE, line)

    async def _end_exploring(self) -> None:
        if self._exploring is not None:
            await end_tasks(self._exploring)
            self._exploring = None

    async def _generate(self) -> bool:
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        if self.colour:
            environment["FORCE_COLOR"] = "1"
        process = await asyncio.create_subprocess_exec(
            *self.project.generate_command,
            cwd=self.project.root,
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
            self.output.line(Source.GENERATE, line)
        return process.returncode == 0

    # -- the manager

    async def _restart_manager(self) -> None:
        self._runs = False
        await asyncio.to_thread(self._processes.stop, (MANAGER,), grace=STOP_GRACE)
        flags = () if self._webhooks is None else self._webhooks.flags()
        command = self.project.manager_command(self.arguments, flags)
        environment = {"KUBECONFIG": str(self.target.kubeconfig), "PYTHONUNBUFFERED": "1"}
        if self._webhooks is None:
            environment[SWITCH] = "false"
            self._tell_that_webhooks_are_off()
        if self._records:
            environment[RECORDS] = self._records
        self._last_lines.clear()
        self._processes.start_piped(MANAGER, command, folder=self.project.root, env=environment)
        self._runs = True
        self._say("manager started")
        self._note("started")
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
                self._say(f"the manager ended with {describe_exit(code)}; a change starts it again")
                self._note("ended", f"the manager ended with {describe_exit(code)}")
                if self._webhooks is not None and self._webhooks.url:
                    self._say("until then the API server refuses requests that its webhooks would check")

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
                text = line.decode("utf-8", "replace").rstrip("\r\n")
                self._last_lines.append(text[:_LONGEST_LINE])
                self.output.line(Source.MANAGER, text)
        finally:
            transport.close()

    # -- its webhooks

    def _tell_that_webhooks_are_off(self) -> None:
        if not self._told_of_webhooks and is_wanted(self.project):
            self._told_of_webhooks = True
            self._say(
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
        self._say(f"webhooks are served at {webhooks.url}")
        await self._tell_unserved(webhooks)

    async def _tell_unserved(self, webhooks: LocalWebhooks) -> None:
        with contextlib.suppress(EnvironmentProblem):  # a problem of the manifest was reported when it was installed
            for diagnostic in await asyncio.to_thread(webhooks.unserved):
                self.output.error(render([diagnostic], colour=self.colour))

    async def _take_back_webhooks(self) -> None:
        if self._serving is not None:
            await end_tasks(self._serving)
        if self._webhooks is not None:
            with contextlib.suppress(EnvironmentProblem):  # the control plane may have ended first
                await asyncio.to_thread(self._webhooks.close, stays=self.target.own is None)

    # -- the controller manager

    async def _add_controller_manager(self) -> None:
        """Get the controller manager in the background and start it.

        It is fetched in its own process group, which ends with the loop.
        """
        own = self.target.own
        if own is None:
            return
        self._say(
            "getting the missing kube-controller-manager; until then no garbage collection, no pods of Deployments, "
            "namespaces stay Terminating",
        )
        command = (sys.executable, "-m", "pykb", "envtest", "use")
        log = own.layout.log(BUILD)
        self._processes.start(Component(BUILD, command, log, self.project.root))
        code = await self._end_of(BUILD)
        found = find_assets() if code == 0 else None
        if found is None or found.kube_controller_manager is None:
            last = (own.log(BUILD).strip().splitlines() or [""])[-1]
            self._say(f"kube-controller-manager cannot be obtained: {last}")
            return
        await asyncio.to_thread(own.start_controller_manager, found.kube_controller_manager)
        self._say(f"{CONTROLLER_MANAGER} started")


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


_FOLDER = "webhooks"
PREFIX = "pykb-dev-"
"""The prefix of the configurations' names. It is stable, so that a new loop replaces those of a killed one."""

SWITCH = "ENABLE_WEBHOOKS"


@dataclass(slots=True)
class LocalWebhooks:
    """Keeps configurations and conversions in step with the project, and removes them at the end.

    Attributes:
        project: The project.
        kubeconfig: The control plane.
    """

    project: DevProject
    kubeconfig: Path
    _serving: Serving | None = None
    _folder: Path | None = None
    _port: int = 0
    _manifest: bytes | None = None
    _definitions: tuple[str, frozenset[GroupKind]] | None = None
    _converted: dict[str, Converted] = field(default_factory=dict)
    _held: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def wanted(self) -> bool:
        """Whether the project has webhooks that are enabled."""
        return is_wanted(self.project)

    @property
    def url(self) -> str:
        """The URL of their server; empty before it runs."""
        return self._serving.url if self._serving is not None else ""

    def flags(self) -> tuple[str, ...]:
        """The manager's flags for webhooks. Empty for a project without webhooks: its manager may not know them."""
        if not self.wanted:
            return ()
        self._prepare()
        return (
            f"--webhook-cert-path={self._folder}",
            f"--webhook-port={self._port}",
            f"--webhook-bind-host={LOOPBACK}",
        )

    def renew(self, installed: str) -> Iterator[str]:
        """Install the project's current webhooks. Yields a line for each change.

        Args:
            installed: Changes when the project's definitions were installed again.

        Raises:
            EnvironmentProblem: The manifest cannot be read, or the API server refuses something.
        """
        manifest = WebhookManifest.read(self.project.webhook_manifest)
        kinds = self.project.converted_kinds() if self.wanted else frozenset()
        text = read_bytes(manifest.file) if manifest.entries and self.wanted else b""
        rest = Rest.from_kubeconfig(self.kubeconfig)
        if self._manifest != text:
            configurations = manifest.configurations(self._prepare(), prefix=PREFIX) if text else []
            yield from self._renew_webhooks(rest, configurations)
            self._manifest = text
        if self._definitions != (installed, kinds):
            yield from self._renew_conversions(rest, kinds)
            self._definitions = (installed, kinds)

    def _renew_webhooks(self, rest: Rest, configurations: list[dict[str, Any]]) -> Iterator[str]:
        names = install_webhooks(rest, configurations)
        yield from (f"installed {name}" for name in names)
        old = [name for name in installed_with(rest, PREFIX) if name not in names]
        remove_webhooks(rest, old)
        yield from (f"removed {name}" for name in old)

    def _renew_conversions(self, rest: Rest, kinds: frozenset[GroupKind]) -> Iterator[str]:
        before = self._converted
        now = install_conversions(rest, kinds, self._prepare()) if kinds else []
        # A conversion that this loop set does not show what was there before.
        self._converted = {
            each.name: before[each.name] if each.is_renewed and each.name in before else each for each in now
        }
        yield from (f"installed the conversion of {name}" for name in self._converted if name not in before)
        gone = [each for name, each in before.items() if name not in self._converted]
        remove_conversions(rest, gone)
        first = self._definitions is None
        dead = clear_conversions(rest, but=self._converted.values()) if first else []  # left by a killed loop
        yield from (f"removed the conversion of {name}" for name in (*(each.name for each in gone), *dead))

    def unserved(self) -> list[Diagnostic]:
        """The findings for installed webhooks that the running manager does not serve."""
        # Paths are relative to the folder where the loop was started.
        manifest = WebhookManifest.read(Path(os.path.relpath(self.project.webhook_manifest)))
        return manifest.unserved({path for path in manifest.paths if self._is_served(path)})

    def answers(self) -> bool:
        """Whether the manager accepts connections."""
        with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, self._port), timeout=1):
            return True
        return False

    def close(self, *, stays: bool) -> None:
        """Remove everything.

        Args:
            stays: Whether the control plane continues to run.

        Raises:
            EnvironmentProblem: It does not answer.
        """
        try:
            if stays and self._serving is not None:
                rest = Rest.from_kubeconfig(self.kubeconfig)
                # Another loop on this control plane may have replaced them in the meantime.
                remove_webhooks(rest, installed_with(rest, PREFIX, url=self.url))
                remove_conversions(rest, self._converted.values())
        finally:
            if self._folder is not None:
                with contextlib.suppress(OSError), opened(self.project.root, _FOLDER) as folders:
                    folders.remove_tree(self._folder.name)
            self._held.close()

    def _prepare(self) -> Serving:
        if self._serving is None:
            with socket.socket() as free:
                free.bind((LOOPBACK, 0))
                self._port = free.getsockname()[1]
            self._folder = self._new_folder(self._port)
            authority = write_serving_certificate(self._folder, (LOOPBACK, "localhost"))
            self._serving = Serving.at(LOOPBACK, self._port, authority)
        return self._serving

    def _new_folder(self, port: int) -> Path:
        """A private folder for the certificate, locked while this process runs. Removes those of killed loops."""
        with opened(self.project.root, _FOLDER) as folders:
            for name in folders.names():
                with contextlib.suppress(OSError), folders.inner(name) as left, left.lock("lock") as free:
                    if free:
                        folders.remove_tree(name)
            folder = self._held.enter_context(folders.inner(str(port), make=0o700))
            self._held.enter_context(folder.lock("lock"))
            return folder.path

    def _is_served(self, path: str) -> bool:
        """Whether a GET gets any answer but "not found". A webhook refuses GET, which proves that it is served."""
        if self._serving is None:
            return False
        tls = ssl.create_default_context(cadata=self._serving.authority.decode("ascii"))
        connection = http.client.HTTPSConnection(LOOPBACK, self._port, context=tls, timeout=5)
        try:
            connection.request("GET", path)
            return connection.getresponse().status != http.client.NOT_FOUND
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def is_wanted(project: DevProject) -> bool:
    """Whether a project has webhooks that kubebuilder's variable does not disable."""
    if os.environ.get(SWITCH) in FALSE:
        return False
    return project.webhook_manifest.exists() or bool(project.converted_kinds())
