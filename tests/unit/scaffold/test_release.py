"""Releases: the running one, checkouts, wheels in environments of their own."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import pykb
from hack.wheels import wheels as kept_wheels
from pykb.diagnostics import Diagnostics
from pykb.scaffold.distribution import wheel
from pykb.scaffold.locate import WHEEL
from pykb.scaffold.release import Recipe, Step, _linked, given, published, render, running
from tests.sources import ROOT

RECIPE = Recipe((Step(("init",), ("--domain=example.com", "--project-name=fleet")),), "")
INSTALLED = Path(WHEEL).name


@pytest.fixture
def uv(monkeypatch: pytest.MonkeyPatch) -> None:
    """The uv of this environment is on PATH."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.usefixtures("uv")
def test_a_wheel_scaffolds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an environment of its own: what the running pykb does, and no wheel of itself."""
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(kept_wheels(ROOT / "requirements.txt")))
    content = wheel()
    assert content is not None
    (tmp_path / INSTALLED).write_bytes(content)
    found = Diagnostics()
    release = given(tmp_path / INSTALLED, found)
    assert release is not None
    assert release.version == pykb.__version__
    files = render(release, RECIPE, found)
    assert not [(each.message, each.notes) for each in found]
    assert files == render(running(), RECIPE, found)
    assert f"pykubebuilder=={pykb.__version__}".encode() in files["pyproject.toml"].content
    assert not [path for path in files if path.startswith(".pykb")]


def write_wheel(folder: Path, version: str, files: Mapping[str, str]) -> Path:
    """Write a wheel that is called like pykb and needs nothing."""
    info = f"pykubebuilder-{version}.dist-info"
    path = folder / f"pykubebuilder-{version}-py3-none-any.whl"
    metadata = {
        "METADATA": f"Metadata-Version: 2.1\nName: pykubebuilder\nVersion: {version}\nProvides-Extra: cli\n",
        "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, **{f"{info}/{name}": text for name, text in metadata.items()}}.items():
            archive.writestr(name, text)
    return path


def test_pip_installs_a_wheel_where_there_is_no_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The release gets the words of the recipe."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    app = "import pathlib\n\n\ndef run(argv):\n    pathlib.Path('seen').write_text(' '.join(argv))\n"
    files = {"pykb/__init__.py": '__version__ = "0.0.3"\n', "pykb/cli/__init__.py": "", "pykb/cli/app.py": app}
    found = Diagnostics()
    release = given(write_wheel(tmp_path, "0.0.3", files), found)
    assert release is not None
    made = render(release, RECIPE, found)
    assert not [(each.message, each.notes) for each in found]
    assert made["seen"].content == b"init --domain=example.com --project-name=fleet"


def test_a_release_of_an_index_is_one_version(tmp_path: Path) -> None:
    """With what the command line needs. It is installed as a wheel is."""
    release = published("0.0.2", tmp_path)
    assert (release.version, release.requirement) == ("0.0.2", "pykubebuilder[cli]==0.0.2")
    assert release.advice.startswith("`pip download --no-deps pykubebuilder==0.0.2`, then ")


@pytest.mark.usefixtures("uv")
def test_the_wheel_of_a_project_is_named_and_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is one that the settings in the project name: whoever can commit to a repository chose them."""
    (tmp_path / ".pykb/wheels").mkdir(parents=True)
    evil = f"import pathlib; pathlib.Path({str(tmp_path / 'ran')!r}).touch()\n"
    name = write_wheel(tmp_path / ".pykb/wheels", "0.0.2", {"evil.pth": evil}).name
    settings = 'find-links = [".pykb/wheels"]\nno-index = true\n'
    (tmp_path / "pyproject.toml").write_text(f"[tool.uv]\n{settings}")
    (tmp_path / "uv.toml").write_text(settings)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UV_OFFLINE", "1")
    found = Diagnostics()
    assert render(published("0.0.2", tmp_path), RECIPE, found) == {}
    assert [each.code.slug for each in found] == ["release-unknown"]
    assert [each.help for each in found] == [
        (f"if you trust the wheel in the project: `pykb update --from .pykb/wheels/{name}`",)
    ]
    assert not (tmp_path / "ran").exists()


def test_a_release_sees_neither_secrets_nor_the_home_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkout that writes what it gets."""
    monkeypatch.setenv("SECRET_TOKEN", "secret")
    (tmp_path / "templates").mkdir()
    (tmp_path / "pykb/cli").mkdir(parents=True)
    (tmp_path / "pykb/__init__.py").write_text('__version__ = "0.0.3"\n')
    (tmp_path / "pykb/cli/__init__.py").write_text("")
    code = "import json, os, pathlib\n\n\ndef run(argv):\n    pathlib.Path('seen').write_text(json.dumps({**os.environ}))\n"
    (tmp_path / "pykb/cli/app.py").write_text(code)
    release = given(tmp_path, Diagnostics())
    assert release is not None
    seen = render(release, RECIPE, Diagnostics())["seen"].content.decode()
    assert "secret" not in seen
    assert f'"HOME": "{Path.home()}"' not in seen


@pytest.mark.parametrize("name", ["missing.whl", "folder", INSTALLED, "other.whl"])
def test_anything_else_is_refused(name: str, tmp_path: Path) -> None:
    """With a finding."""
    (tmp_path / "folder").mkdir()
    (tmp_path / INSTALLED).write_text("text")
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as archive:
        archive.writestr("pykb/__init__.py", '__version__ = "0.0.3"\n')
    found = Diagnostics()
    assert given(tmp_path / name, found) is None
    assert [each.code.slug for each in found] == ["release-unknown"]


def test_a_release_scaffolds_without_options_that_it_does_not_have() -> None:
    """If they are marked as newer."""
    steps = (Step(("init",), RECIPE.steps[0].options, ("--no-such-option=x", "--owner=The authors")),)
    found = Diagnostics()
    files = render(running(), Recipe(steps, ""), found)
    assert not list(found)
    assert b"The authors" in files["hack/boilerplate.py.txt"].content


def test_releases_share_no_bytecode(tmp_path: Path) -> None:
    """Bytecode is known by seconds and sizes: of two releases in one second, one would be taken for the other."""
    linked = _linked(running(), tmp_path)
    assert not (linked / "pykb/__pycache__").exists()
    assert (linked / "pykb/cli").is_symlink()
