"""The registry of codes is complete: `pykb explain` and the reference know every kind of mistake there is."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from pykb.cli import app
from pykb.diagnostics.codes import all_codes
from pykb.diagnostics.model import Code

PACKAGE = Path(__file__).resolve().parents[3] / "pykb"
CODES = PACKAGE / "diagnostics" / "codes"
MAKERS = ("Code", "note", "warning")
"""What makes a code."""


def declared() -> list[tuple[Path, str, str]]:
    """File, name and slug of each code that is made anywhere."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not any(f"{maker}(" in text for maker in MAKERS):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                call = node.value
                if isinstance(call.func, ast.Name) and call.func.id in MAKERS and isinstance(node.targets[0], ast.Name):
                    given = {word.arg: word.value for word in call.keywords}
                    slug = call.args[0] if call.args else given["slug"]
                    found.append((path, node.targets[0].id, ast.literal_eval(slug)))
    return found


def test_codes_are_declared_in_one_place_with_one_slug_each() -> None:
    """A code elsewhere, or a slug used twice, would be missing from the reference."""
    found = declared()
    assert {path.parent for path, _, _ in found} == {CODES}
    slugs = Counter(slug for _, _, slug in found)
    assert max(slugs.values()) == 1
    assert set(slugs) == set(all_codes())


def test_every_code_is_used() -> None:
    """What is explained can happen."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py")) if path.parent != CODES]
    text = "\n".join(texts)
    assert not [name for _, name, _ in declared() if name not in text]


@pytest.mark.parametrize("code", all_codes().values(), ids=lambda code: code.slug)
def test_every_code_can_be_explained(code: Code, capfd: pytest.CaptureFixture[str]) -> None:
    """By its slug, with its title, and an explanation of more than a title's length."""
    assert app.run(["explain", code.slug]) == 0
    out = capfd.readouterr().out
    assert out.startswith(f"{code.severity}[{code.slug}]: {code.title}\n")
    assert len(out) > len(code.title) + 60
