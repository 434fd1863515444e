"""The Jinja environment for templates of others: values and text, and no way from them to Python."""

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
    """Cookiecutter's environment with its own filters and none of a template's; Python's inner attributes are shut."""


def environment(settings: Mapping[str, Any]) -> ImmutableSandboxedEnvironment:
    """An environment for one template.

    Args:
        settings: Its ``_jinja2_env_vars``; only what spells the syntax differently is taken.

    Raises:
        ValueError: There is another setting among them.
    """
    unknown = sorted(set(settings) - _SYNTAX)
    if unknown:
        raise ValueError(f"`_jinja2_env_vars` may only change the syntax, not `{unknown[0]}`")
    return _Sandbox(keep_trailing_newline=True, **settings)
