"""YAML from outside: data, or one kind of error with a place, whatever the text is."""

from __future__ import annotations

import pytest
import yaml

from pykb.gen.manifest import load_manifest
from pykb.reading import yaml_text

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)
)


def nested(depth: int) -> dict[str, str]:
    """Texts of a depth, in each way of nesting."""
    return {
        "flow lists": "[" * depth + "]" * depth,
        "flow mappings": "{a: " * (depth - 1) + "1" + "}" * (depth - 1),
        "block lists": "- " * (depth - 1) + "1",
        "block mappings": "".join(f"{' ' * level}a:\n" for level in range(depth - 1)),
        "keys": "? " * (depth - 1) + "1",
    }


@pytest.mark.parametrize("way", nested(2))
@pytest.mark.parametrize("depth", [yaml_text.DEEPEST + 1, 2_500])
def test_what_is_nested_too_deeply_is_an_error_with_a_place(way: str, depth: int) -> None:
    """Also far beyond what C's stack would hold."""
    with pytest.raises(yaml_text.LimitError, match="nested more than 100 levels deep") as caught:
        yaml_text.load(nested(depth)[way])
    assert caught.value.problem_mark is not None


def test_fifty_thousand_brackets_are_an_error() -> None:
    """They ended the process."""
    for read in (yaml_text.load, load_manifest, yaml_text.compose, yaml_text.load_all):
        with pytest.raises(yaml_text.LimitError):
            read("[" * 50_000 + "]" * 50_000)


@pytest.mark.parametrize("way", ["flow lists", "flow mappings", "block lists", "block mappings"])
def test_what_is_nested_as_deeply_as_allowed_is_read(way: str) -> None:
    """The limit leaves room for Python's own."""
    for read in (yaml_text.load, load_manifest):
        value, depth = read(nested(yaml_text.DEEPEST)[way]), 1
        while isinstance(value, dict | list) and value:
            value, depth = value["a"] if isinstance(value, dict) else value[0], depth + 1
        assert depth == yaml_text.DEEPEST


def test_brackets_in_a_text_are_no_nesting() -> None:
    """Descriptions may have what they want."""
    assert yaml_text.load(f'a: "{"[{" * 5_000}"') == {"a": "[{" * 5_000}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (BOMB, "its aliases expand to too many values"),
        ("a: &a [*a]", "contains itself through an alias"),
        ("&a {b: *a}", "contains itself through an alias"),
    ],
)
def test_aliases_that_stand_for_too_much_are_an_error(text: str, problem: str) -> None:
    """Before anything is made of them."""
    for read in (yaml_text.load, load_manifest, yaml_text.compose):
        with pytest.raises(yaml_text.LimitError, match=problem):
            read(text)


def test_aliases_are_read() -> None:
    """Plain ones and merged ones."""
    assert yaml_text.load("a: &a {x: 1}\nb: *a\nc:\n  <<: *a\n  y: 2") == {
        "a": {"x": 1},
        "b": {"x": 1},
        "c": {"x": 1, "y": 2},
    }


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: 1\nb: \0", 2, 4),
        (b"\xef\xbb\xbfa: ok\nb: \xff", 2, 4),
        ("ä: 1\nb: \x07", 2, 4),
        ("a: 1\nb: \ud800", 2, 4),
        ("a: [", 2, 1),
        ("d: 2001-99-99", 1, 1),
        ("i: !!int x", 1, 1),
        ("t: !!timestamp x", 1, 1),
        ("b: !!bool x", 1, 1),
        (f"n: {'9' * 5_000}", 1, 1),
        ("? {a: 1}\n: 2", 1, 3),
        ("!other x", 1, 1),
    ],
)
def test_every_error_is_of_one_class_and_has_a_place(text: str | bytes, line: int, column: int) -> None:
    """What PyYAML would raise in other ways, too."""
    with pytest.raises(yaml.MarkedYAMLError) as caught:
        yaml_text.load(text)
    mark = caught.value.problem_mark
    assert mark is not None
    assert (mark.line + 1, mark.column + 1) == (line, column)
    assert caught.value.problem


def test_what_is_too_long_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not even looked at."""
    monkeypatch.setattr(yaml_text, "LONGEST", 10)
    with pytest.raises(yaml_text.LimitError, match="longer than 10"):
        yaml_text.load("- a\n- b\n- c\n")
