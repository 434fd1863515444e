"""What the user asked of the output (``--format``, ``--verbose``, ``NO_COLOR``) and the two streams.

Data goes to stdout, everything about the run to stderr.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from pykb.diagnostics.render import Format, visible


@dataclass(slots=True)
class Settings:
    """How to speak in this run."""

    format: Format = Format.FULL
    verbose: bool = False
    argv: tuple[str, ...] = ()


settings = Settings()
"""Set once by :func:`configure`; read by whoever prints."""


def configure(argv: Sequence[str]) -> None:
    """Read the output options wherever they stand, so that even a mistake of spelling is shown as asked.

    Values that are no format are left to the parser, which reports them.
    """
    settings.format, settings.verbose, settings.argv = Format.FULL, False, tuple(argv)
    words = list(argv)
    if "--" in words:
        words = words[: words.index("--")]
    for position, word in enumerate(words):
        if word == "--verbose":
            settings.verbose = True
        name, equals, value = word.partition("=")
        if name != "--format":
            continue
        if not equals and position + 1 < len(words):
            value = words[position + 1]
        if value in set(Format):
            settings.format = Format(value)


def colour_on_stderr() -> bool:
    """Whether ANSI colours are welcome on stderr (https://no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stderr.isatty()


def is_interactive() -> bool:
    """Whether a question would reach a person: stdin and stderr are terminals."""
    try:
        return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    except ValueError:  # stdin was closed by whoever started us
        return False


def out(text: str = "") -> None:
    """Print data to stdout."""
    sys.stdout.write(text + "\n")


def raw(text: str) -> None:
    """Print data to stdout: as it is for a program, without what a terminal would act on for a person."""
    sys.stdout.write(visible(text) if sys.stdout.isatty() else text)


def data(value: object) -> bool:
    """Print data to stdout as one JSON document, where ``--format json`` asks for it; whether it does."""
    if settings.format is not Format.JSON:
        return False
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
    return True


def say(text: str = "") -> None:
    """Print a line about the run to stderr; silent where the output is for machines."""
    if settings.format in {Format.JSON, Format.GITHUB}:
        return
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def warn_raw(text: str) -> None:
    """Print rendered diagnostics to stderr as they are."""
    sys.stderr.write(text)
    sys.stderr.flush()


def confirm(question: str, *, default: bool) -> bool:
    """Ask y/n on a terminal; the default where nobody can answer, said in a line."""
    hint = "Y/n" if default else "y/N"
    if not is_interactive():
        say(f"{question} [{hint}]: {'yes' if default else 'no'} (no terminal to ask)")
        return default
    while True:
        sys.stderr.write(f"{question} [{hint}]: ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        answer = line.strip().lower()
        if answer in {"y", "yes"}:
            return True
        if answer in {"n", "no"}:
            return False
        if not line:
            sys.stderr.write("\n")
        if not answer:
            return default
        sys.stderr.write("please answer y or n\n")
