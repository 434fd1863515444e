"""Groups of commands. A command is imported only when it is named."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import click
import typer
import typer.core

from pykb.cli.commands import GROUPS, Command, commands, longer, overview, tree
from pykb.cli.errors import EXIT_USAGE, report, unknown_command
from pykb.cli.parsing import PykbCommand, help_text, shared_options


class LazyGroup(typer.core.TyperGroup):
    """``pykb``, ``pykb create``, ``pykb cluster`` and so on.

    Names come from the table of commands.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.no_args_is_help = False
        self.params = [*self.params, *shared_options()]

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
        report([unknown_command(f"{prefix}{args[0]}", known, see=ctx.command_path)])
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
