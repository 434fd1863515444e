"""The page about markers and `pykb explain`: complete."""

from __future__ import annotations

import pytest

from hack.markers import render as render_reference
from pykb.markers.definition import MarkerDefinition
from pykb.markers.registry import builtin_registry, explain_marker, list_markers


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
