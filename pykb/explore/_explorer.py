"""The explorer: runs histories of an operator until the time is up, and tells what did not hold."""

from __future__ import annotations

import contextlib
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from pykb.diagnostics import Diagnostic, EnvironmentProblem
from pykb.diagnostics.codes import explore as codes
from pykb.diagnostics.suggest import closest
from pykb.explore._access import Access
from pykb.explore._context import IDLE_SECONDS, Context
from pykb.explore._debugger import traced_threads
from pykb.explore._elsewhere import Elsewhere, is_portable
from pykb.explore._files import page
from pykb.explore._gate import Sent
from pykb.explore._history import Fault, FaultKind, History, Identity, Manifest
from pykb.explore._invariants import ClusterView, view_of
from pykb.explore._lines import Coverage
from pykb.explore._memory import Variable
from pykb.explore._outcome import Failure, Outcome, unfitness
from pykb.explore._plans import CODES, LAST, PLANS
from pykb.explore._problems import dropped_fields, failing, failure_at_rest, problem_of
from pykb.explore._project import Subject
from pykb.explore._report import SEARCH, Finding, Report, also_seen, reason, story, told, transcript
from pykb.explore._roots import Evidence, Part, changes_of, evidence_of, joined, refused_write
from pykb.explore._runner import Runner, Runs, Stopped, Workers
from pykb.explore._search import Search
from pykb.explore._settings import Ignored
from pykb.explore._shrinking import at_the_same_moment, counted_by_step, milder, simpler, smaller, smaller_before
from pykb.explore._variants import AND, schema_of
from pykb.explore._verdicts import (
    Case,
    Judge,
    Verdict,
    Violation,
    cause_of,
    last_failure,
    place_among,
    unbroken,
    without_bug,
)

_now = time.monotonic

_IS_THERE = ("404)", "409)")
"""The ends of refusals that say nothing about the act."""

_MOST_NEIGHBOURS = 16
"""Other samples that are there while one is explored."""

_MOST_FORGOTTEN = 3
"""Variables of modules that a finding names."""

_OTHER_HASHES = (1, 2)
"""Seeds of hashes. The explorer's own processes have 0, or what the program has that explores."""

_MOST_KNOWN = 64
"""Undisturbed runs that are kept: plans ask for the same ones, or for their first steps."""


_MOST_TRIALS = 16
"""Smaller histories that are tried for a finding."""

_ENDLESS_TRIAL = 4
"""For how many others one counts that does not come to rest. It takes much longer."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an exploration is.

    Attributes:
        code: The code that is explored now.
        histories: How many histories were run.
        findings: How many findings there are.
        lines: How many lines of the user's code were run, of how many. Empty if they are not counted.
    """

    code: str
    histories: int
    findings: int
    lines: str = ""


class _Found(NamedTuple):
    """A finding, and what is known about it.

    Attributes:
        finding: The finding.
        evidence: What is known about its root cause.
        judge: The verdict that found it.
        by: The request that is wrong.
        forgotten: What modules forgot before.
        context: The sample.
        follows: Whether it comes of an error with which the operator fails for the sample itself.
    """

    finding: Finding
    evidence: Evidence
    judge: Judge
    by: Sent | None
    forgotten: tuple[Variable, ...]
    context: Context
    follows: bool

    @property
    def is_why_sample_fails(self) -> bool:
        """Whether it is an error of programming, by which the operator fails for the sample itself in the end."""
        failure = failure_at_rest(self.context)
        bug = (failure.kind, failure.place) if failure is not None else None
        return self.finding.code is codes.BUG and self.evidence.bug == bug


class _Doubt(NamedTuple):
    """A run of several cases in which something did not hold, or which did not try all of them."""

    case: Case
    outcome: Outcome
    verdicts: list[tuple[Case, Violation]]


@dataclass(slots=True)
class _Trials:
    """The smaller histories that were tried for a finding."""

    histories: list[History] = field(default_factory=list)
    cost: int = 0


@dataclass(slots=True)
class _Run:
    """A history that was begun. It has no case if the plan of a code needs its outcome."""

    number: int
    history: History
    case: Case | None = None
    asked_by: str = ""
    outcome: Outcome | None = None

    def take(self, runs: Runs) -> Outcome:
        """Wait for its outcome, unless it is here."""
        if self.outcome is None:
            self.outcome = runs.outcome(self.number)
            self.outcome.history = self.history
        return self.outcome


