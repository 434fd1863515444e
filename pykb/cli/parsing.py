"""Parsing for all commands: groups that import a command when it is named, kubebuilder's spellings, missing values."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any

import click
import typer
import typer.core

from pykb.cli import console
from pykb.cli.commands import GROUPS, Command, commands, longer, overview, tree
from pykb.cli.errors import EXIT_USAGE, report, unknown_command
from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.cli import MISSING_VALUE
from pykb.diagnostics.render import Format

_TRUE = frozenset({"true", "1", "t", "yes", "y", "on"})
_FALSE = frozenset({"false", "0", "f", "no", "n", "off"})
_FROM_KUBEBUILDER = frozenset({"init", "api", "webhook"})
_WITH_PLUGINS = frozenset({"init", "api", "webhook", "edit"})
GO_OPTIONS = {
    "--repo": (True, "the import package has the name of the project"),
    "--project-version": (True, "PROJECT always has version 3"),
    "--fetch-deps": (False, "`make` gets the packages when a target needs them"),
    "--skip-go-version-check": (False, "Python compiles nothing"),
    "--external-api-module": (True, "add the distribution to pyproject.toml"),
    "--ssa": (False, "`pykb.runtime.partial` applies single fields of any type"),
}
"""Options of kubebuilder that Python does not need: whether each takes a value, and why it is not needed."""


def _shared_options() -> list[click.Parameter]:
    """The options of every command. ``console.configure`` reads them before parsing."""
    return [
        typer.core.TyperOption(
            param_decls=["--format"],
            type=click.Choice([str(f) for f in Format]),
            expose_value=False,
            help="How findings are shown.  [default: full]",
        ),
        typer.core.TyperOption(
            param_decls=["--verbose"],
            is_flag=True,
            expose_value=False,
            help="Show a traceback if pykb itself fails.",
        ),
    ]


def help_text(function: Callable[..., Any]) -> str:
    """The help text of a command: its docstring up to the sections ``Args`` and so on.

    The lines of examples are kept.
    """
    text = inspect.getdoc(function) or ""
    text = re.split(r"^(?:Args|Returns|Raises|Yields):$", text, maxsplit=1, flags=re.MULTILINE)[0].rstrip()
    return re.sub(r"^Examples?:$", "\b\n\\g<0>", text, flags=re.MULTILINE).replace("``", "`")


class PykbCommand(typer.core.TyperCommand):
    """A typer command with the parsing of this module."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params = [*self.params, *_shared_options()]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Normalise spellings, then parse.

        Reports all options without a value, not only the first.
        """
        if self.name in _WITH_PLUGINS:
            from pykb.cli.options import add_plugin_options

            add_plugin_options(self, ctx.command_path, args)
        args = _respell(args, self.get_params(ctx))
        if self.name in _FROM_KUBEBUILDER:
            args = _without_go_options(args)
        missing = _forgotten_values(args, self.get_params(ctx), command=ctx.command_path)
        if missing and not ctx.resilient_parsing:
            report(missing)
            raise typer.Exit(EXIT_USAGE)
        return super().parse_args(ctx, args)


def _respell(args: list[str], params: list[click.Parameter]) -> list[str]:
    """Rewrite Go's spellings of options: ``--flag=false``, ``--flag=true``, ``-long value``.

    >>> option = click.Option(["--namespaced/--no-namespaced"])
    >>> _respell(["--namespaced=false", "-namespaced", "--", "--namespaced=false"], [option])
    ['--no-namespaced', '--namespaced', '--', '--namespaced=false']
    """
    options = _by_name(params)
    out: list[str] = []
    for position, arg in enumerate(args):
        if arg == "--":
            return out + args[position:]
        out += _respelt(arg, options)
    return out


def _by_name(params: list[click.Parameter]) -> dict[str, click.Option]:
    options = [p for p in params if isinstance(p, click.Option)]
    return {name: option for option in options for name in (*option.opts, *option.secondary_opts)}


def _respelt(arg: str, options: Mapping[str, click.Option]) -> list[str]:
    name, equals, value = arg.partition("=")
    if name not in options and re.fullmatch(r"-[a-z][a-z-]+", name) and f"-{name}" in options:
        name = f"-{name}"
    option = options.get(name)
    if option is None or not option.is_flag or not equals or value.lower() not in _TRUE | _FALSE:
        return [name + equals + value]
    if value.lower() in _TRUE:
        return [name]
    opposite = option.secondary_opts if name in option.opts else option.opts
    return opposite[:1]


def _without_go_options(args: list[str]) -> list[str]:
    """Drop kubebuilder's options that concern Go, with a note."""
    out: list[str] = []
    words = iter(args)
    for word in words:
        if word == "--":
            return [*out, word, *words]
        name, equals, _ = word.partition("=")
        if name not in GO_OPTIONS:
            out.append(word)
            continue
        takes_value, why = GO_OPTIONS[name]
        if takes_value and not equals:
            next(words, None)
        console.say(f"note: `{name}` has no effect here: {why}")
    return out


