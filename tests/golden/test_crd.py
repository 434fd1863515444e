"""The CRDs of testdata/crd are what the types there generate, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykb.diagnostics.render import Format, render
from pykb.gen.options import GenerateOptions
from pykb.gen.run import generate

ROOT = Path(__file__).parents[2] / "testdata" / "crd"
CASES = sorted(path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "__pycache__")


def generated(case: str) -> str:
    """All CRDs of a case as one stream of documents."""
    result = generate(GenerateOptions(root=ROOT / case, generators=("crd",), paths=_paths(ROOT / case)))
    assert not list(result.diagnostics), render(result.diagnostics, style=Format.CONCISE)
    return "".join(artifact.render() for artifact in result.artifacts["crd"])


def _paths(folder: Path) -> tuple[str, ...]:
    return tuple(str(path.relative_to(folder)) for path in sorted(folder.rglob("*_types.py")))


@pytest.mark.parametrize("case", CASES)
def test_crds_are_as_committed(case: str, request: pytest.FixtureRequest) -> None:
    """An unexplained difference is a bug; `--update-golden` accepts an explained one."""
    expected = ROOT / case / "expected.yaml"
    found = generated(case)
    if request.config.getoption("--update-golden"):
        expected.write_text(found, encoding="utf-8")
    assert found == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES)
def test_generation_twice_gives_the_same_bytes(case: str) -> None:
    """Nothing of the first run stays behind."""
    assert generated(case) == generated(case)
