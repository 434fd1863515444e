"""The control plane in the background."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pykb.diagnostics import EnvironmentProblem
from pykb.envtest import get_assets
from pykb.envtest.assets import Assets
from pykb.envtest.cluster import Cluster
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


UP = """
import sys
from pathlib import Path
from pykb.envtest import get_assets
from pykb.envtest.cluster import Cluster
Cluster(Path(sys.argv[1])).up(get_assets(), controller_manager=False)
"""


def test_it_outlives_the_command_that_started_it(cluster: Cluster) -> None:
    """Even when that one's whole process group is killed."""
    subprocess.run([sys.executable, "-c", UP, cluster.folder], check=True, start_new_session=True)
    status = cluster.status()
    assert status.complete
    assert Rest.from_kubeconfig(status.kubeconfig).call("GET", "/readyz").ok


def test_up_twice_is_up_once(cluster: Cluster) -> None:
    """The second finds the first: same processes, same address."""
    first = cluster.up(get_assets(), controller_manager=False)
    assert cluster.up(get_assets(), controller_manager=False) == first
    assert Cluster(cluster.folder).status() == first


def test_up_at_the_same_time_is_up_once(cluster: Cluster) -> None:
    """Two terminals, one control plane."""
    found = []
    threads = [
        threading.Thread(
            target=lambda: found.append(Cluster(cluster.folder).up(get_assets(), controller_manager=False))
        )
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] == found[1]


def test_down_ends_everything_and_removes_the_data(cluster: Cluster) -> None:
    """And says whether there was anything."""
    pids = list(cluster.up(get_assets()).running.values())
    assert len(pids) == 3
    assert cluster.down()
    assert not any(map(is_alive, pids))
    assert not cluster.kubeconfig.exists()
    assert not cluster.status().alive
    assert not cluster.down()


def test_a_controller_manager_joins_a_running_one(cluster: Cluster) -> None:
    """It may be got later than the rest."""
    before = cluster.up(get_assets(), controller_manager=False)
    after = cluster.up(get_assets())
    assert after.has_controller_manager
    assert after.running.items() >= before.running.items()


def test_what_has_ended_is_told_and_started_again(cluster: Cluster) -> None:
    """With its data, at its address."""
    status = cluster.up(get_assets(), controller_manager=False)
    assert Rest.from_kubeconfig(cluster.kubeconfig).call("POST", NAMESPACES, {"metadata": {"name": "kept"}}).ok
    os.kill(status.running["kube-apiserver"], signal.SIGKILL)
    deadline = time.monotonic() + 60
    while (broken := cluster.status()).complete and time.monotonic() < deadline:
        time.sleep(0.05)
    assert broken.exited == {"kube-apiserver": -signal.SIGKILL}
    assert cluster.up(get_assets(), controller_manager=False).url == status.url
    assert Rest.from_kubeconfig(cluster.kubeconfig).call("GET", f"{NAMESPACES}/kept").ok


def test_a_stale_state_is_recovered(cluster: Cluster) -> None:
    """The machine went down, or the supervisor was killed: up starts afresh, and says so."""
    notes: list[str] = []

    class Notes:
        def step(self, title: str) -> Notes:
            return self

        def update(self, detail: str) -> None: ...
        def done(self, detail: str = "") -> None: ...
        def failed(self, detail: str) -> None: ...

        def note(self, text: str) -> None:
            notes.append(text)

    status = cluster.up(get_assets(), controller_manager=False)
    os.kill(json.loads((cluster.folder / "state.json").read_text())["supervisor"], signal.SIGKILL)
    deadline = time.monotonic() + 60
    while any(map(is_alive, status.running.values())) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not cluster.status().alive
    assert cluster.up(get_assets(), controller_manager=False, reporter=Notes()).complete
    assert notes == ["an earlier control plane ended without `pykb cluster down`; starting a new one"]


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


def test_a_folder_with_a_long_path_works(tmp_path: Path) -> None:
    """The sockets go elsewhere, since their paths have a limit; and they go with the rest."""
    cluster = Cluster(tmp_path / ("deep" * 30) / "cluster")
    try:
        cluster.up(get_assets(), controller_manager=False)
        sockets = Path(json.loads((cluster.folder / "cluster.json").read_text())["content"]["sockets"])
        assert sockets != cluster.folder
    finally:
        cluster.down()
    assert not sockets.exists()


def test_a_broken_state_has_a_remedy(cluster: Cluster) -> None:
    """What to type is said, and it helps."""
    cluster.up(get_assets(), controller_manager=False)
    whole = (cluster.folder / "cluster.json").read_text()
    (cluster.folder / "cluster.json").write_text("{")
    with pytest.raises(EnvironmentProblem, match="cannot read the state") as caught:
        cluster.status()
    assert caught.value.diagnostic.help == ("pykb cluster down", "pykb cluster up")
    assert cluster.down()
    assert whole


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


def test_a_feature_of_the_api_server_can_be_switched_on(cluster: Cluster) -> None:
    """One that is off by default. The metrics of the API server say which are on."""
    gates = {"CBORServingAndStorage": True}
    status = cluster.up(get_assets(), controller_manager=False, feature_gates=gates)
    metrics = str(Rest.from_kubeconfig(status.kubeconfig).call("GET", "/metrics").body)
    assert re.search(r'kubernetes_feature_enabled\{name="CBORServingAndStorage",[^}]*\} 1\b', metrics)
