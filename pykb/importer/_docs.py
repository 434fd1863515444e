"""Writes descriptions as docstrings. The generator reads back exactly the same text."""

from __future__ import annotations

from pykb.markers.description import describe_docstring


def survives(text: str) -> bool:
    """Whether the generator reads a description back unchanged from a docstring."""
    return bool(text) and _is_plain(text) and describe_docstring(_padded(text)) == text


def docstring(text: str, indent: int) -> str:
    """A docstring with the indentation of its place, for texts that :func:`survives` accepts."""
    mark = '"""'
    raw = "\\" in text
    if raw and (mark in text or text.endswith(("\\", '"'))):
        raw, text = False, text.replace("\\", "\\\\")
    if not raw:
        quotes = len(text) - len(text.rstrip('"'))
        text = text.replace(mark, '\\"\\"\\"')
        if quotes % 3:  # complete triple quotes are already escaped
            text = text[:-1] + '\\"'
    pad = " " * indent
    lines = text.split("\n")
    body = "\n".join([lines[0], *(pad + line if line else "" for line in lines[1:])])
    end = f"\n{pad}" if len(lines) > 1 else ""
    return f"{pad}{'r' if raw else ''}{mark}{body}{end}{mark}"


def _is_plain(text: str) -> bool:
    return all(char.isprintable() or char == "\n" for char in text) and "\u2028" not in text


def _padded(text: str) -> str:
    """A docstring's text as in a class, with the indentation of the source."""
    lines = text.split("\n")
    return "\n".join(
        [lines[0], *("    " + line if line else "" for line in lines[1:]), *(["    "] if lines[1:] else [])]
    )
