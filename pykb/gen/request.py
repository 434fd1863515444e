"""Merges the command line and ``[tool.pykb.generate]`` of pyproject.toml into options and output rules.

The command line can have controller-gen's form: ``rbac:roleName=manager-role crd webhook paths=./...``. Each of its
words is a marker without its plus sign, and the marker parser reads it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pykb import _regular_file
from pykb._regular_file import SETTINGS, real_path
from pykb.diagnostics import Diagnostic, Diagnostics, EnvironmentProblem, Span
from pykb.diagnostics.codes.generate import COMMAND_LINE, COMMAND_LINE_GO, OPTION
from pykb.diagnostics.suggest import closest, did_you_mean
from pykb.gen.options import GENERATORS, OPTIONS, ROLE, ROLE_FILE, GenerateOptions, Option, SchemaOptions
from pykb.gen.output import DEFAULT_FOLDERS, OutputRules, check_places
from pykb.markers.definition import (
    BOOLEAN,
    INTEGER,
    STRING,
    STRINGS,
    Argument,
    MarkerDefinition,
    MarkerTarget,
    ValueType,
)
from pykb.markers.parser import parse_arguments, split_name
from pykb.markers.registry import MarkerRegistry
from pykb.project.settings import CONFIG, KEY, config_folder, oldest_supported, place_of, swapped, table_of
from pykb.reading import TomlError

_T = TypeVar("_T")
KEYS: Mapping[str, Option] = {option.name: option for option in OPTIONS}
_TABLES = ("boilerplate", "config", "explore", "generate", KEY)
_NOUNS = {str: "a string", int: "a whole number", bool: "`true` or `false`", list: "a list of strings"}


def read_settings(root: Path, diagnostics: Diagnostics) -> Mapping[str, Any]:
    """Read ``[tool.pykb.generate]`` and check its keys."""
    try:
        content = _regular_file.read_settings(root)
    except FileNotFoundError:
        return {}
    except OSError as error:
        diagnostics.report(OPTION, None, f"cannot read `pyproject.toml`: {error.strerror}")
        return {}
    if b"tool.pykb" not in content:
        return {}
    try:
        own, ours = table_of(content), table_of(content, "tool.pykb.generate")
    except TomlError as error:
        diagnostics.report(OPTION, Span(SETTINGS, error.line, error.column), str(error))
        return {}
    text = content.decode()
    for key in own:
        if key not in _TABLES:
            diagnostics.add(_unknown("tool.pykb", key, text))
    found: dict[str, Any] = {}
    for key, value in ours.items():
        option = KEYS.get(key)
        if option is None:
            diagnostics.add(_unknown("tool.pykb.generate", key, text))
        elif not _fits(value, option):
            wanted = _NOUNS[option.kind] + (f" or {_NOUNS[int]}" if option.may_be_number else "")
            place = place_of(text, "tool.pykb.generate", key)
            diagnostics.report(OPTION, place, f"`{key}` takes {wanted}, found `{_shown(value)}`")
        else:
            found[key] = value
    return found


def _fits(value: object, option: Option) -> bool:
    if isinstance(value, list):
        return option.kind is list and all(isinstance(item, str) for item in value)
    return type(value) is option.kind or (option.may_be_number and type(value) is int)


def _shown(value: object) -> str:
    return json.dumps(value, default=str)


def _unknown(table: str, key: str, text: str) -> Diagnostic:
    is_outer = table == "tool.pykb"
    other = "tool.pykb.generate" if is_outer else "tool.pykb"
    if key in (KEYS if is_outer else _TABLES):
        message = f"`[{table}]` has no key `{key}`, but `[{other}]` has"
        return OPTION.at(place_of(text, table, key), message, f"[{other}]")
    known = _TABLES if is_outer else KEYS
    helps = did_you_mean(key, known) or (f"known keys: {', '.join(sorted(known))}",)
    return OPTION.at(place_of(text, table, key), f"`[{table}]` has no key `{key}`", *helps)


FROM_CLUSTER = "cluster"
"""The value that means the descriptions of the kubeconfig's cluster, in place of a file."""
_COMPAT = re.compile(r"controller-gen=(?P<version>v\d+\.\d+\.\d+\S*)")