class Explorer:
    """Explores one operator.

    Args:
        subject: What is explored.
        seconds: The limit of real time. ``None`` runs everything.
        counts_setup: Whether that time begins before the world is set up and the operator imported. Otherwise, a slow
            machine explores less, instead of nothing.
        seed: Selects the random values of the worlds.
        only: The codes to look for. Defaults to all.
        ignore: Fields that may differ (``status.startedAt``, ``Deployment.spec.replicas``), and codes to leave out,
            beside those of the project's settings.
        histories: The limit of histories. Defaults to that of the settings.
        workers: How many processes run histories. 1 is this process.
    """

    def __init__(
        self,
        subject: Subject,
        *,
        seconds: float | None = None,
        counts_setup: bool = True,
        seed: int = 0,
        only: Collection[str] = (),
        ignore: Sequence[str] = (),
        histories: int | None = None,
        workers: int = 1,
    ) -> None:
        given = tuple(Ignored(each) for each in ignore)
        settings = replace(subject.settings.over(histories=histories), ignore=(*subject.settings.ignore, *given))
        self._subject = replace(subject, settings=settings)
        self._seconds = seconds
        self._counts_setup = counts_setup
        self._seed = seed
        self._accepted = {each.what: each.place for each in settings.ignore}
        ignore = list(self._accepted)
        self._most = settings.histories or sys.maxsize
        left_out = [each for each in ignore if each in CODES]
        self._is_whole = not only
        self._only = [each for each in only or CODES if each not in left_out] if left_out else only
        self._is_all_left_out = bool(left_out) and not self._only
        self._ignore = ignore
        self._count = workers
        self._workers: Workers | None = None
        self._elsewhere: list[Elsewhere] = []
        self._runs: Runs | None = None
        self._progress: Callable[[Progress], None] | None = None
        self._report = Report(coverage=Coverage(subject.root))
        self._found: dict[tuple[object, ...], _Found] = {}
        self._changed: set[Part] = set()
        is_wanted = not self._only or codes.RBAC.slug in self._only
        self._access = Access(self._subject.rules if is_wanted else None)
        self._search: Search | None = None
        self._begun: deque[_Run] = deque()
        self._doubtful: list[_Doubt] = []
        self._guilty: set[int] = set()
        self._undisturbed: deque[_Run] = deque(maxlen=_MOST_KNOWN)
        self._background: tuple[Manifest, ...] = ()
        self._left_out: set[Identity] = set()
        self._ignored: set[str] = set()
        self._begun_cases = 0
        self._planned = codes.HISTORY.slug
        self._working: set[int] = set()
        self._stuck: dict[int, Failure] = {}
        self._failed: dict[Identity, Diagnostic] = {}
        self._deadline = float("inf")

    def start(self) -> None:
        """Start the workers. :meth:`run` does it too. Call it before your program starts threads."""
        if self._count > 1 and self._workers is None:
            self._workers = Workers(self._subject, self._seed, self._count)

    def run(self, progress: Callable[[Progress], None] | None = None) -> Report:
        """Run the histories, until all are run, the time is up, or :meth:`stop` is called.

        Args:
            progress: Called after each history.

        Raises:
            EnvironmentProblem: The project cannot be run.
        """
        self._progress = progress
        if self._counts_setup:
            self._begin_time()
        self.start()
        self._runs = self._workers or Runner(self._subject, self._seed)
        self._keep_deadline()
        self._report.strays += self._subject.notes
        untried = list(self._subject.samples)
        if self._is_all_left_out:
            message = (
                f"all codes that are wanted are ignored: {', '.join(each for each in CODES if each in self._ignore)}"
            )
            self._report.problems.append(codes.NOT_EXPLORED.at(None, message, "take one of them out"))
            untried = []
        if list(self._only) == [codes.INVARIANT.slug] and not self._subject.invariants:
            message = "this project says of nothing that it must always hold"
            self._report.problems.append(codes.INVARIANT.at(None, message, "name functions: `invariants=[...]`"))
            untried = []
        if list(self._only) == [codes.SHARDS.slug] and self._subject.ranges is None:
            message = "the replicas of this project do not share the objects: one of them works at a time"
            self._report.problems.append(codes.NOT_EXPLORED.at(None, message, "let them: `pykb edit --shards 8`"))
            untried = []
        try:
            with contextlib.ExitStack() as stack:
                stack.callback(self._end_elsewhere)
                stack.enter_context(self._runs)
                if not self._counts_setup:
                    self._begin_time()
                    self._keep_deadline()
                while untried:
                    self._explore(untried.pop(0), self._runs)
        except Stopped as stopped:
            if untried:
                self._leave_out(self._wanted)
            self._note_end(stopped)
        self._report.problems += self._failed_with_more()
        self._report.findings = [*self._joined(), *self._access.findings()]
        self._report.problems += self._stuck_actors()
        self._report.strays += self._useless()
        if self._subject.rules and not self._only and len(self._report.histories) > 1:
            self._report.unused = self._access.unused()
        if self._report.coverage.run and self._is_whole:
            self._report.unreached = self._report.coverage.unreached()
        self._forget()
        return self._report

    def _forget(self) -> None:
        """Let go of what is not in the report: contexts refer to this explorer, and outcomes are large."""
        self._found.clear()
        self._undisturbed.clear()
        self._begun.clear()
        self._search = None

    def _begin_time(self) -> None:
        if self._seconds is not None:
            self._deadline = min(self._deadline, _now() + self._seconds)

    def _note_end(self, stopped: Stopped) -> None:
        """Note why histories are no longer run, unless some are complete or somebody has asked for the end."""
        if stopped.diagnostic is not None:
            self._report.problems.append(stopped.diagnostic)
        elif self._deadline > 0 and not self._report.histories:
            message = f"the limit of {round(self._seconds or 0, 1):g} seconds ended before the first history did"
            remedy = "give the explorer more time"
            if stopped.place is not None:
                message = f"{message}, while the operator was at this line"
                remedy = f"{remedy}, or mend the line if it never ends"
            self._report.problems.append(codes.NOT_EXPLORED.at(stopped.place, message, remedy))

    def _stuck_actors(self) -> Iterator[Diagnostic]:
        """Yield a problem for each actor that does nothing but fail, or has a bug: the world lacks what it does."""
        for number, failure in sorted(self._stuck.items()):
            if failure.is_bug or number not in self._working:
                name = getattr(self._subject.actors[number], "__name__", f"number {number + 1}")
                how = "fails" if number in self._working else "fails each time"
                message = f"the actor `{name}` {how}: {failure.kind}: {failure.message}"
                yield codes.NOT_EXPLORED.at(failure.place, message, "correct it: the operator waits for what it does")

    def _useless(self) -> Iterator[Diagnostic]:
        """Yield a note about each field that may differ, and did not. It may be misspelt."""
        kinds = self._report.kinds
        is_whole = not self._only and not self._report.unfinished and bool(self._report.histories)
        for name, place in self._accepted.items():
            kind, dot, path = name.partition(".")
            if name in CODES or name in self._ignored:
                continue
            message = f"that `{name}` may differ has no effect"
            if kind[:1].isupper() and kinds and kind not in kinds:
                near = closest(kind, kinds)
                helps = f"did you mean `{near}{dot}{path}`?" if near else f"there were {', '.join(sorted(kinds))}"
                yield codes.USELESS_IGNORE.at(place, f"{message}: no history had a {kind}", helps)
            elif is_whole:
                yield codes.USELESS_IGNORE.at(place, f"{message}: it was always as expected", "take it out")

    def stop(self) -> None:
        """End :meth:`run` soon. The report has what was found. A signal handler may call it."""
        self._deadline = float("-inf")
        self._keep_deadline()

    def _keep_deadline(self) -> None:
        for each in (self._runs, *self._elsewhere):
            if each is not None:
                each.stop_at(self._deadline)

    def play(self, history: History) -> ClusterView:
        """Run one history. Returns what has changed in it, as it is in the end.

        Raises:
            EnvironmentProblem: The project cannot be run.
        """
        self._learn([history])
        with Runner(self._subject, self._seed, [history]) as runner:
            return view_of(runner.run(history))

    def replay(self, history: History) -> Iterator[str]:
        """Run one history, and yield what happened as lines for people."""
        with traced_threads():
            [outcome] = self._again([history])
        yield from transcript(outcome)

    def page(self, report: Report, replays: Sequence[str]) -> bytes:
        """Run the history of each finding again, and return a page with pictures of them, as HTML.

        Args:
            report: What :meth:`run` found.
            replays: The command that runs each history again.
        """
        outcomes = self._again([finding.history for finding in report.findings])
        return page(report, outcomes, replays, self._subject.root or Path.cwd())

    def _learn(self, histories: Sequence[History]) -> None:
        """Let the earlier operator make that with which histories begin."""
        if self._subject.earlier is not None:
            self._subject.earlier.learn(histories)

    def _again(self, histories: Sequence[History]) -> list[Outcome]:
        if not histories:
            return []
        self._learn(histories)
        with Runner(self._subject, self._seed, histories) as runner:
            outcomes = [runner.run(history, causes=True) for history in histories]
        for history, outcome in zip(histories, outcomes, strict=True):
            outcome.history = history
        return outcomes

    def _explore(self, sample: Manifest, runs: Runs) -> None:
        try:
            context = self._context_of(sample, runs)
        except Stopped:
            self._leave_out(self._wanted)
            raise
        problem = problem_of(context)
        if problem is not None:
            self._report.problems.append(problem)
            return
        if (problem := failing(context)) is not None:
            self._failed[context.own] = problem
        self._report.strays += dropped_fields(context)
        plans = {slug: PLANS[slug](context) for slug in self._wanted}
        if not context.base.at_rest:  # nothing can be compared with a run that does not end
            self._judge_case(context, next(PLANS[codes.LOOP.slug](context)), context.base)
            plans = {}
        self._search = Search(context, self._report.coverage, list(plans))
        last = {slug: plans.pop(slug) for slug in LAST if slug in plans}
        if context.own in self._failed:  # nobody recovers from two faults who fails without one
            self._leave_out(last)
            last = {}
        again: dict[str, Iterator[Case]] = {}
        if plans:
            plans[SEARCH] = self._searched(context, self._search, runs)
            again[SEARCH] = self._searched(context, self._search, runs)  # what the plans have reached is known then
        usual = History((context.create,), background=self._background)
        self._begin_elsewhere(usual)
        try:
            for part in (plans, again, last):
                self._run_in_turn(context, part, runs)
                self._judge(context, runs)
                self._run_alone(context, runs)
                self._note_doubts(context)
            self._start_again(context, runs)
            self._shrink(context, runs)
            self._note_causes(runs)
            self._note_forgotten(runs)
            for elsewhere in self._elsewhere:
                self._compare(context, usual, elsewhere)
        except Stopped:
            self._leave_out(self._untried({*plans, *again, *last}))
            self._note_doubts(context)
            raise
        self._report.left_out += sum(context.left_out.values())

    def _context_of(self, sample: Manifest, runs: Runs) -> Context:
        """A sample among the others, or alone if the operator does not come to rest with them."""

        def run(history: History) -> Outcome:
            return self._run_undisturbed(history, runs)

        self._undisturbed.clear()
        self._background = self._fit(sample, runs)
        among = Context(self._subject, sample, run, self._ignore, self._ignored)
        why = unfitness(among.base)
        if not self._background or not why:
            return among
        self._undisturbed.clear()
        others, self._background = self._background, ()
        alone = Context(self._subject, sample, run, self._ignore, self._ignored)
        if unfitness(alone.base) != why:
            names = ", ".join(str(Identity.of(other)) for other in others)
            message = f"{Identity.of(sample)} is explored without {names}: with them, {why}"
            self._say_left_out(Identity.of(sample), message)
        return alone

    def _fit(self, sample: Manifest, runs: Runs) -> tuple[Manifest, ...]:
        """The other samples that can be there: the operator comes to rest with them, without an error."""
        every = self._subject.around(sample)
        for other in every[_MOST_NEIGHBOURS:]:
            message = f"{Identity.of(other)} is not there while others are explored: {_MOST_NEIGHBOURS} others are"
            self._say_left_out(Identity.of(other), message)
        every = every[:_MOST_NEIGHBOURS]
        if not every or not self._unfitness_of(every, runs):
            return every
        fit: tuple[Manifest, ...] = ()
        for other in every:
            if why := self._unfitness_of((*fit, other), runs):
                message = f"{Identity.of(other)} is not there while others are explored: with it, {why}"
                self._say_left_out(Identity.of(other), message)
            else:
                fit = (*fit, other)
        return fit

    def _unfitness_of(self, background: tuple[Manifest, ...], runs: Runs) -> str:
        self._background = background
        return unfitness(self._begin(History((), idle=IDLE_SECONDS), runs).take(runs))

    def _say_left_out(self, about: Identity, message: str) -> None:
        if about not in self._left_out:
            self._left_out.add(about)
            self._report.strays.append(codes.LEFT_OUT.at(self._subject.places.get(about), message))

    @property
    def _wanted(self) -> list[str]:
        """The codes whose histories are run. Those of all plans, if what is looked for has no histories of its own."""
        return [slug for slug in PLANS if slug in self._only] or list(PLANS)

    def _looks_for(self, slug: str, context: Context) -> bool:
        """Whether a code is asked for. An operator that never rests hides all the others."""
        return not self._only or slug in self._only or not context.base.at_rest

    def _untried(self, plans: Collection[str]) -> list[str]:
        """The plans of which some histories have no verdict."""
        begun = [run.case.code.slug for run in self._begun if run.case is not None]
        untried = {*plans, *begun, *(doubt.case.code.slug for doubt in self._doubtful)}
        return [slug for slug in (*PLANS, SEARCH) if slug in untried]

    def _run_in_turn(self, context: Context, plans: dict[str, Iterator[Case]], runs: Runs) -> None:
        """Run one history of each code after the other, so that a short time is spent on all of them."""
        while plans:
            for slug in _turn(plans):
                self._planned = codes.BUG.slug if slug == SEARCH else slug
                case = next(plans[slug], None) if slug in plans else None
                if case is None:
                    plans.pop(slug, None)
                elif _now() > self._deadline or self._begun_cases >= self._most:
                    self._leave_out(plans)
                    return
                else:
                    self._begun_cases += len(case.parts) or 1
                    self._begin(case.history, runs, case)
                    self._judge(context, runs, ahead=runs.ahead)

    def _searched(self, context: Context, search: Search, runs: Runs) -> Iterator[Case]:
        """Yield cases that may reach further lines."""
        while True:
            self._judge(context, runs)  # all that were begun, or the choice would depend on the number of workers
            cases = search.batch()
            if not cases:
                return
            yield from cases

    def _leave_out(self, plans: Collection[str]) -> None:
        self._report.unfinished += [left for left in plans if left not in self._report.unfinished]

    def _begin(self, history: History, runs: Runs, case: Case | None = None) -> _Run:
        history = self._placed(history)
        run = _Run(runs.begin(history), history, case, self._planned)
        self._begun.append(run)
        self._report.runs += 1
        if history.is_undisturbed:
            self._undisturbed.append(run)
        return run

    def _placed(self, history: History) -> History:
        """A history among the other samples, unless it begins with what another operator made."""
        if history.after is not None:
            return history
        own = [each for each in history.background if each not in self._background]
        return replace(history, background=(*self._background, *own))

    def _run_undisturbed(self, history: History, runs: Runs) -> Outcome:
        """What comes of steps without a fault. Another run may have begun with them."""
        steps = len(history.steps)
        alike = [run for run in self._undisturbed if run.history.steps[:steps] == history.steps]
        for run in alike if history.is_undisturbed else ():
            outcome = run.take(runs)
            found = outcome if len(run.history.steps) == steps else outcome.first(steps)
            if found is not None:
                found.history = history
                return found
        return self._begin(history, runs).take(runs)

    def _judge(self, context: Context, runs: Runs, *, ahead: int = 0) -> None:
        """Look at the outcomes in the order in which their histories were begun, whoever ran them."""
        while len(self._begun) > ahead:
            run = self._begun.popleft()
            outcome = run.take(runs)
            new = self._report.coverage.add(outcome.lines)
            if self._search is not None:
                self._search.learn(run.history, run.case, new)
            self._access.check(run.history, outcome)
            self._note_strays(outcome)
            self._working |= outcome.worked
            self._ignored |= outcome.ignored
            for number, failure in outcome.stuck.items():
                known = self._stuck.get(number)
                self._stuck[number] = known if known is not None and known.is_bug else failure
            self._changed.update(changes_of(outcome, self._changed))
            self._report.kinds.update(change.identity.kind for change in outcome.changes)
            for each in outcome.unchecked:
                if each not in self._report.problems:
                    self._report.problems.append(each)
            if run.case is not None:
                self._judge_case(context, run.case, outcome)
                continue
            self._note_refused(run.asked_by, outcome)
            if not outcome.shared and all(
                Identity.of(step.manifest)[1:] == context.own[1:] for step in run.history.steps
            ):
                for case, violation in self._verdicts(context, Case(codes.INVARIANT, run.history, unbroken()), outcome):
                    self._note(context, case, outcome, violation)

    def _verdicts(self, context: Context, case: Case, outcome: Outcome) -> Iterator[tuple[Case, Violation]]:
        """Yield what does not hold in a run, by its own code or by an invariant of the project."""
        if self._looks_for(case.code.slug, context) and case.code is not codes.INVARIANT:
            yield from ((case, violation) for violation in case.judge(outcome))
        if self._looks_for(codes.BUG.slug, context) and case.code not in (codes.BUG, codes.INVARIANT):
            mistake = replace(case, code=codes.BUG, judge=without_bug(context))
            yield from ((mistake, violation) for violation in mistake.judge(outcome))
        if self._looks_for(codes.INVARIANT.slug, context):
            case = replace(case, code=codes.INVARIANT, judge=unbroken(hinders=case.hinders))
            yield from ((case, violation) for violation in case.judge(outcome))

    def _judge_case(self, context: Context, case: Case, outcome: Outcome) -> None:
        if outcome.shared:
            self._note_shared(outcome)
            return
        verdicts = list(self._verdicts(context, case, outcome))
        if case.parts and (verdicts or not case.is_telling(outcome)):
            self._doubtful.append(_Doubt(case, outcome, verdicts))
        else:
            self._report.histories[case.code.slug] += len(case.parts) or 1
            self._note_refused(case.code.slug, outcome)
            for verdict, violation in verdicts:
                self._guilty.add(id(case))
                self._note(context, verdict, outcome, violation)
        if self._progress is not None:
            findings, report = len(list(self._joined())), self._report
            self._progress(Progress(case.code.slug, report.histories.total(), findings, report.lines()))

    def _note_refused(self, slug: str, outcome: Outcome) -> None:
        """Note what somebody would have done for a code, and the API server refused."""
        for step, why in outcome.refused:
            if not why.endswith(_IS_THERE):  # or it is not there: that is what the history is about
                self._report.refused.setdefault((slug, told(step, outcome)), why)

    def _run_alone(self, context: Context, runs: Runs) -> None:
        """Run the cases of doubtful runs, each alone."""
        for part in [part for doubt in self._doubtful for part in doubt.case.parts]:
            if _now() > self._deadline:
                self._leave_out([part.code.slug])
            else:
                self._begin(part.history, runs, part)
                self._judge(context, runs, ahead=runs.ahead)
        self._judge(context, runs)

    def _note_doubts(self, context: Context) -> None:
        """Note what did not hold in doubtful runs, if it held in all of their cases, or these were not run."""
        for doubt in self._doubtful:
            if self._guilty.isdisjoint(map(id, doubt.case.parts)):
                for case, violation in doubt.verdicts:
                    self._note(context, case, doubt.outcome, violation)
        self._doubtful.clear()
        self._guilty.clear()

    def _note_shared(self, outcome: Outcome) -> None:
        """Note why a history is not judged: what replicas do in one interpreter, they might not do in two."""
        every = " and ".join(each.told(self._subject.root) for each in outcome.shared[:_MOST_FORGOTTEN])
        message = f"replicas cannot be told apart here: they share {every}, as those of a cluster do not"
        found = codes.SHARED_MEMORY.at(None, message, "keep it in the reconciler, of which each replica has its own")
        if found not in self._report.strays:
            self._report.strays.append(found)

    def _note_strays(self, outcome: Outcome) -> None:
        self._report.strays += [stray for stray in dict.fromkeys(outcome.strays) if stray not in self._report.strays]

    def _note(self, context: Context, case: Case, outcome: Outcome, violation: Violation) -> None:
        """Note what did not hold, unless a shorter story tells the same, or the time alone has done it."""
        with contextlib.suppress(Stopped):  # what was found counts, even if the time is up
            if context.is_by_time(violation.found):
                return
        key, found = self._found_by(context, case, outcome, violation)
        known = self._found.get(key)
        if known is None or _shortness(found.finding) < _shortness(known.finding):
            self._found[key] = found

    def _found_by(
        self, context: Context, case: Case, outcome: Outcome, violation: Violation
    ) -> tuple[tuple[object, ...], _Found]:
        """What did not hold as a finding, with its cause."""
        history = self._placed(case.history.first(violation.steps))
        evidence = evidence_of(case.code, context, history, violation, outcome)
        key = (case.code.slug, evidence.asleep, *violation.cause)
        differs = any(each.path for each in violation.found)
        steps = tuple(story(history, outcome, evidence.asleep, differs=differs))
        refused = refused_write(history, violation, outcome)
        finding = Finding(
            case.code,
            violation.message,
            steps,
            violation.found,
            (refused.place if refused is not None else None) or violation.place,
            history,
            is_of_kopf=outcome.is_of_kopf,
            refusal=refused.refusal if refused is not None else "",
            remedy=violation.remedy,
        )
        follows = _follows(context, history, violation, outcome)
        return key, _Found(finding, evidence, case.judge, violation.by, outcome.forgotten, context, follows)

    def _shrink(self, context: Context, runs: Runs) -> None:
        """Tell each finding of a sample by the simplest history and the smallest values that show it."""
        background = self._background
        for key in [group[0] for group in self._groups()]:
            found = self._found[key] if self._found[key].context is context else None
            tried = _Trials()
            while found is not None and isinstance(found.judge, Verdict):
                self._found[key] = found
                found = self._smaller(key, found, found.judge, tried, runs)
        self._background = background

    def _smaller(
        self, key: tuple[object, ...], found: _Found, verdict: Verdict, tried: _Trials, runs: Runs
    ) -> _Found | None:
        """The same finding by a smaller history that was not tried before; ``None`` if there is none."""
        sample, history = found.context.sample, found.finding.history
        self._background = history.background
        if not history.is_plain:
            return None
        if len(history.steps) > 1:
            history = counted_by_step(history, self._outcome_of(history, runs))
        schema = schema_of(self._subject.crds, sample)
        near = sample if found.finding.code is codes.BUG else self._sample_of_then(history)
        fewer = [*simpler(history), *(milder(near, history) if near is not None else ())]
        values = smaller(schema, sample, history) if history.after is None else ()
        before = self._smaller_before(history)
        for other, candidate in chain(((sample, each) for each in fewer), values, ((sample, each) for each in before)):
            if candidate in tried.histories:
                continue
            if tried.cost >= _MOST_TRIALS or _now() > self._deadline:
                return None
            tried.histories.append(candidate)
            self._background = candidate.background
            context = Context(self._subject, other, lambda each: self._outcome_of(each, runs), self._ignore)
            case = Case(found.finding.code, candidate, verdict.again(context, candidate.steps))
            outcome = self._outcome_of(candidate, runs)
            tried.cost += 1 if outcome.at_rest else _ENDLESS_TRIAL
            for violation in () if verdict.compares and unfitness(context.base) else case.judge(outcome):
                cause, again = self._found_by(context, case, outcome, violation)
                if cause == key and again.finding.span == found.finding.span:
                    return again
        return None

    def _sample_of_then(self, history: History) -> Manifest | None:
        """The sample with which a history begins that another operator has left."""
        earlier = self._subject.earlier
        return earlier.life_before(history.after).sample if earlier is not None and history.after is not None else None

    def _smaller_before(self, history: History) -> Iterator[History]:
        """Histories that begin with smaller samples, for which the earlier operator is run."""
        earlier = self._subject.earlier
        if earlier is None or history.after is None or earlier.play is None:
            return
        life = earlier.life_before(history.after)
        every = list(islice(smaller_before(schema_of(earlier.crds, life.sample), life, history), _MOST_TRIALS))
        with contextlib.suppress(EnvironmentProblem):  # it did run before, but may not end now
            earlier.learn(every)
        for each in every:
            found = earlier.life_at(each.after) if each.after is not None else None
            if found is not None and (begun := at_the_same_moment(each, found)) is not None:
                yield begun

    def _outcome_of(self, history: History, runs: Runs) -> Outcome:
        """Run a history that is not counted: it only makes a finding smaller."""
        return self._rerun(self._placed(history), runs)

    def _rerun(self, history: History, runs: Runs, *, causes: bool = False, keeps: bool = False) -> Outcome:
        """Run a history that is not counted, see :meth:`Runner.run`."""
        outcome = runs.outcome(runs.begin(history, causes=causes, keeps=keeps))
        self._report.coverage.add(outcome.lines)
        outcome.history = history
        self._report.runs += 1
        return outcome

    def _start_again(self, context: Context, runs: Runs) -> None:
        """Wake operators that slept. What stays wrong even then has another cause."""
        for finding, evidence, judge, *_ in list(self._found.values()):
            if evidence.asleep and finding.history.fault is None and _now() <= self._deadline:
                history = replace(finding.history, fault=Fault(FaultKind.BACK))
                self._begin(history, runs, Case(finding.code, history, judge))
        self._judge(context, runs)

    def _note_causes(self, runs: Runs) -> None:
        """Note what woke the operator to send what it should not. Only these runs have causes: they take longer."""
        for key, found in list(self._found.items()):
            finding = found.finding
            if found.by is None or finding.because or _now() > self._deadline:
                continue
            outcome = self._rerun(finding.history, runs, causes=True)
            wrong = next((each.by for each in found.judge(outcome) if each.message == finding.message), None)
            if wrong is not None and wrong.because:
                self._found[key] = found._replace(finding=replace(finding, because=reason(wrong)))

    def _begin_elsewhere(self, usual: History) -> None:
        """Let processes with other hashes run a history. They start when the operator runs here."""
        is_long = self._count > 1 or self._seconds is None
        if is_long and not self._elsewhere and codes.CRASH.slug in self._wanted and is_portable(self._subject):
            self._elsewhere = [Elsewhere(self._subject, self._seed, hashes) for hashes in _OTHER_HASHES]
            self._keep_deadline()
        for elsewhere in self._elsewhere:
            elsewhere.begin(usual)

    def _end_elsewhere(self) -> None:
        for elsewhere in self._elsewhere:
            elsewhere.close()

    def _compare(self, context: Context, history: History, elsewhere: Elsewhere) -> None:
        """Compare with a process in which sets have another order. After a restart, the operator runs in such a one."""
        try:
            outcome = elsewhere.outcome()
        except Stopped:
            self._leave_out([codes.CRASH.slug])
            raise
        except EnvironmentProblem as problem:
            message = f"no process with other hashes can run this operator: {problem.diagnostic.message}"
            stray = codes.REAL_WORLD.at(None, message)
            self._report.strays += [stray] if stray not in self._report.strays else []
            return
        outcome.history = history
        states = context.base.states if context.base.at_rest else ()  # or that of any moment
        for one, other in zip(states, outcome.states, strict=False):
            if unlike := context.compare(one, other, outcome=outcome, of=context.base):
                message = (
                    f"{unlike[0]} in a process with other hashes: sets and what comes from them have another order"
                )
                violation = Violation(message, place_among(unlike, outcome, context.base), unlike, cause_of(unlike))
                self._note(context, Case(codes.CRASH, history, lambda _: ()), outcome, violation)
                return

    def _note_forgotten(self, runs: Runs) -> None:
        """Note which variables of modules a process should not have needed: if the next one has them, all holds."""
        for key, found in list(self._found.items()):
            finding = found.finding
            if not found.forgotten or finding.forgotten or _now() > self._deadline:
                continue
            outcome = self._rerun(finding.history, runs, keeps=True)
            if all(each.message != finding.message for each in found.judge(outcome)):
                told = tuple(variable.told(self._subject.root) for variable in found.forgotten[:_MOST_FORGOTTEN])
                self._found[key] = found._replace(finding=replace(finding, forgotten=told))

    def _failed_with_more(self) -> Iterator[Diagnostic]:
        """Yield the problems of samples for which the operator fails, each with what else comes of that.

        An error of programming is a finding of its own.
        """
        told = {found.context.own for found in self._found.values() if found.is_why_sample_fails}
        for own, problem in self._failed.items():
            if own not in told:
                yield replace(problem, notes=tuple(also_seen(self._following(own))))

    def _following(self, own: Identity) -> list[Finding]:
        """What comes of the error with which the operator fails for a sample."""
        return [found.finding for found in self._found.values() if found.context.own == own and found.follows]

    def _joined(self) -> Iterator[Finding]:
        groups = []
        for keys in self._groups():
            every = [self._found[key] for key in keys]
            own = {found.context.own for found in every if found.is_why_sample_fails}
            group = [found.finding for found in every if not found.follows]
            groups += [[*group, *chain.from_iterable(map(self._following, own))]] if group else []
        for first, *others in sorted(groups, key=lambda group: CODES.index(group[0].code.slug)):
            simple = tuple(each for each in others if each.code.slug not in LAST)
            yield replace(first, others=simple)

    def _groups(self) -> Iterator[list[tuple[object, ...]]]:
        """Yield the causes of findings that have one root cause together, the most direct one first."""
        every = [(key, found.evidence) for key, found in self._found.items()]
        yield from joined(every, self._changed, lambda key: _directness(self._found[key].finding))


