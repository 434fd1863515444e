"""Parses controller-gen command lines: ``rbac:roleName=manager-role crd webhook paths=./...``.

A word is a marker without its plus sign, and the marker parser reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.generate import COMMAND_LINE, COMMAND_LINE_GO
from pykb.diagnostics.suggest import closest
from pykb.gen.options import GENERATORS, OPTIONS
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
