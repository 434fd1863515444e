"""The page about `pykb generate` names all that it takes."""

from __future__ import annotations

import re
from pathlib import Path

from pykb.cli.app import root as command_line
from pykb.gen.request import KEYS

PAGE = (Path(__file__).parents[3] / "docs/reference/generate.md").read_text(encoding="utf-8")
_COMMAND = command_line().get_command(None, "generate")
FLAGS = {
    flag
    for parameter in _COMMAND.params
    for flag in (*parameter.opts, *parameter.secondary_opts)
    if flag.startswith("--")
} - {"--help", "--format", "--verbose"}  # every command has them


def test_every_setting_and_flag_is_on_the_page() -> None:
    """A new option gets a line in the table."""
    assert {key for key in KEYS if f"| `{key}` |" not in PAGE} == set()
    named = {flag.replace("--no-", "--") for flag in re.findall(r"--[a-z][a-z-]+", PAGE)}
    assert {flag.replace("--no-", "--") for flag in FLAGS} - named == set()


def test_the_page_names_no_flag_that_does_not_exist() -> None:
    """A flag that went takes its line with it."""
    assert set(re.findall(r"`(--[a-z][a-z-]+)", PAGE)) <= FLAGS
