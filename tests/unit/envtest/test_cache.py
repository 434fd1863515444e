"""The cache is complete or empty, whoever dies while filling it, and several fill it once."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pykb.api.builtin_table import RELEASE
from pykb.diagnostics import EnvironmentProblem
from pykb.envtest.assets import get_assets
from pykb.envtest.cache import KUBERNETES, Cache, SourceUnusable, pinned_modules, platform_name, user_cache_folder
from pykb.envtest.reporter import Reporter, Silent

REQUIRED = ("etcd", "kube-apiserver")


class Shelf:
    """A source that has everything at once."""

    title = "shelf"

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[str, ...]]] = []

    def resolve(self, version: str) -> str:
        """The newest patch is 9."""
        return version if version.count(".") == 2 else f"{version}.9"

    def get(self, version: str, programs: tuple[str, ...], folder: Path, reporter: Reporter) -> None:
        """Write programs."""
        self.calls.append((version, programs))
        put(folder, programs)


class Nothing:
    """A source that has nothing."""

    title = "nothing"

    def resolve(self, version: str) -> str:
        """Any version."""
        return version

    def get(self, version: str, programs: tuple[str, ...], folder: Path, reporter: Reporter) -> None:
        """Leave half of the work and give up."""
        put(folder, programs[:1])
        raise SourceUnusable("the shelf is empty")


def put(folder: Path, programs: tuple[str, ...]) -> None:
    """Write programs that can be run."""
    for program in programs:
        (folder / program).write_text("#!/bin/sh\n")
        (folder / program).chmod(0o755)


@pytest.fixture(autouse=True)
def no_named_assets(monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests are about the cache."""
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """An empty cache."""
    return Cache(tmp_path / "cache")


def test_an_exact_version_is_got_once(cache: Cache) -> None:
    """The second call finds it."""
    shelf = Shelf()
    first = get_assets("1.36.1", cache=cache, sources=(shelf,))
    assert first == get_assets("1.36.1", cache=cache, sources=(shelf,))
    assert first.folder == cache.folder / f"1.36.1-{platform_name()}"
    assert first.kubectl is None
    assert [version for version, _ in shelf.calls] == ["1.36.1"]


def test_a_minor_stands_for_its_newest_patch(cache: Cache) -> None:
    """Of the source at first, then of the cache, which needs no network."""
    shelf = Shelf()
    assert get_assets("1.36", cache=cache, sources=(shelf,)).folder == cache.place("1.36.9")
    cache.place("1.36.10").mkdir()
    put(cache.place("1.36.10"), REQUIRED)
    assert get_assets("1.36", cache=cache, sources=(shelf,)).folder == cache.place("1.36.10")
    assert get_assets("1.3", cache=cache, sources=(shelf,)).folder == cache.place("1.3.9")
    assert cache.versions() == ["1.36.10", "1.36.9", "1.3.9"]


def test_the_next_source_is_asked_where_one_fails(cache: Cache) -> None:
    """What the first left half done does not show."""
    shelf = Shelf()
    assets = get_assets("1.36.1", cache=cache, sources=(Nothing(), shelf))
    assert sorted(path.name for path in assets.folder.iterdir()) == ["etcd", "kube-apiserver"]
    assert not list(cache.folder.glob(".draft-*"))


def test_what_is_wanted_later_joins_what_is_there(cache: Cache) -> None:
    """It is got separately, into the same folder: a control plane starts without kubectl and controllers."""
    shelf = Shelf()
    without = get_assets("1.36.1", cache=cache, sources=(shelf,))
    assert without.kube_controller_manager is None
    assert get_assets("1.36.1", kubectl=True, controller_manager=True, cache=cache, sources=(shelf,)) == without
    assert without.kube_controller_manager is not None
    assert without.kubectl is not None
    assert [programs for _, programs in shelf.calls] == [REQUIRED, ("kubectl",), ("kube-controller-manager",)]


def test_a_controller_manager_that_is_not_to_be_had_is_no_failure(cache: Cache) -> None:
    """A control plane works without."""
    get_assets("1.36.1", cache=cache, sources=(Shelf(),))
    notes: list[str] = []

    class Notes(Silent):
        def note(self, text: str) -> None:
            notes.append(text)

    got = get_assets("1.36.1", controller_manager=True, cache=cache, sources=(Nothing(),), reporter=Notes())
    assert got.kube_controller_manager is None
    assert "kube-controller-manager cannot be obtained" in notes[0]


def test_callers_at_the_same_time_share_one_build(cache: Cache) -> None:
    """Whoever comes second waits and takes what the first got."""
    shelf = Shelf()
    threads = [
        threading.Thread(target=get_assets, args=("1.36.1",), kwargs={"cache": cache, "sources": (shelf,)})
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(shelf.calls) == 1


KILLED = """
import os, sys
from pathlib import Path
from pykb.envtest.assets import get_assets
from pykb.envtest.cache import Cache

class Dying:
    title = "dying"
    def resolve(self, version): return version
    def get(self, version, programs, folder, reporter):
        (folder / "etcd").write_text("half")
        (folder / "etcd").chmod(0o755)
        os.kill(os.getpid(), 9)

get_assets("1.36.1", cache=Cache(Path(sys.argv[1])), sources=(Dying(),))
"""


def test_a_build_killed_half_way_leaves_nothing(cache: Cache) -> None:
    """Neither a half-filled folder that is taken for a whole one, nor a lock, nor rubbish after the next build."""
    killed = subprocess.run([sys.executable, "-c", KILLED, str(cache.folder)], check=False)
    assert killed.returncode == -9
    assert cache.versions() == []
    assert len(list(cache.folder.glob(".draft-*"))) == 1
    shelf = Shelf()
    assets = get_assets("1.36.1", cache=cache, sources=(shelf,))
    assert assets.etcd.read_text() == "#!/bin/sh\n"
    assert not list(cache.folder.glob(".draft-*"))


@pytest.mark.parametrize(
    ("value", "expected"), [("/x/cache", "/x/cache"), ("", ".cache"), ("relative", ".cache")], ids=str
)
def test_the_cache_follows_xdg(monkeypatch: pytest.MonkeyPatch, value: str, expected: str) -> None:
    """A relative XDG_CACHE_HOME does not count, as the specification says."""
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    assert str(user_cache_folder()).endswith(expected)


@pytest.mark.parametrize("home", ["/proc", "/dev/null"])
def test_a_home_without_a_cache_is_said(monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    """Services and containers have such homes. The message says what to set."""
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", home)
    with pytest.raises(EnvironmentProblem) as caught:
        get_assets("1.36.1", sources=(Shelf(),))
    found = caught.value.diagnostic
    assert found.message.startswith(f"there can be no cache for the programs in `{home}/.cache/")
    assert found.help == ("name a folder of yours: `export XDG_CACHE_HOME=FOLDER`",)


def test_types_and_pins_are_those_of_the_default_version() -> None:
    """Without the module proxy's word for it: a build from other modules is refused."""
    assert f"v{KUBERNETES}".startswith(f"{RELEASE}.")
    assert f"k8s.io/kubernetes v{KUBERNETES} h1:" in (pinned_modules(KUBERNETES) or "")
