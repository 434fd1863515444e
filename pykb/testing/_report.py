"""Shows messages of the fixtures through pytest."""

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
    """Shows slow steps despite pytest's capturing: the first run may build a control plane for minutes."""

    def __init__(self, config: pytest.Config) -> None:
        self._capture = config.pluginmanager.getplugin("capturemanager")
        self._writer = config.get_terminal_writer()

    def step(self, title: str) -> Step:
        """A step begins."""
        self.note(title)
        return _Step(self, title)

    def note(self, text: str) -> None:
        """Write a separate line."""
        with self._capture.global_and_fixture_disabled() if self._capture else contextlib.nullcontext():
            if self._writer.width_of_current_line:
                self._writer.line()
            self._writer.line(f"pykb: {text}")


class _Step:
    def __init__(self, reporter: PytestReporter, title: str) -> None:
        self._reporter = reporter
        self._title = title

    def update(self, detail: str) -> None:
        """Write nothing: progress would be too much for the output of a test run."""

    def done(self, detail: str = "") -> None:
        """Write nothing: the next step or the first test shows it."""

    def failed(self, detail: str) -> None:
        """The step failed."""
        self._reporter.note(f"{self._title}: {detail}")