def _forgotten_values(args: list[str], params: list[click.Parameter], *, command: str) -> Diagnostics:
    """Find options that are followed by another option instead of their value.

    The parser would read the next option as the value: ``--group --version v1`` would set the group
    to ``--version``.
    """
    options = _by_name(params)
    diagnostics = Diagnostics()
    for arg, following in zip_longest(args, args[1:]):
        if arg == "--":
            break
        option = options.get(arg)
        if option is None or option.is_flag or option.count:
            continue
        if following is None:
            diagnostics.add(_missing(arg, f"`{arg}` has no value", command))
        elif following.partition("=")[0] in options or re.match(r"--[a-z]", following):
            diagnostics.add(_missing(arg, f"`{arg}` has no value: the next word is the option `{following}`", command))
    return diagnostics


def _missing(option: str, message: str, command: str) -> Any:
    value = option.lstrip("-").upper().replace("-", "_")
    return MISSING_VALUE.at(None, message, f"`{command} {option} {value}`")


class LazyGroup(typer.core.TyperGroup):
    """``pykb``, ``pykb create``, ``pykb cluster`` and so on.

    Names come from the table of commands.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.no_args_is_help = False
        self.params = [*self.params, *_shared_options()]

    @property
    def table(self) -> dict[str, Command | dict[str, Command]]:
        """The entries of this group: all commands for ``pykb``, else the sub-commands."""
        whole = tree()
        own = whole.get(self.name or "")
        return dict(own) if isinstance(own, dict) else whole

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names, in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return the command with a name."""
        entry = self.table.get(cmd_name)
        if entry is None:
            return None
        if isinstance(entry, Command):
            command: click.Command = load(entry, cmd_name)
            return command
        return LazyGroup(
            name=cmd_name,
            help=GROUPS[cmd_name],
            rich_markup_mode=None,
            invoke_without_command=False,
            context_settings={"help_option_names": ["-h", "--help"]},
        )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command. Reports an unknown one with the most similar name."""
        two_words = longer(args) if ctx.parent is None else None
        if two_words is not None:
            return two_words.words, load(two_words, two_words.words), args[2:]
        if args[0] in self.table or ctx.resilient_parsing:
            return super().resolve_command(ctx, args)
        prefix = "" if ctx.parent is None else f"{self.name} "
        known = [f"{prefix}{name}" for name in self.table] + [c.words for c in commands() if not prefix]
        words = args[:2] if args[0] == "alpha" and not args[-1].startswith("-") else args[:1]
        report([unknown_command(f"{prefix}{' '.join(words)}", known, see=ctx.command_path)])
        raise typer.Exit(EXIT_USAGE)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show the commands of a group that is called without one. The exit code is then 2."""
        if not args and not ctx.resilient_parsing:
            sys.stderr.write(self.get_help(ctx) + "\n")
            raise typer.Exit(EXIT_USAGE)
        return super().parse_args(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the overview for ``pykb``, or the list of a group's commands.

        Imports no command.
        """
        if ctx.parent is None:
            formatter.write(overview())
            return
        formatter.write(f"Usage: {ctx.command_path} COMMAND [OPTIONS]\n\n  {self.help}\n\nCommands:\n")
        entries = [(name, entry) for name, entry in self.table.items() if isinstance(entry, Command)]
        width = max(len(name) for name, _ in entries)
        for name, entry in entries:
            formatter.write(f"  {name:<{width}}  {entry.summary}\n")
        formatter.write(f"\n`{ctx.command_path} COMMAND --help` shows the options of a command.\n")


def load(command: Command, name: str) -> Any:
    """Import the module of a command and make its click command."""
    module, _, attribute = command.target.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(
        name,
        cls=PykbCommand,
        help=help_text(function),
        short_help=command.summary,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )(function)
    return typer.main.get_command(app)
