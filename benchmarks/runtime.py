"""The runtime against controller-runtime and plain kopf: one API server, the same objects, the same work.

    python -m benchmarks.runtime [ROW...] [--quick] [--objects N] [--rounds 3] [--resume] [--skip PEER] [--peer BINARY]

Each row can be run by itself; without a name, all are. What is found is kept in build/benchmarks/runtime.json and
shown as a table at the end; `report` only shows it, `publish` writes it into the documentation, and `--resume` goes on
where a run was broken off. Reported are medians. The API server shares the machine, so wall times move with its load:
CPU and memory are the reliable figures.
"""

from __future__ import annotations

import argparse
import pkgutil
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pykb.client
import pykb.fake
import pykb.runtime
import pykb.serving
import pykb.webhook
from benchmarks.operators.process import ENVIRONMENT
from benchmarks.operators.results import Results, publish, table
from benchmarks.operators.rows import ALONE, GOALS, ROWS
from benchmarks.operators.run import GO, GO_MAPS, Run

HERE = Path(__file__).parent / "operators"
RESULTS = Path("build/benchmarks/runtime.json")
PAGE = Path("docs/explanation/runtime-performance.md")
SHOWING = ("report", "publish")
"""What measures nothing."""


def build_peer(folder: Path) -> Path:
    """Build the Go program.

    Raises:
        SystemExit: There is no Go.
    """
    go = shutil.which("go")
    if go is None:
        raise SystemExit("the peer is built with Go: put `go` on PATH, or name a built one with --peer")
    binary = folder / "peer"
    subprocess.run([go, "build", "-o", binary, "."], cwd=HERE / "controller_runtime", check=True)
    return binary


def compile_all() -> None:
    """Compile bytecode by a first import, outside of all measurements."""
    names = ["benchmarks.operators.on_kopf", "benchmarks.operators.children", "benchmarks.operators.webhooks"]
    for package in (pykb.client, pykb.fake, pykb.runtime, pykb.serving, pykb.webhook):
        names += [module.name for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    subprocess.run([sys.executable, "-c", f"import {', '.join(names)}"], check=True, env=ENVIRONMENT)


def main(arguments: list[str] | None = None) -> None:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"{', '.join(ROWS)}; {', '.join(SHOWING)}")
    parser.add_argument("--quick", action="store_true", help="small, one round: shows that it works")
    parser.add_argument("--rounds", type=int, help="3, or 1 with --quick and of scale and shards")
    parser.add_argument("--resume", action="store_true", help="keep the rounds that are measured already")
    parser.add_argument("--objects", type=int, help="of sync, status (5000), scale and shards (20000)")
    parser.add_argument("--skip", choices=(GO, GO_MAPS, "kopf"), action="append", default=[], help="a peer")
    parser.add_argument("--peer", type=Path, help="a built peer, in place of building one")
    parser.add_argument("--results", type=Path, default=RESULTS)
    flags = parser.parse_args([] if arguments is None else arguments)
    unknown = set(flags.rows) - {*ROWS, *SHOWING}
    if unknown:
        parser.error(f"no row `{min(unknown)}`; there are {', '.join(ROWS)}")
    path: Path = flags.results
    results = Results(path.with_stem(f"{path.stem}-quick") if flags.quick else path)
    rows = [row for row in flags.rows or ROWS if row not in SHOWING]
    if rows:
        with tempfile.TemporaryDirectory() as folder:
            peer = flags.peer or (build_peer(Path(folder)) if set(rows) - set(ALONE) else Path(folder))
            compile_all()
            for row in rows:
                print(f"\n{row}: {(ROWS[row].__doc__ or '').splitlines()[0]}", flush=True)
                rounds = flags.rounds or (1 if flags.quick or row in ALONE else 3)
                ROWS[row](Run(results, peer, flags.quick, rounds, flags.resume, frozenset(flags.skip), flags.objects))
    if "publish" in flags.rows:
        publish(results, GOALS, PAGE)
    shown = rows or list(ROWS)
    print()
    for row in shown:
        print("\n".join(results.figures(row)))
    print(f"\n{table(results, GOALS, wanted=lambda row: row in shown)}")


if __name__ == "__main__":
    main(sys.argv[1:])
