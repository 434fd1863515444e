"""The Jinja environment of pykb, and the rendering of ``templates/files``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pykb.scaffold.locate import templates


@cache
def environment() -> Environment:
    """The environment. Undefined names are errors, the last newline is kept, and no bytecode is written."""
    made = Environment(
        loader=FileSystemLoader(templates() / "files", encoding="utf-8"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - source code, not HTML
    )
    made.filters["literal"] = _literal
    return made


def _literal(text: str) -> str:
    """A text in Python, with the quotes that formatters choose."""
    shown = repr(text)
    return shown if '"' in text else f'"{shown[1:-1]}"'


def render(name: str, context: Mapping[str, Any]) -> str:
    """Render a file of ``templates/files``. Its ``name`` ends in ``.j2``."""
    return environment().get_template(name).render(context)
