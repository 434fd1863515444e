"""The made-up kinds of the generator's benchmark are the same API in both languages: it compares equal work."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.generator import DEPENDENCIES, difference
from benchmarks.synthetic.fields import KINDS_PER_TEMPLATE
from benchmarks.synthetic.go import write_go
from benchmarks.synthetic.python import write_python
from pykb.diagnostics.render import Format, render
from pykb.gen.options import GenerateOptions
from pykb.gen.run import generate

pytestmark = pytest.mark.differential


def test_both_generators_write_the_same_crds(controller_gen: Callable[..., Any], tmp_path: Path) -> None:
    """As many kinds as it takes for each kind of field to occur."""
    go, python = tmp_path / "go", tmp_path / "python"
    go.mkdir()
    for name in ("go.mod", "go.sum"):
        shutil.copy(DEPENDENCIES / name, go / name)
    write_go(go, KINDS_PER_TEMPLATE)
    write_python(python, KINDS_PER_TEMPLATE)
    done = controller_gen(go, "crd:generateEmbeddedObjectMeta=true", "paths=./...", f"output:crd:dir={go / 'out'}")
    assert done.returncode == 0, done.stderr
    result = generate(GenerateOptions(root=python, generators=("crd",)))
    assert not result.diagnostics.has_errors(), render(result.diagnostics, style=Format.CONCISE)
    (python / "out").mkdir()
    for artifact in result.artifacts["crd"]:
        (python / "out" / artifact.path).write_text(artifact.render(), encoding="utf-8")
    assert difference(go / "out", python / "out", KINDS_PER_TEMPLATE) is None
