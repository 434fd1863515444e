"""What a repository says is shown by a terminal, not obeyed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykb.diagnostics import Span
from pykb.diagnostics.codes.project import PROJECT_FIELD
from pykb.diagnostics.render import Format, render, visible


@pytest.mark.parametrize("style", list(Format))
def test_no_letter_that_acts_on_a_terminal_gets_through(style: Format, tmp_path: Path) -> None:
    """Neither of the message nor of the line that it is about."""
    evil = "a\x1b]0;title\x07\x9b2J\u202e\x7f\rb"
    (tmp_path / "PROJECT").write_text(f"domain: {evil}\n", newline="")
    found = PROJECT_FIELD.at(Span("PROJECT", 1, 9), evil, evil, label=evil, notes=evil)
    text = render([found], style=style, root=tmp_path)
    assert not {"\x1b", "\x07", "\r"} & set(text)
    if not style.is_document:
        assert not {"\x9b", "\u202e", "\x7f"} & set(text)


def test_letters_and_places_stay() -> None:
    """Each letter becomes one, so that marks stay below what they mark; other text is as it was."""
    assert visible("größe\t日本\n") == "größe\t日本\n"
    assert visible("a\x1bb") == "a␛b"
