"""What an exploration found, as values and as messages, and how a history is told in a few sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from pykb.diagnostics import Code, Diagnostic, Span
from pykb.diagnostics.codes import explore as codes
from pykb.diagnostics.render import render
from pykb.explore._actors import NO_SUCH
from pykb.explore._chance import is_random
from pykb.explore._gate import Sent
from pykb.explore._history import Fault, FaultKind, History, Identity, Step, Takeover, Verb
from pykb.explore._lines import Coverage, Unreached
from pykb.explore._outcome import Change, Outcome
from pykb.explore._state import Difference

_MOST_UNREACHED = 10
"""Places without a history that are named."""

SEARCH = "search"
"""Stands for what the plans of the codes do not have: histories that may reach further lines."""

Grant = tuple[str, str, str]
"""A verb, an API group and a resource."""


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
        because: What the operator should not have done, and what woke it to do so. A further step of the story.
        others: Findings with the same root cause, which go when this one is mended.
        is_of_kopf: Whether the operator has handlers of kopf only.
        refusal: The field and the rule for which the API server refuses a write each time.
        forgotten: The variables of modules that a process kept, and without which the next one went wrong.
        remedy: What to do, if that of the code does not fit.
    """

    code: Code
    message: str
    story: tuple[str, ...]
    differences: tuple[Difference, ...]
    span: Span | None
    history: History
    others: tuple[Finding, ...] = ()
    because: str = ""
    is_of_kopf: bool = False
    refusal: str = ""
    forgotten: tuple[str, ...] = ()
    remedy: str = ""

    @property
    def steps(self) -> Sequence[str]:
        """The story with what should not have been done, before its end."""
        return [*self.story[:-1], self.because, self.story[-1]] if self.because else self.story

    def to_diagnostic(self) -> Diagnostic:
        """As a message for people."""
        steps = [f"{number}. {text}" for number, text in enumerate(self.steps, start=1)]
        found = [str(each) for each in self.differences[1:5]]
        more = len(self.differences) - 5
        if more > 0:
            found.append(f"and {more} more difference{'s' * (more > 1)}")
        notes = [*steps, *found, *self._lost(), *self._also()]
        advice = codes.KOPF_ADVICE if self.is_of_kopf else codes.ADVICE
        is_put_right = any(
            NO_SUCH in step.note or step.manifest["kind"] == "ResourceQuota" for step in self.history.steps
        )
        is_unmarked = self.history.steps[-1].note.startswith("no metadata.")
        usual = _PUT_RIGHT if is_put_right else _RESUMED if is_unmarked else advice[self.code.slug]
        helps = (self.remedy or usual, f"more about this: `pykb explain {self.code.slug}`")
        refused = (f"the API server refuses this write each time, {self.refusal}: {_REFUSED}",) if self.refusal else ()
        return self.code.at(self.span, self.message, *refused, *self._accepting(), *helps, notes=tuple(notes))

    def _accepting(self) -> Iterator[str]:
        """Yield how to accept another random value of a Secret: only the user knows whether it may be made anew."""
        hidden = (each for each in self.differences if each.is_hidden and None not in (each.expected, each.found))
        made_anew = (each for each in hidden if is_random(each.expected) or is_random(each.found))
        for each in islice(made_anew, 1):
            entry = f'ignore = [{{ field = "Secret.{each.path}", reason = "..." }}]'
            yield (
                "users have the first value, as of a password; if it may be made anew at any time, as a certificate, "
                f"accept that in `[tool.pykb.explore]` of pyproject.toml: `{entry}`"
            )

    def _lost(self) -> Iterator[str]:
        if self.forgotten:
            yield f"only the process that died had what is in {' and '.join(self.forgotten)}: with it, this holds"

    def _also(self) -> Iterator[str]:
        others = [other for other in self.others if (other.code, other.message) != (self.code, self.message)]
        for line, slug in also_seen(others).items():
            yield f"{line}; `--only {slug}` shows the history" if slug != self.code.slug else line


