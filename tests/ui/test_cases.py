"""Every diagnostic of names, projects, scaffolding, generation and the command line, word for word."""

from __future__ import annotations

import os
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pykb.cli import app
from pykb.diagnostics.codes import cli, commands, crd, generate, project, scaffold
from pykb.diagnostics.model import Code

HERE = Path(__file__).parent
# What the modules of types in cases import in their first line.
PRELUDE = """\
from datetime import *
from enum import *
from typing import *

from pykb.api import *
from pykb.api.meta.v1 import *

GV = GroupVersion("shop.example.com", "v1")
"""
CASES = sorted(path.relative_to(HERE).with_suffix("").as_posix() for path in HERE.glob("*/*.toml"))


def sources(described: dict[str, Any]) -> dict[str, str]:
    """The files of a case; a module of types lies in a package with what it imports."""
    files: dict[str, str] = dict(described.get("files", {}))
    if "types" in described:
        files |= dict.fromkeys(("shop/__init__.py", "shop/api/__init__.py", "shop/api/v1/__init__.py"), "")
        files |= {"shop/prelude.py": PRELUDE, "shop/api/v1/things.py": described["types"]}
    return files


@pytest.mark.parametrize("case", CASES)
def test_a_case_prints_exactly_this(
    case: str,
    starts: dict[str, Path],
    golden,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The exit code, the text on stderr, and that a refused command wrote nothing."""
    described = tomllib.loads((HERE / f"{case}.toml").read_text(encoding="utf-8"))
    root = tmp_path / "sealvm"
    shutil.copytree(starts[described.get("project", "none")], root)
    monkeypatch.chdir(root)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(os, "fsync", lambda _: None)
    for words in described.get("setup", []):
        assert app.run(words) == 0
    for name in described.get("remove", []):
        (root / name).unlink()
    for name, text in sources(described).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    for name, (old, new) in described.get("replace", {}).items():
        text = (root / name).read_text(encoding="utf-8")
        assert old in text, f"{name} has no {old!r}"
        (root / name).write_text(text.replace(old, new), encoding="utf-8")
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    capfd.readouterr()
    code = app.run(described.get("args", ["generate", "crd"]))
    shown = capfd.readouterr().err.replace(str(root), "<project>")
    golden(case, shown)
    assert code == described.get("exit", 1)
    if code != 0:
        assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
    slug = case.partition("/")[0]
    assert f"[{slug}]: " in shown


AREAS = [cli, crd, commands, generate, project, scaffold]


@pytest.mark.parametrize("area", AREAS, ids=lambda m: m.__name__.rpartition(".")[2])
def test_every_code_has_a_case(area: object) -> None:
    """A message that was never read by a person is not done."""
    slugs = {value.slug for value in vars(area).values() if isinstance(value, Code)}
    assert {slug for slug in slugs if not list((HERE / slug).glob("*.stderr"))} == set()


def test_no_golden_file_is_left_over() -> None:
    """Each `.stderr` has its case, in a file or in a test of this folder."""
    situations = "".join(path.read_text(encoding="utf-8") for path in HERE.glob("test_*.py"))
    golden = {path.relative_to(HERE).with_suffix("").as_posix() for path in HERE.glob("*/*.stderr")}
    assert {case for case in golden - set(CASES) if f'"{case}"' not in situations} == set()
