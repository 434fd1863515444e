"""Releases: the running one, checkouts, wheels in environments of their own."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import pykb
from pykb.diagnostics import Diagnostics
from pykb.scaffold.distribution import wheel
from pykb.scaffold.locate import WHEEL
from pykb.scaffold.release import Recipe, Step, _linked, given, published, render, running

RECIPE = Recipe((Step(("init",), ("--domain=example.com", "--project-name=fleet")),), "")
INSTALLED = Path(WHEEL).name


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A folder with the wheel of this pykb."""
    content = wheel()
    assert content is not None
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / INSTALLED).write_bytes(content)
    return tmp_path / "wheels"


def test_a_wheel_scaffolds(wheels: Path) -> None:
    """In an environment of its own: what the running pykb does, and no wheel of itself."""
    found = Diagnostics()
    release = given(wheels / INSTALLED, found)
    assert release is not None
    assert release.version == pykb.__version__
    files = render(release, RECIPE, found)
    assert not [(each.message, each.notes) for each in found]
    assert files == render(running(), RECIPE, found)
    assert f"pykubebuilder=={pykb.__version__}".encode() in files["pyproject.toml"].content
    assert not [path for path in files if path.startswith(".pykb")]


def test_a_release_of_an_index_is_one_version(tmp_path: Path) -> None:
    """With what the command line needs. It is installed as a wheel is."""
    release = published("0.0.2", tmp_path)
    assert (release.version, release.requirement) == ("0.0.2", "pykubebuilder[cli]==0.0.2")
    assert release.advice.startswith("`pip download --no-deps pykubebuilder==0.0.2`, then ")


def test_the_wheel_of_a_project_is_named_and_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is one that the settings in the project name: whoever can commit to a repository chose them."""
    (tmp_path / ".pykb/wheels").mkdir(parents=True)
    name = "pykubebuilder-0.0.2-py3-none-any.whl"
    with zipfile.ZipFile(tmp_path / ".pykb/wheels" / name, "w") as archive:
        info = "pykubebuilder-0.0.2.dist-info"
        archive.writestr("evil.pth", f"import pathlib; pathlib.Path({str(tmp_path / 'ran')!r}).touch()\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: pykubebuilder\nVersion: 0.0.2\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    settings = 'find-links = [".pykb/wheels"]\nno-index = true\n'
    (tmp_path / "pyproject.toml").write_text(f"[tool.uv]\n{settings}")
    (tmp_path / "uv.toml").write_text(settings)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
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
