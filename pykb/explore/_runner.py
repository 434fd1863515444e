"""Runs the histories of a subject, in this process or in several."""

from __future__ import annotations

import contextlib
import gc
import importlib
import logging
import multiprocessing
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple, Self, TypeVar

from pykb.client.guard import is_end
from pykb.diagnostics import Diagnostic, EnvironmentProblem, Span
from pykb.diagnostics.codes.explore import NOT_EXPLORED
from pykb.explore._earlier import Life
from pykb.explore._gate import place_in
from pykb.explore._history import History, Identity, Step, Verb
from pykb.explore._invariants import endless
from pykb.explore._libraries import told_of_the_world
from pykb.explore._lines import LineCounter, is_frozen
from pykb.explore._memory import Memory, Variable, import_again, own_modules
from pykb.explore._outcome import Outcome, place_of_error
from pykb.explore._project import Subject
from pykb.explore._report import story
from pykb.explore._signs import heard
from pykb.explore._time import TooLong, VirtualTime
from pykb.explore._watch import MOST_CPU_SECONDS, Interrupted, is_debugged
from pykb.explore._world import cluster_of, grow, play
from pykb.fake import FakeApiServer
from pykb.runtime import Manager

T = TypeVar("T")
_now = time.monotonic

_LEAST_CPU_SECONDS = 1.0
"""A history may always take so much."""

_PARTS = 3
"""A history may take one of so many parts of the time that is left."""

_FIRST_CPU_SECONDS = 1.0
"""Of a history that only shows what the operator imports."""

_LONG_BEFORE = 24 * 3600.0
"""Seconds between the creation of the objects in the background and the beginning of histories."""

_LAST_WORD_SECONDS = 0.5
"""For how long to wait for where the workers are if the time is up before they have run a history."""

_MOST_GROWN = 4
"""Clusters with other objects in the background that are kept."""

_GARBAGE = 10_000
"""New objects after which a process looks for garbage: those of about half a history."""


class Stopped(Exception):  # noqa: N818 - what happened
    """Histories are no longer run.

    Attributes:
        diagnostic: Why, if nobody has asked for it.
        place: The line of the user's code that ran then.
    """

    def __init__(self, diagnostic: Diagnostic | None = None, place: Span | None = None) -> None:
        super().__init__(str(diagnostic.message) if diagnostic else "")
        self.diagnostic = diagnostic
        self.place = place


def prepare(subject: Subject) -> None:
    """Import what the API server in memory needs, so that processes forked later share it."""
    VirtualTime().run(lambda: cluster_of(subject), 0)


