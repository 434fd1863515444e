"""The API references of testdata/docs are what the types of testdata/crd give, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykb.diagnostics.render import Format, render
from pykb.gen.docs.generate import RENDERERS, generate_docs
from pykb.gen.options import GenerateOptions

ROOT = Path(__file__).parents[2] / "testdata"
CASES = ("pythonic", "versions")
SUFFIXES = {"markdown": "md", "html": "html"}


def pages(case: str) -> dict[str, str]:
    """Both forms of the reference of a case."""
    folder = ROOT / "crd" / case
    paths = tuple(str(path.relative_to(folder)) for path in sorted(folder.rglob("*_types.py")))
    texts, diagnostics = generate_docs(GenerateOptions(root=folder, paths=paths), tuple(RENDERERS))
    assert not diagnostics.has_errors, render(diagnostics, style=Format.CONCISE)
    return texts


@pytest.mark.parametrize("case", CASES)
def test_references_are_as_committed(case: str, request: pytest.FixtureRequest) -> None:
    """An unexplained difference is a bug; `--update-golden` accepts an explained one."""
    for name, text in pages(case).items():
        expected = ROOT / "docs" / f"{case}.{SUFFIXES[name]}"
        if request.config.getoption("--update-golden"):
            expected.write_text(text, encoding="utf-8")
        assert text == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES)
def test_a_second_run_gives_the_same_bytes(case: str) -> None:
    """Nothing of the first run stays behind."""
    assert pages(case) == pages(case)
