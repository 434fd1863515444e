"""`pykb explore` on the sample `app`: histories a second on one core, CPU for each, and memory as they get more.

A run tries several histories if it can. So it says also how many runs there were.

    python -m benchmarks.explorer [--rounds 4]

There is no peer. A process explores the sample once, another one several times. The start of both is the same, so the
difference is what histories cost.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

from pykb.explore import Explorer, subject_of

APP = Path(__file__).parents[1] / "testdata" / "app"


def main(arguments: list[str] | None = None) -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4, help="explorations of the second process")
    parser.add_argument("--inside", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments if arguments is not None else [])
    if given.inside:
        print(json.dumps(explored(given.inside)))
        return
    (few, _, less, before), (many, runs, more, after) = (measured(rounds) for rounds in (1, given.rounds))
    each = (more - less) / (many - few)
    print(f"{1 / each:.0f} histories a second on one core, {each * 1000:.1f} ms of CPU each")
    print(f"{many:.0f} histories in {runs:.0f} runs")
    print(f"peak memory: {before:.0f} MiB after {few:.0f} histories, {after:.0f} MiB after {many:.0f}")


def measured(rounds: int) -> tuple[float, float, float, float]:
    """Histories, runs, seconds of CPU and peak MiB of a process that explores so often."""
    argv = [sys.executable, "-m", "benchmarks.explorer", "--inside", str(rounds)]
    done = subprocess.run(argv, check=True, capture_output=True, text=True)
    histories, runs, seconds, memory = json.loads(done.stdout)
    return histories, runs, seconds, memory


def explored(rounds: int) -> tuple[int, int, float, float]:
    """The same of this process."""
    os.chdir(APP)
    reports = [Explorer(subject_of(APP, package="app_operator")).run() for _ in range(rounds)]
    histories, runs = (sum(each) for each in zip(*((it.histories.total(), it.runs) for it in reports), strict=True))
    usage = resource.getrusage(resource.RUSAGE_SELF)
    scale = 1024 * 1024 if sys.platform == "darwin" else 1024
    return histories, runs, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / scale


if __name__ == "__main__":
    main(sys.argv[1:])
