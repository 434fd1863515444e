"""Runs the histories of a subject in this process, one after the other."""

from __future__ import annotations

import contextlib
import gc
import logging
from collections.abc import Callable, Coroutine, Iterator, Sequence
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from pykb.diagnostics import Diagnostic
from pykb.explore._history import History, Step, Verb
from pykb.explore._outcome import Outcome
from pykb.explore._time import VirtualTime
from pykb.explore._world import Subject, cluster_of, play

T = TypeVar("T")

_GARBAGE = 10_000
"""New objects after which a process looks for garbage: those of about half a history."""


class Stopped(Exception):  # noqa: N818 - what happened
    """Histories are no longer run. ``diagnostic`` says why, if nobody has asked for it."""

    def __init__(self, diagnostic: Diagnostic | None = None) -> None:
        super().__init__(str(diagnostic.message) if diagnostic else "")
        self.diagnostic = diagnostic


class Runs(Protocol):
    """Runs histories. Each one has a number, and its outcome is taken once."""

    ahead: int
    """How many histories to begin before the outcome of the first one is taken."""

    def begin(self, history: History, *, causes: bool = False) -> int:
        """Run a history, now or soon, and note what woke the reconciles if asked to. Returns its number."""

    def outcome(self, number: int) -> Outcome:
        """Wait for an outcome.

        Raises:
            Stopped: It will never come.
            EnvironmentProblem: The project cannot be run.
        """


def prepare(subject: Subject) -> None:
    """Import what the API server in memory needs, so that processes forked later share it."""
    VirtualTime().run(lambda: cluster_of(subject), 0)


class Runner:
    """Runs histories, each in a world of its own that begins at the same time and in the same state.

    Args:
        subject: What is explored.
        seed: Selects the random values of the worlds.
        first: Histories that show what the operator imports late. Defaults to the life of each sample.
    """

    ahead = 0

    def __init__(self, subject: Subject, seed: int, first: Sequence[History] = ()) -> None:
        self._subject = subject
        self._seed = seed
        self._first = first or tuple(
            History((Step(Verb.CREATE, sample), Step(Verb.DELETE, sample))) for sample in subject.samples
        )
        self._time = VirtualTime()
        self._stack = contextlib.ExitStack()
        self._outcomes: dict[int, Outcome] = {}
        self._begun = 0

    def __enter__(self) -> Self:
        """Replace the clocks, and make the cluster with which all worlds begin.

        Raises:
            EnvironmentProblem: The project cannot be run.
        """
        self._cluster = self._run(lambda: cluster_of(self._subject), self._seed)
        with self._time.waiting():
            for history in self._first:  # only the clocks of imported modules are replaced
                self.run(history)
        self._stack.enter_context(self._time)
        self._stack.enter_context(_rare_garbage())
        # Another seed, or the first objects of a world would have the uids of the namespaces.
        self._cluster = self._run(lambda: cluster_of(self._subject), self._seed + 1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def begin(self, history: History, *, causes: bool = False) -> int:
        """Run a history; see :class:`Runs`."""
        self._begun += 1
        self._outcomes[self._begun] = self.run(history, causes=causes)
        return self._begun

    def outcome(self, number: int) -> Outcome:
        """Return an outcome; see :class:`Runs`."""
        return self._outcomes.pop(number)

    def run(self, history: History, *, causes: bool = False) -> Outcome:
        """Run a history."""
        seed = self._seed + 2 * history.chance  # the next seed is that of the cluster
        return self._run(lambda: play(self._subject, self._cluster, history, causes=causes), seed)

    def _run(self, main: Callable[[], Coroutine[Any, Any, T]], seed: int) -> T:
        """Run without the logs of the operator."""
        disabled = logging.root.manager.disable
        logging.disable(logging.CRITICAL)
        try:
            return self._time.run(main, seed)
        finally:
            logging.disable(disabled)


@contextlib.contextmanager
def _rare_garbage() -> Iterator[None]:
    """Find the garbage of histories without looking at all that was imported, again and again."""
    thresholds, was_frozen = gc.get_threshold(), gc.get_freeze_count() > 0
    gc.collect()  # or what is left of an earlier exploration would be kept
    gc.freeze()
    gc.set_threshold(_GARBAGE)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        if not was_frozen:
            gc.unfreeze()
