"""A project in a temporary directory, and what is generated from it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from pykb.gen.options import GenerateOptions
from pykb.gen.run import GenerateResult, generate

HEADER = """\
from __future__ import annotations
from datetime import *
from enum import *
from typing import *
from pykb.api import *
from pykb.api.meta.v1 import *
GV = GroupVersion("example.com", "v1")
"""

Generate = Callable[..., GenerateResult]


@pytest.fixture
def first_line() -> int:
    """The line that a source given to `generate_types` starts at."""
    return HEADER.count("\n") + 1


@pytest.fixture
def generate_types(tmp_path: Path) -> Generate:
    """Generate from the source of one module of types; extra options go through."""

    def run(source: str, **options: object) -> GenerateResult:
        package = tmp_path / "shop" / "api" / "v1"
        package.mkdir(parents=True, exist_ok=True)
        for folder in (package, package.parent, package.parent.parent):
            (folder / "__init__.py").touch()
        (package / "things.py").write_text(HEADER + dedent(source).lstrip("\n"), encoding="utf-8")
        return generate(GenerateOptions(root=tmp_path, generators=("crd",), **options))  # type: ignore[arg-type]

    return run
