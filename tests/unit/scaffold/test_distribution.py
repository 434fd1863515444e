"""Wheels of pykb: the one that `init` puts into a project, the one that hatchling builds, the one from the sdist."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import pykb
from pykb.scaffold import distribution
from pykb.scaffold.locate import PACKAGE, WHEEL, templates

ROOT = PACKAGE.parent


def hatchling(folder: Path, target: str, out: Path) -> Path:
    """Build with the project's own build backend, without a network."""
    out.mkdir(parents=True, exist_ok=True)
    words = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    (made,) = out.iterdir()
    return made


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the wheel is made of, so that a build never sees a file that is just being written."""
    copy = tmp_path_factory.mktemp("checkout")
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "pykb", copy / "pykb", ignore=ignore)
    shutil.copytree(ROOT / "templates", copy / "templates", ignore=ignore)
    shutil.copytree(ROOT / "docs/reference", copy / "docs/reference")
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def built(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel of the checkout, and the wheel of the sdist of the checkout."""
    out = tmp_path_factory.mktemp("built")
    sdist = hatchling(checkout, "sdist", out / "sdist")
    (out / "unpacked").mkdir()
    subprocess.run(["tar", "-xf", sdist, "-C", out / "unpacked"], check=True)
    (unpacked,) = (out / "unpacked").iterdir()
    return {
        "wheel": hatchling(checkout, "wheel", out / "wheel"),
        "from sdist": hatchling(unpacked, "wheel", out / "w2"),
    }


def members(wheel: bytes | Path) -> dict[str, bytes]:
    """The files of a wheel but its metadata."""
    with zipfile.ZipFile(io.BytesIO(wheel) if isinstance(wheel, bytes) else wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}