@dataclass(frozen=True, slots=True)
class Given:
    """What the command line says.

    Attributes:
        words: The generators, and controller-gen's words.
        options: The values of options, by name. Those not given are absent or ``None``.
        folder: The working directory. Paths of the command line are relative to it, those of the settings to the
            project.
        stdout: Whether to print and write nothing.
        check: Whether to compare and write nothing.
        allow_outside: Whether output folders may be outside the project.
    """

    words: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    stdout: bool = False
    check: bool = False
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
    values = _merged(given, line, settings, typed)
    _check_values(values, diagnostics)
    options = _options(root, given, line, values, typed, diagnostics)
    rules = _rules(values.get("output-dir"), _read(config_folder, root, CONFIG, diagnostics), given, line, typed)
    if not given.allow_outside:  # not a setting: a cloned repository brings its own
        diagnostics.extend(check_places(root, rules, options.generators))
    if given.check and rules.printed:
        diagnostics.report(
            OPTION, None, "`--check` compares files, but `--stdout` writes no files", "remove `--check` or `--stdout`"
        )
    return Request(options, rules, values.get("allow-breaking", False))


def _merged(given: Given, line: CommandLine, settings: Mapping[str, Any], typed: _Typed) -> dict[str, Any]:
    """The values of the options that are set, by name: the command line, then controller-gen's words, then settings."""
    in_settings = _Typed(typed.root, typed.root)
    values: dict[str, Any] = {}
    for option in OPTIONS:
        spoken, setting = given.options.get(option.name), settings.get(option.name)
        if option.is_path:
            spoken, setting = typed.optional(spoken), in_settings.optional(setting)
        word = line.argument(*option.word) if option.word else None
        if option.name == "paths":
            spoken = [typed.path(path) for path in (*(spoken or ()), *line.paths)]
        value = next((each for each in (spoken, word, setting) if each is not None and each != []), None)
        if value is not None:
            values[option.name] = value
    return values


def _options(
    root: Path,
    given: Given,
    line: CommandLine,
    values: Mapping[str, Any],
    typed: _Typed,
    diagnostics: Diagnostics,
) -> GenerateOptions:
    # controller-gen's words have its defaults.
    is_peers = any({*":="} & {*word} for word in given.words)
    embedded_metadata = values.get("generate-embedded-object-meta")
    compat = _compat(values.get("compat"), diagnostics)
    return GenerateOptions(
        root=root,
        generators=line.generators or (() if line.skipped else GENERATORS),
        paths=tuple(values.get("paths", ())),
        schemas=SchemaOptions(
            allow_dangerous_types=values.get("allow-dangerous-types", False),
            embedded_metadata=not is_peers if embedded_metadata is None else embedded_metadata,
            reports_bare_metadata=embedded_metadata is None and is_peers,
        ),
        role_name=values.get("role-name", ROLE),
        rbac_file_name=values.get("rbac-file-name", ROLE_FILE),
        headers=_headers(line, typed),
        header_file=values.get("header-file"),
        year=str(values.get("year", "")),
        max_description=values.get("max-desc-len"),
        preserve_unknown_fields=values.get("preserve-unknown-fields"),
        compatible_with=None if line.argument("crd", "omitToolVersion") else compat,
        builtin_descriptions=values.get("builtin-descriptions"),
        oldest=_read(oldest_supported, root, None, diagnostics),
    )


def _headers(line: CommandLine, typed: _Typed) -> dict[str, tuple[str, str]]:
    """The header file and year of the generators that name a header file."""
    return {
        name: (typed.path(file), line.argument(name, "year") or "")
        for name in line.generators
        if (file := line.argument(name, "headerFile"))
    }


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


def _check_values(values: Mapping[str, Any], diagnostics: Diagnostics) -> None:
    for version in values.get("crd-versions", ()):
        if version != "v1":
            diagnostics.report(
                OPTION,
                None,
                f"`--crd-versions {version}`: API servers know `apiextensions.k8s.io/v1` only",
                "--crd-versions v1",
            )
    if values.get("preserve-unknown-fields"):
        diagnostics.report(
            OPTION,
            None,
            "`preserveUnknownFields: true` is refused by the API server in `apiextensions.k8s.io/v1`",
            "keep unknown fields where they are meant to be: `PreserveUnknown()`",
        )


