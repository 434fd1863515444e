"""Several cases in one run.

The world is at rest between them, in the state that each of them begins with. A run in which everything holds clears
all of them. Otherwise, each is run alone. So findings are those of the single cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest

from pykb.diagnostics import Code
from pykb.explore._context import Context
from pykb.explore._gate import Sent
from pykb.explore._history import Fault, History, Step
from pykb.explore._outcome import Outcome
from pykb.explore._state import State
from pykb.explore._verdicts import Case, Judge, Violation, lasting


def one_in_each_step(
    code: Code, steps: tuple[Step, ...], expected: Outcome, judge: Judge, faults: Iterable[tuple[Sent, Fault]]
) -> Iterator[Case]:
    """Yield cases of faults at requests. One run has a fault in each step.

    Args:
        code: What is looked for.
        steps: Those of all cases.
        expected: What comes of them without a fault.
        judge: Compares each state at rest with the expected one.
        faults: The faults, each with the undisturbed request.
    """
    of_step: dict[int, list[tuple[Sent, Fault]]] = {}
    for sent, fault in faults:
        of_step.setdefault(step_of(sent, expected), []).append((sent, fault))
    for each in zip_longest(*of_step.values()):
        struck = [pair for pair in each if pair is not None]
        parts = tuple(Case(code, History(steps, fault), judge) for _, fault in struck)
        if len(parts) == 1:
            yield parts[0]
        else:
            together = {_counted_in_step(sent, fault, expected): sent for sent, fault in struck}
            first, *further = together
            history = History(steps, first, further=tuple(further))
            yield Case(code, history, judge, parts, _meets(together))


def one_after_the_other(context: Context, cases: Sequence[Case]) -> Case:
    """Make one case of those that change a child, of which each leads back to the state before."""
    if len(cases) == 1:
        return cases[0]

    def leads_back(outcome: Outcome, state: State) -> bool:
        return not lasting(context, outcome, state)

    def judge(outcome: Outcome) -> Iterator[Violation]:
        for number, (case, state) in enumerate(zip(cases, outcome.states[1:], strict=False), start=2):
            refused = [each for each in outcome.refused if each[0] == case.history.steps[-1]]
            part = replace(outcome, states=[outcome.states[0], state], refused=refused)
            violations = list(case.judge(part))
            yield from (replace(violation, steps=number) for violation in violations)
            if not violations and not leads_back(outcome, state):
                return  # it is no fault, as nobody can undo it, but the next changes meet it

    def is_telling(outcome: Outcome) -> bool:
        return outcome.at_rest and all(leads_back(outcome, state) for state in outcome.states[1:])

    history = History((context.create, *(case.history.steps[-1] for case in cases)))
    return Case(cases[0].code, history, judge, tuple(cases), is_telling)


def one_process_after_the_other(cases: Sequence[Case]) -> Case:
    """Make one case of those that differ only in the process that takes over in the end."""
    if len(cases) == 1:
        return cases[0]
    history = cases[0].history

    def judge(outcome: Outcome) -> Iterator[Violation]:
        before = len(history.steps) - 1
        for case, state in zip(cases, outcome.states[before:], strict=False):
            yield from case.judge(replace(outcome, states=[*outcome.states[:before], state]))

    faults = [fault for case in cases for fault in case.history.faults]
    together = replace(history, further=tuple(faults[1:]))
    return Case(cases[0].code, together, judge, tuple(cases), lambda outcome: outcome.at_rest)


def step_of(sent: Sent, expected: Outcome) -> int:
    """The number of the step whose work a request is."""
    return sum(began <= sent.at for began in expected.began)


def _counted_in_step(sent: Sent, fault: Fault, expected: Outcome) -> Fault:
    """The same fault, whatever happens in the steps before."""
    step, what = step_of(sent, expected), sent.what
    alike = [each for each in expected.sent if step_of(each, expected) == step and each.what == what and each.number]
    return replace(fault, request=alike.index(sent) + 1, step=step, what=what)


def _meets(faults: dict[Fault, Sent]) -> Callable[[Outcome], bool]:
    """Whether each fault met the request that it was meant for, at the same line."""

    def is_telling(outcome: Outcome) -> bool:
        lines = {fault: sent.place for fault, sent in outcome.struck.items()}
        return lines == {fault: sent.place for fault, sent in faults.items()}

    return is_telling
