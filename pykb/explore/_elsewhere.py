"""A process in which sets have another order: not forked, it imports the operator and runs the histories that it gets.

It has a session of its own, so that Ctrl-C of a terminal does not reach it: ``python -m pykb.explore._elsewhere``.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection

from pykb.diagnostics import Diagnostic, EnvironmentProblem
from pykb.diagnostics.codes.explore import NOT_EXPLORED
from pykb.explore._history import History
from pykb.explore._outcome import Outcome
from pykb.explore._project import Subject
from pykb.explore._runner import Runner, Stopped

_LONG = 24 * 3600.0
"""A limit of seconds for what has none."""


def is_portable(subject: Subject) -> bool:
    """Whether another process can import all of a subject: nothing is defined in a function."""
    try:
        pickle.dumps(subject)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


class Elsewhere:
    """The process. It works at once, beside this one.

    Args:
        subject: What is explored. It must be portable.
        seed: Selects the random values of the worlds.
        hashes: The seed of the hashes, which give sets their order.
    """

    def __init__(self, subject: Subject, seed: int, hashes: int) -> None:
        self._until = float("inf")
        ours, theirs = os.pipe(), os.pipe()
        self._answers, self._orders = Connection(ours[0], writable=False), Connection(theirs[1], readable=False)
        argv = (sys.executable, "-P", "-m", __name__, str(theirs[0]), str(ours[1]))
        path = os.pathsep.join(each for each in sys.path if each)
        variables = {**os.environ, "PYTHONHASHSEED": str(hashes), "PYTHONPATH": path}
        with tempfile.TemporaryFile() as task:  # a pipe would be full until the process reads
            pickle.dump((subject, seed), task)
            task.seek(0)
            self._process = subprocess.Popen(
                argv,
                env=variables,
                pass_fds=(theirs[0], ours[1]),
                stdin=task,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        os.close(theirs[0])
        os.close(ours[1])

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        self._answers.close()
        self._orders.close()

    def stop_at(self, until: float) -> None:
        """Stop at this moment of the real clock. A signal handler may call it."""
        self._until = until
        if until < time.monotonic():
            self._process.kill()

    def begin(self, history: History) -> None:
        """Let it run a history."""
        with contextlib.suppress(BrokenPipeError):  # `outcome` says that it has ended
            self._orders.send(history)

    def outcome(self) -> Outcome:
        """Wait for the outcome of the first history of which it was not taken.

        Raises:
            Stopped: The time is up.
            EnvironmentProblem: The operator cannot be run there.
        """
        try:
            if not self._answers.poll(min(_LONG, max(0.0, self._until - time.monotonic()))):
                raise Stopped
            answer: Outcome | Diagnostic = self._answers.recv()
        except (EOFError, ConnectionResetError):
            if time.monotonic() > self._until:
                raise Stopped from None
            code = self._process.wait()
            raise NOT_EXPLORED.problem(f"it ended with exit code {code}") from None
        if isinstance(answer, Diagnostic):
            raise EnvironmentProblem(answer)
        return answer


def _main(orders: Connection, answers: Connection) -> None:
    subject, seed = pickle.load(sys.stdin.buffer)  # noqa: S301 - of this program
    with contextlib.suppress(EOFError, BrokenPipeError):
        try:
            with Runner(subject, seed) as runner:
                while True:
                    answers.send(runner.run(orders.recv()))
        except EnvironmentProblem as problem:
            answers.send(problem.diagnostic)


if __name__ == "__main__":
    _main(Connection(int(sys.argv[1]), writable=False), Connection(int(sys.argv[2]), readable=False))
