"""`python -m hack.chaos`: let every fault strike operators under load, and print what came of it as a table.

The same rounds as those of tests/chaos; docs/explanation/faults.md explains the columns.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from pykb.envtest import ControlPlane, get_assets
from tests.chaos.cluster import Cluster
from tests.chaos.faults import ALL, SHARDED
from tests.chaos.play import FULL, SMALL, Size, play
from tests.chaos.verdict import Verdict, table


async def run(size: Size, words: list[str]) -> list[Verdict]:
    """Play every fault whose name has one of the words, on one control plane."""
    chosen = [fault for fault in (*ALL, *SHARDED) if not words or any(word in fault.name for word in words)]
    verdicts: list[Verdict] = []
    assets = get_assets(controller_manager=True)
    with tempfile.TemporaryDirectory(prefix="pykb-chaos-") as folder, ControlPlane(assets=assets) as plane:
        for number, fault in enumerate(chosen):
            print(time.strftime("%X"), fault.name, file=sys.stderr, flush=True)
            place = Path(folder) / str(number)
            place.mkdir()
            async with Cluster(plane, place) as cluster:
                verdict = await play(fault, cluster, size)
            verdicts.append(verdict)
            print(*verdict.row() if verdict.good else (verdict,), sep=" | ", file=sys.stderr, flush=True)
    return verdicts


def main() -> int:
    """Read the command line. Returns 1 when any fault gave a wrong result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="as in the normal test suite, in a minute or two")
    parser.add_argument("--objects", type=int, help="how many objects")
    parser.add_argument("--times", type=int, help="how often a fault strikes")
    parser.add_argument("words", nargs="*", help="only faults whose names have one of these words")
    arguments = parser.parse_args()
    size = SMALL if arguments.small else FULL
    size = replace(size, objects=arguments.objects or size.objects, times=arguments.times or size.times)
    verdicts = asyncio.run(run(size, arguments.words))
    print(table(verdicts))
    return 0 if all(verdict.good for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
