"""Writes names and texts as CEL (https://kubernetes.io/docs/reference/using-api/cel/#escaping)."""

from __future__ import annotations

import re

# Reserved words of CEL and of languages that it may be translated to. None can be a name.
RESERVED = frozenset(
    [
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let"),
        *("loop", "package", "namespace", "return", "var", "void", "while"),
    ],
)
WORDS = RESERVED | {"true", "false", "null", "in"}
ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


def selector(name: str) -> str:
    """A field's name in CEL. Reserved words, and characters not allowed in identifiers, are escaped.

    >>> selector("replicas"), selector("namespace"), selector("a-b")
    ('replicas', '__namespace__', 'a__dash__b')
    """
    if name in WORDS:
        return f"__{name}__"
    return re.sub(r"__|[./-]", lambda match: ESCAPES[match[0]], name)


def text_literal(text: str) -> str:
    """A text as a CEL literal: in single quotes, with quotes and backslashes escaped."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
