"""The exact text of the messages about markers; each file has a source, a line of equals signs, and the output."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes import markers as codes
from pykb.diagnostics.model import Code
from pykb.diagnostics.render import render
from pykb.markers.collect import collect
from pykb.markers.registry import builtin_registry

CASES = sorted((Path(__file__).parent / "messages").glob("*.txt"))


@pytest.mark.parametrize("case", CASES, ids=lambda p: p.stem)
def test_a_message_reads_as_reviewed(case: Path, tmp_path: Path) -> None:
    """What, where, why, and what to type."""
    source, _, expected = case.read_text(encoding="utf-8").partition("=====\n")
    (tmp_path / "types.py").write_text(source, encoding="utf-8")
    diagnostics = Diagnostics()
    collect(source, "types.py", registry=builtin_registry(), diagnostics=diagnostics)
    assert render(diagnostics, root=tmp_path) == expected


def test_every_code_of_the_area_has_a_case() -> None:
    """A new kind of mistake comes with its text."""
    shown = "".join(c.read_text(encoding="utf-8") for c in CASES)
    missing = {c.slug for c in vars(codes).values() if isinstance(c, Code) and f"[{c.slug}]" not in shown}
    assert missing == {"source-unreadable"}  # a file's bytes are the business of whoever reads it: pykb.gen.run
