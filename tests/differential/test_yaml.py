"""pykb's YAML writer and the library that controller-gen writes with give the same bytes, whatever the texts.

500 other texts in each run by default; ``PYKB_FUZZ_CASES`` sets another number.
"""

from __future__ import annotations

import json
import os
import unicodedata
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from pykb.gen.emit.yaml import dump_document, plain_value, sorted_keys
from pykb.gen.manifest import load_manifest

YamlWriter = Callable[[Mapping[str, Any] | str], str | None]

pytestmark = pytest.mark.differential

CASES = int(os.environ.get("PYKB_FUZZ_CASES", "500"))


def _is_old(char: str) -> bool:
    """Whether all Pythons and Go know alike if this is a letter, by which keys are ordered: its age in Unicode."""
    return unicodedata.ucd_3_2_0.category(char) != "Cn"


# The peer reads its own JSON as YAML, where these are no characters (it fails) or a line break (it becomes a blank).
_LOST = "".join(map(chr, [*range(0x7F, 0xA0), 0xFFFE, 0xFFFF]))
_WORDS = [
    *("=", "~", "y", "n", "Yes", "0x1f", "1e3", "1e400", ".5", ".5_5", "._5", "1_000", "0o7", "0b1", "0b-1", "-0x8", "0"),
    *("12:30:45", "12:60", "2024-01-01", "2024-02-30", "2024-1-5T1:2:3Z", "2024-1-5 1:2:3,5", "-", "?", ":", "--", "---"),
    *("...", "#", " ", "  ", "\t", "\n", "\n\n", "\r", "\u2028", "\u2029", "\ufeff", "\u00a0", "\u3000", "\a", "\0"),
    *("😀", "é", "日本語", "'", '"', "\\", "%", "@", "`", "!", "*", "&", "|", ">", "[", "]", "{", "}", ",", "<<", "/", "+"),
    *("a", "word ", "a-longer-word ", "word  ", "x" * 78),
]  # fmt: skip
_TEXT = (
    st.lists(st.sampled_from(_WORDS), max_size=6).map("".join)
    | st.lists(st.sampled_from(_WORDS), max_size=60).map("".join)
    | st.text("0123456789._+-eExXoObBaf:TZ ", max_size=12)
    | st.text(st.characters(exclude_categories=("Cs", "Cn"), exclude_characters=_LOST).filter(_is_old), max_size=40)
)
# A key `<<` is the one text that the peer writes so that nobody reads it back.
_KEY = _TEXT.filter(lambda text: text != "<<") | st.integers(120, 140).map("k".__mul__)
_LEAF = (
    _TEXT | st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
)


def _are_ordered(document: Mapping[str, Any]) -> bool:
    """Whether the keys have one order. The peer writes `012EO1`, `0f5`, `2T` in any: 012 < 0f, 0 < 2, 2 < 12."""
    pairs = combinations(sorted_keys(document), 2)
    return all(sorted_keys(pair) == list(pair) for pair in pairs)


def _maps(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(_KEY, values, max_size=3).filter(_are_ordered)


_VALUE = st.recursive(_LEAF, lambda inner: st.lists(inner, max_size=3) | _maps(inner), max_leaves=8)


@settings(max_examples=CASES, suppress_health_check=[HealthCheck.too_slow])
@given(_maps(_VALUE))
@example({"k": "ends with a separator\u2028"})
@example({"k": "\ufeffbehind a byte order mark"})
@example({"k": "kept line breaks\n\n"})
@example({"k": ["a\n\u2028", {"a\nb": {"c": 1}, "a\rb": ["c"], "k" * 129: "v"}]})
@example({"k": "9" * 400})
@example({"k": -(2**63) - 1})
def test_any_document_is_written_alike(yaml_writer: YamlWriter, document: dict[str, Any]) -> None:
    """Keys and values that YAML 1.1 might misread, long lines, odd blanks, separators, signs of encodings."""
    assert dump_document(document) == yaml_writer(document)


@pytest.mark.parametrize("text", ["a\x85b", "\x85", "a\n\x85"])
def test_a_next_line_character_survives_here(yaml_writer: YamlWriter, text: str) -> None:
    """The peer turns it into a blank; pykb escapes it."""
    assert "\\N" not in (yaml_writer({"k": text}) or "")
    assert dump_document({"k": text}) == f'k: "{text}"\n'.replace("\n\x85", "\\n\x85").replace("\x85", "\\N")


@pytest.mark.parametrize("text", list(_LOST.replace("\x85", "")))
def test_a_control_character_is_escaped_here(yaml_writer: YamlWriter, text: str) -> None:
    """The peer refuses to write at all."""
    assert yaml_writer({"k": text}) is None
    number = ord(text)
    assert dump_document({"k": text}) == (f'k: "\\x{number:02X}"\n' if number < 0x100 else f'k: "\\u{number:04X}"\n')


_PLAIN = st.text("0123456789._+-eExXoObBaf:TZ~=<yn", min_size=1, max_size=10) | st.sampled_from(
    ["y", "Yes", "off", "~", "null", "=", "1e3", "1_000", "0o17", "0b-1", "2024-01-15", "12:30:45", "-0", "0x_1"]
)


@settings(max_examples=CASES)
@given(_PLAIN.filter(lambda text: text != "<<"))
@example("+9223372036854775808")
@example("18446744073709551615")
def test_plain_scalars_are_read_alike(yaml_writer: YamlWriter, text: str) -> None:
    """As values, and all but numbers as keys; YAML 1.1, PyYAML and Go each have ways of their own."""
    word = isinstance(plain_value(text), str | bool)
    for document in (f"k: {text}\n", *([f"? {text}\n: 1\n"] if word else [])):
        theirs = yaml_writer(document)
        if theirs is None or any(word in text.lower() for word in (".nan", ".inf")):
            continue  # no YAML, or nothing that JSON can say
        ours, expected = load_manifest(document), json.loads(theirs)
        assert ours == expected
        assert type(ours) is type(expected)
