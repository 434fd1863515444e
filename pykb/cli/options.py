"""Options: those that several commands share, those that external plugins add, and what a shell completes for them."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_origin, get_type_hints

import click
import typer
import typer.core

from pykb.cli import console
from pykb.project.options import Option, option, options_of

if TYPE_CHECKING:
    from pykb.plugins import PluginKey
    from pykb.plugins.external.protocol import Answer, Flag
    from pykb.project.resource import Resource


_WORD = re.compile(r"[\w.+:-]+")
"""Characters that no shell treats specially. PROJECT may contain any others."""


def _completing(names: Callable[[Resource], Iterable[str]]) -> Callable[[str], list[str]]:
    """A function that completes names of the project."""

    def complete(incomplete: str) -> list[str]:
        return beginning(incomplete, (name for resource in _resources() for name in names(resource)))

    return complete


def _complete_explorer_codes(incomplete: str) -> list[str]:
    """The codes of the explorer. Those before a comma are typed already."""
    from pykb.diagnostics.codes.explore import ADVICE

    typed, comma, last = incomplete.rpartition(",")
    return [f"{typed}{comma}{code}" for code in beginning(last, iter(ADVICE))]


def _complete_histories(incomplete: str) -> list[str]:
    """The histories of the last findings, relative to the working directory."""
    from pykb.files.state import EXPLORED, STATE
    from pykb.project import find_root

    root = find_root()
    if root is None:
        return []
    folder = root / STATE / EXPLORED
    found = [os.path.relpath(each) for each in folder.glob("*.json") if _WORD.fullmatch(each.name)]
    return sorted(path for path in found if path.startswith(incomplete))


def beginning(incomplete: str, names: Iterator[str]) -> list[str]:
    """The names that begin so, without characters that a shell treats specially."""
    return sorted({name for name in names if _WORD.fullmatch(name) and name.startswith(incomplete)})


def _resources() -> tuple[Resource, ...]:
    """The resources in PROJECT.

    Empty if it cannot be read, since a completion cannot show errors.
    """
    from pykb.diagnostics import EnvironmentProblem
    from pykb.project import find_root
    from pykb.project.file import read

    try:
        root = find_root()
        return read(root)[0].resources if root is not None else ()
    except (OSError, EnvironmentProblem):
        return ()


def _complete_yaml(incomplete: str) -> list[str]:
    """Files of YAML, and folders."""
    start, slash, _ = incomplete.rpartition("/")
    try:
        found = sorted(Path(f"{start}{slash}" or ".").iterdir())
    except OSError:
        return []
    names = [f"{each.name}/" if each.is_dir() else each.name for each in found if _WORD.fullmatch(each.name)]
    paths = [f"{start}{slash}{name}" for name in names if name.endswith(("/", ".yaml", ".yml"))]
    return [path for path in paths if path.startswith(incomplete)]


complete_kinds = _completing(lambda resource: [resource.kind])
_COMPLETIONS = {
    "groups": _completing(lambda resource: [resource.group]),
    "versions": _completing(lambda resource: [resource.version]),
    "kinds": complete_kinds,
    "controllers": _completing(lambda resource: resource.controllers),
    "explorer codes": _complete_explorer_codes,
    "histories": _complete_histories,
    "yaml": _complete_yaml,
}


@dataclass(frozen=True, slots=True)
class Preview:
    """Whether a command only shows what it would write."""

    dry_run: bool = option("Only list what would be written.", default=False)
    diff: bool = option("Only show what would be written, as a diff.", default=False)

    @property
    def writes(self) -> bool:
        """Whether it writes."""
        return not (self.dry_run or self.diff)


@dataclass(frozen=True, slots=True)
class How(Preview):
    """What else a command does that changes a project."""

    make: bool = option("Generate the manifests afterwards.", default=True, has_opposite=True)


_OURS = {"--plugins": True, "--format": True, "--dry-run": False, "--diff": False, "--verbose": False}
"""Options that choose plugins or how pykb shows its work, and whether each takes a value."""


def plugin_args(argv: Sequence[str]) -> tuple[str, ...]:
    """The options of a command line that plugins see.

    >>> plugin_args(["create", "api", "--kind", "Disk", "--plugins", "python,notes", "--dry-run", "--force"])
    ('--kind', 'Disk', '--force')
    """
    words = iter(argv)
    out: list[str] = []
    for word in words:
        name, equals, _ = word.partition("=")
        if name in _OURS:
            if _OURS[name] and not equals:
                next(words, None)
        elif word.startswith("-") or out:
            out.append(word)
    return tuple(out)


def listed(text: str) -> tuple[str, ...]:
    """The items of a comma-separated list."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def with_options_for(
    argument: str, options: Mapping[str, tuple[Any, Any]], made: Callable[[dict[str, Any]], object]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command options that are declared elsewhere, in place of one of its arguments.

    Args:
        argument: The argument of the command.
        options: The annotation and the default of each option, by the names of their parameters.
        made: Makes the value of the argument from those of the options.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for each in signature.parameters.values():
            if each.name == argument:
                parameters += [
                    inspect.Parameter(name, each.KEYWORD_ONLY, default=default, annotation=annotation)
                    for name, (annotation, default) in options.items()
                ]
            else:
                parameters.append(each.replace(kind=each.KEYWORD_ONLY))

        @wraps(command)
        def run(**given: Any) -> None:
            values = {name: given.pop(name) for name in options}
            command(**{argument: made(values)}, **given)

        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return decorate