class Runner:
    """Runs histories in this process, each in a world of its own that begins at the same time and in the same state.

    Each process of the operator finds the project's modules as after their import, at the beginning of a history and
    after a crash. Modules of actors of the user do not end with a process.

    Each history has a number, and its outcome is taken once.

    Args:
        subject: What is explored.
        seed: Selects the random values of the worlds.
        first: Histories that show what the operator imports late. Defaults to the life of each sample.
        counts: Whether to count the lines that are run. In a debugger, they are not.
    """

    ahead = 0
    """How many histories to begin before the outcome of the first one is taken."""

    def __init__(self, subject: Subject, seed: int, first: Sequence[History] = (), *, counts: bool = True) -> None:
        self._subject = subject
        self._seed = seed
        self._first = first or tuple(
            History((Step(Verb.CREATE, sample), Step(Verb.DELETE, sample))) for sample in subject.samples
        )
        self._played = replace(subject, register=self._register)
        self._lasting = {actor.__module__ for actor in subject.actors}
        self._memory = Memory(None)
        self._keeps = self._is_later = False
        self._forgotten: list[Variable] = []
        self._time = VirtualTime()
        self._stack = contextlib.ExitStack()
        self._lines = LineCounter(subject.root if counts and not is_debugged() else None)
        self._outcomes: dict[int, Outcome] = {}
        self._begun = 0
        self._grown: dict[tuple[str, ...], tuple[FakeApiServer, str]] = {}

    def __enter__(self) -> Self:
        """Replace the clocks, and make the cluster with which all worlds begin.

        Raises:
            Stopped: The time for all histories is up.
            EnvironmentProblem: The project cannot be run.
        """
        if self._subject.ranges is not None:  # only the clocks of imported modules are replaced
            importlib.import_module("pykb.runtime.sharding.sharding")
        with contextlib.ExitStack() as stack:  # an error ends what has begun
            stack.enter_context(self._time.watch)
            stack.enter_context(told_of_the_world())
            stack.enter_context(self._lines)
            stack.enter_context(_rare_garbage())
            self._cluster = self._run(lambda: cluster_of(self._subject), self._seed)
            with self._time.waiting():
                self._load()
                self._memory = before = Memory(self._subject.root)
                for history in self._first:  # only the clocks of imported modules are replaced
                    self.run(history, most=_FIRST_CPU_SECONDS)
                before.restore()
                import_again(sorted({*own_modules(self._subject.root)} - {*before.modules}))
            stack.enter_context(self._time)
            self._memory = Memory(self._subject.root)
            stack.callback(self._memory.restore)
            gc.collect()
            gc.freeze()  # what was imported
            # Another seed, or the first objects of a world would have the uids of the namespaces.
            self._cluster = self._run(lambda: cluster_of(self._subject), self._seed + 1)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _load(self) -> None:
        """Import the operator. It may take longer than a history."""
        try:
            with self._time.watch.over(lambda: None, float("inf")):
                self._subject.load()
        except Interrupted as error:
            raise Stopped(place=place_in(self._subject.root, error.lines)) from None

    def begin(self, history: History, *, causes: bool = False, keeps: bool = False) -> int:
        """Run a history, see :meth:`run`. Returns its number."""
        self._begun += 1
        self._outcomes[self._begun] = self.run_counted(history, causes=causes, keeps=keeps)
        return self._begun

    def outcome(self, number: int) -> Outcome:
        """Return an outcome."""
        return self._outcomes.pop(number)

    def run_counted(self, history: History, *, causes: bool = False, keeps: bool = False) -> Outcome:
        """Run a history, and note the lines that no earlier one has run in this process."""
        outcome = self.run(history, causes=causes, keeps=keeps)
        outcome.lines = self._lines.take()
        return outcome

    def run(self, history: History, *, causes: bool = False, keeps: bool = False, most: float | None = None) -> Outcome:
        """Run a history.

        Args:
            history: The history.
            causes: Whether to note what woke the reconciles.
            keeps: Whether modules keep what they have when a process dies, as only an experiment can.
            most: Seconds of CPU that it may take. Defaults to what is certainly too much.

        Raises:
            Stopped: The time for all histories is up.
            EnvironmentProblem: An invariant does not end.
        """
        seed = self._seed + 2 * history.chance  # the next seed is that of the cluster
        outcome = Outcome()
        self._time.watch.most = self._most() if most is None else most
        try:
            cluster, outcome.unfit = self._cluster_of(history)
            self._memory.restore()
            # Replicas that run at the same time have one interpreter: nobody can put back the modules of one of them.
            self._keeps, self._is_later, self._forgotten = keeps or history.shards > 0, False, []
            self._run(lambda: play(self._played, cluster, history, outcome, causes=causes), seed, outcome=outcome)
        except SystemExit as error:  # in a task of the operator's own
            if is_end(error):
                raise
            outcome.at_rest = False
            outcome.unrest = "ends the process"
            outcome.unrest_at = place_of_error(error, self._subject.root)
        except TooLong as error:
            if outcome.checks:
                invariants = [each.load() for each in self._subject.invariants]
                raise EnvironmentProblem(endless(outcome.checks, invariants, self._subject.root)) from error
            outcome.at_rest = False
            outcome.unrest = "works without end in one reconcile"
            outcome.unrest_at = place_in(self._subject.root, error.stack)
        outcome.forgotten = tuple(self._forgotten)
        if history.shards:
            outcome.shared = tuple(self._memory.restore(but=self._lasting))
        return outcome

    def _cluster_of(self, history: History) -> tuple[FakeApiServer, str]:
        """The cluster with which a history begins, and what went wrong before. Many histories have the same one.

        Raises:
            TooLong: The operator does not come to rest.
        """
        if not history.background:
            return self._cluster, ""
        key = tuple(Identity.of(manifest).key for manifest in history.background)
        if key not in self._grown:
            while len(self._grown) >= _MOST_GROWN:
                del self._grown[next(iter(self._grown))]
            self._memory.restore()
            self._grown[key] = self._run(
                lambda: grow(self._subject, self._cluster, history.background), self._seed + 1, _LONG_BEFORE
            )
        return self._grown[key]

    def _register(self, manager: Manager) -> None:
        """Begin a process."""
        if self._is_later and not self._keeps:
            self._forgotten += self._memory.restore(but=self._lasting)
        self._is_later = True
        self._subject.register(manager)

    def _most(self) -> float:
        """An operator that never ends is to be found in a short time, too."""
        return min(MOST_CPU_SECONDS, max(_LEAST_CPU_SECONDS, (self._time.watch.until - _now()) / _PARTS))

    def stop_at(self, until: float) -> None:
        """Stop at this moment of the real clock, even in the middle of a history. A signal handler may call it."""
        self._time.watch.until = until

    def _run(
        self, main: Callable[[], Coroutine[Any, Any, T]], seed: int, before: float = 0.0, outcome: Outcome | None = None
    ) -> T:
        """Run without logs. An outcome gets the warnings of the user's code."""
        disabled = logging.root.manager.disable
        logging.disable(logging.CRITICAL if outcome is None else logging.INFO)
        try:
            with contextlib.nullcontext() if outcome is None else heard(self._subject.root, outcome):
                return self._time.run(main, seed, before)
        except TooLong as error:
            if self._time.watch.is_over:
                raise Stopped(place=place_in(self._subject.root, error.stack)) from None
            raise
        finally:
            logging.disable(disabled)


