"""What the fixtures have to tell, told through pytest."""

from __future__ import annotations

import contextlib

import pytest

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.render import render
from pykb.envtest.reporter import Step


def explain(problem: EnvironmentProblem) -> str:
    """A broken environment as the text of a failed fixture: message, reasons, remedies."""
    return render([problem.diagnostic]).rstrip()


class PytestReporter:
    """Shows steps that may take minutes (the very first run builds a control plane) past pytest's capturing."""

    def __init__(self, config: pytest.Config) -> None:
        self._capture = config.pluginmanager.getplugin("capturemanager")
        self._writer = config.get_terminal_writer()

    def step(self, title: str) -> Step:
        """A piece of work begins."""
        self.note(title)
        return _Step(self, title)

    def note(self, text: str) -> None:
        """Write a line of its own."""
        with self._capture.global_and_fixture_disabled() if self._capture else contextlib.nullcontext():
            if self._writer.width_of_current_line:
                self._writer.line()
            self._writer.line(f"pykb: {text}")


class _Step:
    def __init__(self, reporter: PytestReporter, title: str) -> None:
        self._reporter = reporter
        self._title = title

    def update(self, detail: str) -> None:
        """Too much for a test run's output."""

    def done(self, detail: str = "") -> None:
        """The next step or the first test says as much."""

    def failed(self, detail: str) -> None:
        """It did not work out."""
        self._reporter.note(f"{self._title}: {detail}")
