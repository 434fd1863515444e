"""Progress of long work. The library does not print anything; the command line provides a reporter that does."""

from __future__ import annotations

from typing import Protocol


class Step(Protocol):
    """A step in progress. It ends exactly once, with ``done`` or ``failed``."""

    def update(self, detail: str) -> None:
        """Report the progress in a few words. May be called often."""

    def done(self, detail: str = "") -> None:
        """End the step successfully."""

    def failed(self, detail: str) -> None:
        """End the step without success. Another attempt may follow."""


class Reporter(Protocol):
    """Receives the steps of long work, and notes."""

    def step(self, title: str) -> Step:
        """Begin a step."""

    def note(self, text: str) -> None:
        """Report a fact outside of any step."""


class _SilentStep:
    def update(self, detail: str) -> None:
        """Say nothing."""

    def done(self, detail: str = "") -> None:
        """Say nothing."""

    def failed(self, detail: str) -> None:
        """Say nothing."""


class Silent:
    """A reporter that shows nothing."""

    def step(self, title: str) -> Step:
        """Begin a step that shows nothing."""
        del title
        return _SilentStep()

    def note(self, text: str) -> None:
        """Say nothing."""
