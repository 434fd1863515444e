"""Keeps the wheels of a file with pins and hashes in the user's cache, in place of an index for tests."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path


def wheels(requirements: Path) -> Path:
    """The folder, which is filled the first time."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pykubebuilder-tests"
    version = ".".join(map(str, sys.version_info[:2]))
    folder = base / f"wheels-{version}-{hashlib.sha256(requirements.read_bytes()).hexdigest()[:16]}"
    if not folder.is_dir():
        base.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".draft-", dir=base) as draft:
            made, python = Path(draft) / "wheels", Path(sys.executable)
            if find_spec("pip") is None:  # uv made this environment
                subprocess.run([python, "-m", "venv", Path(draft) / "venv"], check=True)
                python = Path(draft) / "venv/bin/python"
            options = ("--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes", "--dest", made)
            subprocess.run([python, "-m", "pip", "download", *options, "--requirement", requirements], check=True)
            if not folder.is_dir():  # another process may have been faster
                made.rename(folder)
    return folder
