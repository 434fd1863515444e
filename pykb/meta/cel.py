"""How CEL spells names and texts (https://kubernetes.io/docs/reference/using-api/cel/#escaping)."""

from __future__ import annotations

import re

# Words of languages that it may be turned into, and its own: none of them is a name.
RESERVED = frozenset(
    [
        *("as", "break", "const", "continue", "else", "for", "function", "if", "import", "let"),
        *("loop", "package", "namespace", "return", "var", "void", "while"),
    ],
)
WORDS = RESERVED | {"true", "false", "null", "in"}
ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


def selector(name: str) -> str:
    """A field's name as CEL selects it: words of the language and characters that names cannot have are escaped.

    >>> selector("replicas"), selector("namespace"), selector("a-b")
    ('replicas', '__namespace__', 'a__dash__b')
    """
    if name in WORDS:
        return f"__{name}__"
    return re.sub(r"__|[./-]", lambda match: ESCAPES[match[0]], name)


def text_literal(text: str) -> str:
    """A text as CEL writes it: in single quotes, with backslashes before quotes and backslashes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
