"""The commands envtest and cluster, as far as they need no control plane."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pykb.envtest.cache import Cache


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's home with one version in the cache, and a place to be."""
    cache = Cache(tmp_path / ".cache" / "pykubebuilder" / "envtest")
    for version, programs in (
        ("1.36.1", ("etcd", "kube-apiserver", "kubectl")),
        ("1.35.4", ("etcd", "kube-apiserver")),
    ):
        cache.place(version).mkdir(parents=True)
        for program in programs:
            (cache.place(version) / program).touch(mode=0o755)
    (tmp_path / "work").mkdir()
    return tmp_path


def pykb(home: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as that user."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("KUBE", "XDG_", "NO_COLOR", "FORCE_"))}
    return subprocess.run(
        [sys.executable, "-m", "pykb", *arguments],
        cwd=home / "work",
        env={**kept, "HOME": str(home), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def folder(home: Path, version: str) -> str:
    """Where a version is."""
    return str(Cache(home / ".cache" / "pykubebuilder" / "envtest").place(version))


@pytest.mark.parametrize(
    ("arguments", "version"),
    [(("use", "--no-controller-manager"), "1.36.1"), (("path",), "1.36.1"), (("path", "v1.35"), "1.35.4")],
    ids=str,
)
def test_the_folder_is_the_only_thing_on_stdout(home: Path, arguments: tuple[str, ...], version: str) -> None:
    """So that a Makefile can take it."""
    done = pykb(home, "envtest", *arguments)
    assert (done.returncode, done.stdout) == (0, folder(home, version) + "\n")


def test_print_env_is_for_the_shell(home: Path) -> None:
    """As setup-envtest does it."""
    done = pykb(home, "envtest", "use", "1.36.1", "--no-controller-manager", "--print", "env")
    assert done.stdout == f"export KUBEBUILDER_ASSETS={folder(home, '1.36.1')}\n"


def test_list_names_versions_and_programs(home: Path) -> None:
    """Newest first."""
    assert pykb(home, "envtest", "list").stdout == (
        "1.36.1  etcd, kube-apiserver, kubectl  (default)\n1.35.4  etcd, kube-apiserver\n"
    )


def test_named_assets_are_said(home: Path) -> None:
    """They win, so the list alone would mislead."""
    done = pykb(home, "envtest", "list", KUBEBUILDER_ASSETS=folder(home, "1.35.4"))
    assert done.stderr == f"note: KUBEBUILDER_ASSETS is set, so pykb uses {folder(home, '1.35.4')}\n"


def test_path_gets_nothing(home: Path) -> None:
    """It says what to type instead."""
    done = pykb(home, "envtest", "path", "1.30")
    assert done.returncode == 1
    assert done.stderr == (
        "error[envtest-assets-missing]: Kubernetes 1.30 is not in the cache\nhelp: pykb envtest use 1.30\n"
    )


def test_a_version_that_is_none_is_one_message(home: Path) -> None:
    """With an example of one."""
    done = pykb(home, "envtest", "use", "latest")
    assert done.returncode == 1
    assert done.stderr == (
        "error[envtest-version]: `latest` is not a Kubernetes version, expected one such as `1.36.1`\n"
        "help: pykb envtest use 1.36.1\n"
    )


def test_status_of_nothing_is_exit_1(home: Path) -> None:
    """A script can ask, and a person is told what to type."""
    done = pykb(home, "cluster", "status")
    assert (done.returncode, done.stdout) == (1, "not running\n")
    assert done.stderr == "help: `pykb cluster up` starts it\n"


def test_status_of_one_that_was_not_stopped(home: Path) -> None:
    """The machine went down under it, for example; a name that was given is a part of what to type."""
    folder = home / ".local/state/pykubebuilder/clusters/other"
    folder.mkdir(parents=True)
    (folder / "kubeconfig").touch()
    done = pykb(home, "cluster", "status", "--name=other")
    assert (done.returncode, done.stdout) == (1, "not running\n")
    assert done.stderr == (
        "note: it ended without `pykb cluster down`; the next start deletes its data\n"
        "help: `pykb cluster up --name other` starts it\n"
    )


def test_status_can_be_read_by_programs(home: Path) -> None:
    """The same answer and exit code as JSON; there is no address of what does not run."""
    done = pykb(home, "cluster", "status", "--format=json")
    expected = {"alive": False, "complete": False, "server": None, "kubeconfig": None, "running": {}, "exited": {}}
    assert (done.returncode, json.loads(done.stdout)) == (1, expected)


def test_down_of_nothing_is_no_error(home: Path) -> None:
    """The wish is fulfilled."""
    done = pykb(home, "cluster", "down")
    assert (done.returncode, done.stderr) == (0, "there is no control plane to stop\n")


@pytest.mark.parametrize("name", ["../x", "A", "a/b", "-a", "a" * 64])
def test_a_clusters_name_cannot_leave_its_folder(home: Path, name: str) -> None:
    """It is a mistake on the command line."""
    done = pykb(home, "cluster", "status", f"--name={name}")
    assert done.returncode == 2
    assert "error[cluster-name]" in done.stderr


def test_dev_needs_a_project(home: Path) -> None:
    """Nothing is started to find that out."""
    assert pykb(home, "dev").returncode == 2
