"""A control plane in the background. It runs after its command has ended, until somebody stops it.

Its folder has all of its files. The supervisor holds a lock on a file there while it runs, and the lock shows whether
the control plane runs. pykb never trusts an old process id, so it never ends a process of somebody else.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import CLUSTER_STATE
from pykb.envtest.assets import Assets
from pykb.envtest.cache import APISERVER, CONTROLLER_MANAGER, ETCD
from pykb.envtest.components import (
    Authority,
    Layout,
    fits_sockets,
    new_sockets,
    port_of,
    remove_sockets,
    reserve_port,
    start_problem,
)
from pykb.envtest.processes import PROGRAM, State, mentions, process_id
from pykb.envtest.reporter import Reporter, Silent
from pykb.envtest.rest import is_ready
from pykb.files.durable import Folder, naming
from pykb.files.state import STATE, UnusableError, check_owner, require_key, seal, unseal, user_state
from pykb.reading import read_json
from pykb.tools.process import describe_exit

NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
"""Valid names of clusters. The name becomes a folder."""

_FACTS, _KIND = "cluster.json", "cluster"
_MOST_BYTES = 64 * 1024
"""The longest facts that are read."""
POLL_SECONDS = 0.05
START_TIMEOUT = timedelta(seconds=60)
STOP_TIMEOUT = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts that do not change while a cluster runs. Their record proves that this user wrote it in this folder."""

    port: int
    sockets: str
    assets: str
    feature_gates: dict[str, bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a background cluster.

    Attributes:
        alive: Whether its supervisor runs.
        running: Its running components with their process ids.
        exited: Components that have ended, with their exit codes.
        url: URL of the apiserver; empty when it does not run.
        kubeconfig: The administrator's kubeconfig.
        assets: The folder of its programs; ``None`` when it does not run.
        feature_gates: The features of its apiserver that were switched on or off.
    """

    alive: bool
    running: dict[str, int]
    exited: dict[str, int]
    url: str
    kubeconfig: Path
    assets: Path | None = None
    feature_gates: Mapping[str, bool] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether etcd and the API server run."""
        return self.alive and {ETCD, APISERVER} <= set(self.running)

    @property
    def has_controller_manager(self) -> bool:
        """Whether kube-controller-manager runs."""
        return CONTROLLER_MANAGER in self.running


def named_folder(name: str) -> Path:
    """The folder of a cluster outside of projects, in the user's state folder."""
    return user_state() / "clusters" / name


class Cluster:
    """The background control plane of one folder. Any process may query, start or stop it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig, readable by this user only."""
        return self.folder / "kubeconfig"

    def status(self) -> Status:
        """Read the status. Does not change anything.

        Raises:
            EnvironmentProblem: It runs, but its state files cannot be read.
        """
        self._require_own()
        if not self._alive():
            return Status(alive=False, running={}, exited={}, url="", kubeconfig=self.kubeconfig)
        state, facts = self._state(), self._facts()
        return Status(
            alive=True,
            running=state.running,
            exited=state.exited,
            url=self._layout().server,
            kubeconfig=self.kubeconfig,
            assets=Path(facts.assets),
            feature_gates=facts.feature_gates,
        )

    def up(
        self,
        assets: Assets,
        *,
        controller_manager: bool = True,
        port: int = 0,
        feature_gates: Mapping[str, bool] | None = None,
        reporter: Reporter | None = None,
    ) -> Status:
        """Start it, or its ended components, and wait until the apiserver is ready. A running one keeps its port.

        Args:
            assets: The binaries.
            controller_manager: Whether to run kube-controller-manager, when ``assets`` has it.
            port: The apiserver's port; 0 for any free one.
            feature_gates: Features of the apiserver to switch on or off. A running one keeps its own.
            reporter: Gets the progress.

        Raises:
            EnvironmentProblem: A process did not start. The diagnostic quotes its log.
        """
        reporter = reporter or Silent()
        self._require_own()
        require_key("`pykb cluster down` would not know what it may stop and remove")
        with self._one_at_a_time():
            if self._alive():
                self._complete(assets, controller_manager=controller_manager)
                return self._wait(time.monotonic() + START_TIMEOUT.total_seconds())
            if (self.folder / _FACTS).exists():
                reporter.note("an earlier control plane ended without `pykb cluster down`; starting a new one")
            self._clear()
            step = reporter.step("start the control plane")
            try:
                self._launch(
                    assets, controller_manager=controller_manager, port=port, feature_gates=feature_gates or {}
                )
                status = self._wait(time.monotonic() + START_TIMEOUT.total_seconds())
            except BaseException:
                step.failed("it did not start")
                self._end(signal.SIGQUIT)  # a starting apiserver ignores SIGTERM, and there is no data to save
                raise
            step.done(status.url)
            return status

    def down(self) -> bool:
        """Stop it and remove its folder. Returns ``False`` when there was nothing to stop.

        Raises:
            EnvironmentProblem: It does not stop.
        """
        self._require_own()
        if not self.folder.exists():
            return False
        with self._one_at_a_time():
            was_alive = self._alive()
            self._end()
        return was_alive

    def log(self, component: str) -> Path:
        """The log file of a component."""
        return self.folder / "logs" / f"{component}.log"

    # -- starting

    def _launch(
        self, assets: Assets, *, controller_manager: bool, port: int, feature_gates: Mapping[str, bool]
    ) -> None:
        sockets = self.folder if fits_sockets(self.folder) else new_sockets()
        with contextlib.closing(reserve_port(port)) as reserved, self._open("alive") as alive:
            facts = Facts(port_of(reserved), str(sockets), str(assets.folder), dict(feature_gates))
            layout = Layout(self.folder, facts.port, sockets)
            with self._opened() as folder:
                Layout(folder.reached, facts.port, sockets).create(Authority())
            program = assets.kube_controller_manager if controller_manager else None
            components = [
                layout.etcd(assets.etcd),
                layout.apiserver(
                    assets.kube_apiserver,
                    service_account_admission=program is not None,
                    feature_gates=feature_gates,
                ),
            ]
            if program:
                components.append(layout.controller_manager(program))
            self._write("plan.json", [component.command() for component in components])
            with self._opened() as folder:
                folder.put(_FACTS, seal(_KIND, self.folder, folder, asdict(facts)))
            # The supervisor inherits both files, so it keeps the port and the lock until it ends.
            fcntl.flock(alive, fcntl.LOCK_EX)
            with self.log("supervisor").open("ab") as log:
                subprocess.run(  # returns at once: the supervisor continues in a detached fork
                    [sys.executable, "-I", "-S", PROGRAM, "--plan", self.folder / "plan.json"],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self.folder,
                    start_new_session=True,
                    pass_fds=(reserved.fileno(), alive.fileno()),
                    check=True,
                )

    def _complete(self, assets: Assets, *, controller_manager: bool) -> None:
        """Make the supervisor start missing components: ended ones, and a controller manager that is now available."""
        plan: list[dict[str, Any]] = self._read("plan.json")
        planned = {command["name"] for command in plan}
        running = self._state().running
        program = assets.kube_controller_manager if controller_manager else None
        if program and CONTROLLER_MANAGER not in planned:
            self._write("plan.json", [*plan, self._layout().controller_manager(program).command()])
            planned.add(CONTROLLER_MANAGER)
        if planned - set(running):
            rounds = self._read("state.json")["rounds"]
            os.kill(self._supervisor(), signal.SIGHUP)
            while self._alive() and self._read("state.json")["rounds"] == rounds:
                time.sleep(POLL_SECONDS)  # until then the state has the components that ended before

    def _wait(self, deadline: float) -> Status:
        while True:
            if not self._alive():
                raise self._failure("supervisor", "the control plane's supervisor ended while starting")
            state = self._state()
            for name in (ETCD, APISERVER):
                if name in state.exited:
                    code = describe_exit(state.exited[name])
                    raise self._failure(name, f"`{name}` ended with {code} while starting")
            if {ETCD, APISERVER} <= set(state.running) and is_ready(self.kubeconfig):
                return self.status()
            if time.monotonic() > deadline:
                seconds = START_TIMEOUT.total_seconds()
                raise self._failure(APISERVER, f"`{APISERVER}` was not ready within {seconds:g} s")
            time.sleep(POLL_SECONDS)

    def _failure(self, name: str, message: str) -> EnvironmentProblem:
        log = self.log(name)
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        return EnvironmentProblem(start_problem(message, text, self.folder))

    # -- stopping

    def _end(self, how: signal.Signals = signal.SIGTERM) -> None:
        deadline = time.monotonic() + STOP_TIMEOUT.total_seconds()
        if self._alive():
            os.kill(self._supervisor(), how)
        while self._alive():
            if time.monotonic() > deadline:
                raise CLUSTER_STATE.problem(
                    f"the control plane did not stop within {STOP_TIMEOUT.total_seconds():g} s",
                    notes=f"its supervisor is process {self._supervisor()}",
                )
            time.sleep(POLL_SECONDS)
        self._clear()

    def _clear(self) -> None:
        """Remove what a dead control plane left: files, and processes if its supervisor was killed."""
        with self._opened() as folder:
            with contextlib.suppress(EnvironmentProblem):
                facts = self._facts()  # never end processes or remove folders named in files of others
                for pid in self._state().running.values():
                    if mentions(pid, f"{self.folder}/"):
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(pid, signal.SIGKILL)
                remove_sockets(Path(facts.sockets))
            folder.clear(but=("lock",))  # this process holds it

    # -- the folder

    @contextlib.contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        self.folder.parent.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._opened(make=True):
            pass
        with self._open("lock") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    @contextlib.contextmanager
    def _opened(self, *, make: bool = False) -> Iterator[Folder]:
        """Open the folder. No link that a repository could contain is followed."""
        parent = self.folder.parent
        with (
            Folder.open(parent.parent.resolve()) as top,
            top.inner(parent.name, make=0o777 if make else None) as above,
            above.inner(self.folder.name, make=0o700 if make else None) as folder,
        ):
            yield folder

    def _open(self, name: str) -> IO[bytes]:
        """Open a file to lock. Refuses a link in its place."""
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        with self._opened() as folder, naming(self.folder / name):
            return os.fdopen(os.open(name, flags, 0o600, dir_fd=folder.handle), "wb")

    def _require_own(self) -> None:
        """Refuse a folder of a repository or of another user. Its processes would be ended and its files removed."""
        places = [self.folder.parent, self.folder] if self.folder.parent.name == STATE else [self.folder]
        for place in filter(os.path.lexists, places):
            try:
                check_owner(place.name, place.lstat())
            except UnusableError as error:
                message = f"`{place}` is not a folder for a control plane: {error}"
                raise CLUSTER_STATE.problem(message, f"remove it: `rm -r {shlex.quote(str(place))}`") from error

    def _alive(self) -> bool:
        """Whether a supervisor holds the lock."""
        if not (self.folder / "alive").exists():
            return False
        with self._open("alive") as file:
            try:
                # A shared lock, so that two concurrent checks do not mistake each other for a supervisor.
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def _supervisor(self) -> int:
        """The process that holds the lock. It writes its id first of all."""
        deadline = time.monotonic() + START_TIMEOUT.total_seconds()
        while not (self.folder / "state.json").exists() and self._alive() and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
        try:
            pid = process_id(self._read("state.json")["supervisor"])
        except (KeyError, TypeError, ValueError) as error:
            raise self._unreadable("state.json", error) from error
        if not mentions(pid, f"{self.folder}/plan.json"):
            raise self._unreadable("state.json", f"process {pid} is not its supervisor")
        return pid

    def _state(self) -> State:
        if not (self.folder / "state.json").exists():
            return State({}, {})  # it has just started
        state = self._read("state.json")
        try:
            running = {str(name): process_id(pid) for name, pid in state["running"].items()}
            return State(running, {str(name): int(code) for name, code in state["exited"].items()})
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise self._unreadable("state.json", error) from error

    def _facts(self) -> Facts:
        """The facts written at the start, if this user wrote them in this folder."""
        try:
            with self._opened() as folder:
                facts = Facts(**unseal(_KIND, self.folder, folder, folder.read(_FACTS, most=_MOST_BYTES) or b""))
        except (OSError, UnusableError, TypeError) as error:
            raise self._unreadable(_FACTS, error) from error
        return facts

    def _layout(self) -> Layout:
        facts = self._facts()
        return Layout(self.folder, facts.port, Path(facts.sockets))

    def _write(self, name: str, value: object) -> None:
        with self._opened() as folder:
            folder.put(name, json.dumps(value, indent=2).encode())

    def _read(self, name: str) -> Any:
        path = self.folder / name
        try:
            return read_json(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise self._unreadable(name, error) from error

    def _unreadable(self, name: str, why: object) -> EnvironmentProblem:
        return CLUSTER_STATE.problem(
            f"cannot read the state of the control plane in `{self.folder / name}`",
            "pykb cluster down",
            "pykb cluster up",
            notes=str(why),
        )
