"""Renders the pages about what one types: the commands of pykb, and the flags of a manager."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable

import click

from pykb.cli.app import root
from pykb.cli.commands import GLOBAL_OPTIONS, SECTIONS, Command
from pykb.cli.parsing import load
from pykb.runtime.options import add_flags

_COMMANDS = """\
# Command line

Each command of `pykb` with its options. `pykb COMMAND --help` shows the same, and
`pykb completion SHELL` prints a script that completes commands, options and names. Data goes to
stdout, [messages](diagnostics.md) go to stderr; [output for programs](output.md) has the formats.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | findings: an error in the project, or a difference with `--check` |
| 2 | the command line is wrong |
| 70 | a bug of pykb |
| 130 | interrupted with Ctrl-C |
"""

_FLAGS = """\
# Flags of a manager

The program of an operator takes these flags: `python -m OPERATOR --help` shows them.
[`add_flags`](api/runtime.md#pykb.runtime.add_flags) adds them to a parser of your own, and
[`ManagerOptions.from_namespace`](api/runtime.md#pykb.runtime.ManagerOptions) reads them. A boolean
flag without a value means `true`. The scaffolded manifests set some of them in
`config/default/manager_metrics_patch.yaml` and `config/manager/manager.yaml`.
"""


def commands() -> str:
    """``docs/reference/cli.md``."""
    parts = [_COMMANDS, "## Options of every command\n", *_table("option", GLOBAL_OPTIONS)]
    for title, section in SECTIONS.items():
        parts += ["", f"## {title}"]
        for command in section:
            parts += ["", *_command(command)]
    return "\n".join(parts) + "\n"


def flags() -> str:
    """``docs/reference/flags.md``."""
    parser = argparse.ArgumentParser(add_help=False)
    add_flags(parser)
    parts = [_FLAGS.rstrip()]
    for group in parser._action_groups:  # noqa: SLF001 - argparse has no other way to list them
        if group._group_actions:  # noqa: SLF001
            rows = ((_flag(action), action.help or "") for action in group._group_actions)  # noqa: SLF001
            parts += ["", f"## {(group.title or '').capitalize()}", "", *_table("flag", rows)]
    return "\n".join(parts) + "\n"


def _command(command: Command) -> Iterable[str]:
    words = command.words.split()
    loaded: click.Command = load(command, command.words)
    context = click.Context(loaded, info_name=words[-1], parent=_parent(words[:-1]))
    yield f"### `pykb {command.words}`\n"
    text, _, examples = (loaded.help or "").partition("\b\n")
    yield text.strip()
    usage = " ".join([f"pykb {command.words}", *loaded.collect_usage_pieces(context)])
    yield f"\n```\n{usage}\n```"
    if examples:
        yield f"\n```sh\n{_examples(examples)}\n```"
    shared = {record[0] for record in _records(root().params, context)}
    arguments = (p for p in loaded.params if isinstance(p, click.Argument))
    options = (p for p in loaded.params if not isinstance(p, click.Argument))
    for title, rows in (("argument", _records(arguments, context)), ("option", _records(options, context))):
        own = [row for row in rows if row[0] not in shared]
        if own:
            yield from ("", *_table(title, own))


def _parent(words: list[str]) -> click.Context:
    context = click.Context(root(), info_name="pykb")
    for word in words:
        context = click.Context(click.Group(word), info_name=word, parent=context)
    return context


def _examples(text: str) -> str:
    """The lines below ``Examples:``, in the shell's syntax."""
    title, *lines = text.rstrip().splitlines()
    if not title.startswith("Example"):
        raise ValueError(f"not examples: {title}")
    return re.sub(r"\n(?= )", " \\\\\n", "\n".join(line.removeprefix("  ") for line in lines))


def _records(params: Iterable[click.Parameter], context: click.Context) -> list[tuple[str, str]]:
    records = (param.get_help_record(context) for param in params)
    return [record for record in records if record is not None]


def _flag(action: argparse.Action) -> str:
    value = action.metavar or (f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest.upper())
    shown = f"[={value}]" if action.nargs == "?" else f" {value}" + (" ..." if action.nargs == "+" else "")
    return ", ".join(action.option_strings) + shown


def _table(title: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    return [f"| {title} | |", "|---|---|", *(f"| `{_cell(name)}` | {_cell(text)} |" for name, text in rows)]


def _cell(text: str) -> str:
    text = re.sub(r"\s+", " ", text).strip().replace("|", "\\|")
    return re.sub(r" ?\[(default: [^\]]*|[^\]]*<=[^\]]*)\]", r" (\1)", text)