def _read(read: Callable[[Path], _T], root: Path, default: _T, diagnostics: Diagnostics) -> _T:
    """What a project says, or a default if what it says is broken, which is reported."""
    try:
        return read(root)
    except EnvironmentProblem as problem:
        diagnostics.add(problem.diagnostic)
        return default


def _rules(output_dir: str | None, config: str, given: Given, line: CommandLine, typed: _Typed) -> OutputRules:
    defaults = {name: swapped(folder, config) for name, folder in DEFAULT_FOLDERS.items()}
    folders = defaults if output_dir is None else dict.fromkeys(GENERATORS, output_dir)
    rules = {name: rule for name in GENERATORS if (rule := line.output_for(name))}
    folders = folders | {name: typed.path(rule.directory) for name, rule in rules.items() if rule.directory}
    printed = GENERATORS if given.stdout else (n for n, rule in rules.items() if rule.kind is OutputKind.STDOUT)
    discarded = (name for name, rule in rules.items() if rule.kind is OutputKind.NONE)
    return OutputRules(folders, printed=frozenset(printed), discarded=frozenset(discarded))


def _compat(text: str | None, diagnostics: Diagnostics) -> str | None:
    if text is None:
        return None
    match = _COMPAT.fullmatch(text)
    if match is None:
        diagnostics.report(
            OPTION,
            None,
            f"`--compat` takes `controller-gen=VERSION`, found `{text}`",
            "--compat controller-gen=v0.23.0",
        )
        return None
    return match["version"]


class OutputKind(StrEnum):
    """Where a generator's files go."""

    DIRECTORY = "dir"
    ARTIFACTS = "artifacts"
    STDOUT = "stdout"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class OutputRule:
    """One ``output:`` word; ``directory`` is set for the first two kinds."""

    kind: OutputKind
    directory: str = ""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A whole command line.

    Attributes:
        arguments: The arguments of each generator that was named.
        paths: In the order given; empty when there are none.
        outputs: Rules by generator. The empty string holds the rule for all others.
        skipped: Generators of Go code. pykb accepts their names and does not run them.
    """

    arguments: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    paths: tuple[str, ...] = ()
    outputs: Mapping[str, OutputRule] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()

    @property
    def generators(self) -> tuple[str, ...]:
        """The names of the generators to run."""
        return tuple(name for name in GENERATORS if name in self.arguments)

    def argument(self, generator: str, name: str) -> Any:
        """The value of an argument. ``None`` if it was not given, or is empty."""
        value = self.arguments.get(generator, {}).get(name)
        return None if value == "" else value

    def output_for(self, generator: str) -> OutputRule | None:
        """Where a generator's files go. ``None`` means the default folder."""
        return self.outputs.get(generator, self.outputs.get(""))


def _argument(name: str, kind: ValueType, *choices: str, optional: bool = True, minimum: int | None = None) -> Argument:
    return Argument(name, kind, optional=optional, choices=choices, minimum=minimum)


_KINDS: Mapping[type, ValueType] = {bool: BOOLEAN, int: INTEGER, str: STRING, list: STRINGS}
_HEADER = (_argument("headerFile", STRING), _argument("year", STRING))
_OMIT = _argument("omitToolVersion", BOOLEAN)


def _arguments_of(generator: str) -> tuple[Argument, ...]:
    return tuple(
        _argument(each.word[1], _KINDS[each.kind], *each.choices, minimum=each.minimum)
        for each in OPTIONS
        if each.word is not None and each.word[0] == generator
    )


_GENERATORS: Mapping[str, tuple[Argument, ...]] = {
    "crd": (*_arguments_of("crd"), _OMIT, *_HEADER),
    "rbac": (*_arguments_of("rbac"), *_HEADER),
    "webhook": _HEADER,
    "object": _HEADER,
    "applyconfiguration": (_argument("headerFile", STRING), _argument("externalApplyConfigurations", STRINGS), _OMIT),
}
_GO_ONLY = ("object", "applyconfiguration")
_OUTPUTS: Mapping[str, tuple[Argument, ...]] = {
    "dir": (_argument("", STRING, optional=False),),
    "artifacts": (_argument("config", STRING, optional=False), _argument("code", STRING)),
    "stdout": (),
    "none": (),
}


