"""`pykb generate` against controller-gen on the same made-up packages, and against `make manifests` on a new project.

    python -m benchmarks.generator [--kinds 1 10 100 1000] [--rounds 5] [--controller-gen BINARY]

Both write the same CRDs (this is checked). *cold* is a run in which nothing of an earlier one is used (the Go build
cache stays warm); in *unchanged* the outputs are there already, and nothing has changed since the last run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from benchmarks.commands import new_project
from benchmarks.measure import Command, Cost, in_turn
from benchmarks.synthetic.go import write_go
from benchmarks.synthetic.python import write_python

HERE = Path(__file__).parent
DEPENDENCIES = HERE.parent / "testdata/differential"  # its go.mod and go.sum have the Kubernetes modules
PYKB = str(Path(sys.executable).with_name("pykb"))
MODULE = "sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0"
PEER = "controller-gen"
COLD, UNCHANGED = "pykb, cold", "pykb, unchanged"


def main(arguments: list[str] | None = None) -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", type=int, nargs="*", default=[1, 10, 100, 1000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--controller-gen", type=Path, help="a built controller-gen, in place of building one")
    flags = parser.parse_args([] if arguments is None else arguments)
    with tempfile.TemporaryDirectory() as scratch:
        peer = str((flags.controller_gen or _build(Path(scratch))).resolve())
        print(f"{'':24} {'wall s':>8} {'x':>6} {'CPU s':>8} {'x':>6} {'MiB':>8} {'x':>6}")
        for kinds in flags.kinds:
            _report(f"{kinds} kind{'s' * (kinds > 1)}", _packages(Path(scratch), peer, kinds, flags.rounds))
        _report("a new project", _project(Path(scratch), peer, flags.rounds))


def _build(folder: Path) -> Path:
    go = shutil.which("go")
    if go is None:
        raise SystemExit("controller-gen is built with Go: put `go` on PATH, or name a built one with --controller-gen")
    subprocess.run((go, "install", MODULE), env={**os.environ, "GOBIN": str(folder)}, check=True)
    return folder / "controller-gen"


def _packages(scratch: Path, peer: str, kinds: int, rounds: int) -> dict[str, Cost]:
    go, python = scratch / f"go{kinds}", scratch / f"python{kinds}"
    go.mkdir()
    for name in ("go.mod", "go.sum"):
        shutil.copy(DEPENDENCIES / name, go / name)
    write_go(go, kinds)
    write_python(python, kinds)
    # controller-gen can leave out descriptions of built-in types only together with all others. This measures what
    # its users run.
    theirs = (peer, "crd:generateEmbeddedObjectMeta=true", "paths=./...", "output:crd:dir=out")
    ours = (PYKB, "generate", "crd", "--output-dir", "out")
    costs = in_turn(
        [
            Command(PEER, theirs, cwd=go, before=lambda: shutil.rmtree(go / "out", ignore_errors=True)),
            Command(COLD, ours, cwd=python, before=lambda: _forget(python)),
            Command(UNCHANGED, ours, cwd=python),
        ],
        rounds=rounds,
    )
    found = difference(go / "out", python / "out", kinds)
    if found is not None:
        raise SystemExit(found)
    return costs


def _forget(project: Path) -> None:
    for name in ("out", ".pykb", "config/crd/bases"):
        shutil.rmtree(project / name, ignore_errors=True)


def _project(scratch: Path, peer: str, rounds: int) -> dict[str, Cost]:
    go, python = scratch / "scaffolded", scratch / "sealvm"
    shutil.copytree(HERE / "operators/scaffolded", go)
    subprocess.run((peer, "object", "paths=./..."), cwd=go, check=True)
    new_project(PYKB, python, api=True)
    return in_turn(
        [
            Command(
                "make manifests",
                ("make", "-s", "manifests", f"CONTROLLER_GEN={peer}"),
                cwd=go,
                before=lambda: shutil.rmtree(go / "config", ignore_errors=True),
            ),
            Command(COLD, (PYKB, "generate"), cwd=python, before=lambda: _forget(python)),
            Command(UNCHANGED, (PYKB, "generate"), cwd=python),
        ],
        rounds=rounds,
    )


def difference(theirs: Path, ours: Path, kinds: int) -> str | None:
    """The differences between the CRDs of the two generators. Descriptions of built-in types may differ."""
    names = sorted(path.name for path in theirs.iterdir())
    if len(names) != kinds or names != sorted(path.name for path in ours.iterdir()):
        return "the two generators did not write the same files"
    for name in names:
        left, right = _read(theirs / name), _read(ours / name)
        left["metadata"].pop("annotations")  # its version
        if not _same(left, right):
            return f"the two generators disagree about {name}"
    return None


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return found


def _same(theirs: object, ours: object) -> bool:
    """Whether both are equal, apart from descriptions of built-in types, which only controller-gen writes."""
    if isinstance(theirs, Mapping) and isinstance(ours, Mapping):
        missing = theirs.keys() - ours.keys()
        return (
            missing <= {"description"}
            and ours.keys() <= theirs.keys()
            and all(_same(theirs[key], value) for key, value in ours.items())
        )
    if isinstance(theirs, list) and isinstance(ours, list):
        return len(theirs) == len(ours) and all(map(_same, theirs, ours))
    return theirs == ours


def _report(title: str, costs: dict[str, Cost]) -> None:
    print(title)
    base = next(iter(costs.values()))
    for name, cost in costs.items():
        pairs = ((cost.wall, base.wall), (cost.cpu, base.cpu), (cost.memory, base.memory))
        cells = (f"{own:8.2f} {own / other:6.2f}" for own, other in pairs)
        print(f"  {name:22} {' '.join(cells)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
