"""Renders the codes of all messages as a page of the reference."""

from __future__ import annotations

from collections.abc import Iterable

from pykb.diagnostics import Code

_INTRODUCTION = """\
# Diagnostics

Every message of pykb has a code in brackets: `error[marker-unknown]: ...`. An error stops the command before anything
is written; a warning and a note do not. `pykb explain <code>` shows the same text.
"""


def render(codes: Iterable[Code]) -> str:
    """The page with all codes, in alphabetical order."""
    out = [_INTRODUCTION]
    for code in sorted(codes, key=lambda c: c.slug):
        title = code.title[:1].upper() + code.title[1:]
        out.append(f"\n## `{code.slug}`\n\n{title} ({code.severity}).\n\n{code.explanation.strip()}\n")
    return "".join(out)
