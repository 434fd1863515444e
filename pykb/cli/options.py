"""Options: those that several commands share, those that external plugins add, and what a shell completes for them."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
import typer
import typer.core

from pykb.project.options import ApiOptions, Option

if TYPE_CHECKING:
    from pykb.plugins import PluginKey
    from pykb.plugins.external.protocol import Answer, Flag
    from pykb.project.resource import Resource


_WORD = re.compile(r"[\w.+:-]+")
"""Characters that no shell treats specially. PROJECT may contain any others."""


def _complete_groups(incomplete: str) -> list[str]:
    """The API groups of the project."""
    return beginning(incomplete, (resource.group for resource in _resources()))


def complete_versions(incomplete: str) -> list[str]:
    """The API versions of the project."""
    return beginning(incomplete, (resource.version for resource in _resources()))


def complete_kinds(incomplete: str) -> list[str]:
    """The kinds of the project."""
    return beginning(incomplete, (resource.kind for resource in _resources()))


def complete_controllers(incomplete: str) -> list[str]:
    """The names of the controllers of the project."""
    return beginning(incomplete, (name for resource in _resources() for name in resource.controllers))


def complete_explorer_codes(incomplete: str) -> list[str]:
    """The codes of the explorer. Those before a comma are typed already."""
    from pykb.diagnostics.codes.explore import ADVICE

    typed, comma, last = incomplete.rpartition(",")
    return [f"{typed}{comma}{code}" for code in beginning(last, iter(ADVICE))]


def complete_histories(incomplete: str) -> list[str]:
    """The histories of the last findings, relative to the working directory."""
    from pykb.cli.root import find_root
    from pykb.files.state import EXPLORED, STATE

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
    from pykb.cli.root import find_root
    from pykb.diagnostics import EnvironmentProblem
    from pykb.project.file import read

    try:
        root = find_root()
        return read(root)[0].resources if root is not None else ()
    except (OSError, EnvironmentProblem):
        return ()


DryRun = Annotated[bool, typer.Option("--dry-run", help="Only list what would be written.")]
Diff = Annotated[bool, typer.Option("--diff", help="Only show what would be written, as a diff.")]
Plugins = Annotated[
    str, typer.Option(metavar="KEYS", help="Plugins to use instead of the default ones, separated by commas.")
]
Group = Annotated[str, typer.Option(help="API group without the domain.", autocompletion=_complete_groups)]
Kind = Annotated[str, typer.Option(help="The kind, in PascalCase.", autocompletion=complete_kinds)]
HubVersion = Annotated[
    str, typer.Option(help="API version. For a conversion, the hub.", autocompletion=complete_versions)
]
Make = Annotated[bool, typer.Option("--make/--no-make", help="Generate the manifests afterwards.")]

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
    argument: str, options: Mapping[str, Any], made: Callable[[dict[str, Any]], object], *, default: object
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command options that are declared elsewhere, in place of one of its arguments.

    Args:
        argument: The argument of the command.
        options: The annotations of the options, by the names of their parameters.
        made: Makes the value of the argument from those of the options.
        default: The value of an option that is not given.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for each in signature.parameters.values():
            if each.name == argument:
                parameters += [each.replace(name=name, default=default, annotation=options[name]) for name in options]
            else:
                parameters.append(each)

        @wraps(command)
        def run(**given: Any) -> None:
            values = {name: given.pop(name) for name in options}
            command(**{argument: made(values)}, **given)

        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return decorate


def _recorded(option: Option) -> Any:
    completion = complete_versions if option.metavar == "VERSION" else None
    return Annotated[
        str, typer.Option(option.flag, metavar=option.metavar, help=option.help, autocompletion=completion)
    ]


taking_recorded = with_options_for(
    "recorded",
    {name: _recorded(option) for name, option in ApiOptions.all().items()},
    lambda values: ApiOptions(**values),
    default="",
)
"""Gives a command an option for each field of `ApiOptions`. It gets them as its argument ``recorded``."""


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
    from pykb.cli.root import find_root
    from pykb.diagnostics import Diagnostics
    from pykb.plugins import external
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