@cache
def _registry() -> MarkerRegistry:
    package = frozenset({MarkerTarget.PACKAGE})
    found = [MarkerDefinition(name, package, arguments) for name, arguments in _GENERATORS.items()]
    found.append(MarkerDefinition("paths", package, (_argument("", STRINGS, optional=False),)))
    for rule, arguments in _OUTPUTS.items():
        found.append(MarkerDefinition(f"output:{rule}", package, arguments))
        found += [MarkerDefinition(f"output:{name}:{rule}", package, arguments) for name in _GENERATORS]
    return MarkerRegistry(found)


def parse_command_line(words: Sequence[str], *, diagnostics: Diagnostics) -> CommandLine:
    """Parse the words after ``pykb generate``. Each word is checked on its own.

    Args:
        words: As the shell passes them.
        diagnostics: Gets what is wrong.
    """
    return _Reader(diagnostics).read(words)


class _Reader:
    def __init__(self, diagnostics: Diagnostics) -> None:
        self._diagnostics = diagnostics
        self._options: dict[str, Mapping[str, object]] = {}
        self._outputs: dict[str, OutputRule] = {}
        self._output_words: dict[str, str] = {}
        self._paths: list[str] = []

    def read(self, words: Iterable[str]) -> CommandLine:
        for word in words:
            self._word(word)
        for generator, word in self._output_words.items():
            if generator and self._options and generator not in self._options:
                self._wrong(
                    f"`{word}` is for the generator `{generator}`, which is not on the command line",
                    f"add `{generator}`",
                )
        skipped = tuple(name for name in self._options if name in _GO_ONLY)
        for name in skipped:
            self._diagnostics.report(
                COMMAND_LINE_GO, None, f"`{name}` generates Go code, which Python does not need: nothing to do"
            )
        return CommandLine(self._options, tuple(self._paths), self._outputs, skipped)

    def _word(self, word: str) -> None:
        text = word if word.startswith("+") else f"+{word}"
        split = split_name(text)
        definition = _registry().look_up(split.whole, split.short)
        if definition is None:
            self._unknown(word, split.whole)
            return
        parsed = parse_arguments(definition, text)
        for problem in parsed.problems:
            self._wrong(
                f"in `{word}`: {problem.message.replace('`+', '`')}", *(h.replace("`+", "`") for h in problem.help)
            )
        if parsed.problems:
            return
        name = definition.name
        if name == "paths":
            paths = parsed.values[""]
            self._paths += map(str, paths if isinstance(paths, list) else ())
        elif name.startswith("output:"):
            self._output(word, name, parsed.values)
        elif name in self._options:
            self._wrong(
                f"the generator `{name}` is named twice", "give all its options in one word, separated by commas"
            )
        else:
            self._options[name] = parsed.values

    def _output(self, word: str, name: str, values: Mapping[str, object]) -> None:
        _, *generator, rule = name.split(":")
        key = generator[0] if generator else ""
        if key in self._output_words:
            self._wrong(f"`{word}` contradicts `{self._output_words[key]}`", "remove one of the two")
            return
        self._output_words[key] = word
        if rule in {OutputKind.DIRECTORY, OutputKind.ARTIFACTS} and not values.get("", values.get("config")):
            self._wrong(f"`{word}` names no folder", f"{word}config/crd/bases")
        self._outputs[key] = OutputRule(OutputKind(rule), str(values.get("", values.get("config", ""))))

    def _unknown(self, word: str, name: str) -> None:
        if name.partition(":")[0] == "schemapatch":
            self._wrong("`schemapatch` is not supported: pykb generates whole CRDs", "use `crd`")
            return
        nearest = closest(name, [d.name for d in _registry()]) or closest(name.partition(":")[0], _GENERATORS)
        if nearest is None:
            known = ", ".join(f"`{n}`" for n in (*_GENERATORS, "paths", "output"))
            self._wrong(f"`{word}` is neither a generator nor an option; there are {known}")
        else:
            self._wrong(
                f"`{word}` is neither a generator nor an option", f"one with a similar name exists: `{nearest}`"
            )

    def _wrong(self, message: str, *help_: str) -> None:
        self._diagnostics.report(COMMAND_LINE, None, message, *help_)