def also_seen(others: Sequence[Finding]) -> dict[str, str]:
    """A line about the findings of each code that have a cause which is told elsewhere, with the code."""
    by_code: dict[str, list[str]] = {}
    for other in others:
        by_code.setdefault(other.code.slug, []).append(other.message)
    return {
        f"also seen as {slug}: {first}{f' and {len(more)} more' if more else ''}": slug
        for slug, (first, *more) in by_code.items()
    }


@dataclass(slots=True)
class Report:
    """The result of an exploration.

    Attributes:
        findings: What did not hold, in order of codes.
        histories: How many histories were tried, by code.
        runs: How many runs that took. One run can try several histories, and plans compare with runs of their own.
        unfinished: Codes of which histories were left out, because it was ended before. ``search`` if specs that may
            reach further lines were left out.
        left_out: How many other specs of the samples were not tried, because their schemas have so many fields.
        refused: Why the API server refused what somebody would have done, by code and act. It was not tried.
        unused: Grants that nothing needed.
        problems: Samples that could not be explored.
        kinds: The kinds of the objects that changed.
        strays: What the operator does outside of the virtual world.
        coverage: The lines of the user's code that the histories have run.
        unreached: The lines that no history has run. Empty if not all codes were asked for.
    """

    findings: list[Finding] = field(default_factory=list)
    histories: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    unfinished: list[str] = field(default_factory=list)
    left_out: int = 0
    refused: dict[tuple[str, str], str] = field(default_factory=dict)
    unused: list[Grant] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)
    strays: list[Diagnostic] = field(default_factory=list)
    coverage: Coverage = field(default_factory=Coverage)
    unreached: Sequence[Unreached] = ()

    def diagnostics(self) -> list[Diagnostic]:
        """What did not hold, as messages."""
        return [*self.problems, *(finding.to_diagnostic() for finding in self.findings)]

    def notes(self) -> list[Diagnostic]:
        """What is worth a look, but no fault."""
        return [*self.strays, *self._unreached(), *self._unused()]

    def lines(self) -> str:
        """How much of the code the histories have run. Empty if lines were not counted."""
        return f"{self.coverage.run} of {self.coverage.total} lines" if self.coverage.run else ""

    def finished(self) -> list[str]:
        """The codes of which all histories were run."""
        return [slug for slug in self.histories if slug not in self.unfinished]

    def left_of(self, plan: str) -> str:
        """What was left out of the histories of a code or of ``search``, as a text; empty if nothing was."""
        if plan not in self.unfinished:
            return ""
        if plan == SEARCH:
            return "not all specs that may reach further lines were tried"
        return "not all histories were run" if self.histories[plan] else "no history was run"

    def tried(self) -> str:
        """What was tried, in one line: `no findings` means that nothing was found there."""
        total = self.histories.total()
        finished = ", ".join(slug.removeprefix("explore-") for slug in self.finished())
        parts = [f"{total} histor{'y' if total == 1 else 'ies'}", self.lines(), f"finished: {finished or 'no code'}"]
        return ", ".join(part for part in parts if part)

    def _unreached(self) -> Iterator[Diagnostic]:
        if not self.unreached:
            return
        shown = self.unreached[:_MOST_UNREACHED]
        more = len(self.unreached) - len(shown)
        notes = (*map(str, shown), *([f"and {more} more places"] if more else []))
        message = f"no history reached {self.coverage.total - self.coverage.run} of {self.coverage.total} lines"
        first = Span(shown[0].path, shown[0].first, 1)
        yield codes.UNREACHED.at(first, message, "more about this: `pykb explain explore-unreached`", notes=notes)

    def _unused(self) -> Iterator[Diagnostic]:
        if not self.unused:
            return
        verbs: dict[str, list[str]] = {}
        for verb, group, resource in self.unused:
            plural, slash, subresource = resource.partition("/")
            name = f"{plural}.{group}".rstrip(".") + slash + subresource
            verbs.setdefault(name, []).append(verb)
        grants = "\n".join(f"{resource}: {', '.join(each)}" for resource, each in sorted(verbs.items()))
        notes = (f"by resource:\n{grants}",)
        yield codes.UNUSED_GRANT.at(None, "no history used some permissions of the role", notes=notes)

    def check(self) -> None:
        """Raise if something did not hold.

        Raises:
            AssertionError: With all findings, each with its history.
        """
        if diagnostics := self.diagnostics():
            raise AssertionError(f"{render(diagnostics)}in {self.tried()}")


