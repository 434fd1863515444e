"""The explorer: runs histories of an operator until the time is up, and tells what did not hold."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from pykb.diagnostics import Code, Diagnostic, Span
from pykb.diagnostics.codes import explore as codes
from pykb.diagnostics.render import render
from pykb.explore._access import Grant, allows, unused
from pykb.explore._context import Case, Context, Violation
from pykb.explore._gate import Sent, span_of
from pykb.explore._history import History, Identity, Manifest
from pykb.explore._plans import CODES, PLANS
from pykb.explore._runner import Runner, Runs, Stopped
from pykb.explore._state import Difference
from pykb.explore._story import story, transcript
from pykb.explore._verdicts import first_bug
from pykb.explore._workers import Workers
from pykb.explore._world import Outcome, Subject
from pykb.runtime.errors import rule_marker

_now = time.monotonic


@dataclass(frozen=True, slots=True)
class Finding:
    """What did not hold, with the shortest history that shows it.

    Attributes:
        code: The kind of finding.
        message: The headline.
        story: What happened, step by step.
        differences: Fields that are not as expected.
        span: The line of the user's code.
        history: The history, to run it again.
    """

    code: Code
    message: str
    story: tuple[str, ...]
    differences: tuple[Difference, ...]
    span: Span | None
    history: History

    def to_diagnostic(self) -> Diagnostic:
        """As a message for people."""
        steps = [f"{number}. {text}" for number, text in enumerate(self.story, start=1)]
        found = [str(each) for each in self.differences[1:5]]
        more = len(self.differences) - 5
        notes = [*steps, *found, *([f"and {more} more differences"] if more > 0 else [])]
        helps = (codes.ADVICE[self.code.slug], f"more about this: `pykb explain {self.code.slug}`")
        return self.code.at(self.span, self.message, notes=tuple(notes), help=helps)


@dataclass(slots=True)
class Report:
    """The result of an exploration.

    Attributes:
        findings: What did not hold, in order of codes.
        histories: How many histories were run, by code.
        unfinished: Codes of which histories were left out, because it was ended before.
        left_out: How many other specs of the samples were not tried, because their schemas have so many fields.
        unused: Grants that nothing needed.
        problems: Samples that could not be explored.
        strays: What the operator does outside of the virtual world.
    """

    findings: list[Finding] = field(default_factory=list)
    histories: Counter[str] = field(default_factory=Counter)
    unfinished: list[str] = field(default_factory=list)
    left_out: int = 0
    unused: list[Grant] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)
    strays: list[Diagnostic] = field(default_factory=list)

    def diagnostics(self) -> list[Diagnostic]:
        """What did not hold, as messages."""
        return [*self.problems, *(finding.to_diagnostic() for finding in self.findings)]

    def notes(self) -> list[Diagnostic]:
        """What is worth a look, but no fault."""
        if not self.unused:
            return self.strays
        verbs: dict[str, list[str]] = {}
        for verb, group, resource in self.unused:
            plural, slash, subresource = resource.partition("/")
            name = f"{plural}.{group}".rstrip(".") + slash + subresource
            verbs.setdefault(name, []).append(verb)
        grants = "\n".join(f"{resource}: {', '.join(each)}" for resource, each in sorted(verbs.items()))
        notes = (f"by resource:\n{grants}",)
        return [*self.strays, codes.UNUSED_GRANT.at(None, "no history used some permissions of the role", notes=notes)]

    def check(self) -> None:
        """Raise if something did not hold.

        Raises:
            AssertionError: With all findings, each with its history.
        """
        if found := self.diagnostics():
            raise AssertionError(render(found))


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an exploration is.

    Attributes:
        code: The code that is explored now.
        histories: How many histories were run.
        findings: How many findings there are.
    """

    code: str
    histories: int
    findings: int


@dataclass(slots=True)
class _Run:
    """A history that was begun. It has no case if a plan needs its outcome."""

    number: int
    history: History
    case: Case | None = None
    outcome: Outcome | None = None


