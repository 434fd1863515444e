"""What a manager does to the garbage collector."""

import gc
import subprocess
import sys

import pytest

from pykb._lazy import importing
from pykb.runtime._metrics import Distribution
from pykb.runtime.manager._program import THRESHOLDS


def test_nothing_is_collected_while_modules_are_imported():
    """The collector rests for the block, and is as it was afterwards: also when it was off, also after an error."""
    with importing():
        assert not gc.isenabled()
        with importing():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ImportError), importing():
        raise ImportError
    assert gc.isenabled()


def test_a_program_that_has_settled_looks_seldom():
    """What was there is permanent, and the thresholds are those for parsed JSON."""
    program = (
        "import gc\n"
        "from pykb.runtime.manager._program import settle\n"
        "settle()\n"
        "assert gc.get_freeze_count() > 100\n"
        f"assert gc.get_threshold() == {THRESHOLDS}\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_value_counts_under_the_first_bound_that_is_not_less():
    """Buckets add up as Prometheus wants them."""
    times = Distribution((0.1, 1.0))
    for value in (0.05, 0.1, 0.5, 7.0):
        times.observe(value)
    assert times.buckets() == [("0.1", 2), ("1.0", 3), ("+Inf", 4)]
    assert times.sum == pytest.approx(7.65)
