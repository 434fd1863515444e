"""The page about `pykb generate` names all that it takes."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from pykb.cli.generate import generate
from pykb.gen.request import KEYS

PAGE = (Path(__file__).parents[3] / "docs/reference/generate.md").read_text(encoding="utf-8")


def test_every_setting_and_flag_is_on_the_page() -> None:
    """A new option gets a line in the table."""
    settings = {key for key in KEYS if f"| `{key}` |" not in PAGE}
    flags = {
        flag
        for parameter in inspect.signature(generate).parameters.values()
        for flag in re.findall(r"--[a-z][a-z-]+", str(parameter.annotation))
    }
    assert flags
    assert settings == set()
    named = {flag.replace("--no-", "--") for flag in re.findall(r"--[a-z][a-z-]+", PAGE)}
    assert {flag.replace("--no-", "--") for flag in flags} - named == set()


def test_the_page_names_no_flag_that_does_not_exist() -> None:
    """A flag that went takes its line with it."""
    known = str(inspect.signature(generate))
    assert {flag for flag in re.findall(r"`(--[a-z][a-z-]+)", PAGE) if flag not in known} == set()
