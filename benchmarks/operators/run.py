"""How much a row does, and which programs it runs in turn."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.operators.results import Figures, Results

GO = "controller-runtime"
GO_MAPS = "controller-runtime on maps"
"""The same without Go types: what a program in Go costs that handles objects as freely as one in Python may."""
SETTLING = 5.0
"""Seconds after the work until memory counts as steady."""


@dataclass(frozen=True, slots=True)
class Run:
    """How much to do, and where the results go."""

    results: Results
    peer: Path
    quick: bool
    rounds: int
    resume: bool
    skipped: frozenset[str] = frozenset()
    objects: int | None = None
    workers: int = 10

    def program(self, name: str) -> tuple[str, ...]:
        """How a program is started."""
        modules = {"pykb": "benchmarks.operators.on_pykb", "kopf": "benchmarks.operators.on_kopf"}
        return (sys.executable, "-m", modules[name]) if name in modules else (str(self.peer),)

    def argv(self, program: str, kubeconfig: Path, mode: str, count: int) -> tuple[str, ...]:
        """The command of an operator that works on so many objects."""
        maps = ("unstructured",) if program == GO_MAPS else ()
        return (*self.program(program), str(kubeconfig), mode, str(count), str(self.workers), *maps)

    def size(self, full: int, quick: int) -> int:
        """How many objects, unless it was said."""
        return self.objects or (quick if self.quick else full)

    def settle(self) -> None:
        """Wait until all that is under way is done, and memory is steady."""
        time.sleep(SETTLING / 5 if self.quick else SETTLING)

    def alternate(self, row: str, programs: tuple[str, ...], measure: Callable[[str], Figures]) -> None:
        """Measure the programs in turn, A B C A B C ..., so that a drift of the machine meets all alike."""
        for number in range(self.rounds):
            for program in programs:
                if program in self.skipped or self.results.rounds(row, program) > number:
                    continue
                figures = measure(program)
                self.results.add(row, program, figures)
                shown = "  ".join(f"{name} {value:.4g}" for name, value in figures.items())
                print(f"  {row} {number + 1}/{self.rounds} {program:26} {shown}", flush=True)
