"""The versions of a control plane's components, and the parsing of versions."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import ASSETS_VERSION

KUBERNETES = "1.36.1"
"""The default version. It must match the built-in types of ``pykb.api``."""

_EXACT = re.compile(r"v?(\d+\.\d+\.\d+)")
_MINOR = re.compile(r"v?(\d+\.\d+)")


def parse_version(text: str) -> str:
    """A version without its ``v``: an exact one (``1.36.1``) or a minor (``1.36``).

    Raises:
        EnvironmentProblem: The text is neither.
    """
    for pattern in (_EXACT, _MINOR):
        if match := pattern.fullmatch(text):
            return match.group(1)
    raise EnvironmentProblem(
        ASSETS_VERSION.at(
            None,
            f"`{text}` is not a Kubernetes version, expected one such as `{KUBERNETES}`",
            help=(f"pykb envtest use {KUBERNETES}",),
        )
    )


def is_exact(version: str) -> bool:
    """Whether a parsed version includes the patch number."""
    return _EXACT.fullmatch(version) is not None


def sort_key(version: str) -> tuple[int, ...]:
    """A key that sorts exact versions by number: 1.9.0 before 1.36.1."""
    return tuple(int(part) for part in version.split("."))


def newest(versions: Iterable[str]) -> list[str]:
    """The last patch of each of the last five minors, newest first."""
    last = {version.rpartition(".")[0]: version for version in sorted(versions, key=sort_key)}
    return sorted(last.values(), key=sort_key, reverse=True)[:5]