_FAILS = "Each reconcile fails with"
_REFUSED = (
    "forbid such a change in your type with a CEL rule (`self == oldSelf`), or delete the child and create it anew if "
    "nothing in it gets lost"
)

_PUT_RIGHT = (
    "what keeps a workload from being ready is put right: change the workload although it is not ready, do not wait "
    "for it within a reconcile, and take no failure for the end"
)
_RESUMED = (
    "when an annotation or a label no longer stops the operator, do what was left: let each change of the object wake "
    "it, not only those of its spec, and take nothing for done that was skipped"
)
_MOST_NAMED = 3

_DONE = {
    Verb.CREATE: "creates",
    Verb.REPLACE: "changes",
    Verb.PATCH: "changes",
    Verb.REWRITE: "reads and writes back",
    Verb.DELETE: "deletes",
}
_HEALTH = {FaultKind.LATE: "Each workload becomes ready", FaultKind.FAIL: "Each workload fails"}


def story(history: History, outcome: Outcome, asleep: str = "", *, differs: bool = False) -> Iterator[str]:
    """Yield what happens in a history, in order.

    Args:
        history: The history.
        outcome: What came of it.
        asleep: The kind whose last change did not wake the operator.
        differs: Whether it ends with a field that is wrong. An error of the operator may be why.
    """
    fault = history.fault
    yield from _beginning(history)
    if fault is not None and fault.kind is FaultKind.LAG:
        caches = f"cache of {fault.resource} lags" if fault.resource else "caches lag"
        yield f"The {caches} by {fault.seconds:g} seconds"
    if fault is not None and fault.kind in _HEALTH:
        yield f"{_HEALTH[fault.kind]} {fault.seconds:g} seconds after its creation"
    members = 1
    for step in history.steps:
        if step.members not in (0, members):
            yield _SHARE if step.members > members else _LEAVE
            members = step.members
        if history.after is None or step.verb is not Verb.REWRITE or outcome.refused:
            yield told(step, outcome)
        for struck, sent in outcome.struck.items():
            if struck in history.faults and step is _struck_step(history, sent, outcome):
                members += struck.kind is FaultKind.JOIN
                yield _strike(struck, sent, is_shared=members > 1)
    for back in history.faults:
        if back.kind is FaultKind.BACK:
            yield from _taken_over(back, outcome)
    if differs and (error := _stuck(history, outcome)):
        yield f"{_FAILS} {error}"
    if asleep:
        yield f"Nothing happens: the {asleep} does not wake the operator"
    else:
        yield f"{history.idle / 3600:g} hours pass" if history.idle else "Everything comes to rest"


def _beginning(history: History) -> Iterator[str]:
    """Yield what was before the first step."""
    if history.after is not None:
        yield _taken_over_from(history.after)
        yield "Today's operator takes over"
    if history.background:
        names = [str(Identity.of(manifest)) for manifest in history.background]
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        yield f"At first, there {'is' if len(names) == 1 else 'are'} {', '.join(names[:_MOST_NAMED])}{more}"


def _taken_over_from(start: Takeover) -> str:
    if start.is_recorded:
        return f"The objects of {start.name} are there"
    work = f"stops right after it {start.what}" if start.write else "brings everything to rest"
    return f"The operator of {start.name} {work}"


def _stuck(history: History, outcome: Outcome) -> str:
    """The error of the last reconcile of the history, if it failed."""
    ends = next(iter(outcome.began[len(history.steps) :]), float("inf"))
    failed = [failure for failure in outcome.failures if failure.at < ends]
    ended = [each.at for each in outcome.reconciles if each.at < ends]
    return f"{failed[-1].kind}: {failed[-1].message}" if failed and ended and failed[-1].at >= ended[-1] else ""


def reason(sent: Sent) -> str:
    """What the operator did, and what woke it."""
    return f"The operator {act(sent)}, because {sent.because}"


