"""The language server's answers while somebody types in a file of many kinds.

    python -m benchmarks.editor [--kinds 1 100] [--rounds 20]

The peer is the bound of the project itself: 100 ms, in which an answer seems to come at once.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.synthetic.python import write_python
from pykb.lsp import _document as document

BOUND_MS = 100.0


def main(arguments: list[str] | None = None) -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", type=int, nargs="*", default=[1, 100])
    parser.add_argument("--rounds", type=int, default=20)
    flags = parser.parse_args([] if arguments is None else arguments)
    print(f"{'':40} {'median ms':>10} {'x bound':>8}")
    for kinds in flags.kinds:
        text = _file(kinds)
        for name, ask in _questions(text).items():
            took = statistics.median(_milliseconds(ask) for _ in range(flags.rounds))
            print(f"{f'{name}, {kinds} kinds, {len(text):,} bytes':40} {took:>10.1f} {took / BOUND_MS:>8.2f}")


def _file(kinds: int) -> str:
    """All kinds in one file."""
    with tempfile.TemporaryDirectory() as folder:
        write_python(Path(folder), kinds)
        texts = [path.read_text(encoding="utf-8") for path in sorted(Path(folder).rglob("*.py"))]
    return "\n".join(each.replace("from __future__", "# from __future__") for each in texts)


def _questions(text: str) -> dict[str, Callable[[], object]]:
    lines = text.split("\n")
    line = next(number for number, each in enumerate(lines) if "# +kubebuilder:" in each)
    column = lines[line].index("+") + len("+kubebuilder:")
    return {
        "mistakes": lambda: document.findings(text, "types.py"),
        "completion": lambda: document.offers(text, line, column),
        "kinds": lambda: document.kinds(text),
        "help": lambda: document.help_at(text, line, column),
    }


def _milliseconds(ask: Callable[[], object]) -> float:
    began = time.perf_counter()
    ask()
    return 1000 * (time.perf_counter() - began)


if __name__ == "__main__":
    main()
