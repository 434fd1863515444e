"""What the supervisor started ends with whoever asked for it, however that ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from pykb.diagnostics import EnvironmentProblem
from pykb.envtest.components import Component
from pykb.envtest.processes import Processes

SLEEP = (sys.executable, "-c", "import time; time.sleep(300)")
STUBBORN = (
    sys.executable,
    "-c",
    "import signal, time; signal.signal(15, signal.SIG_IGN); print('x', flush=True); time.sleep(300)",
)
PARENT = """
import json, os, sys, time
from pathlib import Path
from pykb.envtest.components import Component
from pykb.envtest.processes import Processes
folder = Path(sys.argv[1])
processes = Processes()
argv = (sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(300)")
pids = [processes.start(Component(name, argv, folder / "log", folder)) for name in ("a", "b")]
if sys.argv[2] == "fork" and os.fork() == 0:
    time.sleep(300)
print(json.dumps([*pids, processes._process.pid]), flush=True)
time.sleep(300)
"""


def is_alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def wait_for_end(pids: list[int]) -> list[int]:
    """Those that are still alive after five seconds."""
    deadline = time.monotonic() + 60
    while (left := [pid for pid in pids if is_alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


@pytest.fixture
def processes() -> Iterator[Processes]:
    """A supervisor for one test."""
    running = Processes()
    yield running
    running.close()


def component(name: str, argv: tuple[str, ...], folder: Path) -> Component:
    """A program that logs into the folder of the test."""
    return Component(name, argv, folder / f"{name}.log", folder)


def start_parent(tmp_path: Path, how: str = "plain") -> tuple[subprocess.Popen[str], list[int]]:
    """A process that asks for two stubborn children, and the ids of both and of their supervisor."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path), how], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert parent.stdout
    pids: list[int] = eval(parent.stdout.readline())
    assert all(is_alive(pid) for pid in pids)
    return parent, pids


def test_a_parent_killed_by_sigkill_leaves_no_process(tmp_path: Path) -> None:
    """Nothing the parent could do at its end is needed; even children that ignore SIGTERM go."""
    parent, pids = start_parent(tmp_path)
    with parent:
        parent.kill()
    assert wait_for_end(pids) == []


def test_a_fork_of_a_killed_parent_does_not_keep_its_children_alive(tmp_path: Path) -> None:
    """A forked child (multiprocessing, a daemon) holds the same pipe open; the parent's end counts all the same."""
    parent, pids = start_parent(tmp_path, "fork")
    with parent:
        parent.kill()
        left = wait_for_end(pids)
        os.killpg(parent.pid, signal.SIGKILL)
    assert left == []


def test_a_supervisor_killed_by_sigkill_leaves_no_process(tmp_path: Path) -> None:
    """The second belt."""
    parent, (*children, supervisor) = start_parent(tmp_path)
    with parent:
        os.kill(supervisor, signal.SIGKILL)
        left = wait_for_end(children)
        parent.kill()
    assert left == []


def test_ctrl_c_of_the_parents_terminal_does_not_reach_them(tmp_path: Path) -> None:
    """A signal to the parent's process group leaves them to the parent: it stops them in order."""
    parent, pids = start_parent(tmp_path)
    with parent:
        os.killpg(parent.pid, signal.SIGSTOP)
        os.kill(pids[-1], signal.SIGINT)
        time.sleep(0.2)
        assert all(is_alive(pid) for pid in pids)
        parent.kill()
    assert wait_for_end(pids) == []


def test_processes_started_from_a_thread_outlive_the_thread(processes: Processes, tmp_path: Path) -> None:
    """PR_SET_PDEATHSIG fires at the end of the thread that forked: here that is never a thread of ours."""
    pids: list[int] = []
    thread = threading.Thread(target=lambda: pids.append(processes.start(component("a", SLEEP, tmp_path))))
    thread.start()
    thread.join()
    time.sleep(0.2)
    assert processes.state().running == {"a": pids[0]}


def test_stop_ends_in_the_opposite_order_of_starting(processes: Processes, tmp_path: Path) -> None:
    """The apiserver must find its etcd to the last."""
    report = "import signal, sys, time; signal.signal(15, lambda *_: (print(sys.argv[1], flush=True), sys.exit())); print('up', flush=True); time.sleep(300)"
    log = tmp_path / "log"
    for name in ("first", "second"):
        processes.start(Component(name, (sys.executable, "-c", report, name), log, tmp_path))
    while log.read_text().count("up") < 2:
        time.sleep(0.02)
    processes.stop(("first", "second"), grace=timedelta(seconds=5))
    assert log.read_text().split() == ["up", "up", "second", "first"]
    assert processes.state().running == {}


def test_stop_kills_what_does_not_listen(processes: Processes, tmp_path: Path) -> None:
    """Grace has an end."""
    pid = processes.start(component("a", STUBBORN, tmp_path))
    while not (tmp_path / "a.log").read_text():
        time.sleep(0.02)
    processes.stop(("a",), grace=timedelta(seconds=0.2))
    assert not is_alive(pid)
    assert processes.state().exited == {"a": -signal.SIGKILL}


def test_a_component_ends_with_its_children(processes: Processes, tmp_path: Path) -> None:
    """What a manager has started goes with it."""
    spawn = f"import subprocess, time; print(subprocess.Popen({list(SLEEP)!r}).pid, flush=True); time.sleep(300)"
    processes.start(component("a", (sys.executable, "-c", spawn), tmp_path))
    while not (text := (tmp_path / "a.log").read_text()):
        time.sleep(0.02)
    processes.stop(("a",), grace=timedelta(seconds=5))
    assert wait_for_end([int(text)]) == []


def test_the_exit_code_of_what_ended_by_itself_is_known(processes: Processes, tmp_path: Path) -> None:
    """So a start that fails is told from one that is slow."""
    processes.start(component("a", (sys.executable, "-c", "raise SystemExit(7)"), tmp_path))
    while not (exited := processes.state().exited):
        time.sleep(0.02)
    assert exited == {"a": 7}


def test_a_program_that_cannot_be_run_is_a_problem(processes: Processes, tmp_path: Path) -> None:
    """A broken binary is told by its name, and the supervisor goes on."""
    with pytest.raises(EnvironmentProblem, match="/no/such/etcd"):
        processes.start(component("a", ("/no/such/etcd",), tmp_path))
    assert processes.state().running == {}


def test_closed_processes_answer_quietly(tmp_path: Path) -> None:
    """Whoever cleans up need not know whether somebody else has."""
    processes = Processes()
    processes.start(component("a", SLEEP, tmp_path))
    processes.close()
    processes.close()
    processes.stop(("a",), grace=timedelta(seconds=1))
    assert processes.state().running == {}


def test_piped_output_ends_with_the_supervisor(tmp_path: Path) -> None:
    """A reader of the pipe gets everything and then its end."""
    processes = Processes(output=True)
    processes.start_piped(
        "a", (sys.executable, "-c", "import os; print(os.environ['T'])"), folder=tmp_path, env={"T": "hello"}
    )
    while "a" not in processes.state().exited:
        time.sleep(0.02)
    processes.close()
    assert processes.output is not None
    with os.fdopen(processes.output) as pipe:
        assert pipe.read() == "hello\n"
