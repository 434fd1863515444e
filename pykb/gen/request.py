"""Merges the command line and ``[tool.pykb.generate]`` of pyproject.toml into options and output rules."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pykb import _regular_file
from pykb._regular_file import SETTINGS, real_path
from pykb.diagnostics import Diagnostic, Diagnostics, EnvironmentProblem, Span
from pykb.diagnostics.codes.generate import OPTION
from pykb.diagnostics.suggest import closest
from pykb.gen._commandline import (
    CommandLine,
    CrdOptions,
    OutputKind,
    RbacOptions,
    WebhookOptions,
    parse_command_line,
)
from pykb.gen.output import DEFAULT_FOLDERS, OutputRules, check_places
from pykb.gen.run import GENERATORS, GenerateOptions
from pykb.project.kubernetes import KEY, Minor, oldest_supported
from pykb.project.layout import CONFIG, config_folder, place_of, swapped
from pykb.reading import TomlError, read_toml

KEYS: Mapping[str, tuple[type, ...]] = {
    "paths": (list,),
    "role-name": (str,),
    "header-file": (str,),
    "year": (str, int),
    "max-desc-len": (int,),
    "allow-dangerous-types": (bool,),
    "generate-embedded-object-meta": (bool,),
    "compat": (str,),
    "crd-versions": (list,),
    "ignore-unexported-fields": (bool,),
    "output-dir": (str,),
    "preserve-unknown-fields": (bool,),
    "rbac-file-name": (str,),
    "builtin-descriptions": (str,),
    "allow-breaking": (bool,),
}
_TABLES = ("boilerplate", "config", "generate", KEY)
_NOUNS = {str: "a string", int: "a whole number", bool: "`true` or `false`", list: "a list of strings"}


def read_settings(root: Path, diagnostics: Diagnostics) -> Mapping[str, Any]:
    """Read ``[tool.pykb.generate]`` and check its keys."""
    try:
        content = _regular_file.read_settings(root)
    except FileNotFoundError:
        return {}
    except OSError as error:
        diagnostics.add(OPTION.at(None, f"cannot read `pyproject.toml`: {error.strerror}"))
        return {}
    if b"tool.pykb" not in content:
        return {}
    try:
        own = read_toml(content).get("tool", {}).get("pykb", {})
    except TomlError as error:
        diagnostics.add(OPTION.at(Span(SETTINGS, error.line, error.column), str(error)))
        return {}
    text = content.decode()
    for key in own:
        if key not in _TABLES:
            diagnostics.add(_unknown("tool.pykb", key, text))
    found: dict[str, Any] = {}
    for key, value in own.get("generate", {}).items():
        kinds = KEYS.get(key)
        if kinds is None:
            diagnostics.add(_unknown("tool.pykb.generate", key, text))
        elif not _fits(value, kinds):
            wanted = " or ".join(_NOUNS[kind] for kind in kinds)
            place = place_of(text, "tool.pykb.generate", key)
            diagnostics.add(OPTION.at(place, f"`{key}` takes {wanted}, found `{_shown(value)}`"))
        else:
            found[key] = value
    return found


def _fits(value: object, kinds: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return bool in kinds
    if isinstance(value, list):
        return list in kinds and all(isinstance(item, str) for item in value)
    return isinstance(value, kinds)


def _shown(value: object) -> str:
    return json.dumps(value, default=str)


def _unknown(table: str, key: str, text: str) -> Diagnostic:
    is_outer = table == "tool.pykb"
    other = "tool.pykb.generate" if is_outer else "tool.pykb"
    if key in (KEYS if is_outer else _TABLES):
        message = f"`[{table}]` has no key `{key}`, but `[{other}]` has"
        return OPTION.at(place_of(text, table, key), message, help=(f"[{other}]",))
    known = _TABLES if is_outer else KEYS
    near = closest(key, known)
    return OPTION.at(
        place_of(text, table, key),
        f"`[{table}]` has no key `{key}`",
        help=(f"did you mean `{near}`?",) if near else (f"known keys: {', '.join(sorted(known))}",),
    )


FROM_CLUSTER = "cluster"
"""The value that means the descriptions of the kubeconfig's cluster, in place of a file."""
_COMPAT = re.compile(r"controller-gen=(?P<version>v\d+\.\d+\.\d+\S*)")


