"""The fast YAML writer and libyaml write the same bytes, wherever the fast one does not hand over."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pykb.gen.emit.block import Unusual, write_block
from pykb.gen.emit.yaml import dump_document, dump_with_libyaml

ROOT = Path(__file__).parents[3]
# All but those of testdata/import, which are as people write them.
MANIFESTS = sorted(path for path in ROOT.glob("testdata/**/*.yaml") if "import" not in path.parts)

# Words that decide about quotes, between words that make lines long.
_WORD = st.sampled_from(
    ["word", "longer-word", "a", "a:", ":a", "#", "a#", "- ", "'", "it's", '"', "\\", "|", "> ", "...", "---", "1", "1e3",
     "yes", "~", "é", "—", "\u00a0", "\u0085", "\u2028", "\ufeff", "😀", "\t", "\x7f", "{", "}", "[", ",", "&", "!", "%",
     "@", "`", "?", "? ", ": ", "=", "<<", ".5", "2024-01-15", ""]
)  # fmt: skip
_PROSE = st.lists(_WORD, min_size=0, max_size=40).map(" ".join)
_TEXT = _PROSE | st.lists(_PROSE, max_size=5).map("\n".join) | st.text(max_size=100)
_LEAF = _TEXT | st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats(allow_nan=False)
_KEY = st.text("abcxyz-.0129:'\" #é", max_size=12) | _WORD | st.text("k", min_size=95, max_size=130)
_VALUE = st.recursive(
    _LEAF,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEY, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=400)
@given(st.dictionaries(_KEY, _VALUE, min_size=1, max_size=4))
@example({"k": {"l": [["w " * 60 + "end"], {"m": "it's: " + "w " * 40 + "end"}]}})
@example({"k": "x" * 76 + " y z"})
@example({"k": ["a\n\nb", "a\n\n", "\na", " a\nb", "a \nb"]})
def test_both_writers_write_the_same_bytes(document: dict[str, object]) -> None:
    """Or the fast one says that the document is unusual; then libyaml writes it."""
    expected = dump_with_libyaml(document)
    assert dump_document(document) == expected
    try:
        text = write_block(document)
    except Unusual:
        return
    assert text == expected


@pytest.mark.parametrize("column", range(60, 90))
@pytest.mark.parametrize("quote", ["", "it's: "])
def test_long_lines_break_where_libyaml_breaks_them(column: int, quote: str) -> None:
    """At the first blank after the 80th column, whichever character stands there."""
    for text in (f"{quote}{'x' * column} yy zz", f"{quote}{'x ' * (column // 2)}yyyy {'z' * 90} a"):
        document = {"key": text, "list": [text], "deep": {"er": {"key": text}}}
        assert write_block(document) == dump_with_libyaml(document)


def test_manifests_as_generated_are_never_unusual() -> None:
    """All golden manifests of ours go the fast way, and come out as they are."""
    seen = 0
    for path in MANIFESTS:
        for document in yaml.load_all(path.read_text(encoding="utf-8"), yaml.CSafeLoader):
            if isinstance(document, dict) and document.get("kind") == "CustomResourceDefinition":
                seen += 1
                assert write_block(document) == dump_with_libyaml(document), path
    assert seen
