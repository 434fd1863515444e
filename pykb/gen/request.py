"""What was asked on the command line and in pyproject.toml, as options and output rules."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.generate import OPTION
from pykb.gen.commandline import (
    CommandLine,
    CrdOptions,
    OutputKind,
    RbacOptions,
    WebhookOptions,
    parse_command_line,
)
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
    line = parse_command_line(given.words, diagnostics=diagnostics)
    crd, rbac, webhook = line.crd or CrdOptions(), line.rbac or RbacOptions(), line.webhook or WebhookOptions()
    generators = line.generators or (() if line.skipped else GENERATORS)
    asked = (*given.paths, *(path.path for path in line.paths))
    paths = asked or tuple(str(path) for path in settings.get("paths", ()))
    headers = {
        name: (own.header_file, own.year)
        for name, own in (("crd", crd), ("rbac", rbac), ("webhook", webhook))
        if own.header_file
    }
    options = GenerateOptions(
        root=root,
        generators=generators,
        paths=paths,
        role_name=_first(given.role_name, rbac.role_name, settings.get("role-name"), default="manager-role"),
        rbac_file_name=rbac.file_name,
        headers=headers,
        header_file=_first(given.header_file, settings.get("header-file"), default=None),
        year=str(_first(given.year, settings.get("year"), default="")),
        max_description=_first(given.max_description, crd.max_description, settings.get("max-desc-len"), default=None),
        allow_dangerous_types=_first(
            given.allow_dangerous_types,
            crd.allow_dangerous_types or None,
            settings.get("allow-dangerous-types"),
            default=False,
        ),
        embedded_metadata=_first(
            given.embedded_metadata,
            crd.generate_embedded_object_meta,
            settings.get("generate-embedded-object-meta"),
            default=True,
        ),
        preserve_unknown_fields=crd.preserve_unknown_fields,
        compatible_with=_compat(_first(given.compat, settings.get("compat"), default=None), diagnostics),
    )
    return Request(options, _rules(given, line), is_whole_project=_is_whole(root, asked))


def _first(*values: Any, default: Any) -> Any:
    """The first that says something."""
    return next((value for value in values if value is not None), default)


def _is_whole(root: Path, paths: tuple[str, ...]) -> bool:
    return not paths or any((root / path.removesuffix("...")).resolve() == root.resolve() for path in paths)


def _rules(given: Given, line: CommandLine) -> OutputRules:
    folders = dict(DEFAULT_FOLDERS) if given.output_dir is None else dict.fromkeys(GENERATORS, given.output_dir)
    printed = set(GENERATORS if given.stdout else ())
    discarded: set[str] = set()
    for name in GENERATORS:
        rule = line.output_for(name)
        if rule is None:
            continue
        match rule.kind:
            case OutputKind.STDOUT:
                printed.add(name)
            case OutputKind.NONE:
                discarded.add(name)
            case _:
                folders[name] = rule.directory
    return OutputRules(folders, printed=frozenset(printed), discarded=frozenset(discarded))


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
