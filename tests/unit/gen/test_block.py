"""The layout of documents, seen on manifests and on lines about as long as they may be."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pykb.gen.emit.yaml import dump_document
from pykb.gen.manifest import load_manifest

ROOT = Path(__file__).parents[3]
# All but those of testdata/import, which are as people write them.
MANIFESTS = sorted(path for path in ROOT.glob("testdata/**/*.yaml") if "import" not in path.parts)


@pytest.mark.parametrize("column", range(60, 90))
@pytest.mark.parametrize("quote", ["", "it's: "])
def test_long_lines_break_where_libyaml_breaks_them(column: int, quote: str) -> None:
    """At the first blank after the 80th column, whichever character stands there."""
    for text in (f"{quote}{'x' * column} yy zz", f"{quote}{'x ' * (column // 2)}yyyy {'z' * 90} a"):
        document = {"deep": {"er": {"key": text}}, "key": text, "list": [text]}
        libyaml = yaml.dump(document, Dumper=yaml.CSafeDumper, width=80, default_flow_style=False)
        assert dump_document(document) == libyaml


def test_generated_manifests_come_out_as_they_are() -> None:
    """Read as Go reads them, and written again: the same bytes."""
    seen = 0
    for path in MANIFESTS:
        head, marker, body = path.read_text(encoding="utf-8").rpartition("---\n")
        document = load_manifest(body) if marker and not head.strip(" \n") else None
        if isinstance(document, dict) and document.get("kind") == "CustomResourceDefinition":
            seen += 1
            assert dump_document(document) == body, path
    assert seen
