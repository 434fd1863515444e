"""The blocks of a tutorial page: who follows it pastes and types them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs/tutorials/cronjob.md"
_BLOCK = re.compile(r'^```(\w+)(?: title="(.*?)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)


def blocks(page: str) -> Iterator[re.Match[str]]:
    """The blocks of a page that have a language: that, the title if it is a file, and the text."""
    return _BLOCK.finditer(page)


def paste(file: Path, language: str, body: str) -> None:
    """Replace a file, or some of its lines."""
    if language == "diff":
        old, new = ("".join(each[1:] for each in body.splitlines(True) if each[0] != sign) for sign in "+-")
        text = file.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{file.name} has {text.count(old)} times:\n{old}"
        body = text.replace(old, new)
    file.write_text(body, encoding="utf-8")
