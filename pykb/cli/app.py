"""Runs a command line. Imports only the module of the command that is named.

``main`` is the entry point of the console script. It raises only ``SystemExit``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from pykb.cli.commands import print_overview, tree


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and exit the process."""
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def run(argv: Sequence[str]) -> int:
    """Run one command line. Returns the exit code."""
    args = list(argv)
    if args[:1] == ["help"] and len(args) > 1:
        args = _help(args[1:])
    if args in ([], ["--help"], ["-h"], ["help"]) and "_PYKB_COMPLETE" not in os.environ:
        print_overview()
        return 0
    try:
        return _run(args)
    except KeyboardInterrupt:
        return _interrupted()
    except BrokenPipeError:
        return _broken_pipe()


def _help(words: list[str]) -> list[str]:
    """The command line of ``pykb help WORDS``: that of a command, or of what ``pykb explain`` knows."""
    from pykb.cli.explain import complete_explained
    from pykb.diagnostics.suggest import closest

    if words[0] in tree() or words[0] in {"alpha", "help"}:
        return [*words, "--help"]
    is_explained = words[0] in complete_explained(words[0])
    return ["explain", *words] if is_explained or not closest(words[0], tree()) else [*words, "--help"]


def _run(args: list[str]) -> int:
    import click

    from pykb.cli import console, errors

    console.configure(args)
    _open_streams()
    try:
        result: Any = root().main(args=args, prog_name="pykb", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except click.Abort:
        return _interrupted()
    except SystemExit as error:
        # click turns a broken pipe into an exit code, which is the same as that of a finding
        if isinstance(error.__context__, BrokenPipeError):
            raise error.__context__ from None
        return error.code if isinstance(error.code, int) else 0
    except Exception as error:  # the top: whatever it is, it becomes a message and an exit code
        from pykb.client.guard import is_end  # it imports asyncio, and a command without an error needs none

        if is_end(error):
            raise  # a debugger runs this program, and somebody leaves it
        return errors.handle(error)
    finally:
        errors.flush(last=True)
    if result == errors.EXIT_INTERRUPTED:
        return _interrupted()
    return result if isinstance(result, int) else 0


def _open_streams() -> None:
    """Make both streams accept any text, even if they are closed or only take ASCII."""
    if sys.stdout is None:
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _interrupted() -> int:
    sys.stderr.write("\ninterrupted\n")
    return 130  # as a shell reports SIGINT


def _broken_pipe() -> int:
    # The reader has closed the pipe (`pykb explain | head`). Python must not flush into it at exit.
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return 141  # as a shell reports SIGPIPE


def root() -> Any:
    """Make the click command ``pykb``."""
    import typer

    from pykb.cli.parsing import LazyGroup

    app = typer.Typer(
        cls=LazyGroup,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="kubebuilder for Python",
    )
    app.callback(invoke_without_command=False)(_root_options)
    group = typer.main.get_command(app)
    group.name = "pykb"
    return group


def _root_options() -> None:
    """The options of ``pykb`` itself. They do nothing."""
