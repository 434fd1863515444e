"""Runs the histories of a subject in several processes."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Self

from pykb.diagnostics import Diagnostic, EnvironmentProblem
from pykb.diagnostics.codes.explore import NOT_EXPLORED
from pykb.explore._history import History
from pykb.explore._outcome import Outcome
from pykb.explore._runner import Runner, Stopped, prepare
from pykb.explore._story import story
from pykb.explore._world import Subject


class Workers:
    """Processes that run histories. They are forked, so start them before threads and event loops.

    Args:
        subject: What is explored. Only the workers call its ``register``.
        seed: Selects the random values of the worlds.
        count: How many processes to start.
    """

    def __init__(self, subject: Subject, seed: int, count: int) -> None:
        self.ahead = 3 * count
        self._waiting: deque[tuple[int, History, bool]] = deque()
        self._outcomes: dict[int, Outcome] = {}
        self._begun = 0
        self._stopped = False
        self._running: dict[Connection, tuple[int, History, bool]] = {}
        self._processes: dict[Connection, BaseProcess] = {}
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
        """Take histories."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all workers, and wait for their end."""
        self.stop()
        for pipe, process in self._processes.items():
            pipe.close()
            process.join()

    def begin(self, history: History, *, causes: bool = False) -> int:
        """Give a history to the next free worker; see :class:`~pykb.explore._runner.Runs`."""
        self._begun += 1
        self._waiting.append((self._begun, history, causes))
        self._hand_out()
        return self._begun

    def outcome(self, number: int) -> Outcome:
        """Wait for an outcome; see :class:`~pykb.explore._runner.Runs`."""
        while number not in self._outcomes:
            for pipe in wait(list(self._running)):
                if isinstance(pipe, Connection):
                    self._receive(pipe)
        return self._outcomes.pop(number)

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
                    pipe.send(self._running[pipe][1:])

    def _receive(self, pipe: Connection) -> None:
        number, history, _ = self._running[pipe]
        try:
            answer: Outcome | Diagnostic = pipe.recv()
        except (EOFError, ConnectionResetError) as error:
            raise Stopped(None if self._stopped else _died(self._processes[pipe], history)) from error
        if isinstance(answer, Diagnostic):
            raise EnvironmentProblem(answer)
        del self._running[pipe]
        self._outcomes[number] = answer
        self._hand_out()


def _work(pipe: Connection, others: Sequence[Connection], subject: Subject, seed: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of the terminal: the first one acts
    for other in others:
        other.close()
    try:
        with Runner(subject, seed) as runner:
            while True:
                history, causes = pipe.recv()
                pipe.send(runner.run(history, causes=causes))
    except EnvironmentProblem as problem:
        pipe.send(problem.diagnostic)
    except (EOFError, BrokenPipeError):
        pass  # the first process has ended


def _died(process: BaseProcess, history: History) -> Diagnostic:
    process.join()
    code = process.exitcode or 0
    how = f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
    return NOT_EXPLORED.at(
        None,
        f"a worker process ended {how} in the middle of a history",
        notes=tuple(f"{number}. {text}" for number, text in enumerate(story(history, Outcome()), start=1)),
        help=("run with `--workers 1` to see why",),
    )
