"""What an exploration found, as values and as messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from pykb.diagnostics import Code, Diagnostic, Span
from pykb.diagnostics.codes import explore as codes
from pykb.diagnostics.render import render
from pykb.explore._history import History
from pykb.explore._state import Difference

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
    """

    code: Code
    message: str
    story: tuple[str, ...]
    differences: tuple[Difference, ...]
    span: Span | None
    history: History
    others: tuple[Finding, ...] = ()
    because: str = ""

    def to_diagnostic(self) -> Diagnostic:
        """As a message for people."""
        told = [*self.story[:-1], *([self.because] if self.because else []), *self.story[-1:]]
        steps = [f"{number}. {text}" for number, text in enumerate(told, start=1)]
        found = [str(each) for each in self.differences[1:5]]
        more = len(self.differences) - 5
        notes = [*steps, *found, *([f"and {more} more differences"] if more > 0 else []), *self._also()]
        helps = (codes.ADVICE[self.code.slug], f"more about this: `pykb explain {self.code.slug}`")
        return self.code.at(self.span, self.message, notes=tuple(notes), help=helps)

    def _also(self) -> Iterator[str]:
        """Yield a line about the other findings of each code."""
        by_code: dict[str, list[str]] = {}
        for other in self.others:
            by_code.setdefault(other.code.slug, []).append(other.message)
        for slug, (first, *more) in by_code.items():
            others = f" and {len(more)} more" if more else ""
            where = f"; `--only {slug}` shows the history" if slug != self.code.slug else ""
            yield f"also seen as {slug}: {first}{others}{where}"


@dataclass(slots=True)
class Report:
    """The result of an exploration.

    Attributes:
        findings: What did not hold, in order of codes.
        histories: How many histories were tried, by code.
        runs: How many runs that took. One run can try several histories, and plans compare with runs of their own.
        unfinished: Codes of which histories were left out, because it was ended before.
        left_out: How many other specs of the samples were not tried, because their schemas have so many fields.
        unused: Grants that nothing needed.
        problems: Samples that could not be explored.
        kinds: The kinds of the objects that changed.
        strays: What the operator does outside of the virtual world.
    """

    findings: list[Finding] = field(default_factory=list)
    histories: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    unfinished: list[str] = field(default_factory=list)
    left_out: int = 0
    unused: list[Grant] = field(default_factory=list)
    problems: list[Diagnostic] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)
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
