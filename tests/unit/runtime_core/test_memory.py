"""What a manager does to the garbage collector and to the C library's heap."""

import gc
import platform
import subprocess
import sys

import pytest

from pykb._lazy import without_collection
from pykb.runtime._memory import THRESHOLDS
from pykb.runtime._metrics import Distribution


def test_nothing_is_collected_while_modules_are_imported():
    """The collector rests for the block, and is as it was afterwards: also when it was off, also after an error."""
    with without_collection():
        assert not gc.isenabled()
        with without_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ImportError), without_collection():
        raise ImportError
    assert gc.isenabled()


def test_a_program_that_has_settled_looks_seldom():
    """What was there is permanent, and the thresholds are those for parsed JSON."""
    program = (
        "import gc\n"
        "from pykb.runtime._memory import settle\n"
        "settle()\n"
        "assert gc.get_freeze_count() > 100\n"
        f"assert gc.get_threshold() == {THRESHOLDS}\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps them")
def test_a_large_block_is_returned_when_it_is_freed(monkeypatch):
    """Also after a larger one was freed. The environment can say what is large."""
    program = (
        "import ctypes\n"
        "from pykb.runtime._memory import settle\n"
        "class Info(ctypes.Structure):\n"
        "    _fields_ = [(name, ctypes.c_size_t) for name in 'arena ordblks smblks hblks hblkhd a b c d e'.split()]\n"
        "settle()\n"
        "info = ctypes.CDLL(None).mallinfo2\n"
        "info.restype = Info\n"
        "del (large := [bytearray(1 << 20)])[:]\n"
        "before = info().hblks\n"
        "kept = [bytearray(600 * 1024) for _ in range(12)]\n"
        "print(info().hblks - before)\n"
    )
    monkeypatch.delenv("MALLOC_MMAP_THRESHOLD_", raising=False)
    for value, is_returned in ((None, True), ("1048576", False)):
        if value is not None:
            monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", value)
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert (int(run.stdout) > 6) is is_returned  # one or two can have had room in the heap


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps them")
def test_the_heap_returns_what_is_free_between_other_blocks():
    """Each block is too small for a mapping of its own. Every sixteenth stays."""
    program = (
        "import asyncio\n"
        "from pathlib import Path\n"
        "from pykb.runtime._memory import return_freed\n"
        "def pages():\n"
        "    return int(Path('/proc/self/statm').read_text().split()[1])\n"
        "blocks = [bytearray(9000) for _ in range(4000)]\n"
        "kept = blocks[::16]\n"
        "del blocks\n"
        "before = pages()\n"
        "asyncio.run(return_freed())\n"
        "print((before - pages()) * 4096 > 20_000_000)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "True\n"


def test_a_value_counts_under_the_first_bound_that_is_not_less():
    """Buckets add up as Prometheus wants them."""
    times = Distribution((0.1, 1.0))
    for value in (0.05, 0.1, 0.5, 7.0):
        times.observe(value)
    assert times.buckets() == [("0.1", 2), ("1.0", 3), ("+Inf", 4)]
    assert times.sum == pytest.approx(7.65)
