"""Finds texts that UTF-8 cannot encode. A Python string can contain half of a surrogate pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pykb.diagnostics import Diagnostics, Span
from pykb.diagnostics.codes.types import TEXT
from pykb.gen.ir import RULES, SchemaNode


def check_text(node: SchemaNode, what: str, at: Span | None, diagnostics: Diagnostics) -> None:
    """Find keywords and names of fields that cannot be written.

    Args:
        node: The schema. Its sub-schemas are checked separately.
        what: How messages call its value.
        at: Where it is declared.
        diagnostics: Gets what is found.
    """
    found: list[tuple[str, Span | None]] = [
        (name, keyword.span)
        for name, keyword in node.keywords.items()
        for text in _texts(keyword.value)
        if not _is_whole(text)
    ]
    found += [(RULES, rule.span) for rule in node.rules for text in _texts(rule.parts) if not _is_whole(text)]
    found += [("name", prop.span) for name, prop in (node.properties or {}).items() if not _is_whole(name)]
    for name, span in found:
        diagnostics.add(
            TEXT.at(
                span or at,
                f"the {name} of {what} has half of a surrogate pair, which is not a character",
                help=("write the character itself, or escape the whole character: `\\U0001f600`",),
            ),
        )


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(key)
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


def _is_whole(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
