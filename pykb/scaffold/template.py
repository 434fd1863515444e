"""The Jinja environments: pykb's own, which renders ``templates/files``, and the sandbox for users' templates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pykb.scaffold.locate import templates

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

_SYNTAX = frozenset(
    {
        *("block_start_string", "block_end_string", "variable_start_string", "variable_end_string"),
        *("comment_start_string", "comment_end_string", "line_statement_prefix", "line_comment_prefix"),
        *("trim_blocks", "lstrip_blocks"),
    }
)


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


def sandboxed(settings: Mapping[str, Any]) -> SandboxedEnvironment:
    """The environment for one template of a user, with cookiecutter's filters and without extensions of a template.

    Such templates cannot reach Python objects.

    Args:
        settings: Its ``_jinja2_env_vars``. Only settings of the syntax are allowed.

    Raises:
        ValueError: The settings include another one.
    """
    from cookiecutter.environment import StrictEnvironment
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Sandbox(StrictEnvironment, ImmutableSandboxedEnvironment):  # type: ignore[misc]
        """Python's internals are blocked."""

    unknown = sorted(set(settings) - _SYNTAX)
    if unknown:
        raise ValueError(f"`_jinja2_env_vars` may only change the syntax, not `{unknown[0]}`")
    return Sandbox(keep_trailing_newline=True, **settings)