@dataclass(frozen=True, slots=True)
class Given:
    """The options of the command line; ``None`` for those not given.

    ``folder`` is the working directory. Paths of the command line are relative to it, those of the settings to the
    project.
    """

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
    crd_versions: tuple[str, ...] = ()
    preserve_unknown_fields: bool | None = None
    rbac_file_name: str | None = None
    builtin_descriptions: str | None = None
    folder: Path | None = None
    check: bool = False
    allow_breaking: bool | None = None
    allow_outside: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """The options of a run, and where its files go.

    Attributes:
        options: What to generate.
        rules: Where to.
        allow_breaking: Whether incompatible changes are allowed.
    """

    options: GenerateOptions
    rules: OutputRules
    allow_breaking: bool = False


def make_request(root: Path, given: Given, diagnostics: Diagnostics) -> Request:
    """Merge the command line with the project's settings; the command line wins.

    Args:
        root: The project.
        given: The command line.
        diagnostics: Gets invalid options and settings.
    """
    settings = read_settings(root, diagnostics)
    line = parse_command_line(given.words, diagnostics=diagnostics)
    typed = _Typed(root, given.folder or root)
    options = replace(_options(root, given, line, settings, typed, diagnostics), oldest=_oldest(root, diagnostics))
    _check_values(options, given, settings, diagnostics)
    in_settings = _Typed(root, root)
    output_dir = _first(
        typed.optional(given.output_dir), in_settings.optional(settings.get("output-dir")), default=None
    )
    rules = _rules(output_dir, _config(root, diagnostics), given, line, typed)
    if not given.allow_outside:  # not a setting: a cloned repository brings its own
        diagnostics.extend(check_places(root, rules, options.generators))
    if given.check and rules.printed:
        diagnostics.add(
            OPTION.at(
                None,
                "`--check` compares files, but `--stdout` writes no files",
                help=("remove `--check` or `--stdout`",),
            ),
        )
    allow_breaking = _first(given.allow_breaking, settings.get("allow-breaking"), default=False)
    return Request(options, rules, allow_breaking)


def _options(
    root: Path,
    given: Given,
    line: CommandLine,
    settings: Mapping[str, Any],
    typed: _Typed,
    diagnostics: Diagnostics,
) -> GenerateOptions:
    crd, rbac, webhook = line.crd or CrdOptions(), line.rbac or RbacOptions(), line.webhook or WebhookOptions()
    asked = tuple(map(typed.path, (*given.paths, *(path.path for path in line.paths))))
    embedded_metadata = _first(
        given.embedded_metadata,
        crd.generate_embedded_object_meta,
        settings.get("generate-embedded-object-meta"),
        default=None,
    )
    is_peers = any({*":="} & {*word} for word in given.words)  # controller-gen's words have its defaults
    compat = _first(given.compat, settings.get("compat"), default=None)
    return GenerateOptions(
        root=root,
        generators=line.generators or (() if line.skipped else GENERATORS),
        paths=asked or tuple(str(path) for path in settings.get("paths", ())),
        role_name=_first(given.role_name, rbac.role_name, settings.get("role-name"), default="manager-role"),
        rbac_file_name=_first(
            given.rbac_file_name, rbac.file_name, settings.get("rbac-file-name"), default="role.yaml"
        ),
        headers=_headers({"crd": crd, "rbac": rbac, "webhook": webhook}, typed),
        header_file=_first(typed.optional(given.header_file), settings.get("header-file"), default=None),
        year=str(_first(given.year, settings.get("year"), default="")),
        max_description=_first(given.max_description, crd.max_description, settings.get("max-desc-len"), default=None),
        allow_dangerous_types=_first(
            given.allow_dangerous_types,
            crd.allow_dangerous_types or None,
            settings.get("allow-dangerous-types"),
            default=False,
        ),
        embedded_metadata=_first(embedded_metadata, default=not is_peers),
        says_bare_metadata=embedded_metadata is None and is_peers,
        preserve_unknown_fields=_first(
            given.preserve_unknown_fields,
            crd.preserve_unknown_fields,
            settings.get("preserve-unknown-fields"),
            default=None,
        ),
        compatible_with=None if crd.omit_tool_version else _compat(compat, diagnostics),
        builtin_descriptions=_first(
            typed.optional(given.builtin_descriptions), settings.get("builtin-descriptions"), default=None
        ),
    )


