"""The user's output options (``--format``, ``--verbose``, ``NO_COLOR``), and the two streams.

Data goes to stdout, all messages go to stderr.
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
    """The output options of a run."""

    format: Format = Format.FULL
    verbose: bool = False
    argv: tuple[str, ...] = ()


settings = Settings()
"""Set once, by :func:`configure`."""


def configure(argv: Sequence[str]) -> None:
    """Read the output options anywhere on the command line, so that usage errors obey them too.

    The parser reports invalid values later.
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
    """Whether ANSI colours may be used on stderr (https://no-color.org)."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stderr.isatty()


def is_interactive() -> bool:
    """Whether a person can answer a question: stdin and stderr are terminals."""
    try:
        return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
    except ValueError:  # the parent process closed stdin
        return False


def out(text: str = "") -> None:
    """Print data to stdout."""
    sys.stdout.write(text + "\n")


def raw(text: str) -> None:
    """Print data to stdout. On a terminal, control characters are made visible."""
    sys.stdout.write(visible(text) if sys.stdout.isatty() else text)


def data(value: object) -> bool:
    """Print data to stdout as one JSON document if ``--format json`` is set.

    Returns whether it is.
    """
    if settings.format is not Format.JSON:
        return False
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
    return True


def say(text: str = "") -> None:
    """Print a message to stderr. Prints nothing if the output is for programs."""
    if settings.format in {Format.JSON, Format.GITHUB}:
        return
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def warn_raw(text: str) -> None:
    """Print rendered diagnostics to stderr as they are."""
    sys.stderr.write(text)
    sys.stderr.flush()


def confirm(question: str, *, default: bool) -> bool:
    """Ask a question with the answer y or n. Without a terminal, print and return the default."""
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
