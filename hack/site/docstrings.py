"""Reads docstrings as Markdown: they have the roles and literal blocks of reStructuredText, and doctests."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any

import griffe

if TYPE_CHECKING:
    from griffe import GriffeLoader, Object

_ROLE = re.compile(r":\w+:`~?([^`<]*?)(?: <[^`]*>)?`")
_BLOCK = re.compile(r"^( *)(.*)::\n\n((?:\1    .*\n|\n)+)", re.MULTILINE)
_DOCTEST = re.compile(r"^( *)>>> .*\n(?:\1\S.*\n)*", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Rewrites each docstring before it is parsed."""

    def on_object(self, *, obj: Object, loader: GriffeLoader, **kwargs: Any) -> None:  # noqa: ARG002 - griffe's signature
        """Rewrite one."""
        if obj.docstring:
            obj.docstring.value = to_markdown(obj.docstring.value)


def to_markdown(text: str) -> str:
    r"""Roles become code; an indented block below ``::`` and a doctest become fences.

    >>> to_markdown("Like :meth:`~a.b.run`::\n\n    await run()\n")
    'Like `run`:\n\n```python\nawait run()\n```\n'
    >>> to_markdown("The half.\n\n>" + ">> half(2)\n1\n\nOf any number.")
    'The half.\n\n```pycon\n>>> half(2)\n1\n```\n\nOf any number.\n'
    """
    text = _ROLE.sub(lambda role: f"`{role[1].rpartition('.')[2] if '~' in role[0] else role[1]}`", text)
    text = _DOCTEST.sub(lambda test: f"{test[1]}```pycon\n{test[0]}{test[1]}```\n", text + "\n")
    return _BLOCK.sub(_fence, text).rstrip("\n") + "\n"


def _fence(block: re.Match[str]) -> str:
    indent, sentence, code = block.groups()
    fence = f"```python\n{textwrap.dedent(code).strip()}\n```\n"
    introduction = f"{indent}{sentence}:\n\n" if sentence else ""
    return introduction + textwrap.indent(fence, indent) + "\n"