def _follows(context: Context, history: History, violation: Violation, outcome: Outcome) -> bool:
    """Whether a violation comes of an error with which the operator fails for the sample itself.

    What it says if all is well is not known then, and what differs may be what it does after the error.
    """
    usual = failure_at_rest(context)
    if usual is None:
        return False
    if violation.cause[:1] == ("said",):
        return True
    last = last_failure(outcome, len(history.steps))
    differs = bool(violation.found) or not outcome.at_rest
    return differs and last is not None and (last.kind, last.place) == (usual.kind, usual.place)


def _turn(plans: Collection[str]) -> Iterator[str]:
    """Each plan once, and the search for further lines after every third one: it has the most to try."""
    for number, slug in enumerate(list(plans), start=1):
        yield slug
        if number % 3 == 0 and SEARCH in plans:
            yield SEARCH


def _shortness(finding: Finding) -> tuple[int, int, int]:
    """Of two stories with as many steps, the one with the earlier fault is told, or with fewer fields that are changed.

    So it does not matter which one was run first.
    """
    fault, steps = finding.history.fault, finding.history.steps
    fields = sum(len(step.note.split(AND)) for step in steps if step.note)
    return len(finding.story), fault.request if fault is not None else 0, fields


def _directness(finding: Finding) -> tuple[int, int]:
    """The shorter a story, the more direct. Of two, the more telling code."""
    return len(finding.story), CODES.index(finding.code.slug)
