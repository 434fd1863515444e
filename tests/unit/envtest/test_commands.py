"""The commands envtest and cluster, as far as they need no control plane."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from threading import Thread

import pytest

from pykb.cli import app
from pykb.envtest.cache import Cache


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A user's home with one version in the cache, and a place to be."""
    cache = Cache(tmp_path / ".cache" / "pykubebuilder" / "envtest")
    for version, programs in (
        ("1.37.2", ("etcd", "kube-apiserver", "kubectl")),
        ("1.35.4", ("etcd", "kube-apiserver")),
    ):
        cache.place(version).mkdir(parents=True)
        for program in programs:
            (cache.place(version) / program).touch(mode=0o755)
    (tmp_path / "work").mkdir()
    return tmp_path


def environment(home: Path, **variables: str) -> dict[str, str]:
    """That user's."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("KUBE", "XDG_", "NO_COLOR", "FORCE_"))}
    return {**kept, "HOME": str(home), **variables}


def pykb(
    home: Path, *arguments: str, given: Path = Path(os.devnull), **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the command line as that user, with a file on its stdin; in this process."""
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, given.open(encoding="latin-1") as stdin:
        patch.setattr(os, "environ", environment(home, **variables))
        patch.setattr(sys, "stdin", stdin)
        with chdir(home / "work"), redirect_stdout(out), redirect_stderr(err):
            code = app.run(arguments)
    return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())


def folder(home: Path, version: str) -> str:
    """Where a version is."""
    return str(Cache(home / ".cache" / "pykubebuilder" / "envtest").place(version))


@pytest.mark.parametrize(
    ("arguments", "version"),
    [(("use", "--no-controller-manager"), "1.37.2"), (("path",), "1.37.2"), (("path", "v1.35"), "1.35.4")],
    ids=str,
)
def test_the_folder_is_the_only_thing_on_stdout(home: Path, arguments: tuple[str, ...], version: str) -> None:
    """So that a Makefile can take it."""
    command = [sys.executable, "-m", "pykb", "envtest", *arguments]
    options = {"cwd": home / "work", "env": environment(home), "stdin": subprocess.DEVNULL}
    done = subprocess.run(command, **options, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, folder(home, version) + "\n")


def test_print_env_is_for_the_shell(home: Path) -> None:
    """As setup-envtest does it."""
    done = pykb(home, "envtest", "use", "1.37.2", "--no-controller-manager", "--print", "env")
    assert done.stdout == f"export KUBEBUILDER_ASSETS={folder(home, '1.37.2')}\n"


def test_list_names_versions_and_programs(home: Path) -> None:
    """Newest first."""
    assert pykb(home, "envtest", "list").stdout == (
        "1.37.2  etcd, kube-apiserver, kubectl  (default)\n1.35.4  etcd, kube-apiserver\n"
    )


def test_named_assets_are_said(home: Path) -> None:
    """They win, so the list alone would mislead."""
    done = pykb(home, "envtest", "list", KUBEBUILDER_ASSETS=folder(home, "1.35.4"))
    assert done.stderr == f"note: KUBEBUILDER_ASSETS is set, so pykb uses {folder(home, '1.35.4')}\n"


@pytest.mark.parametrize(
    ("selector", "version"), [("1.35.x", "1.35.4"), ("~1.37.0", "1.37.2"), ("<1.37", "1.35.4"), ("latest", "1.37.2")]
)
def test_selectors_are_those_of_setup_envtest(home: Path, selector: str, version: str) -> None:
    """With `-i` only the cache is asked, also with the mark that asks for the newest one of all."""
    for words in (("path", selector), ("use", "-i", selector), ("use", "--installed-only", f"{selector}!")):
        assert pykb(home, "envtest", *words).stdout == folder(home, version) + "\n"
    assert pykb(home, "envtest", "list", "-i", selector).stdout.startswith(
        "1.37.2" if selector == "latest" else version
    )