@pytest.fixture
def from_checkout(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The direct wheel made of the same copy."""
    monkeypatch.setattr(distribution, "PACKAGE", checkout / "pykb")
    monkeypatch.setattr(distribution, "templates", lambda: checkout / "templates")
    monkeypatch.setattr(distribution, "reference", lambda: checkout / "docs/reference")
    monkeypatch.setattr(distribution, "checkout", lambda: checkout)


@pytest.mark.usefixtures("from_checkout")
@pytest.mark.parametrize("way", ["wheel", "from sdist"])
def test_all_ways_to_a_wheel_give_the_same_files(built: dict[str, Path], way: str) -> None:
    """Not one template is lost on the way: git's ignore rules, the sdist and the direct wheel agree, byte for byte."""
    direct = distribution.wheel()
    assert direct is not None
    assert members(direct) == members(built[way])


def test_every_template_of_the_checkout_is_in_the_wheel(built: dict[str, Path]) -> None:
    """Files that begin with a dot, and those whose path git would ignore, too."""
    here = {p.relative_to(templates()).as_posix() for p in templates().rglob("*") if p.is_file()}
    for wheel in built.values():
        there = {n.removeprefix("pykb/_templates/") for n in members(wheel) if n.startswith("pykb/_templates/")}
        assert there == here
    assert any("/." in f"/{name}" for name in here)


def metadata_of(wheel: bytes | Path) -> dict[str, list[str]]:
    """The fields of METADATA that installers read."""
    with zipfile.ZipFile(io.BytesIO(wheel) if isinstance(wheel, bytes) else wheel) as archive:
        (name,) = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA")]
        message = Parser().parsestr(archive.read(name).decode())
    fields = ("Name", "Version", "Requires-Python", "Requires-Dist", "Provides-Extra", "License-Expression")
    return {field: sorted(_plain(value) for value in message.get_all(field, [])) for field in fields}


def _plain(requirement: str) -> str:
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    try:
        parsed = Requirement(requirement)
    except InvalidRequirement:
        return requirement
    specifiers = ",".join(sorted(str(s) for s in parsed.specifier))
    return f"{canonicalize_name(parsed.name)}{specifiers};{parsed.marker}"


@pytest.mark.usefixtures("from_checkout")
def test_the_metadata_is_what_the_build_backend_writes(built: dict[str, Path]) -> None:
    """Dependencies, extras, Python version: an installer does the same with either wheel."""
    direct = distribution.wheel()
    assert direct is not None
    assert metadata_of(direct) == metadata_of(built["wheel"])


@pytest.mark.usefixtures("from_checkout")
def test_the_wheel_is_the_same_each_time_and_its_record_is_true() -> None:
    """No clock in it; every file is listed with its hash, as installers check."""
    wheel = distribution.wheel()
    assert wheel is not None
    assert wheel == distribution.wheel()
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        (record,) = [n for n in archive.namelist() if n.endswith("/RECORD")]
        rows = list(csv.reader(archive.read(record).decode().splitlines()))
        assert {row[0] for row in rows} == set(archive.namelist())
        for path, digest, size in rows:
            if path != record:
                content = archive.read(path)
                want = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                assert (digest, size) == (f"sha256={want}", str(len(content)))


@pytest.fixture(scope="module")
def installed(built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel in it; its dependencies are those of this one. Gives its Python."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
    uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-config", "--no-index", "--no-deps"]
    options = ["--compile-bytecode", "--python", folder / "env/bin/python"]
    subprocess.run([*uv, *options, built["from sdist"]], check=True)
    (site,) = (folder / "env").glob("lib/python*/site-packages")
    here = next(path for path in sys.path if path.endswith("site-packages"))
    (site / "dependencies.pth").write_text(f"{here}\n")
    return folder / "env/bin/python"


def run(python: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the installed pykb, far from the checkout."""
    env = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}}
    return subprocess.run([python, "-m", "pykb", *words], cwd=cwd, env=env, check=True, capture_output=True, text=True)


@pytest.mark.parametrize("from_index", [True, False], ids=["from an index", "from a file"])
def test_an_installed_pykb_makes_projects(installed: Path, tmp_path: Path, *, from_index: bool) -> None:
    """From its own templates; the wheel goes into the project only where no index has it (PEP 610)."""
    (info,) = installed.parent.parent.glob("lib/python*/site-packages/pykubebuilder-*.dist-info")
    (info / "direct_url.json").unlink(missing_ok=True)
    if not from_index:
        (info / "direct_url.json").write_text('{"url": "file:///somewhere/x.whl", "archive_info": {}}')
    root = tmp_path / "fleet"
    root.mkdir()
    assert run(installed, "version", cwd=root).stdout == f"pykb {pykb.__version__}\n"
    run(installed, "init", "--domain", "example.com", cwd=root)
    words = ("create", "api", "--group", "infra", "--version", "v1", "--kind", "Machine", "--no-make")
    run(installed, *words, "--resource", "--controller", cwd=root)
    assert (root / "fleet/api/v1/machine_types.py").exists()
    assert not [path for path in root.rglob("*") if path.suffix == ".pyc"]  # the installer has compiled the templates
    wheels = list((root / ".pykb/wheels").iterdir()) if (root / ".pykb/wheels").exists() else []
    assert [wheel.name for wheel in wheels] == ([] if from_index else [Path(WHEEL).name])
    for wheel in wheels:
        assert {n for n in members(wheel) if "_templates" in n}
        made = (root / "pyproject.toml").read_text()
        assert "somewhere" not in made


def test_a_wheel_made_by_an_installed_pykb_is_the_wheel_it_came_from(installed: Path, built: dict[str, Path]) -> None:
    """Handed on from project to project, it stays the same."""
    code = "import sys; from pykb.scaffold.distribution import wheel; sys.stdout.buffer.write(wheel())"
    env = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}}
    done = subprocess.run([installed, "-c", code], cwd=installed.parent, env=env, check=True, capture_output=True)
    assert members(done.stdout) == members(built["from sdist"])
    assert metadata_of(done.stdout) == metadata_of(built["from sdist"])
