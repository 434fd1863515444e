"""The names and versions of a control plane's components, and the parsing of versions."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import ASSETS_VERSION

ETCD = "etcd"
APISERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
KUBECTL = "kubectl"

KUBERNETES = "1.36.1"
"""The default version. It must match the built-in types of ``pykb.api``."""

LATEST = "latest"
"""The selector of the newest version that there is."""

_EXACT = re.compile(r"v?(\d+\.\d+\.\d+)")
_SELECTOR = re.compile(r"(~|<=?|)v?(\d+\.\d+)(?:(\.\d+)|\.[x*])?")


def parse_version(text: str) -> str:
    """A version or a selector of versions, in setup-envtest's words, without a ``v`` and without a wildcard.

    >>> parse_version("v1.36.1"), parse_version("1.36.x"), parse_version("~1.36.2"), parse_version("<1.35")
    ('1.36.1', '1.36', '~1.36.2', '<1.35')

    Raises:
        EnvironmentProblem: The text is neither.
    """
    if text == LATEST:
        return text
    if match := _SELECTOR.fullmatch(text):
        return "".join(part or "" for part in match.groups())
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


def matches(wanted: str, version: str) -> bool:
    """Whether a parsed version or selector selects an exact version.

    >>> [matches(wanted, "1.36.2") for wanted in ("1.36.2", "1.36", "~1.36.1", "<1.36.3", "<=1.36", "latest")]
    [True, True, True, True, True, True]
    >>> [matches(wanted, "1.36.2") for wanted in ("1.36.1", "1.3", "~1.36.3", "~1.35.0", "<1.36", "<=1.36.1")]
    [False, False, False, False, False, False]
    """
    if wanted == LATEST:
        return True
    relation = wanted.rstrip("0123456789.")
    named, numbers = sort_key(wanted.removeprefix(relation)), sort_key(version)
    match relation:
        case "~":
            return numbers[:2] == named[:2] and numbers >= named
        case "<":
            return numbers[: len(named)] < named
        case "<=":
            return numbers[: len(named)] <= named
    return numbers[: len(named)] == named


def sort_key(version: str) -> tuple[int, ...]:
    """A key that sorts exact versions by number: 1.9.0 before 1.36.1."""
    return tuple(int(part) for part in version.split("."))


def newest(versions: Iterable[str]) -> list[str]:
    """The last patch of each of the last five minors, newest first."""
    last = {version.rpartition(".")[0]: version for version in sorted(versions, key=sort_key)}
    return sorted(last.values(), key=sort_key, reverse=True)[:5]