def transcript(outcome: Outcome) -> Iterator[str]:
    """Yield every request, change, reconcile and error of a run with its time, in order."""
    is_shared = outcome.history is not None and outcome.history.shards > 0
    lines = [
        (sent.at, 0, f"{f'process {sent.process}' if is_shared else 'the operator'} {act(sent)}: {_answer(sent)}")
        for sent in outcome.sent
    ]
    lines += [(at, 3, line) for at, line in outcome.reconcile_lines]
    for change in outcome.changes[outcome.inherited :]:
        who = "" if change.by is not None else " by somebody else"
        lines.append((change.at, 1, f"    {change.identity} is {done(change)}{who}"))
    lines += [(each.at, 2, f"    the reconcile fails: {each.kind}: {each.message}") for each in outcome.failures]
    for at, _, text in sorted(lines, key=lambda line: line[:2]):
        yield f"{at:10.3f}  {text}"
    for step, why in outcome.refused:
        yield f"refused: {told(step, outcome)}: {why}"


def _answer(sent: Sent) -> str:
    return str(sent.status or "no answer")


def _taken_over(fault: Fault, outcome: Outcome) -> Iterator[str]:
    if not fault.version:
        yield "The operator starts again"
        return
    yield "Another process of the operator takes over"
    yield f"Its caches still show the state before {_after(fault.version, outcome)}, for {fault.seconds:g} seconds"


def _after(version: int, outcome: Outcome) -> str:
    """The change that comes after a version, in the past."""
    change = next((change for change in outcome.changes if change.version > version), None)
    return f"{change.identity} was {done(change)}" if change is not None else "now"


def done(change: Change) -> str:
    """What became of an object."""
    return "created" if change.before is None else "deleted" if change.after is None else "changed"


def told(step: Step, outcome: Outcome) -> str:
    """What somebody does in a step."""
    text = f"Somebody {_DONE[step.verb]} {Identity.of(step.manifest)}"
    text += " back" if step.verb is Verb.REPLACE and not step.note else ""
    text += f": `{step.note}`" if step.note else ""
    if step.together:
        text += ", at the same moment as what follows"
    if step.unseen:
        text += ", while the operator's watches are broken"
    if step.after_write is not None:
        before = next((sent for sent in outcome.sent if sent.write == step.after_write), None)
        text += f", right after the operator {act(before)}" if before else ""
    return text


def _struck_step(history: History, struck: Sent, outcome: Outcome) -> Step:
    """The step whose work was struck: the last one done before."""
    begun = [step for step, at in zip(history.steps, outcome.began, strict=False) if at <= struck.at]
    return begun[-1] if begun else history.steps[0]


_SHARE = "Another replica comes, and gets a share of the objects"
_LEAVE = "The replica that came last leaves, and another one gets its objects"


def _strike(fault: Fault, sent: Sent, *, is_shared: bool) -> str:
    who = "replica" if is_shared else "process"
    goes_on = "another one gets its objects" if is_shared else "starts again"
    match fault.kind:
        case FaultKind.CRASH_BEFORE:
            return f"The {who} dies just before it {act(sent)}, and {goes_on}"
        case FaultKind.CRASH_AFTER:
            return f"The {who} dies right after it {act(sent)}, and {goes_on}"
        case FaultKind.OVERTAKEN:
            takes_over = "another one gets its objects" if is_shared else "another one leads"
            late = f"{takes_over}, and the request arrives {fault.seconds:g} seconds late"
            return f"The {who} is paused while it {act(sent)}: {late}"
        case FaultKind.JOIN:
            return f"Another replica comes after this one {act(sent)}, and gets the object when the reconcile has ended"
        case FaultKind.LEAVE:
            late = "the answer comes too late: the reconcile is cancelled"
            return f"The {who} is stopped right after it {act(sent)}, and {late}, and {goes_on}"
        case FaultKind.LOSE_ANSWER:
            return f"The operator {act(sent)}, and the answer is lost"
    answer = f"with {fault.status}" if fault.status else "by a broken connection"
    return f"The operator {act(sent)}, and the request fails {answer}"


def act(sent: Sent | None) -> str:
    """A request, with the line that sent it."""
    if sent is None:
        return "writes"
    place = sent.place
    return f"{sent} ({place.path.rpartition('/')[2]}:{place.line})" if place is not None else str(sent)
