"""The peers that differential tests run: built from their Go modules, once per machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CONTROLLER_GEN = "v0.23.0"


@pytest.fixture(scope="session")
def controller_gen() -> str:
    """The real controller-gen: the one on PATH if it has the right version, else built into the user's cache."""
    found = shutil.which("controller-gen")
    if found and _version(found) == CONTROLLER_GEN:
        return found
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pykb" / "peers" / CONTROLLER_GEN
    program = cache / "controller-gen"
    if not program.exists():
        go = shutil.which("go")
        if go is None:
            pytest.fail("differential tests need Go on PATH, to build controller-gen", pytrace=False)
        subprocess.run(
            [go, "install", f"sigs.k8s.io/controller-tools/cmd/controller-gen@{CONTROLLER_GEN}"],
            env={**os.environ, "GOBIN": str(cache), "GOFLAGS": "-mod=mod"},
            check=True,
            capture_output=True,
            text=True,
            timeout=600,
        )
    return str(program)


def _version(program: str) -> str:
    shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    return shown.removeprefix("Version:").strip()
