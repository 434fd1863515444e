"""Where the manifests of a project are: in `config/`, or where ``config`` in ``[tool.pykb]`` of pyproject.toml says.

Plugins and commands that scaffold speak of `config/`, wherever it is. A plan maps their paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from pykb._regular_file import SETTINGS, read_settings, real_path
from pykb.diagnostics import Diagnostic, Diagnostics, EnvironmentProblem, Span
from pykb.diagnostics.codes.generate import OPTION
from pykb.reading import TomlError, read_toml

CONFIG = "config"
"""Where `init` puts the manifests."""
_FOLDERS = "autoscaling|availability|certificates|certmanager|crd|default|manager|manifests|network-policy"
_MENTION = re.compile(rf"(?<![\w./-])config/(?=(?:{_FOLDERS}|prometheus|rbac|samples|webhook)\b|[\s`,;]|$)")


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


@lru_cache(maxsize=4)
def _named(content: bytes) -> Any:
    """What the settings name; ``None`` for nothing."""
    if b"tool" not in content or CONFIG.encode() not in content:
        return None
    try:
        own = read_toml(content).get("tool", {}).get("pykb", {})
    except (TomlError, AttributeError):
        return None  # the generator reports it
    return own.get(CONFIG) if isinstance(own, dict) else None


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
    raise OPTION.problem(message, *helps, notes="nothing was written", span=Span(SETTINGS, 1, 1))
