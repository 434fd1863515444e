"""The size of a row's work, and the programs that it runs in turn."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.operators.results import Figures, Results

GO = "controller-runtime"
GO_MAPS = "controller-runtime on maps"
"""The Go program without typed objects, which handles objects as freely as a Python program can."""
SETTLING = 5.0
"""The time after the work until memory counts as steady, in seconds."""


@dataclass(frozen=True, slots=True)
class Run:
    """The size of the work, and the destination of the results."""

    results: Results
    peer: Path
    quick: bool
    rounds: int
    resume: bool
    skipped: frozenset[str] = frozenset()
    objects: int | None = None
    workers: int = 10

    def program(self, name: str) -> tuple[str, ...]:
        """The command that starts a program."""
        modules = {"pykb": "benchmarks.operators.on_pykb", "kopf": "benchmarks.operators.on_kopf"}
        return (sys.executable, "-m", modules[name]) if name in modules else (str(self.peer),)

    def argv(self, program: str, kubeconfig: Path, mode: str, count: int) -> tuple[str, ...]:
        """The command of an operator for ``count`` objects."""
        maps = ("unstructured",) if program == GO_MAPS else ()
        return (*self.program(program), str(kubeconfig), mode, str(count), str(self.workers), *maps)

    def size(self, full: int, quick: int) -> int:
        """The number of objects, unless the options set it."""
        return self.objects or (quick if self.quick else full)

    def settle(self) -> None:
        """Wait until pending work is done and memory is steady."""
        time.sleep(SETTLING / 5 if self.quick else SETTLING)

    def alternate(self, row: str, programs: tuple[str, ...], measure: Callable[[str], Figures]) -> None:
        """Measure the programs in turn, A B C A B C ..., so that drift of the machine affects all equally."""
        for number in range(self.rounds):
            for program in programs:
                if program in self.skipped or self.results.rounds(row, program) > number:
                    continue
                figures = measure(program)
                self.results.add(row, program, figures)
                shown = "  ".join(f"{name} {value:.4g}" for name, value in figures.items())
                print(f"  {row} {number + 1}/{self.rounds} {program:26} {shown}", flush=True)
