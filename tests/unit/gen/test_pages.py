"""The types that pages show are what the generator reads without a finding."""

from __future__ import annotations

import pytest

from pykb.diagnostics.render import Format, render
from tests.pages import blocks
from tests.unit.gen.conftest import Generate

LEFT_OUT = """
GROUP_VERSION = GroupVersion("infra.example.com", "v1")

class VirtulMachineStatus(Struct):
    phase: str | None = None

"""


@pytest.mark.parametrize("page", ["README.md", "docs/explanation/types.md", "docs/reference/markers.md"])
def test_the_types_of_a_page_have_no_findings(page: str, generate_types: Generate) -> None:
    """The first block, below what it leaves out."""
    found = generate_types(LEFT_OUT + blocks(page)[0])
    assert render(found.diagnostics, style=Format.CONCISE) == ""
    assert found.artifacts["crd"]
