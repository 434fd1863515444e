"""The oldest Kubernetes that a project supports: ``kubernetes`` in ``[tool.pykb]`` of pyproject.toml.

Only the oldest version is named, by its minor number. API servers accept what older ones accept.
"""

from __future__ import annotations

import re
from pathlib import Path

from pykb._regular_file import read_settings
from pykb.diagnostics.codes.project import KUBERNETES_VERSION
from pykb.project.layout import place_of
from pykb.reading import TomlError, read_toml

KEY = "kubernetes"
OLDEST, NEWEST = (1, 28), (1, 37)
"""The versions whose features pykb knows. The newest is that of its built-in types and of its control plane."""
Minor = tuple[int, int]
"""A version without its patch number."""
_TABLE = "tool.pykb"
_VERSION = re.compile(r"v?(?P<major>[0-9]{1,3})\.(?P<minor>[0-9]{1,3})")
_AT_LEAST = re.compile(r">=\s*")


def shown(version: Minor) -> str:
    """A version as people write it.

    >>> shown((1, 33))
    '1.33'
    """
    return f"{version[0]}.{version[1]}"


def setting(version: Minor) -> str:
    """The line of the settings.

    >>> setting((1, 33))
    'kubernetes = ">=1.33"'
    """
    return f'{KEY} = ">={shown(version)}"'


def minor_of(text: str) -> Minor | None:
    """The version in a text that begins with one, such as a server's ``v1.33.4-gke.100``; ``None`` without one.

    >>> minor_of("v1.33.4-gke.100"), minor_of("latest")
    ((1, 33), None)
    """
    match = _VERSION.match(text)
    return (int(match["major"]), int(match["minor"])) if match else None


def oldest_supported(root: Path) -> Minor | None:
    """The oldest Kubernetes that a project supports. ``None`` if it names none, or the file cannot be read.

    Raises:
        EnvironmentProblem: The settings do not name a version that pykb knows.
    """
    try:
        content = read_settings(root)
        own = read_toml(content).get("tool", {}).get("pykb", {}) if KEY.encode() in content else {}
    except (OSError, TomlError, AttributeError):
        return None  # the generator reports it
    if not isinstance(own, dict) or KEY not in own:
        return None
    value = own[KEY]
    version, problem = _read(value) if isinstance(value, str) and _AT_LEAST.match(value) else (None, _NO_VERSION)
    if version is not None:
        return version
    nearest = _nearest(f"{value:.2f}" if isinstance(value, float) else str(value))  # TOML reads 1.30 as 1.3
    message = f"`{KEY}` in `[{_TABLE}]` {problem}, found {_quoted(value)}"
    helps = (setting(nearest),)
    raise KUBERNETES_VERSION.problem(message, *helps, span=place_of(content.decode(), _TABLE, KEY))


def of_option(text: str) -> Minor:
    """The version of ``--kubernetes``, with or without ``>=``.

    Raises:
        EnvironmentProblem: It is not one that pykb knows.
    """
    version, problem = _read(text)
    if version is not None:
        return version
    message = f"`--{KEY}` {problem}, found `{text}`"
    raise KUBERNETES_VERSION.problem(message, f"pykb init --{KEY} {shown(_nearest(text))}")


_NO_VERSION = f"takes the oldest version that the project supports, such as `>={shown(NEWEST)}`"
_UNKNOWN = f"names a version that this pykb does not know: it knows {shown(OLDEST)} to {shown(NEWEST)}"


def _read(text: str) -> tuple[Minor | None, str]:
    """The version in a text, or what is wrong with it."""
    match = _VERSION.fullmatch(_AT_LEAST.sub("", text.strip(), count=1))
    if match is None:
        return None, _NO_VERSION
    version = int(match["major"]), int(match["minor"])
    return (version, "") if OLDEST <= version <= NEWEST else (None, _UNKNOWN)


def _nearest(text: str) -> Minor:
    """The version that a text may mean."""
    match = _VERSION.search(text)
    version = (int(match["major"]), int(match["minor"])) if match else NEWEST
    return min(max(version, OLDEST), NEWEST)


def _quoted(value: object) -> str:
    return f"`{value}`" if isinstance(value, str) else f"`{value!r}`, which is not a string"
