"""The user's output options (``--format``, ``--verbose``, ``NO_COLOR``), the two streams, and progress.

Data goes to stdout, all messages go to stderr. Progress is a line that updates itself on a terminal, and plain lines
elsewhere.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pykb.diagnostics.render import Format, visible

if TYPE_CHECKING:
    from rich.progress import Progress

    from pykb.envtest.reporter import Step


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


def markdown(text: str) -> None:
    """Print a page to stdout: as it is, or set for a terminal."""
    if not sys.stdout.isatty():
        sys.stdout.write(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))


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
    if settings.format.is_for_programs:
        return
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def warn_raw(text: str) -> None:
    """Print rendered diagnostics to stderr as they are."""
    sys.stderr.write(text)
    sys.stderr.flush()


def confirm(question: str, *, default: bool) -> bool:
    """Ask a question with the answer y or n. Without a terminal, print and return the default.

    Raises:
        KeyboardInterrupt: The input has ended without an answer.
    """
    hint = "Y/n" if default else "y/N"
    if not is_interactive():
        say(f"{question} [{hint}]: {'yes' if default else 'no'} (no terminal to ask)")
        return default
    while True:
        sys.stderr.write(f"{question} [{hint}]: ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:  # Ctrl-D, or the terminal is gone
            raise KeyboardInterrupt
        answer = line.strip().lower()
        if answer in {"y", "yes"}:
            return True
        if answer in {"n", "no"}:
            return False
        if not answer:
            return default
        sys.stderr.write("please answer y or n\n")


PLAIN_INTERVAL = 10.0
"""Seconds between two plain lines about one step.

Keeps logs short while showing that work continues.
"""


class ProgressReporter:
    """A reporter (:class:`pykb.envtest.reporter.Reporter`) for a ``with`` block."""

    def __init__(self) -> None:
        self._live: Progress | None = None

    def __enter__(self) -> Self:
        if _may_redraw():
            # Imported only for a terminal, since it is slow to import.
            from rich.console import Console
            from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            columns = (SpinnerColumn(), TextColumn("{task.description}"), TextColumn("{task.fields[detail]}", "dim"))
            self._live = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Release the terminal before the end of the block."""
        if self._live is not None:
            self._live.stop()

    def step(self, title: str) -> Step:
        """Start a step."""
        return _LiveStep(self._live, title) if self._live is not None else _PlainStep(title)

    def note(self, text: str) -> None:
        """Show a note that does not belong to a step."""
        if self._live is not None:
            self._live.print(f"note: {text}", markup=False, highlight=False)
        else:
            say(f"note: {text}")


class _LiveStep:
    def __init__(self, live: Progress, title: str) -> None:
        self._live = live
        self._title = title
        self._began = time.monotonic()
        self._task = live.add_task(title, total=None, detail="")

    def update(self, detail: str) -> None:
        self._live.update(self._task, detail=detail)

    def done(self, detail: str = "") -> None:
        self._end("done", detail)

    def failed(self, detail: str) -> None:
        self._end("no", detail)

    def _end(self, how: str, detail: str) -> None:
        self._live.remove_task(self._task)
        self._live.print(_closing(self._title, how, detail, self._began), markup=False, highlight=False)


class _PlainStep:
    def __init__(self, title: str) -> None:
        self._title = title
        self._began = self._told = time.monotonic()
        say(f"{title} ...")

    def update(self, detail: str) -> None:
        now = time.monotonic()
        if now - self._told >= PLAIN_INTERVAL:
            self._told = now
            say(f"{self._title}: {detail}")

    def done(self, detail: str = "") -> None:
        say(_closing(self._title, "done", detail, self._began))

    def failed(self, detail: str) -> None:
        say(_closing(self._title, "no", detail, self._began))


def _closing(title: str, how: str, detail: str, began: float) -> str:
    seconds = time.monotonic() - began
    took = f" ({seconds:.1f} s)" if seconds >= 0.1 else ""
    return f"{title}: {detail or how}{took}"


def _may_redraw() -> bool:
    return sys.stderr.isatty() and not settings.format.is_for_programs and colour_on_stderr()
