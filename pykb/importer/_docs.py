"""Descriptions as docstrings: exactly the text that the generator reads back."""

from __future__ import annotations

from pykb.markers.description import describe_docstring


def survives(text: str) -> bool:
    """Whether a description comes back from a docstring as it is."""
    return bool(text) and _is_plain(text) and describe_docstring(_padded(text)) == text


def docstring(text: str, indent: int) -> str:
    """A docstring with the indentation of its place; only for texts that survive it."""
    mark = '"""'
    raw = "\\" in text
    if raw and (mark in text or text.endswith(("\\", '"'))):
        raw, text = False, text.replace("\\", "\\\\")
    if not raw:
        quotes = len(text) - len(text.rstrip('"'))
        text = text.replace(mark, '\\"\\"\\"')
        if quotes % 3:  # those of whole marks are escaped already
            text = text[:-1] + '\\"'
    pad = " " * indent
    lines = text.split("\n")
    body = "\n".join([lines[0], *(pad + line if line else "" for line in lines[1:])])
    end = f"\n{pad}" if len(lines) > 1 else ""
    return f"{pad}{'r' if raw else ''}{mark}{body}{end}{mark}"


def _is_plain(text: str) -> bool:
    return all(char.isprintable() or char == "\n" for char in text) and "\u2028" not in text


def _padded(text: str) -> str:
    """As it stands in a class: with an indentation, which belongs to the source."""
    lines = text.split("\n")
    return "\n".join(
        [lines[0], *("    " + line if line else "" for line in lines[1:]), *(["    "] if lines[1:] else [])]
    )
