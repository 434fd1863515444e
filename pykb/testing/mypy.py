"""Runs mypy in a project, with mypy's arguments: ``python -m pykb.testing.mypy``.

A first run reads a thousand modules of packages, which takes five seconds. What it has learned is kept for the user's
next project or clone. mypy compares files with what it knows of them, and reads those that differ.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import sysconfig
from contextlib import closing, suppress
from pathlib import Path

from pykb.envtest.cache import user_cache_folder

_KNOWN = Path(".mypy_cache")
_MYPY = (sys.executable, "-P", "-m", "mypy")


def main() -> int:
    """Run mypy and return its exit code."""
    kept = _kept()
    is_new = not _KNOWN.exists() and "MYPY_CACHE_DIR" not in os.environ
    if is_new:
        _copy(kept, _KNOWN)
    try:
        code = _run_in_parallel() if is_new and not _KNOWN.exists() else None
        code = _run() if code is None else code
    except KeyboardInterrupt:
        return 130
    if is_new and code in (0, 1):
        with suppress(OSError):
            _keep(kept)
    return code


def _run_in_parallel() -> int | None:
    """Run mypy in two processes, which saves a third of the time of a first run.

    Returns:
        Its exit code, ``None`` if it has no verdict: it is older than 2, or the machine is so busy that a process of
        it did not start within its three seconds.
    """
    colour = {"MYPY_FORCE_COLOR": "1"} if sys.stdout.isatty() else {}
    done = subprocess.run(
        [*_MYPY, "--num-workers=2", *sys.argv[1:]], env=os.environ | colour, capture_output=True, check=False
    )
    if done.returncode not in (0, 1):
        return None
    sys.stdout.buffer.write(done.stdout)
    sys.stderr.buffer.write(done.stderr)
    return done.returncode


def _run() -> int:
    return subprocess.run([*_MYPY, *sys.argv[1:]], check=False).returncode


def _kept() -> Path:
    try:
        return user_cache_folder() / "pykubebuilder" / "mypy"
    except RuntimeError:  # this user has no home
        return Path(os.devnull)


def _keep(kept: Path) -> None:
    """Keep what mypy has learned, unless it is what another project with these packages has learned."""
    installed = "".join(sorted(f"{path.stem}\n" for path in Path(sysconfig.get_path("purelib")).glob("*.dist-info")))
    packages = kept / "packages.txt"
    if packages.exists() and packages.read_text(encoding="utf-8") == installed:
        return
    kept.mkdir(mode=0o700, parents=True, exist_ok=True)  # mypy has also learned of this project
    _copy(_KNOWN, kept)
    packages.write_text(installed, encoding="utf-8")


def _copy(source: Path, target: Path) -> None:
    """Copy mypy's databases, which another mypy may use just now. Without them, mypy only takes longer."""
    with suppress(OSError, sqlite3.Error):
        for file in source.glob("*/*.db"):
            place = target / file.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(file)) as known, closing(sqlite3.connect(place)) as copy:
                if target == _KNOWN:
                    copy.execute("PRAGMA synchronous=OFF")  # as mypy: only what is kept must survive a power failure
                known.backup(copy)


if __name__ == "__main__":
    sys.exit(main())
