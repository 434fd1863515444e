"""Checks before writing that rendered files have the format of their extension."""

from __future__ import annotations

import re
import tomllib
from pathlib import PurePosixPath

import yaml

from pykb.diagnostics import Diagnostic, Span
from pykb.diagnostics.codes.scaffold import RENDERED_BROKEN
from pykb.reading import python_text, yaml_text


def check(path: str, content: bytes) -> Diagnostic | None:
    """What is wrong with a rendered file, or ``None``."""
    pure = PurePosixPath(path)
    if pure.suffix not in {".py", ".yaml", ".yml", ".toml"} and pure.name != "Makefile":
        return None
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        return _finding(path, 1, f"is no UTF-8 text: {error.reason}")
    if pure.suffix == ".py":
        return _python(path, text)
    if pure.name == "Makefile":
        return _makefile(path, text)
    if pure.suffix == ".toml":
        try:
            tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            return _finding(path, 1, f"is no TOML: {error}")
        return None
    try:
        yaml_text.load_all(text)
    except yaml.MarkedYAMLError as error:
        return _finding(path, yaml_text.place(error, path).line, f"is no YAML: {error.problem}")
    return None


def _python(path: str, text: str) -> Diagnostic | None:
    try:
        python_text.parse(text)
    except SyntaxError as error:
        return _finding(path, error.lineno or 1, f"is no Python: {error.msg}")
    return None


def _makefile(path: str, text: str) -> Diagnostic | None:
    """Find recipe lines that begin with blanks in place of a tab."""
    in_rule = False
    for number, line in enumerate(text.splitlines(), start=1):
        if re.match(r"[A-Za-z0-9_.$()/%-]+(?: [A-Za-z0-9_.$()/%-]+)*:(?!=)", line):
            in_rule = True
        elif in_rule and line.startswith("  ") and line.strip():
            return _finding(path, number, "has a recipe that does not begin with a tab")
        elif not line.startswith("\t") and line.strip() and not line.startswith("#"):
            in_rule = False
    return None


def _finding(path: str, line: int, problem: str) -> Diagnostic:
    return RENDERED_BROKEN.at(
        Span(path, line, 1),
        f"the template of `{path}` gave a file that {problem}",
        notes=("nothing was written",),
    )
