"""How long work tells of its progress. The library prints nothing: the command line brings a reporter that does."""

from __future__ import annotations

from typing import Protocol


class Step(Protocol):
    """One piece of work that is under way; it ends exactly once, by ``done`` or ``failed``."""

    def update(self, detail: str) -> None:
        """Say how far it is, in a few words; may be called often."""

    def done(self, detail: str = "") -> None:
        """It is finished."""

    def failed(self, detail: str) -> None:
        """It did not work out; another way may follow."""


class Reporter(Protocol):
    """Is told of steps and of facts worth a line."""

    def step(self, title: str) -> Step:
        """A piece of work begins."""

    def note(self, text: str) -> None:
        """Something to know that is no step."""


class _SilentStep:
    def update(self, detail: str) -> None:
        """Say nothing."""

    def done(self, detail: str = "") -> None:
        """Say nothing."""

    def failed(self, detail: str) -> None:
        """Say nothing."""


class Silent:
    """A reporter for those who do not look."""

    def step(self, title: str) -> Step:
        """Begin a step nobody watches."""
        del title
        return _SilentStep()

    def note(self, text: str) -> None:
        """Say nothing."""
