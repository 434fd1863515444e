"""The generated built-in types are what the generator makes of the server of this version."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.apiserver

ROOT = Path(__file__).parents[3]


@pytest.mark.default_kubernetes
def test_the_builtin_types_are_up_to_date(control_plane: Any, tmp_path: Path) -> None:
    """`python -m hack.builtin_types` writes the same bytes again, while the kinds of others come and go."""
    command = [sys.executable, "-m", "hack.builtin_types", "--kubeconfig", str(control_plane.kubeconfig)]
    done = subprocess.run([*command, "--output", str(tmp_path)], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    written = {path.relative_to(tmp_path): path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.py")}
    assert len(written) > 40
    for path, text in written.items():
        assert (ROOT / "pykb" / "api" / path).read_text(encoding="utf-8") == text, path
