"""CRDs of the world, imported and generated again: run by ``make test-corpus CRD_CORPUS=FOLDER``.

No part of the ordinary tests, since the CRDs are other projects'. Each file of the folder is a case.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pykb.diagnostics import Diagnostics
from pykb.importer.definition import Definition, find_definitions, read_sources
from pykb.importer.plan import differences, package_files, regenerate
from pykb.importer.shape import builtin_types

pytestmark = pytest.mark.apiserver


def _folder() -> Path:
    named = os.environ.get("CRD_CORPUS", "")
    if not Path(named).is_dir() or not named:
        raise pytest.UsageError("name a folder of CRDs: make test-corpus CRD_CORPUS=FOLDER")
    return Path(named)


FILES = sorted(path for path in _folder().rglob("*") if path.suffix in {".yaml", ".yml", ".json"})


@dataclass
class Figures:
    """What is told at the end."""

    equal: int = 0
    applied: int = 0
    import_seconds: float = 0
    generate_seconds: float = 0
    characters: int = 0
    lines: int = 0
    classes: int = 0
    built_in: Counter[str] = field(default_factory=Counter)


FIGURES = Figures()


@cache
def round_trip(path: Path) -> tuple[list[Definition], dict[str, dict[str, Any]]]:
    """The CRDs of a file, and what the types imported from it generate."""
    found = Diagnostics()
    definitions = find_definitions(read_sources([str(path)], stdin="", kubectl=None, diagnostics=found), found)
    start = time.process_time()
    files = package_files(definitions, found)
    FIGURES.import_seconds += time.process_time() - start
    start = time.process_time()
    made = regenerate(files, found)
    FIGURES.generate_seconds += time.process_time() - start
    for file in files:
        FIGURES.characters += len(file.text)
        FIGURES.lines += file.text.count("\n")
        FIGURES.classes += len(re.findall(r"^class ", file.text, re.MULTILINE))
        imports = re.findall(r"^from (pykb\.api\.\w+\.v\w+) import (\([^)]*\)|[^(\n]+)$", file.text, re.MULTILINE)
        FIGURES.built_in.update(
            f"{module.removeprefix('pykb.api.')}.{name}"
            for module, names in imports
            for name in re.findall(r"\w+", names)
        )
    assert [d.message for d in found] == []
    return definitions, made


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_same_crd_comes_back(path: Path) -> None:
    """Import, then generate: nothing is lost but Kubernetes' own prose in its own types."""
    definitions, made = round_trip(path)
    assert definitions
    for definition in definitions:
        assert list(differences(definition.manifest, made[definition.name], builtin_types().is_known)) == []
    FIGURES.equal += 1


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_server_takes_it(path: Path, dry_run) -> None:
    """A real API server would create the generated CRD."""
    for crd in round_trip(path)[1].values():
        dry_run(crd)
    FIGURES.applied += 1


def test_figures(capsys: pytest.CaptureFixture[str]) -> None:
    """Say how much that was."""
    with capsys.disabled():
        count, made = len(FILES), FIGURES
        print(f"\nequal     {made.equal} of {count}")  # noqa: T201
        print(f"applied   {made.applied} of {count}")  # noqa: T201
        print(f"import    {made.import_seconds:.1f} s, generate {made.generate_seconds:.1f} s (CPU)")  # noqa: T201
        print(f"code      {made.classes} classes, {made.lines} lines, {made.characters / 1e6:.2f} MB")  # noqa: T201
        used = ", ".join(f"{name} {n}" for name, n in made.built_in.most_common(12))
        print(f"built-in  {len(made.built_in)} types, {made.built_in.total()} times: {used}, ...")  # noqa: T201
    assert made.equal == made.applied == count
