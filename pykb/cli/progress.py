"""Shows progress on stderr: a line that updates itself on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pykb.cli import console
from pykb.diagnostics.render import Format

if TYPE_CHECKING:
    from rich.progress import Progress

    from pykb.envtest.reporter import Step

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
            self._live.console.print(f"note: {text}", markup=False, highlight=False)
        else:
            console.say(f"note: {text}")


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
        self._live.console.print(_closing(self._title, how, detail, self._began), markup=False, highlight=False)


class _PlainStep:
    def __init__(self, title: str) -> None:
        self._title = title
        self._began = self._told = time.monotonic()
        console.say(f"{title} ...")

    def update(self, detail: str) -> None:
        now = time.monotonic()
        if now - self._told >= PLAIN_INTERVAL:
            self._told = now
            console.say(f"{self._title}: {detail}")

    def done(self, detail: str = "") -> None:
        console.say(_closing(self._title, "done", detail, self._began))

    def failed(self, detail: str) -> None:
        console.say(_closing(self._title, "no", detail, self._began))


def _closing(title: str, how: str, detail: str, began: float) -> str:
    seconds = time.monotonic() - began
    took = f" ({seconds:.1f} s)" if seconds >= 0.1 else ""
    return f"{title}: {detail or how}{took}"


def _may_redraw() -> bool:
    machine = console.settings.format in {Format.JSON, Format.GITHUB}
    return sys.stderr.isatty() and not machine and console.colour_on_stderr()
