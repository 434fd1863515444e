"""What ``[tool.pykb]`` of pyproject.toml says: where the manifests are, and the oldest Kubernetes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from pykb._regular_file import SETTINGS, read_settings, real_path
from pykb.diagnostics import NOTHING_WRITTEN, Diagnostic, Diagnostics, EnvironmentProblem, Span
from pykb.diagnostics.codes.generate import OPTION
from pykb.diagnostics.codes.project import KUBERNETES_VERSION
from pykb.reading import TomlError, read_toml

# Where the manifests of a project are: in `config/`, or where `config` in `[tool.pykb]` of pyproject.toml says.
#
# Plugins and commands that scaffold speak of `config/`, wherever it is. A plan maps their paths.


_TABLE = "tool.pykb"
CONFIG = "config"
"""Where `init` puts the manifests."""
_FOLDERS = "autoscaling|availability|certificates|certmanager|crd|default|manager|manifests|network-policy"
_MENTION = re.compile(rf"(?<![\w./-])config/(?=(?:{_FOLDERS}|prometheus|rbac|records|samples|webhook)\b|[\s`,;]|$)")


def config_folder(root: Path) -> str:
    """The folder of the manifests, relative to the project, with forward slashes.

    Raises:
        EnvironmentProblem: The settings name something else than a folder of the project.
    """
    try:
        named = _named(read_settings(root))
    except OSError:
        return CONFIG
    if named is None or named == CONFIG:
        return CONFIG
    return _checked(real_path(root), named)


def config_path(root: Path, path: str) -> Path:
    """The place of a manifest, from its path below `config/`.

    Raises:
        EnvironmentProblem: See :func:`config_folder`.
    """
    return root / config_folder(root) / path


def swapped(path: str, config: str) -> str:
    """The place of a file that plugins know by this path, or the other way round.

    A file that is in a folder `config` of another use gets the name that the moved manifests no longer have. Modules
    keep their paths, since their names depend on them: no manifest is one.
    """
    if config == CONFIG or path.endswith(".py"):
        return path
    for old, new in ((CONFIG, config), (config, CONFIG)):
        if path == old or path.startswith(f"{old}/"):
            return new + path.removeprefix(old)
    return path


def placed(diagnostics: Iterable[Diagnostic], root: Path) -> Diagnostics:
    """The findings of a command that speaks of `config/`, with the places of the files."""
    try:
        config = config_folder(root)
    except EnvironmentProblem:  # it is one of the findings
        return Diagnostics(diagnostics)
    spans = (replace(d, span=replace(d.span, path=swapped(d.span.path, config))) if d.span else d for d in diagnostics)
    return Diagnostics(reworded(each, config) for each in spans)


def reworded(diagnostic: Diagnostic, config: str) -> Diagnostic:
    """A finding whose words name the folder where the manifests are."""
    notes, helps = (tuple(mentioning(text, config) for text in texts) for texts in (diagnostic.notes, diagnostic.help))
    return replace(diagnostic, message=mentioning(diagnostic.message, config), notes=notes, help=helps)


def mentioning(text: str, config: str) -> str:
    """A text with the folder where the manifests are in place of `config/`."""
    return text if config == CONFIG else _MENTION.sub(lambda _: f"{config}/", text)


def place_of(text: str, table: str, key: str) -> Span:
    """The place of a key in the settings, or of the table of that name."""
    inside = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("["):
            header = line.strip().strip("[]").replace(" ", "")
            inside = header == table
            is_there = header == f"{table}.{key}"
        else:
            is_there = inside and line.split("=")[0].strip().strip("\"'") == key
        if is_there:
            column = line.index(key) + 1
            return Span(SETTINGS, number, column, number, column + len(key))
    return Span(SETTINGS, 1, 1)


_document = lru_cache(maxsize=4)(read_toml)


def table_of(content: bytes, name: str = _TABLE) -> Mapping[str, Any]:
    """A table of the settings, such as ``[tool.pykb]``. Empty if it is not there.

    Raises:
        TomlError: The file is not TOML, or has something else in the place of the table.
    """
    table, outer = _document(content), ""
    for key in name.split("."):
        table, whole = table.get(key, {}), f"{outer}.{key}".lstrip(".")
        if not isinstance(table, dict):
            place = place_of(content.decode(), outer, key)
            raise TomlError(f"expected the table `[{whole}]`, found another value", place.line, place.column)
        outer = whole
    return table


def _named(content: bytes) -> Any:
    """What the settings name; ``None`` for nothing."""
    if b"tool" not in content or CONFIG.encode() not in content:
        return None
    try:
        return table_of(content).get(CONFIG)
    except TomlError:
        return None  # the generator reports it


def _checked(root: Path, named: object) -> str:
    from pykb.files.plan import OutsideError, locate  # only projects that moved the folder need it

    helps = (f'name the folder with `default/` and `crd/`: `{CONFIG} = "deploy/config"`',)
    message = f"`{CONFIG}` in `[tool.pykb]` names no folder of the project: `{named}`"
    if isinstance(named, str) and named:
        path = PurePosixPath(named)
        try:
            is_folder = locate(root, named).is_dir()
        except (OutsideError, ValueError) as error:
            reason = error.diagnostic.message if isinstance(error, OutsideError) else "it is not a path"
            message, is_folder = f"`{CONFIG}` in `[tool.pykb]` names no folder of the project: {reason}", False
        if is_folder and path.parts[0] != CONFIG:
            return path.as_posix()
        if is_folder:
            message = f"`{CONFIG}` in `[tool.pykb]` names `{named}`, which is in `{CONFIG}/` itself"
    raise OPTION.problem(message, *helps, notes=NOTHING_WRITTEN, span=Span(SETTINGS, 1, 1))


KEY = "kubernetes"
OLDEST, NEWEST = (1, 28), (1, 37)
"""The versions whose features pykb knows. The newest is that of its built-in types and of its control plane."""
Minor = tuple[int, int]
"""A version without its patch number."""
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
        own = table_of(content) if KEY.encode() in content else {}
    except (OSError, TomlError):
        return None  # the generator reports it
    if KEY not in own:
        return None
    value = own[KEY]
    version, problem = _read(value) if isinstance(value, str) and _AT_LEAST.match(value) else (None, _NO_VERSION)
    if version is not None:
        return version
    nearest = _nearest(f"{value:.2f}" if isinstance(value, float) else str(value))  # TOML reads 1.30 as 1.3
    message = f"`{KEY}` in `[{_TABLE}]` {problem}, found {_quoted(value)}"
    raise KUBERNETES_VERSION.problem(message, setting(nearest), span=place_of(content.decode(), _TABLE, KEY))


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
