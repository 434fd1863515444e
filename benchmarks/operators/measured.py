"""Runs one command and prints its cost as JSON: `python -m benchmarks.operators.measured COMMAND...`.

On Linux the peak memory of a process counts from before its `exec`, so a child of a large process looks
as large as that.
This one is small.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from benchmarks.measure import Command, run

if __name__ == "__main__":
    print(json.dumps(asdict(run(Command("measured", tuple(sys.argv[1:]))))))
