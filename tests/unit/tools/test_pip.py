"""An environment gets what is required, and loses what no longer is: with a real pip, and wheels of a few bytes."""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pykb.diagnostics import EnvironmentProblem
from pykb.tools.pip import Environment, Wanted, locked


def put_wheel(folder: Path, name: str, version: str, *requires: str, text: str = "") -> Path:
    """A package with one module, whose text it is."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    members = {
        f"{name}.py": text,
        f"{info}/METADATA": metadata + "".join(f"Requires-Dist: {each}\n" for each in requires),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    members[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*members, f"{info}/RECORD"])
    folder.mkdir(exist_ok=True)
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, content in members.items():
            archive.writestr(zipfile.ZipInfo(path), content)
    return wheel


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment, in a folder whose name has a blank."""
    folder = tmp_path_factory.mktemp("my projects") / ".venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return folder


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index: `app` requires `shared` and `own`, `tool` requires `shared`."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    folder = tmp_path / "wheels"
    put_wheel(folder, "app", "1.0", "shared", "own>=1 ; python_version > '3'")
    put_wheel(folder, "tool", "1.0", "Shared", "own ; extra == 'more'", "app ; extra == 'most'")
    put_wheel(folder, "own", "1.0")
    put_wheel(folder, "shared", "1.0")
    return folder


@pytest.fixture
def environment(made: Path, wheels: Path) -> Environment:
    """It has nothing but pip."""
    found = Environment(made)
    found.update(Wanted((), wheels=wheels))
    return found


def installed(environment: Environment) -> set[str]:
    """The packages beside pip."""
    return environment._packages().keys() - {"pip", "setuptools"}


def test_it_gets_what_is_required_and_loses_what_is_not(environment: Environment, wheels: Path) -> None:
    """Also what only the former requirement needed; what another one needs, or somebody else installed, stays."""
    put_wheel(wheels, "guest", "1.0")
    environment._install(Wanted(("guest",), wheels=wheels))
    both = Wanted(("app", "tool==1.0"), wheels=wheels)
    assert environment.lacks(both)
    environment.update(both)
    assert not environment.lacks(both)
    assert installed(environment) == {"app", "tool", "own", "shared", "guest"}
    extra = Wanted(("tool[more]==1.0",), wheels=wheels)
    environment.update(extra)
    assert installed(environment) == {"tool", "own", "shared", "guest"}
    one = Wanted(("tool==1.0",), wheels=wheels)
    assert environment.lacks(one)
    environment.update(one)
    assert installed(environment) == {"tool", "shared", "guest"}
    environment._pip("uninstall", "--yes", "guest")


def test_a_group_does_not_remove_another_one(environment: Environment, wheels: Path) -> None:
    """The tools that a later target has added stay when the first target runs again."""
    environment.update(Wanted(("app", "tool"), wheels=wheels))
    small = Wanted(("app",), others=("app", "tool"), wheels=wheels)
    assert not environment.lacks(small)
    environment.update(small)
    assert "tool" in installed(environment)
    assert not environment.lacks(Wanted(("app", "tool"), wheels=wheels))


def test_a_new_version_and_a_new_wheel_of_the_same_version_are_installed(
    environment: Environment, wheels: Path
) -> None:
    """A checkout of pykb gives other wheels of the same version; a new dependency of them comes along."""
    place = next(environment.folder.glob("lib/python3*/site-packages"))
    environment.update(Wanted(("shared==1.0",), wheels=wheels))
    put_wheel(wheels, "shared", "1.0", "own", text="new = True\n")
    again = Wanted(("shared==1.0",), wheels=wheels)
    assert environment.lacks(again)
    environment.update(again)
    assert (place / "shared.py").read_text() == "new = True\n"
    assert installed(environment) == {"shared", "own"}
    put_wheel(wheels, "shared", "2.0")
    environment.update(Wanted(("shared==2.0",), wheels=wheels))
    assert (place / "shared-2.0.dist-info").is_dir()


def test_a_lock_file_is_installed_with_its_hashes(environment: Environment, wheels: Path, tmp_path: Path) -> None:
    """A package with another hash is refused, and the next run tries again."""
    lock = tmp_path / "requirements-dev.txt"
    digest = hashlib.sha256((wheels / "own-1.0-py3-none-any.whl").read_bytes()).hexdigest()
    lock.write_text(f"# made by `make lock`\nown==1.0 \\\n    --hash=sha256:{'0' * 64}\n")
    wanted = Wanted(locked(lock), lock=lock, wheels=wheels)
    assert wanted.requirements == ("own==1.0",)
    with pytest.raises(EnvironmentProblem, match="pip install"):
        environment.update(wanted)
    assert environment.lacks(wanted)
    lock.write_text(lock.read_text().replace("0" * 64, digest))
    environment.update(wanted)
    assert installed(environment) == {"own"}


def test_one_process_at_a_time_changes_it(environment: Environment) -> None:
    """Another one waits for the lock."""
    with environment.lock(), (environment.folder / ".lock").open("a") as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with environment.lock():
        pass