class Explorer:
    """Explores one operator.

    Args:
        subject: What is explored.
        seconds: The limit of real time. ``None`` runs everything.
        seed: Selects the random values of the worlds.
        only: The codes to look for. Defaults to all.
        ignore: Fields that may differ (``status.startedAt``, ``Deployment.spec.replicas``), and codes to leave out.
        workers: How many processes run histories. 1 is this process.
    """

    def __init__(
        self,
        subject: Subject,
        *,
        seconds: float | None = None,
        seed: int = 0,
        only: Collection[str] = (),
        ignore: Sequence[str] = (),
        workers: int = 1,
    ) -> None:
        self._subject = subject
        self._seconds = seconds
        self._seed = seed
        left_out = [each for each in ignore if each in CODES]
        self._only = [each for each in only or CODES if each not in left_out] if left_out else only
        self._ignore = ignore
        self._count = workers
        self._workers: Workers | None = None
        self._progress: Callable[[Progress], None] | None = None
        self._report = Report()
        self._found: dict[tuple[object, ...], Finding] = {}
        self._used: set[Grant] = set()
        self._begun: deque[_Run] = deque()
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
        if self._seconds is not None:
            self._deadline = min(self._deadline, _now() + self._seconds)
        self.start()
        with self._workers or Runner(self._subject, self._seed) as runs:
            try:
                for sample in self._subject.samples:
                    self._explore(sample, runs)
            except Stopped as stopped:
                if stopped.diagnostic is not None:
                    self._report.problems.append(stopped.diagnostic)
        self._report.findings = sorted(self._found.values(), key=lambda found: CODES.index(found.code.slug))
        if self._subject.rules and not self._only and len(self._report.histories) > 1:
            self._report.unused = unused(self._subject.rules, self._used)
        return self._report

    def stop(self) -> None:
        """End :meth:`run` soon. The report has what was found. A signal handler may call it."""
        self._deadline = float("-inf")
        if self._workers is not None:
            self._workers.stop()

    def replay(self, history: History) -> Iterator[str]:
        """Run one history, and yield what happened as lines for people."""
        with Runner(self._subject, self._seed, [history]) as runner:
            outcome = runner.run(history)
        yield from transcript(outcome)

    def _explore(self, sample: Manifest, runs: Runs) -> None:
        def undisturbed(history: History) -> Outcome:
            run = self._begin(history, runs)
            run.outcome = runs.outcome(run.number)
            return run.outcome

        context = Context(self._subject, sample, undisturbed, self._ignore)
        problem = self._problem_of(context)
        if problem is not None:
            self._report.problems.append(problem)
            return
        plans = {slug: plan(context) for slug, plan in PLANS.items() if not self._only or slug in self._only}
        if not context.base.at_rest:  # nothing can be compared with a run that does not end
            plans = {codes.LOOP.slug: iter([next(PLANS[codes.LOOP.slug](context))])}
        try:
            self._run_in_turn(plans, runs)
            self._judge(runs)
        except Stopped:
            self._leave_out(plans)
            raise
        self._report.left_out += sum(context.left_out.values())

    def _run_in_turn(self, plans: dict[str, Iterator[Case]], runs: Runs) -> None:
        """Run one history of each code after the other, so that a short time is spent on all of them."""
        while plans:
            for slug in list(plans):
                case = next(plans[slug], None)
                if case is None:
                    del plans[slug]
                elif _now() > self._deadline:
                    self._leave_out(plans)
                    return
                else:
                    self._begin(case.history, runs, case)
                    self._judge(runs, ahead=runs.ahead)

    def _leave_out(self, plans: Collection[str]) -> None:
        self._report.unfinished += [left for left in plans if left not in self._report.unfinished]

    def _begin(self, history: History, runs: Runs, case: Case | None = None) -> _Run:
        run = _Run(runs.begin(history), history, case)
        self._begun.append(run)
        return run

    def _judge(self, runs: Runs, *, ahead: int = 0) -> None:
        """Look at the outcomes in the order in which their histories were begun, whoever ran them."""
        while len(self._begun) > ahead:
            run = self._begun.popleft()
            outcome = run.outcome or runs.outcome(run.number)
            self._check_access(run.history, outcome)
            self._note_strays(outcome)
            if run.case is not None:
                self._judge_case(run.case, outcome)

    def _judge_case(self, case: Case, outcome: Outcome) -> None:
        self._report.histories[case.code.slug] += 1
        for violation in case.judge(outcome):
            self._note(case.code, case.history, outcome, violation)
        if self._progress is not None:
            self._progress(Progress(case.code.slug, self._report.histories.total(), len(self._found)))

    def _note_strays(self, outcome: Outcome) -> None:
        self._report.strays += [stray for stray in dict.fromkeys(outcome.strays) if stray not in self._report.strays]

    def _note(self, code: Code, history: History, outcome: Outcome, violation: Violation) -> None:
        key = (code.slug, *violation.cause)
        history = history.first(violation.steps)
        steps = tuple(story(history, outcome))
        known = self._found.get(key)
        if known is not None and len(known.story) <= len(steps):
            return
        span = span_of(violation.place)
        self._found[key] = Finding(code, violation.message, steps, violation.found, span, history)

    def _check_access(self, history: History, outcome: Outcome) -> None:
        rules = self._subject.rules
        if rules is None or (self._only and codes.RBAC.slug not in self._only):
            return
        for sent in outcome.sent:
            if not sent.resource:
                continue
            grant = (sent.verb, sent.group, sent.resource)
            if grant in self._used:
                continue
            self._used.add(grant)
            if not allows(rules, sent):
                self._found[codes.RBAC.slug, grant] = _forbidden(sent, history, outcome)

    def _problem_of(self, context: Context) -> Diagnostic | None:
        name = Identity.of(context.sample)
        base = context.base
        if base.refused:
            bug = first_bug(base)
            span = span_of(bug.place if bug is not None else None) or self._subject.places.get(name)
            why = f": {bug.kind}: {bug.message}" if bug is not None else ""
            helps = ("correct the sample",) if bug is None else ("correct the webhook or the converter",)
            return codes.NOT_EXPLORED.at(span, f"the sample {name} is refused: {base.refused[0][1]}{why}", help=helps)
        if base.broken and not base.reconciles:
            return codes.NOT_EXPLORED.at(None, f"the manager ends with an error: {base.broken}")
        if base.failures and not base.sent:
            failure = base.failures[-1]
            span = span_of(failure.place) or self._subject.places.get(name)
            return codes.NOT_EXPLORED.at(span, f"the sample {name} fails: {failure.kind}: {failure.message}")
        return None


def _forbidden(sent: Sent, history: History, outcome: Outcome) -> Finding:
    marker = rule_marker(sent.verb, sent.group, sent.resource)
    message = f"no rule allows to {sent.verb} {sent.resource}: add `{marker}`"
    return Finding(codes.RBAC, message, tuple(story(history, outcome)), (), span_of(sent.place), history)
