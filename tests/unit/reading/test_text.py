"""Python and JSON from outside: what the standard library raises besides its own errors."""

from __future__ import annotations

import ast
import gc
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
import yaml

from pykb.python_source.source import is_same_code
from pykb.reading import CONFLICT, TomlError, read_json, read_python, read_toml, yaml_text


def test_python_is_parsed_in_several_threads():
    """A collection of garbage in the middle of a parse lets other threads run. Python 3.11 raised SystemError then."""
    text = f"x = {'[' * 60}{']' * 60}\n" + "y = [(a + 1) * (a - 1) for a in (1, 2)]\n" * 60
    thresholds, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(50)
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            trees = list(pool.map(lambda _: (Yields(), read_python(text))[1], range(200)))
    finally:
        gc.set_threshold(*thresholds)
        sys.setswitchinterval(interval)
    assert all(len(tree.body) == 61 for tree in trees)


class Yields:
    """Lets other threads run when the garbage collector finds it."""

    def __init__(self) -> None:
        self.cycle = self

    def __del__(self) -> None:
        time.sleep(0)


def test_python_is_parsed_while_a_finalizer_parses():
    """As `traceback` does for its marks, when an error of a forgotten task is logged. It waits until the end."""
    text = "y = [(a + 1) * (a - 1) for a in (1, 2)]\n" * 300
    thresholds = gc.get_threshold()
    gc.set_threshold(20)
    try:
        for _ in range(20):
            made = [Parses() for _ in range(30)]
            del made
            assert len(read_python(text).body) == 300
    finally:
        gc.set_threshold(*thresholds)
        gc.collect()  # the last ones, before they parse while another test does
    assert gc.isenabled()


class Parses:
    """Parses deep in the stack when the garbage collector finds it."""

    def __init__(self) -> None:
        self.cycle = self

    def __del__(self, depth: int = 30) -> None:
        if depth:
            Parses.__del__(self, depth - 1)
        else:
            collects = gc.isenabled()
            gc.disable()
            ast.parse("x = 1")
            if collects:
                gc.enable()


@pytest.mark.parametrize(
    "text",
    [
        "-" * 50_000 + "1",
        "(" * 50_000,
        "a\0b",
        "9" * 5_000,
        "def f(",
        "\ud800",
    ],
)
def test_python_that_does_not_parse_is_a_syntax_error(text: str) -> None:
    """Whatever Python itself raises for it."""
    with pytest.raises(SyntaxError) as caught:
        read_python(text)
    assert caught.value.msg


@pytest.mark.parametrize("text", [f"a{'.b' * 50_000}", "1" + "+1" * 50_000])
def test_a_long_chain_is_a_tree_or_a_syntax_error(text: str) -> None:
    """Python 3.14 parses it. Who compares such trees must not fail."""
    with suppress(SyntaxError):
        read_python(text)
    assert not is_same_code(text, f"{text} ")


@pytest.mark.parametrize("text", ["[" * 50_000, '{"a":' * 50_000, "{", b"\xff\xfe\xff", "9" * 5_000, "\ud800"])
def test_json_that_does_not_parse_is_a_value_error(text: str | bytes) -> None:
    """Also for nesting, of which the standard library raises a RecursionError."""
    with pytest.raises(ValueError, match=r"\w"):
        read_json(text)


def test_a_merge_conflict_of_git_is_named_with_its_line():
    """The parsers say what they expected there, or in a later line."""
    python, toml, listing = (
        f"{before}<<<<<<< HEAD\n{mine}=======\n{theirs}>>>>>>> other\n{after}"
        for before, mine, theirs, after in (
            ("names = (\n", "    1,\n", "    2,\n", ")\n"),
            ("[a]\n", "b = 1\n", "b = 2\n", ""),
            ("a:\n", "- b\n", "- c\n", ""),
        )
    )
    with pytest.raises(SyntaxError) as of_python:
        read_python(python)
    with pytest.raises(TomlError) as of_toml:
        read_toml(toml.encode())
    with pytest.raises(yaml.MarkedYAMLError) as of_yaml:
        yaml_text.load(listing)
    assert (of_python.value.msg, of_python.value.lineno) == (CONFLICT, 2)
    assert (str(of_toml.value), of_toml.value.line) == (f"expected TOML, found {CONFLICT}", 2)
    assert yaml_text.reason(of_yaml.value) == f"{CONFLICT}, in line 2"


def test_a_text_that_parses_may_have_the_markers_of_a_conflict():
    """In a string, for example."""
    assert len(read_python('"""\n<<<<<<< HEAD\n"""\n').body) == 1
    assert yaml_text.load("a: |\n  <<<<<<< HEAD\n") == {"a": "<<<<<<< HEAD\n"}


def test_json_is_read_as_yaml_with_the_escapes_that_only_json_has():
    """Python writes a character beyond U+FFFF as two escapes. In a text that is not JSON, they are what is written."""
    content = {"ship \U0001f6a2\U0001f6a2": ["\\ud83d\\udea2", "\\\U0001f6a2"]}
    assert yaml_text.load(json.dumps(content)) == content
    assert yaml_text.load(r"a: '\ud83d\udea2'") == {"a": r"\ud83d\udea2"}
    with pytest.raises(yaml.MarkedYAMLError):
        yaml_text.load(r'{"a": "\ud83d"}')
