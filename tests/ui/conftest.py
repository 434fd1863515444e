"""Runs a case in a project made for it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
INIT = ("init", "--domain", "sealyun.com", "--owner", "fanux")
MACHINE = ("create", "api", "--group", "infra", "--version", "v1", "--kind", "Machine", "--resource", "--controller")
Golden = Callable[[str, str], None]


@pytest.fixture(scope="session")
def starts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The states that cases start from; to be copied."""
    root = tmp_path_factory.mktemp("starts")
    made = {name: root / name / "sealvm" for name in ("none", "sealvm", "machine")}
    made["none"].mkdir(parents=True)
    shutil.copytree(made["none"], made["sealvm"])
    _pykb(INIT, made["sealvm"])
    shutil.copytree(made["sealvm"], made["machine"])
    _pykb((*MACHINE, "--no-make"), made["machine"])
    return made


def _pykb(words: tuple[str, ...], cwd: Path) -> None:
    subprocess.run([sys.executable, "-m", "pykb", *words], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compares a text with the `.stderr` file of a case, or writes it."""

    def check(case: str, text: str) -> None:
        path = HERE / f"{case}.stderr"
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no {path.name}: run `pytest tests/ui --update-golden` and read what it writes"
        assert text == path.read_text(encoding="utf-8")

    return check
