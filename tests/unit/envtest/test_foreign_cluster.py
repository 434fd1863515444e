"""The folder of a cluster that came with a repository ends no process and removes no file outside of it."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pykb.diagnostics import EnvironmentProblem
from pykb.envtest.cluster import Cluster


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A folder of the user's."""
    folder = tmp_path / "victim"
    (folder / "deep").mkdir(parents=True)
    (folder / "keep").write_text("mine")
    (folder / "deep/keep").write_text("mine")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a cluster in a cloned project."""
    made = tmp_path / "project/.pykb/cluster"
    made.mkdir(parents=True)
    return made


@pytest.fixture
def bystander(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process of the user's that has the folder on its command line, an editor say."""
    words = (sys.executable, "-c", "input()", folder / "state.json")
    with subprocess.Popen(words, stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def untouched(victim: Path) -> bool:
    """Whether the user's folder is as it was."""
    return [path.relative_to(victim).as_posix() for path in sorted(victim.rglob("*"))] == ["deep", "deep/keep", "keep"]


def write_state(folder: Path, *, number: int, sockets: Path, running: object, supervisor: object = 1) -> None:
    """What a cluster writes about itself."""
    facts = {"port": 1, "sockets": str(sockets), "assets": "/", "folder": number}
    (folder / "cluster.json").write_text(json.dumps(facts))
    state = {"supervisor": supervisor, "rounds": 1, "running": running, "exited": {}}
    (folder / "state.json").write_text(json.dumps(state))


@pytest.mark.parametrize("number", [0, True, "x", None])
def test_facts_of_another_folder_end_nothing(
    folder: Path, victim: Path, bystander: subprocess.Popen[bytes], number: object
) -> None:
    """Neither the folder that they call their own, nor the processes."""
    write_state(folder, number=number, sockets=victim, running={"etcd": bystander.pid})  # type: ignore[arg-type]
    assert Cluster(folder).down() is False
    assert untouched(victim)
    assert bystander.poll() is None
    assert sorted(path.name for path in folder.iterdir()) == ["lock"]


@pytest.mark.parametrize("running", [{"etcd": -1}, {"etcd": 0}, {"etcd": 1}, {"etcd": "../self"}, ["etcd"], 7, None])
def test_a_state_that_is_none_ends_nothing(folder: Path, victim: Path, running: object) -> None:
    """Every process of the user's is what -1 stands for."""
    write_state(folder, number=folder.stat().st_ino, sockets=folder, running=running)
    (folder / "logs").symlink_to(victim)
    assert Cluster(folder).down() is False
    assert untouched(victim)


@pytest.mark.parametrize(
    "facts", ["{}", "[]", "7", "{", '{"port": 1, "sockets": [], "assets": "", "folder": 1}', "[" * 99999]
)
def test_facts_that_are_none_are_removed(folder: Path, facts: str) -> None:
    """Whatever the file has in it."""
    (folder / "cluster.json").write_text(facts)
    assert Cluster(folder).down() is False
    assert not Cluster(folder).status().alive


def test_a_lock_that_somebody_else_holds_is_a_finding(folder: Path, bystander: subprocess.Popen[bytes]) -> None:
    """Who may read a file may lock it; the process that it names is not asked to end."""
    write_state(folder, number=7, sockets=folder, running={}, supervisor=bystander.pid)
    with (folder / "alive").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for ask in (Cluster(folder).down, Cluster(folder).status):
            with pytest.raises(EnvironmentProblem, match="cannot read the state"):
                ask()
    assert bystander.poll() is None


@pytest.mark.parametrize("link", [".pykb", ".pykb/cluster"])
def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path, victim: Path, link: str) -> None:
    """What it leads to is not cleared."""
    (victim.parent / "p").mkdir()
    place = victim.parent / "p" / link
    place.parent.mkdir(exist_ok=True)
    if link == ".pykb":
        (victim / "deep").rename(victim / "cluster")
    place.symlink_to(victim)
    cluster = Cluster(tmp_path / "p/.pykb/cluster")
    for ask in (cluster.down, cluster.status):
        with pytest.raises(EnvironmentProblem, match="symbolic link"):
            ask()
    assert (victim / "keep").exists()
    assert len([*victim.rglob("keep")]) == 2


def test_the_folder_of_another_user_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it could change under our hands."""
    uid = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: uid + 1)
    with pytest.raises(EnvironmentProblem, match="another user"):
        Cluster(folder).down()


@pytest.mark.parametrize("name", ["lock", "alive"])
def test_locks_are_no_links(folder: Path, victim: Path, name: str) -> None:
    """Neither is a file made where they lead to."""
    (folder / name).symlink_to(victim / ("new" if name == "lock" else "keep"))
    with pytest.raises(OSError, match="symbolic"):
        Cluster(folder).down()
    assert untouched(victim)
