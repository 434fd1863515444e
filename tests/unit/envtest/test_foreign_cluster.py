"""The folder of a cluster that came with a repository ends no process and removes no file outside of it."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pykb.diagnostics import EnvironmentProblem
from pykb.envtest import cluster
from pykb.envtest.assets import Assets
from pykb.envtest.cluster import Cluster
from pykb.files.durable import Folder
from pykb.files.state import seal


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
    words = (sys.executable, "-c", "print(flush=True); input()", folder / "state.json")
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()  # its command line is there a moment after its start
        yield process
        process.kill()


def untouched(victim: Path) -> bool:
    """Whether the user's folder is as it was."""
    return [path.relative_to(victim).as_posix() for path in sorted(victim.rglob("*"))] == ["deep", "deep/keep", "keep"]


def write_state(
    folder: Path, *, sockets: Path, running: object, supervisor: object = 1, project: Path | None = None
) -> None:
    """What a cluster of this user writes about itself."""
    facts = {"port": 1, "sockets": str(sockets), "assets": "/"}
    with Folder.open(folder) as opened:
        (folder / "cluster.json").write_bytes(seal("cluster", project or folder, opened, facts))
    state = {"supervisor": supervisor, "rounds": 1, "running": running, "exited": {}}
    (folder / "state.json").write_text(json.dumps(state))


def unproven(folder: Path, victim: Path) -> str:
    """Facts in the form that they once had, with the number of the folder."""
    return json.dumps({"port": 1, "sockets": str(victim), "assets": "/", "folder": folder.stat().st_ino})


def of_somebody_else(folder: Path, _: Path) -> str:
    """Facts that another user sealed, in a folder with the same path and number."""
    text: str = (folder / "theirs.json").read_text()
    return text


@pytest.mark.parametrize("facts", [unproven, of_somebody_else])
def test_facts_of_somebody_else_end_nothing(
    folder: Path,
    victim: Path,
    bystander: subprocess.Popen[bytes],
    facts: Callable[[Path, Path], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither the folder that they call their own, nor the processes. The number of a fresh folder is no secret."""
    with monkeypatch.context() as others:
        others.setenv("XDG_STATE_HOME", str(victim.parent / "theirs"))
        write_state(folder, sockets=victim, running={"etcd": bystander.pid})
    (folder / "cluster.json").rename(folder / "theirs.json")
    (folder / "cluster.json").write_text(facts(folder, victim))
    assert Cluster(folder).down() is False
    assert untouched(victim)
    assert bystander.poll() is None
    assert sorted(path.name for path in folder.iterdir()) == ["lock"]


def test_facts_of_this_user_name_processes_and_sockets_that_go(
    folder: Path, tmp_path: Path, bystander: subprocess.Popen[bytes]
) -> None:
    """What the other tests change one thing of."""
    sockets = tmp_path / "pykb-sockets-abcdefgh"
    sockets.mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(sockets / "etcd.sock"))
    write_state(folder, sockets=sockets, running={"etcd": bystander.pid})
    assert Cluster(folder).down() is False
    assert not sockets.exists()
    assert bystander.wait() == -signal.SIGKILL


@pytest.mark.parametrize("name", ["victim", "pykb-sockets-abcdefgh", "pykb-sockets-link"])
def test_only_sockets_are_removed_and_only_where_pykb_puts_them(folder: Path, victim: Path, name: str) -> None:
    """Also if the facts are those of this user."""
    place = victim.parent / name
    if name.endswith("link"):
        place.symlink_to(victim)
    else:
        victim.rename(place)
    write_state(folder, sockets=place, running={})
    assert Cluster(folder).down() is False
    assert untouched(place)


def test_facts_that_were_copied_or_moved_end_nothing(
    folder: Path, tmp_path: Path, bystander: subprocess.Popen[bytes]
) -> None:
    """The processes belong to the first copy."""
    write_state(folder, sockets=folder, running={"etcd": bystander.pid})
    shutil.copytree(tmp_path / "project", tmp_path / "copy")
    Cluster(tmp_path / "copy/.pykb/cluster").down()
    (tmp_path / "project").rename(tmp_path / "moved")
    Cluster(tmp_path / "moved/.pykb/cluster").down()
    assert bystander.poll() is None


def test_a_user_without_a_key_starts_nothing_in_the_background(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could not be stopped; the finding says what to type."""
    (tmp_path / "state").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with pytest.raises(EnvironmentProblem) as problem:
        Cluster(folder).up(Assets(tmp_path))
    assert problem.value.diagnostic.code.slug == "origin-key"
    assert "export XDG_STATE_HOME" in problem.value.diagnostic.help[0]


@pytest.mark.parametrize("running", [{"etcd": -1}, {"etcd": 0}, {"etcd": 1}, {"etcd": "../self"}, ["etcd"], 7, None])
def test_a_state_that_is_none_ends_nothing(folder: Path, victim: Path, running: object) -> None:
    """Every process of the user's is what -1 stands for."""
    write_state(folder, sockets=folder, running=running)
    (folder / "logs").symlink_to(victim)
    assert Cluster(folder).down() is False
    assert untouched(victim)


@pytest.mark.parametrize("facts", ["{}", "[]", "7", "{", '{"content": {}, "mac": ""}', "[" * 99999])
def test_facts_that_are_none_are_removed(folder: Path, facts: str) -> None:
    """Whatever the file has in it."""
    (folder / "cluster.json").write_text(facts)
    assert Cluster(folder).down() is False
    assert not Cluster(folder).status().alive


def test_a_lock_that_somebody_else_holds_is_a_finding(folder: Path, bystander: subprocess.Popen[bytes]) -> None:
    """Who may read a file may lock it; the process that it names is not asked to end."""
    write_state(folder, sockets=folder, running={}, supervisor=bystander.pid, project=folder.parent)
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


def test_facts_without_an_end_are_not_read_to_it(folder: Path) -> None:
    """A terabyte of nothing takes no place on the disk."""
    with (folder / "cluster.json").open("wb") as file:
        file.truncate(1024**4)
    assert Cluster(folder).down() is False


@pytest.mark.parametrize("name", ["lock", "alive"])
def test_locks_are_no_links(folder: Path, victim: Path, name: str) -> None:
    """Neither is a file made where they lead to."""
    (folder / name).symlink_to(victim / ("new" if name == "lock" else "keep"))
    with pytest.raises(OSError, match="symbolic"):
        Cluster(folder).down()
    assert untouched(victim)


@pytest.mark.parametrize("moment", ["reserve_port", "Authority"])
def test_a_folder_that_becomes_a_link_while_a_cluster_starts_is_not_followed(
    folder: Path, victim: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither keys nor kubeconfigs are written over the user's files."""
    real = getattr(cluster, moment)

    def swap(*arguments: object) -> object:
        if not folder.is_symlink():
            folder.rename(folder.parent / "away")
            folder.symlink_to(victim)
        return real(*arguments)

    monkeypatch.setattr(cluster, moment, swap)
    with pytest.raises((EnvironmentProblem, OSError)):
        Cluster(folder).up(Assets(victim.parent), controller_manager=False)
    assert untouched(victim)
