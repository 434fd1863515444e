"""Earlier releases: the archive, wheels and checkouts."""

from __future__ import annotations

import random
import zipfile
from pathlib import Path

import pytest

import pykb
from hack.releases import packed
from pykb.diagnostics import Diagnostics
from pykb.scaffold import release as releases
from pykb.scaffold.distribution import wheel
from pykb.scaffold.locate import PACKAGE
from pykb.scaffold.release import Recipe, Step, archived, contents, given, render

ROOT = PACKAGE.parent
ARCHIVE = ROOT / "testdata/releases.tar.xz"
RECIPE = Recipe((Step(("init",), ("--domain=example.com", "--project-name=fleet")),), "")


def test_an_archive_has_each_file_of_each_release(tmp_path: Path) -> None:
    """Also those that several have in common. The same files give the same bytes."""
    known = {
        "0.1.0": {"pykb/a.py": b"a\n", "pykb/b.py": b"b\n"},
        "0.2.0": {"pykb/a.py": b"a\n", "pykb/b.py": b"changed\n", "pykb/c.py": b"a\n"},
    }
    (tmp_path / "archive").write_bytes(packed(known))
    assert contents(tmp_path / "archive") == known
    assert packed(contents(tmp_path / "archive")) == packed(known)


def test_a_release_costs_little_once_there_is_one() -> None:
    """What is in common is stored once."""
    one = {"0.1.0": {"pykb/a.py": random.Random(1).randbytes(50_000)}}
    assert len(packed({**one, "0.2.0": one["0.1.0"]})) - len(packed(one)) < 200


def test_every_release_of_the_changelog_is_in_the_archive() -> None:
    """But for the running one."""
    headings = [line.split()[1] for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")]
    earlier = {version.strip("[]") for version in headings} - {"Unreleased", pykb.__version__}
    assert earlier == (set(contents(releases.ARCHIVE)) if releases.ARCHIVE.exists() else set())


def test_a_wheel_scaffolds(tmp_path: Path) -> None:
    """It is not installed for that."""
    content = wheel()
    assert content is not None
    (tmp_path / "pykb.whl").write_bytes(content)
    found = Diagnostics()
    with given(tmp_path / "pykb.whl", found) as release:
        assert release is not None
        assert release.version == pykb.__version__
        files = render(release, RECIPE, found)
    assert not list(found)
    assert f"pykubebuilder=={pykb.__version__}".encode() in files["pyproject.toml"].content
    assert not [path for path in files if path.startswith(".pykb")]


def test_names_in_a_wheel_do_not_lead_out_of_it(tmp_path: Path) -> None:
    """They are left out, like all that is not pykb's."""
    with zipfile.ZipFile(tmp_path / "evil.whl", "w") as archive:
        archive.writestr("pykb/__init__.py", '__version__ = "0.0.3"\n')
        archive.writestr("pykb/_templates/project/cookiecutter.json", "{}")
        archive.writestr("pykb/../../evil.py", "")
        archive.writestr("/tmp/evil.py", "")
        archive.writestr("typer.py", "")
    with given(tmp_path / "evil.whl", Diagnostics()) as release:
        assert release is not None
        names = {path.name for path in release.folder.rglob("*") if path.is_file()}
    assert names == {"__init__.py", "cookiecutter.json", "METADATA"}


@pytest.mark.parametrize("name", ["missing.whl", "folder", "text.whl", "other.whl"])
def test_anything_else_is_refused(name: str, tmp_path: Path) -> None:
    """With a finding."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.whl").write_text("text")
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as archive:
        archive.writestr("other/__init__.py", "")
    found = Diagnostics()
    with given(tmp_path / name, found) as release:
        assert release is None
    assert [each.code.slug for each in found] == ["release-unknown"]


def test_a_release_that_is_not_archived_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With those that are."""
    monkeypatch.setattr(releases, "ARCHIVE", ARCHIVE)
    found = Diagnostics()
    with archived("0.0.0", found) as release:
        assert release is None
    assert [each.notes for each in found] == [("it knows 0.0.1, 0.0.2", "nothing was written")]


ARCHIVED = [
    (archive, version) for archive in (ARCHIVE, releases.ARCHIVE) if archive.exists() for version in contents(archive)
]


@pytest.mark.parametrize(("archive", "version"), ARCHIVED)
def test_a_release_scaffolds_without_options_that_it_does_not_have(
    archive: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If they are marked as newer. Every release of every archive runs under the dependencies of this pykb."""
    monkeypatch.setattr(releases, "ARCHIVE", archive)
    steps = (Step(("init",), RECIPE.steps[0].options, ("--no-such-option=x", "--owner=The authors")),)
    found = Diagnostics()
    with archived(version, found) as release:
        assert release is not None
        files = render(release, Recipe(steps, ""), found)
    assert not list(found)
    assert b"The authors" in files["hack/boilerplate.py.txt"].content
