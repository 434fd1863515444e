"""The control plane in the background."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pykb.diagnostics import EnvironmentProblem
from pykb.envtest import get_assets
from pykb.envtest.assets import Assets
from pykb.envtest.cluster import Cluster, Status
from pykb.envtest.rest import Rest
from pykb.files.durable import Folder
from pykb.files.state import seal

pytestmark = pytest.mark.apiserver

NAMESPACES = "/api/v1/namespaces"


def is_alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The folder of a cluster that is stopped after the test."""
    yield tmp_path / "cluster"
    Cluster(tmp_path / "cluster").down()


@pytest.fixture
def cluster(folder: Path) -> Cluster:
    """A cluster that is not started."""
    return Cluster(folder)


GATE = "CBORServingAndStorage"
"""A feature that is off by default."""
UP = f"""
import sys
from pathlib import Path
from pykb.envtest import get_assets
from pykb.envtest.cluster import Cluster
status = Cluster(Path(sys.argv[1])).up(get_assets(), controller_manager=False, feature_gates={{{GATE!r}: True}})
print(status.url, sorted(status.running.items()))
"""


@dataclass(frozen=True)
class Running:
    """A cluster that runs during the tests of this module, and what the two commands that started it printed."""

    cluster: Cluster
    printed: list[str]

    def up(self) -> Status:
        """Start what has ended."""
        return self.cluster.up(get_assets(), controller_manager=False)

    def rest(self) -> Rest:
        """A client of it."""
        return Rest.from_kubeconfig(self.cluster.kubeconfig)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A cluster that two commands started at the same time. Both have ended, with all of their process groups."""
    cluster = Cluster(tmp_path_factory.mktemp("running") / "cluster")
    command = [sys.executable, "-c", UP, str(cluster.folder)]
    commands = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)  # in two terminals
        for _ in range(2)
    ]
    try:
        printed = [command.communicate()[0] for command in commands]
        assert [command.returncode for command in commands] == [0, 0]
        for command in commands:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(command.pid, signal.SIGKILL)
        yield Running(cluster, printed)
    finally:
        cluster.down()


def test_it_outlives_the_command_that_started_it(running: Running) -> None:
    """Even when that one's whole process group is killed."""
    assert running.cluster.status().complete
    assert running.rest().call("GET", "/readyz").ok


def test_up_at_the_same_time_is_up_once(running: Running) -> None:
    """Two terminals, one control plane."""
    first, second = running.printed
    assert "kube-apiserver" in first
    assert first == second


def test_up_twice_is_up_once(running: Running) -> None:
    """The second finds the first: same processes, same address."""
    first = running.cluster.status()
    assert running.up() == first
    assert Cluster(running.cluster.folder).status() == first


def test_a_feature_of_the_api_server_can_be_switched_on(running: Running) -> None:
    """One that is off by default. The metrics of the API server say which are on."""
    metrics = str(running.rest().call("GET", "/metrics").body)
    assert re.search(rf'kubernetes_feature_enabled\{{name="{GATE}",[^}}]*\}} 1\b', metrics)


def test_what_has_ended_is_told_and_started_again(running: Running) -> None:
    """With its data, at its address."""
    before = running.up()
    assert running.rest().call("POST", NAMESPACES, {"metadata": {"name": "kept"}}).ok
    os.kill(before.running["kube-apiserver"], signal.SIGKILL)
    deadline = time.monotonic() + 60
    while (broken := running.cluster.status()).complete and time.monotonic() < deadline:
        time.sleep(0.05)
    assert broken.exited == {"kube-apiserver": -signal.SIGKILL}
    assert running.up().url == before.url
    assert running.rest().call("GET", f"{NAMESPACES}/kept").ok


def test_a_controller_manager_joins_a_running_one(running: Running) -> None:
    """It may be got later than the rest."""
    before = running.up()
    assert not before.has_controller_manager
    after = running.cluster.up(get_assets())
    assert after.has_controller_manager
    assert after.running.items() >= before.running.items()


def test_down_ends_everything_and_removes_the_data(tmp_path: Path) -> None:
    """And says whether there was anything. In a folder with a long path, the sockets go elsewhere: paths have a limit."""
    cluster = Cluster(tmp_path / ("deep" * 30) / "cluster")
    try:
        pids = list(cluster.up(get_assets()).running.values())
        assert len(pids) == 3
        sockets = Path(json.loads((cluster.folder / "cluster.json").read_text())["content"]["sockets"])
        assert sockets != cluster.folder
        assert sockets.exists()
        assert cluster.down()
        assert not any(map(is_alive, pids))
        assert not cluster.kubeconfig.exists()
        assert not sockets.exists()
        assert not cluster.status().alive
        assert not cluster.down()
    finally:
        cluster.down()


def test_a_stale_state_is_recovered_and_a_broken_one_has_a_remedy(cluster: Cluster) -> None:
    """The machine went down, or the supervisor was killed: up starts afresh, and says so.

    If the state cannot be read, the message says what to type, and that helps.
    """
    notes: list[str] = []

    class Notes:
        def step(self, title: str) -> Notes:
            return self

        def update(self, detail: str) -> None: ...
        def done(self, detail: str = "") -> None: ...
        def failed(self, detail: str) -> None: ...

        def note(self, text: str) -> None:
            notes.append(text)

    first = cluster.up(get_assets(), controller_manager=False)
    os.kill(json.loads((cluster.folder / "state.json").read_text())["supervisor"], signal.SIGKILL)
    deadline = time.monotonic() + 60
    while any(map(is_alive, first.running.values())) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not cluster.status().alive
    second = cluster.up(get_assets(), controller_manager=False, reporter=Notes())
    assert second.complete
    assert notes == ["an earlier control plane ended without `pykb cluster down`; starting a new one"]

    (cluster.folder / "cluster.json").write_text("{")
    with pytest.raises(EnvironmentProblem, match="cannot read the state") as caught:
        cluster.status()
    assert caught.value.diagnostic.help == ("pykb cluster down", "pykb cluster up")
    assert cluster.down()
    assert not any(map(is_alive, second.running.values()))


def test_a_written_down_process_id_is_never_believed(cluster: Cluster) -> None:
    """Nothing holds the lock, so the numbers are somebody else's: down ends nobody."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"]) as stranger:
        cluster.folder.mkdir()
        (cluster.folder / "alive").touch()
        facts = {"port": 1, "sockets": str(cluster.folder), "assets": "/"}
        with Folder.open(cluster.folder) as folder:
            folder.write("cluster.json", seal("cluster", cluster.folder, folder, facts))
        state = {"supervisor": stranger.pid, "rounds": 1, "running": {"etcd": stranger.pid}, "exited": {}}
        (cluster.folder / "state.json").write_text(json.dumps(state))
        assert not cluster.down()
        assert stranger.poll() is None
        stranger.kill()


def test_a_start_that_fails_is_broken_off_without_grace(cluster: Cluster, tmp_path: Path) -> None:
    """An apiserver that is starting heeds no SIGTERM: whoever pressed Ctrl-C would wait for five seconds."""
    programs = {
        "kube-apiserver": f"trap 'touch {tmp_path}/asked' TERM; touch {tmp_path}/up; while :; do sleep 0.1; done",
        "etcd": f"until test -e {tmp_path}/up; do sleep 0.1; done; exit 1",
    }
    for name, script in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(EnvironmentProblem, match="`etcd` ended with exit code 1 while starting"):
        cluster.up(Assets(tmp_path))
    assert not cluster.status().alive
    assert not (tmp_path / "asked").exists()
