"""Mutated files of types, through the whole generator: each is taken or reported with a place, none ends in a traceback.

40 by default; ``PYKB_FUZZ_CASES`` counts markers, fifty for each file.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CASES = max(40, int(os.environ.get("PYKB_FUZZ_CASES", "2000")) // 50)
BATCHES = 4
PROGRAM = Path(__file__).parent / "fuzz_types.py"


@pytest.mark.parametrize("batch", range(BATCHES))
@pytest.mark.timeout(900)
def test_a_mutated_file_of_types_is_taken_or_reported_with_its_place(batch: int, tmp_path: Path) -> None:
    """No exception, no hang, no silence; each finding has a line and a column of the file; all output can be written."""
    count = CASES // BATCHES
    done = subprocess.run(
        [sys.executable, PROGRAM, tmp_path, str(batch * count), str(count)],
        capture_output=True,
        text=True,
        check=False,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = [f"case {case['case']}: {case['problem']}\n{case['source']}" for case in found if "problem" in case]
    assert not wrong, "\n".join(wrong)
    assert len(found) == count, done.stderr  # killed: by the bound on memory, or by a signal
