"""The pairs of Go and Python types have every marker, on every kind of declaration that controller-gen knows it on."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pykb.diagnostics import Diagnostics
from pykb.markers.collect import collect
from pykb.markers.definition import MarkerTarget
from pykb.markers.model import Marker
from pykb.markers.registry import builtin_registry

ControllerGen = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.differential

ROOT = Path(__file__).parents[2] / "testdata" / "differential"
GENERATORS = ("crd", "rbac:roleName=x", "webhook", "object", "applyconfiguration")


def markers_of(path: Path) -> Iterator[Marker]:
    """The markers of a Python file, those inside others too."""
    found = Diagnostics()
    file = collect(path.read_text(encoding="utf-8"), path.name, registry=builtin_registry(), diagnostics=found)
    assert not found.has_errors(), list(found)
    types = file.types.values()
    yield from file.package_markers
    yield from (m for t in types for m in t.markers)
    yield from (m for t in types for f in t.fields.values() for m in f.markers)


def in_pairs() -> set[tuple[str, MarkerTarget]]:
    """What stands in the Python file of a pair, and as the same text in its Go file."""
    found = set()
    for path in sorted(ROOT.rglob("*.py")):
        twin = path.with_name("doc.go") if path.stem == "__init__" else path.with_suffix(".go")
        if not twin.exists():
            continue
        lines = {line.strip().removeprefix("//").strip() for line in twin.read_text(encoding="utf-8").splitlines()}
        found |= {(m.name, m.target) for m in markers_of(path) if m.text in lines}
    return found


def test_every_definition_of_controller_gen_is_in_a_pair(controller_gen: ControllerGen, tmp_path: Path) -> None:
    """Both sides have the same line; what they make of it is compared in test_crd.py."""
    known = set()
    for generator in GENERATORS:
        done = controller_gen(tmp_path, generator, "-wwww")
        known |= {(m["name"], m["target"]) for part in json.loads(done.stdout) for m in part["markers"]}
    known -= {("k8s:enum", "field")}  # registered only to be refused
    assert sorted(known - in_pairs()) == []


def test_every_marker_of_pykb_is_in_a_pair() -> None:
    """Those, too, that controller-gen drops without a word: what it leaves out is listed in differences.toml."""
    assert sorted({definition.name for definition in builtin_registry()} - {name for name, _ in in_pairs()}) == []