def _headers(
    generators: Mapping[str, CrdOptions | RbacOptions | WebhookOptions], typed: _Typed
) -> dict[str, tuple[str, str]]:
    """The header file and year of the generators that name a header file."""
    return {name: (typed.path(own.header_file), own.year) for name, own in generators.items() if own.header_file}


@dataclass(frozen=True, slots=True)
class _Typed:
    """Paths as typed in a folder, made relative to the project."""

    root: Path
    folder: Path

    def path(self, text: str) -> str:
        if not text or (self.folder == self.root and not Path(text).is_absolute()):
            return text
        rest = "..." if text.endswith("...") else ""
        moved = self._seen_from_project(self.folder / text.removesuffix("...")).as_posix()
        return f"{moved}/{rest}" if rest else moved

    def _seen_from_project(self, path: Path) -> Path:
        moved = Path(os.path.relpath(path, self.root))
        real, root = real_path(path), self.root.resolve()
        # The project can have a second name: `/tmp` is a link to `/private/tmp` on macOS.
        return real.relative_to(root) if moved.parts[:1] == ("..",) and real.is_relative_to(root) else moved

    def optional(self, text: str | None) -> str | None:
        return text if text in {None, FROM_CLUSTER} else self.path(str(text))


def _check_values(
    options: GenerateOptions, given: Given, settings: Mapping[str, Any], diagnostics: Diagnostics
) -> None:
    for version in (*given.crd_versions, *settings.get("crd-versions", ())):
        if version != "v1":
            diagnostics.add(
                OPTION.at(
                    None,
                    f"`--crd-versions {version}`: API servers know `apiextensions.k8s.io/v1` only",
                    help=("--crd-versions v1",),
                ),
            )
    if options.preserve_unknown_fields:
        diagnostics.add(
            OPTION.at(
                None,
                "`preserveUnknownFields: true` is refused by the API server in `apiextensions.k8s.io/v1`",
                help=("keep unknown fields where they are meant to be: `PreserveUnknown()`",),
            ),
        )


def _first(*values: Any, default: Any) -> Any:
    """The first value that is set."""
    return next((value for value in values if value is not None), default)


def _config(root: Path, diagnostics: Diagnostics) -> str:
    try:
        return config_folder(root)
    except EnvironmentProblem as problem:
        diagnostics.add(problem.diagnostic)
        return CONFIG


def _oldest(root: Path, diagnostics: Diagnostics) -> Minor | None:
    try:
        return oldest_supported(root)
    except EnvironmentProblem as problem:
        diagnostics.add(problem.diagnostic)
        return None


def _rules(output_dir: str | None, config: str, given: Given, line: CommandLine, typed: _Typed) -> OutputRules:
    defaults = {name: swapped(folder, config) for name, folder in DEFAULT_FOLDERS.items()}
    folders = defaults if output_dir is None else dict.fromkeys(GENERATORS, output_dir)
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
                folders[name] = typed.path(rule.directory)
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
