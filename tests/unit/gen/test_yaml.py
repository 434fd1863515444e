"""The YAML writer makes go-yaml v2's decisions. Expectations were observed on sigs.k8s.io/yaml v1.6.0."""

from __future__ import annotations

import re

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from pykb.gen.emit.yaml import dump_document, sorted_keys
from pykb.gen.manifest import load_manifest

_KEY = st.text(max_size=10) | st.text("abc-.019:'\" #\t", max_size=12)
PLAIN = [
    "=", "<<", "2024-13-45", "2024-02-30", "2024-01-15T10:00:00", "2024-01-15 10:00:00 -5", "12:60", "a b", "é", ".",
    "1e400", "2024-01-15T10:00:00+0200", "trUe", "_1", "0x", "1e", "e1", "0o8", "-.", "http://x.y/z",
]  # fmt: skip
DOUBLE_QUOTED = [
    "y", "Y", "n", "N", "yes", "off", "0o7", "0O7", "0B1", "0X1F", "1e3", "0987", "08", "", "~", "null", "TRUE", "+.inf",
    ".NaN", "1:30:45", "190:20:30", "1.", "-1.5e+3", "+5", "-0", "007", "18446744073709551616", "1_000",
    "0x_1", ".5", ".5e3", ".5_5", "2024-01-15", "2024-1-5", "2024-01-15T10:00:00Z", "2024-01-15 10:00:00", "-.5",
    "0000-01-01", "1__2", "1_", "0_7", "99999999999999999999999",
]  # fmt: skip
SINGLE_QUOTED = [
    "*",
    "!",
    "&",
    "- a",
    "a: b",
    "a #b",
    "@a",
    "`b`",
    "%x",
    "[a",
    "{a",
    '"q"',
    " lead",
    "trail ",
    "|",
    ">",
    "#c",
]


@pytest.mark.parametrize("text", PLAIN)
def test_what_go_reads_as_a_string_stays_plain(text: str) -> None:
    """No quotes where go-yaml needs none."""
    assert dump_document({"k": text}) == f"k: {text}\n"


@pytest.mark.parametrize("text", DOUBLE_QUOTED)
def test_what_go_reads_as_something_else_is_double_quoted(text: str) -> None:
    """Text that looks like a number, time or truth value."""
    assert dump_document({"k": text}) == f'k: "{text}"\n'


@pytest.mark.parametrize("text", SINGLE_QUOTED)
def test_what_yaml_cannot_write_plain_is_single_quoted(text: str) -> None:
    """Indicators of YAML."""
    assert dump_document({"k": text}) == f"k: '{text}'\n"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1e3, "1000"), (1e16, "10000000000000000"), (0.1, "0.1"), (-0.5, "-0.5"), (1e-5, "1e-05"), (1e-7, "1e-07"),
        (1e20, "1e+20"), (1e21, "1e+21"), (123456789.125, "1.23456789125e+08"), (1234567.5, "1.2345675e+06"),
        (99999.5, "99999.5"), (123456.5, "123456.5"), (0.0001, "0.0001"), (2**63, "9223372036854775808"),
        (10**25, "1e+25"), (3.288541719066335e16, "32885417190663350"), (-(2**63) - 1, "-9.223372036854776e+18"), (-(2**63), "-9223372036854775808"), (0.30000000000000004, "0.30000000000000004"),
    ],
)  # fmt: skip
def test_numbers_are_written_as_go_does(number: float, text: str) -> None:
    """Integers where 64 bits hold them, else the shortest form of Go's `%g`."""
    assert dump_document({"k": number}) == f"k: {text}\n"


def test_keys_are_in_natural_order() -> None:
    """Numbers inside keys count as numbers, letters come after everything else."""
    ordered = [
        "$ref",
        "_x",
        "0",
        "10a",
        "1a",
        "A",
        "Z",
        "a",
        "a-b",
        "a.b",
        "a/b",
        "a_b",
        "a1",
        "a2",
        "a10",
        "aB",
        "ab",
        "d0",
        "d1",
        "d01",
        "d9",
        "d10",
        "d010",
        "d99",
        "d100",
        "d101",
        "d1000",
        "x-kubernetes",
        "x0y",
        "x00y",
        "x1y",
        "x10y",
        "é",
    ]
    assert sorted_keys(reversed(ordered)) == sorted_keys(ordered)
    assert sorted_keys(k for k in ordered if not k.startswith(("d", "x"))) == [
        k for k in ordered if not k.startswith(("d", "x"))
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\ntwo", "k: |-\n  one\n  two\n"),
        ("one\n", "k: |\n  one\n"),
        ("a\tb", 'k: "a\\tb"\n'),
        ("😀", 'k: "\\U0001F600"\n'),
        ("a\u2028", "k: 'a\u2028'\n"),
        ("\ufeffa", 'k: "\\uFEFF\\x61"\n'),
        ("kept\n\n", "k: |+\n  kept\n\n"),
        ("word " * 20 + "end", "k: " + ("word " * 16).strip() + "\n  " + "word " * 4 + "end\n"),
    ],
)
def test_long_and_odd_texts(text: str, expected: str) -> None:
    """Line breaks make a literal block, tabs and emoji double quotes, long texts are folded at 80 columns."""
    assert dump_document({"k": text}) == expected


def test_empty_containers_are_in_flow_style() -> None:
    """As go-yaml writes them."""
    assert dump_document({"a": {}, "b": [], "c": None, "d": [[1, [2]], {"x": True}]}) == (
        "a: {}\nb: []\nc: null\nd:\n- - 1\n  - - 2\n- x: true\n"
    )


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(-(2.0**53), 2.0**53)
    | st.text(st.characters(codec="utf-8"))
    | st.text("0123456789.-+eExob_:TZ =<~", max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEY, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(_KEY, _JSON, max_size=5))
@example({"<<": {"a": "<<"}, "=": ["=", "y", "12:30:45", "2024-01-15"], "": "", "k" * 200: "\x85"})
def test_what_is_written_is_read_back(document: dict[str, object]) -> None:
    """A reader that takes plain scalars as Go does gets the same data."""
    assert load_manifest(dump_document(document)) == document


@given(st.text(st.characters(codec="utf-8")) | st.sampled_from(DOUBLE_QUOTED))
def test_other_readers_get_texts_as_texts(text: str) -> None:
    """A YAML 1.1 reader gets the same text, but for two that mean something of their own to it, and impossible dates."""
    if text not in {"=", "<<"} and not re.match(r"\d{4}-\d", text):
        assert yaml.load(dump_document({"k": [text]}), yaml.CSafeLoader) == {"k": [text]}


@given(st.dictionaries(st.text("ab01-./", min_size=1), st.none(), min_size=1))
def test_output_is_independent_of_the_order_of_keys(document: dict[str, None]) -> None:
    """Same data, same bytes."""
    assert dump_document(document) == dump_document(dict(reversed(document.items())))