@contextlib.contextmanager
def _rare_garbage() -> Iterator[None]:
    """Find the garbage of histories without looking at all that was there before, again and again.

    A process that runs many tests has millions of objects. To look at all of them takes as long as an exploration.
    """
    thresholds, was_frozen = gc.get_threshold(), is_frozen()
    if was_frozen:
        gc.collect()  # or the garbage of others would be kept
    gc.freeze()
    gc.set_threshold(_GARBAGE)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.collect()  # while only what the histories have left is looked at
        if not was_frozen:
            gc.unfreeze()


class _Order(NamedTuple):
    """A history to run, see :meth:`Runner.run`, and the moment of the real clock at which everything must end.

    If it begins with what an earlier operator made of a smaller sample, the worker does not know that yet.
    """

    number: int
    history: History
    causes: bool
    keeps: bool
    until: float
    life: Life | None


class _End(NamedTuple):
    """The time was up while a worker was at a line of the user's code."""

    place: Span | None


class Workers:
    """Processes that run histories. They are forked, so start them before threads and event loops.

    Args:
        subject: What is explored. Only the workers call its ``register``.
        seed: Selects the random values of the worlds.
        count: How many processes to start.
    """

    def __init__(self, subject: Subject, seed: int, count: int) -> None:
        self.ahead = 3 * count
        self._earlier = subject.earlier
        self._waiting: deque[_Order] = deque()
        self._outcomes: dict[int, Outcome] = {}
        self._begun = 0
        self._stopped = self._has_answer = False
        self._until = float("inf")
        self._running: dict[Connection, _Order] = {}
        self._processes: dict[Connection, BaseProcess] = {}
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(told_of_the_world())
        prepare(subject)
        context = multiprocessing.get_context("fork")
        for number in range(count):
            ours, theirs = context.Pipe()
            pipes = (*self._processes, ours)
            process = context.Process(target=_work, args=(theirs, pipes, subject, seed), name=f"explorer-{number}")
            process.start()
            theirs.close()
            self._processes[ours] = process

    def __enter__(self) -> Self:
        """Let them import the operator, and take histories."""
        for pipe in self._processes:
            with contextlib.suppress(BrokenPipeError):  # `wait` reports the end of the pipe
                pipe.send(self._until)
        return self

    def __exit__(self, *_: object) -> None:
        """End all workers, and wait for their end."""
        self.stop()
        for pipe, process in self._processes.items():
            pipe.close()
            process.join()
        self._stack.close()

    def begin(self, history: History, *, causes: bool = False, keeps: bool = False) -> int:
        """Give a history to the next free worker; see :class:`Runner`."""
        self._begun += 1
        start = history.after if history.after is not None and history.after.smaller is not None else None
        life = self._earlier.life_at(start) if self._earlier is not None and start is not None else None
        self._waiting.append(_Order(self._begun, history, causes, keeps, self._until, life))
        self._hand_out()
        return self._begun

    def outcome(self, number: int) -> Outcome:
        """Wait for an outcome.

        Raises:
            Stopped: It will never come.
            EnvironmentProblem: The project cannot be run.
        """
        while number not in self._outcomes:
            ready = wait(list(self._running), self._left())
            if not ready and not (self._has_answer or self._stopped):
                ready = wait(list(self._running), _LAST_WORD_SECONDS)
            if not ready:
                self.stop()
                raise Stopped
            for pipe in ready:
                if isinstance(pipe, Connection):
                    self._receive(pipe)
        return self._outcomes.pop(number)

    def stop_at(self, until: float) -> None:
        """Stop at this moment of the real clock; see :class:`Runner`."""
        self._until = until
        if until < _now():
            self.stop()

    def _left(self) -> float | None:
        return None if self._until == float("inf") else max(0.0, self._until - _now())

    def stop(self) -> None:
        """End all workers at once. A signal handler may call it."""
        self._stopped = True
        for process in self._processes.values():
            if process.pid is not None and process.exitcode is None:
                os.kill(process.pid, signal.SIGKILL)

    def _hand_out(self) -> None:
        for pipe in self._processes:
            if pipe not in self._running and self._waiting:
                self._running[pipe] = self._waiting.popleft()
                with contextlib.suppress(BrokenPipeError):  # `wait` reports the end of the pipe
                    pipe.send(self._running[pipe])

    def _receive(self, pipe: Connection) -> None:
        number, history, *_ = self._running[pipe]
        try:
            answer: Outcome | Diagnostic | _End = pipe.recv()
        except (EOFError, ConnectionResetError) as error:
            is_over = self._stopped or _now() > self._until
            raise Stopped(None if is_over else _died(self._processes[pipe], history)) from error
        if isinstance(answer, Diagnostic):
            raise EnvironmentProblem(answer)
        if isinstance(answer, _End):
            self.stop()
            raise Stopped(place=answer.place)
        self._has_answer = True
        del self._running[pipe]
        self._outcomes[number] = answer
        self._hand_out()


def _work(pipe: Connection, others: Sequence[Connection], subject: Subject, seed: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of the terminal: the first one acts
    for other in others:
        other.close()
    with contextlib.suppress(EOFError, BrokenPipeError):  # the first process has ended
        try:
            runner = Runner(subject, seed)
            runner.stop_at(pipe.recv())  # also in the middle of an import
            with runner:
                while True:
                    order: _Order = pipe.recv()
                    runner.stop_at(order.until)
                    if order.life is not None and subject.earlier is not None:
                        subject.earlier.hear(order.life)
                    pipe.send(runner.run_counted(order.history, causes=order.causes, keeps=order.keeps))
        except EnvironmentProblem as problem:
            pipe.send(problem.diagnostic)
        except Stopped as stopped:
            pipe.send(_End(stopped.place))


def _died(process: BaseProcess, history: History) -> Diagnostic:
    process.join()
    code = process.exitcode or 0
    how = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
    return NOT_EXPLORED.at(
        None,
        f"a worker process ended {how} in the middle of a history",
        "run with `--workers 1` to see why",
        notes=tuple(f"{number}. {text}" for number, text in enumerate(story(history, Outcome()), start=1)),
    )


Runs = Runner | Workers
"""Runs histories: here, or in other processes."""
