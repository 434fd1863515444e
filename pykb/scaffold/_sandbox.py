"""The sandboxed Jinja environment for users' templates. They cannot reach Python objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cookiecutter.environment import StrictEnvironment
from jinja2.sandbox import ImmutableSandboxedEnvironment

_SYNTAX = frozenset(
    {
        *("block_start_string", "block_end_string", "variable_start_string", "variable_end_string"),
        *("comment_start_string", "comment_end_string", "line_statement_prefix", "line_comment_prefix"),
        *("trim_blocks", "lstrip_blocks"),
    }
)


class _Sandbox(StrictEnvironment, ImmutableSandboxedEnvironment):  # type: ignore[misc]
    """Cookiecutter's environment with its filters, without extensions of a template. Python's internals are blocked."""


def environment(settings: Mapping[str, Any]) -> ImmutableSandboxedEnvironment:
    """An environment for one template.

    Args:
        settings: Its ``_jinja2_env_vars``. Only settings of the syntax are allowed.

    Raises:
        ValueError: The settings include another one.
    """
    unknown = sorted(set(settings) - _SYNTAX)
    if unknown:
        raise ValueError(f"`_jinja2_env_vars` may only change the syntax, not `{unknown[0]}`")
    return _Sandbox(keep_trailing_newline=True, **settings)
