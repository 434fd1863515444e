"""The options and the help that external plugins add to a command."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import typer.core

from pykb.cli.options import listed
from pykb.plugins.external import find

if TYPE_CHECKING:
    from pykb.plugins.external.protocol import Answer, Flag
    from pykb.plugins.key import PluginKey

_TYPES = {"bool": click.BOOL, "int": click.INT, "float": click.FLOAT}
_HELP = frozenset({"--help", "-h"})


def extend(command: click.Command, path: str, args: Sequence[str]) -> None:
    """Add to a command what the external plugins of this command line add. Asks them only if there are any."""
    if "_PYKB_COMPLETE" in os.environ or not find.folder().is_dir():
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
    from pykb.cli.project import find_root
    from pykb.diagnostics import Diagnostics
    from pykb.plugins.external.find import trusted
    from pykb.project.file import read

    words = _named(args)
    if not words and (root := find_root()) is not None:
        words = tuple(trusted(root).intersection(read(root)[0].layout))
    programs = find.installed().items()
    return [
        (key, program)
        for key, program in programs
        if any(key.answers_to(word) for word in words) and find.usable(key, program, Diagnostics())
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