def taking(cls: type, argument: str = "options") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options that a class declares. It gets an object of the class as its argument."""
    return with_options_for(argument, dict(_parameters(cls)), lambda values: _made(cls, values))


def _parameters(cls: Any) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """The annotations and defaults of the options of a class, and of classes that its fields have."""
    hints, declared = get_type_hints(cls), options_of(cls)
    for each in sorted(fields(cls), key=lambda each: each.kw_only is True):
        hint = hints[each.name]
        if each.name in declared:
            default = None if _is_list(hint) or declared[each.name].is_asked else each.default
            yield each.name, (_annotation(hint, declared[each.name]), default)
        elif is_dataclass(hint):
            yield from _parameters(hint)


def _annotation(hint: Any, declared: Option) -> Any:
    flag = declared.flag
    if hint == bool | None or declared.has_opposite:
        flag = f"{flag}/--no-{flag.removeprefix('--')}"
    about = typer.Option(
        flag,
        help=declared.help,
        metavar=declared.metavar,
        hidden=declared.hidden,
        min=declared.least,
        max=declared.most,
        autocompletion=_COMPLETIONS.get(declared.completion),
    )
    return Annotated[list[str] | None if _is_list(hint) else hint, about]


def _is_list(hint: Any) -> bool:
    return get_origin(hint) is tuple


def _made(cls: Any, values: Mapping[str, Any]) -> Any:
    """An object of a class with the values of its options."""
    hints = get_type_hints(cls)
    found: dict[str, Any] = {}
    for each in fields(cls):
        if each.name in values:
            value = values[each.name]
            found[each.name] = _items(value or ()) if _is_list(hints[each.name]) else value
        elif is_dataclass(hints[each.name]):
            found[each.name] = _made(hints[each.name], values)
        elif each.name == "args":
            found[each.name] = plugin_args(console.settings.argv)
    return cls(**found)


def _items(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(item for value in values for item in listed(value))


_TYPES = {"bool": click.BOOL, "int": click.INT, "float": click.FLOAT}
_HELP = frozenset({"--help", "-h"})


def add_plugin_options(command: click.Command, path: str, args: Sequence[str]) -> None:
    """Add to a command what the external plugins of this command line add. Asks them only if there are any."""
    from pykb.plugins import external

    if "_PYKB_COMPLETE" in os.environ or not external.folder().is_dir():
        return
    words = path.split()[1:]  # kubebuilder says `--api` for `create api`, and `--delete api`
    asked = " ".join(words if words[:1] == ["delete"] else words[-1:])
    for key, program in _external(args):
        flags = _ask(key, program, "flags", asked)
        found = [_option(flag) for flag in flags.flags] if flags is not None else _guessed(args, command)
        known = {name for param in command.params for name in param.opts}
        command.params += [option for option in found if not known.intersection(option.opts)]
        if _HELP.intersection(args):
            command.help = f"{command.help}{_help(key, _ask(key, program, 'metadata', asked))}"


def _external(args: Sequence[str]) -> list[tuple[PluginKey, Path]]:
    """The external plugins that the command line names, else those of PROJECT that the user named before."""
    from pykb.diagnostics import Diagnostics
    from pykb.plugins import external
    from pykb.project import find_root
    from pykb.project.file import read

    words = _named(args)
    if not words and (root := find_root()) is not None:
        words = tuple(external.trusted(root).intersection(read(root)[0].layout))
    programs = external.installed().items()
    return [
        (key, program)
        for key, program in programs
        if any(key.answers_to(word) for word in words) and external.usable(key, program, Diagnostics())
    ]


def _named(args: Sequence[str]) -> tuple[str, ...]:
    for word, following in zip(args, [*args[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name in {"--plugins", "-plugins"}:
            return listed(value if equals else following)
    return ()


def _ask(key: PluginKey, program: Path, what: str, command: str) -> Answer | None:
    """What a plugin answers about a command. ``None`` if it does not answer: it need not know the question."""
    from pykb.diagnostics import Diagnostics
    from pykb.plugins.external.protocol import QUICK, Question, ask

    question = Question(what, (f"--{command}",), limits=QUICK)
    return ask(key, program, question, Path.cwd(), Diagnostics())


def _option(flag: Flag) -> typer.core.TyperOption:
    default = f"  [default: {flag.default}]" if flag.default else ""
    return _new(f"--{flag.name}", _TYPES.get(flag.type, click.STRING), help=flag.usage + default)


def _guessed(args: Sequence[str], command: click.Command) -> list[typer.core.TyperOption]:
    """Options that nobody knows, for a plugin that does not say which it has. It has to check them itself."""
    known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)} | _HELP
    found = []
    for word, following in zip(args, [*args[1:], "--"], strict=True):
        name, equals, _ = word.partition("=")
        if word.startswith("--") and name not in known:
            is_flag = not equals and following.startswith("--")
            found.append(_new(name, click.BOOL if is_flag else click.STRING))
    return found


def _new(name: str, kind: click.ParamType[Any], **more: Any) -> typer.core.TyperOption:
    is_flag = True if kind is click.BOOL else None
    return typer.core.TyperOption(param_decls=[name], type=kind, is_flag=is_flag, expose_value=False, **more)


def _help(key: PluginKey, answer: Answer | None) -> str:
    if answer is None:
        return ""
    parts = [f"{key}: {answer.metadata.description.strip()}", answer.metadata.examples.strip()]
    return "".join(f"\n\n\b\n{part}" for part in parts if part)
