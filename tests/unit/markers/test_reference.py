"""The reference pages and `pykb explain`: made from the registries, complete, and committed as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykb.diagnostics import render as diagnostics
from pykb.diagnostics.codes import all_codes
from pykb.markers.definition import MarkerDefinition
from pykb.markers.reference import explain_marker, list_markers, render_reference
from pykb.markers.registry import builtin_registry

PAGES = Path(__file__).resolve().parents[3] / "docs" / "reference"


def test_the_page_of_markers_is_current() -> None:
    """`python hack/write_reference.py` writes it."""
    assert (PAGES / "markers.md").read_text(encoding="utf-8") == render_reference(builtin_registry())


def test_the_page_of_diagnostics_is_current() -> None:
    """`python hack/write_reference.py` writes it."""
    expected = diagnostics.render_reference(all_codes().values())
    assert (PAGES / "diagnostics.md").read_text(encoding="utf-8") == expected


@pytest.mark.parametrize("definition", list(builtin_registry()), ids=lambda d: d.name)
def test_every_marker_is_on_the_page_and_explains_itself(definition: MarkerDefinition) -> None:
    """With its summary, its example and each argument."""
    text = explain_marker(definition)
    assert definition.summary in text
    assert definition.example in text
    assert all((a.name or "(value)") in text for a in definition.arguments)
    page = render_reference(builtin_registry())
    if not definition.items_depth:
        assert f"`+{definition.name}`" in page
        assert f"+{definition.name} " in list_markers(builtin_registry())