def test_installed_only_gets_nothing(home: Path) -> None:
    """It says what to type instead, so that a shell understands it."""
    done = pykb(home, "envtest", "use", "-i", "<1.30")
    assert done.returncode == 1
    assert done.stderr == (
        "error[envtest-assets-missing]: Kubernetes <1.30 is not in the cache\nhelp: pykb envtest use '<1.30'\n"
    )


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The address of a server whose index has three versions, without archives."""
    (tmp_path / "web").mkdir()
    releases = "".join(f"  v{version}: {{}}\n" for version in ("1.37.0", "1.37.11-rc.1", "1.35.20"))
    (tmp_path / "web/index.yaml").write_text(f"releases:\n{releases}")
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path / "web")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_list_remote_shows_what_can_be_got(home: Path, served: str) -> None:
    """Beside what is in the cache."""
    mirror = {"PYKB_ENVTEST_INDEX": f"{served}/index.yaml"}
    done = pykb(home, "envtest", "list", "--remote", "1.37", **mirror)
    assert done.stdout == "1.37.2  etcd, kube-apiserver, kubectl  (default)\n1.37.0  (not in the cache)\n", done.stderr
    assert pykb(home, "envtest", "list", "1.99", **mirror).stderr.startswith("Kubernetes 1.99 is not in the cache")


@pytest.mark.parametrize("selector", ["1.37.x!", "latest", "~1.37.0!"])
def test_a_mark_asks_for_the_newest_one_that_there_is(home: Path, served: str, selector: str) -> None:
    """Not for the newest one in the cache."""
    shutil.copytree(folder(home, "1.37.2"), folder(home, "1.37.0"))
    words = ("envtest", "use", selector, "--no-controller-manager")
    done = pykb(home, *words, PYKB_ENVTEST_INDEX=f"{served}/index.yaml")
    assert done.stdout == folder(home, "1.37.0") + "\n", done.stderr
    assert pykb(home, "envtest", "use", selector.strip("!"), "-i").stdout == folder(home, "1.37.2") + "\n"


def test_cleanup_deletes_what_is_selected(home: Path) -> None:
    """And says so; the rest stays."""
    done = pykb(home, "envtest", "cleanup", "<1.37")
    assert (done.returncode, done.stderr) == (0, f"deleted {folder(home, '1.35.4')}\n")
    assert pykb(home, "envtest", "list").stdout == "1.37.2  etcd, kube-apiserver, kubectl  (default)\n"
    assert pykb(home, "envtest", "cleanup", "<1.37").stderr == "Kubernetes <1.37 is not in the cache\n"
    assert sorted(Path(folder(home, "1.37.2")).parent.glob(".draft*")) == []


def test_sideload_puts_an_archive_into_the_cache(home: Path) -> None:
    """As `tar` makes it of the folder of another machine, with kube-controller-manager."""
    source = home / "other"
    source.mkdir()
    for program in ("etcd", "kube-apiserver", "kubectl", "kube-controller-manager", "README"):
        (source / program).write_text(program)
    subprocess.run(["tar", "czf", home / "all.tar.gz", "-C", source, "."], check=True)
    done = pykb(home, "envtest", "sideload", "v1.30.2", given=home / "all.tar.gz")
    assert (done.returncode, done.stdout) == (0, folder(home, "1.30.2") + "\n")
    assert "1.30.2  etcd, kube-apiserver, kubectl, kube-controller-manager\n" in pykb(home, "envtest", "list").stdout
    assert not (Path(folder(home, "1.30.2")) / "README").exists()


@pytest.mark.parametrize(
    ("version", "content", "code", "message"),
    [
        ("1.30.2", b"no archive", 1, "error[envtest-archive]: the archive cannot be read: not a gzip file"),
        ("1.30.2", b"", 1, "error[envtest-archive]: the archive cannot be read: "),
        ("1.30", b"", 2, "error[usage]: `1.30` selects versions, expected one such as 1.37.2"),
        ("x", b"", 1, "error[envtest-version]: `x` is not a Kubernetes version"),
    ],
)
def test_what_cannot_be_sideloaded_is_said(home: Path, version: str, content: bytes, code: int, message: str) -> None:
    """And the cache stays as it is."""
    (home / "given").write_bytes(content)
    done = pykb(home, "envtest", "sideload", version, given=home / "given")
    assert done.returncode == code
    assert done.stderr.startswith(message)
    assert not Path(folder(home, "1.30.2")).exists()


def test_path_gets_nothing(home: Path) -> None:
    """It says what to type instead."""
    done = pykb(home, "envtest", "path", "1.30")
    assert done.returncode == 1
    assert done.stderr == (
        "error[envtest-assets-missing]: Kubernetes 1.30 is not in the cache\nhelp: pykb envtest use 1.30\n"
    )


def test_a_version_that_is_none_is_one_message(home: Path) -> None:
    """With an example of one."""
    done = pykb(home, "envtest", "use", "newest")
    assert done.returncode == 1
    assert done.stderr == (
        "error[envtest-version]: `newest` is not a Kubernetes version, expected one such as `1.37.2`\n"
        "help: pykb envtest use 1.37.2\n"
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


@pytest.mark.parametrize("url", ["javascript:alert('{path}')", "code {path}", "idea://open?line={line}"])
def test_an_address_that_opens_no_file_is_refused(home: Path, url: str) -> None:
    """The browser would run it, or nothing would happen."""
    done = pykb(home, "dev", PYKB_EDITOR_URL=url)
    assert done.returncode == 2
    assert "expected e.g. `vscode://file{path}:{line}`" in done.stderr


def test_dev_needs_a_project(home: Path) -> None:
    """Nothing is started to find that out."""
    assert pykb(home, "dev").returncode == 2
