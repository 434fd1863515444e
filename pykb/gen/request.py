"""What was asked on the command line and in pyproject.toml, as options and output rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.generate import OPTION
from pykb.diagnostics.suggest import closest
from pykb.gen.defaults import read_settings
from pykb.gen.options import DEFAULT_FOLDERS, GENERATORS, GenerateOptions
from pykb.gen.output import OutputRules

_COMPAT = re.compile(r"controller-gen=(?P<version>v\d+\.\d+\.\d+\S*)")


@dataclass(frozen=True, slots=True)
class Given:
    """The command line; ``None`` where it says nothing."""

    words: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    output_dir: str | None = None
    stdout: bool = False
    role_name: str | None = None
    header_file: str | None = None
    year: str | None = None
    max_description: int | None = None
    allow_dangerous_types: bool | None = None
    embedded_metadata: bool | None = None
    compat: str | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A run and where its files go.

    Attributes:
        options: What to generate.
        rules: Where to.
        is_whole_project: Whether everything was read, so that files without a kind are stale.
    """

    options: GenerateOptions
    rules: OutputRules
    is_whole_project: bool


def make_request(root: Path, given: Given, diagnostics: Diagnostics) -> Request:
    """Merge the command line with the project's settings; the command line wins.

    Args:
        root: The project.
        given: The command line.
        diagnostics: Gets what makes no sense.
    """
    settings = read_settings(root, diagnostics)
    generators = _generators(given.words, diagnostics)
    paths = given.paths or tuple(str(path) for path in settings.get("paths", ()))
    options = GenerateOptions(
        root=root,
        generators=generators,
        paths=paths,
        role_name=_first(given.role_name, settings.get("role-name"), "manager-role"),
        header_file=_first(given.header_file, settings.get("header-file"), None),
        year=str(_first(given.year, settings.get("year"), "")),
        max_description=_first(given.max_description, settings.get("max-desc-len"), None),
        allow_dangerous_types=_first(given.allow_dangerous_types, settings.get("allow-dangerous-types"), False),  # noqa: FBT003
        embedded_metadata=_first(given.embedded_metadata, settings.get("generate-embedded-object-meta"), True),  # noqa: FBT003
        compatible_with=_compat(_first(given.compat, settings.get("compat"), None), diagnostics),
    )
    return Request(options, _rules(given, generators), is_whole_project=not given.paths)


def _first(*values: Any) -> Any:
    """The first that says something; the last is the default."""
    return next((value for value in values[:-1] if value is not None), values[-1])


def _generators(words: tuple[str, ...], diagnostics: Diagnostics) -> tuple[str, ...]:
    for word in words:
        if word not in GENERATORS:
            near = closest(word, GENERATORS)
            diagnostics.add(
                OPTION.at(
                    None,
                    f"`{word}` is nothing that can be generated: expected crd, rbac or webhook",
                    help=(f"did you mean `{near}`?",) if near else (f"for a folder: `--paths {word}`",),
                ),
            )
    return tuple(name for name in GENERATORS if name in words) or GENERATORS


def _rules(given: Given, generators: tuple[str, ...]) -> OutputRules:
    folders: Mapping[str, str] = DEFAULT_FOLDERS
    if given.output_dir is not None:
        folders = dict.fromkeys(GENERATORS, given.output_dir)
    return OutputRules(folders, printed=frozenset(generators) if given.stdout else frozenset())


def _compat(text: str | None, diagnostics: Diagnostics) -> str | None:
    if text is None:
        return None
    match = _COMPAT.fullmatch(text)
    if match is None:
        diagnostics.add(
            OPTION.at(
                None,
                f"`--compat` takes `controller-gen=VERSION`, found `{text}`",
                help=("--compat controller-gen=v0.23.0",),
            ),
        )
        return None
    return match["version"]
