"""The explorer of the project under test."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from pykb.diagnostics.codes.explore import NOT_EXPLORED
from pykb.explore import Actor, Check, ClusterView, Explorer, History, Report, earlier_of, subject_of, subject_of_files
from pykb.runtime import Manager

LIMIT = "PYKB_EXPLORE_SECONDS"
"""Of the environment: the longest time of an exploration in a test."""

_BOUND = timedelta(seconds=5)


class ProjectExplorer:
    """Explores the operator of a project.

    It has an event loop and a time of its own. So its method is a plain function, and a test that
    uses it is one as well.

    ::

        def test_the_operator_survives_faults(explorer: ProjectExplorer) -> None:
            explorer.run(register).check()
    """

    def __init__(self, project: Path, note: Callable[[str], None] = lambda _: None) -> None:
        self._project = project
        self._note = note

    def run(
        self,
        register: Callable[[Manager], None],
        *,
        sample: str | None = None,
        only_sample: bool = False,
        only: Collection[str] = (),
        ignore: Sequence[str] = (),
        actors: Sequence[Actor] = (),
        once: Sequence[str] = (),
        invariants: Sequence[Check] = (),
        earlier: str = "",
        seed: int | None = None,
        limit: timedelta | None = _BOUND,
        workers: int = 1,
    ) -> Report:
        """Explore. ``report.check()`` raises if something did not hold.

        ::

            report = explorer.run(register, ignore=["Deployment.spec.replicas"], limit=timedelta(seconds=30))
            report.check()

        Args:
            register: Registers the controllers with a manager: the project's own.
            sample: A file of one sample, relative to the project. Defaults to all in ``config/samples``.
            only_sample: Whether to leave the other samples of the project out while one is explored.
            only: The codes to look for, such as ``explore-crash``. Defaults to all.
            ignore: Fields that may differ, such as ``Deployment.spec.replicas``, and codes to leave out, beside those
                that ``[tool.pykb.explore]`` in pyproject.toml names. The same holds for ``actors``,
                ``invariants`` and ``once``.
            actors: What other controllers and people do. Each is called with a client a moment after each change.
            once: Kinds that have an effect when they are created, such as ``Mail``. No fault may make more of them.
                Jobs and Pods always count.
            invariants: What must hold whenever everything is at rest, in all histories; see :class:`ClusterView`.
                ``always`` and ``within`` let it hold more often.
            earlier: A git revision whose work the operator continues, such as ``v1.2.0``: see ``explore-upgrade``.
            seed: Selects the random values of the worlds. Defaults to that of the settings, or 0.
            limit: The longest time, from when the project is imported and the world is set up. Then the rest is left
                out. ``None`` runs everything. Defaults to ``seconds`` of the settings, or 5 seconds.
                ``PYKB_EXPLORE_SECONDS`` in the environment can only lower it.
            workers: How many processes run histories. More than 1 are forked: the test should have no threads.

        Raises:
            EnvironmentProblem: There is no sample of a kind of this project, the operator of the earlier revision
                cannot be run, or the time in the environment is not a number.
        """
        subject = subject_of(
            self._project,
            register=register,
            sample=sample,
            actors=actors,
            once=once,
            invariants=invariants,
            only_sample=only_sample,
        )
        settings = subject.settings.over(seed=seed)
        seconds = _seconds(limit, settings.seconds)
        if earlier:
            began = time.monotonic()
            known = earlier_of(self._project, earlier, subject.samples, seed=settings.seed, seconds=seconds)
            subject = replace(subject, earlier=known)
            seconds = None if seconds is None else max(0.0, seconds - (time.monotonic() - began))
        report = Explorer(
            subject,
            seconds=seconds,
            counts_setup=False,
            seed=settings.seed,
            only=only,
            ignore=ignore,
            workers=workers,
        ).run()
        self._note(report.tried())
        return report

    def play(self, register: Callable[[Manager], None], history: History, *, seed: int = 0) -> ClusterView:
        """Run one history, such as that of an earlier finding. Returns what has changed in it, as it is in the end.

        ``pykb explore --export`` writes tests that call it.

        Args:
            register: Registers the controllers with a manager: the project's own.
            history: The history.
            seed: Selects the random values of the world.

        Raises:
            EnvironmentProblem: The project cannot be run.
        """
        return Explorer(subject_of(self._project, register=register), seed=seed).play(history)

    def run_handlers(
        self,
        *files: str,
        crd: Sequence[str] = (),
        sample: Sequence[str] = (),
        only: Collection[str] = (),
        ignore: Sequence[str] = (),
        actors: Sequence[Actor] = (),
        once: Sequence[str] = (),
        invariants: Sequence[Check] = (),
        seed: int | None = None,
        limit: timedelta | None = _BOUND,
        workers: int = 1,
    ) -> Report:
        """Explore handlers of kopf without a project of pykb, as ``pykb explore FILE.py`` does.

        ::

            report = explorer.run_handlers("handlers.py", crd=["crd.yaml"], sample=["cr.yaml"])
            report.check()

        Args:
            *files: The files with handlers, relative to the root of the test run.
            crd: Files or folders with CustomResourceDefinitions.
            sample: Files with objects that the handlers work on.
            only: As in :meth:`run`, like all that follow.
            ignore: Fields that may differ, and codes to leave out.
            actors: What other controllers and people do.
            once: Kinds that have an effect when they are created.
            invariants: What must hold whenever everything is at rest.
            seed: Selects the random values of the worlds. Defaults to that of the settings, or 0.
            limit: The longest time. Defaults to ``seconds`` of the settings, or 5 seconds.
            workers: How many processes run histories.

        Raises:
            EnvironmentProblem: A file cannot be read or imported, or the definitions and samples do not fit.
        """
        paths = [[self._project / each for each in group] for group in (files, crd, sample)]
        subject = subject_of_files(
            paths[0],
            crds=paths[1],
            samples=paths[2],
            root=self._project,
            actors=actors,
            once=once,
            invariants=invariants,
        )
        settings = subject.settings.over(seed=seed)
        return Explorer(
            subject,
            seconds=_seconds(limit, settings.seconds),
            counts_setup=False,
            seed=settings.seed,
            only=only,
            ignore=ignore,
            workers=workers,
        ).run()


def _seconds(limit: timedelta | None, usual: float | None) -> float | None:
    """The lower one of the limits that the test, or else the settings, and the environment set."""
    if limit is _BOUND and usual is not None:
        limit = timedelta(seconds=usual)
    limits = [] if limit is None else [limit.total_seconds()]
    if text := os.environ.get(LIMIT):
        try:
            limits.append(float(text))
        except ValueError as error:
            raise NOT_EXPLORED.problem(f"`{LIMIT}={text}` is not a number", f"for example: `{LIMIT}=2`") from error
    return min(limits, default=None)
