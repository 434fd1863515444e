"""What the plans of all codes share: a sample, what the operator makes of it, other specs of it, and verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeVar

import orjson

from pykb.api.builtin import find_class
from pykb.client.codec import gvk_of
from pykb.diagnostics import Code, Span
from pykb.explore._chance import is_given_out, masked
from pykb.explore._gate import Sent
from pykb.explore._history import History, Identity, Manifest, Step, Verb
from pykb.explore._objects import group_kind_of
from pykb.explore._outcome import Failure, Outcome, unfitness
from pykb.explore._past import WORK, exchanged, without_done, without_revisions
from pykb.explore._project import Subject
from pykb.explore._signs import waits_for_people, waits_for_time
from pykb.explore._state import Difference, State, differences, ignoring, read
from pykb.explore._variants import lower, schema_of, spread, variants
from pykb.meta.json_diff import Path, sorted_changes

T = TypeVar("T")

IDLE_SECONDS = 2 * 3600.0
"""How long nobody does anything, to see whether the operator does."""

DAY_SECONDS = 25 * 3600.0
"""A time of day comes within it."""

_MOST_VARIANTS = 40
_MOST_WALKED = 4
"""Changes of the sample in a row, before it is as it was."""

_MOST_OTHERS = 64
"""Runs with other values that are kept."""

_HOLDERS = 3
"""Objects like the sample that hold the first values of what is given out, while the explorer looks for such values."""


@dataclass(frozen=True, slots=True)
class Violation:
    """What did not hold in a history.

    Attributes:
        message: The headline.
        place: The line of the user's code.
        found: The differences of the states.
        cause: Violations with the same cause are one finding.
        steps: How many steps of the history show it. Defaults to all.
        by: The request that should not have been sent.
        remedy: What to do, if that of the code does not fit.
    """

    message: str
    place: Span | None = None
    found: tuple[Difference, ...] = ()
    cause: tuple[Any, ...] = ()
    steps: int | None = None
    by: Sent | None = None
    remedy: str = ""


Judge = Callable[["Outcome"], Iterable[Violation]]
"""Says what did not hold in a run."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge that can judge other histories of its kind, too.

    Attributes:
        judge: Judges the history.
        again: Makes the verdict about other steps, perhaps with another sample.
        compares: Whether it compares with another run of the sample. The operator must be right there.
    """

    judge: Judge
    again: Callable[[Context, Sequence[Step]], Verdict]
    compares: bool = True

    def __call__(self, outcome: Outcome) -> Iterator[Violation]:
        """What did not hold."""
        yield from self.judge(outcome)


def by_itself(judge: Judge) -> Verdict:
    """A verdict that needs no other run."""
    return Verdict(judge, lambda *_: by_itself(judge), compares=False)


@dataclass(frozen=True, slots=True)
class Case:
    """A history, and its verdict.

    Attributes:
        code: What is looked for.
        history: The history.
        judge: Its verdict.
        parts: The cases that one run tries together. Each is run alone if anything does not hold.
        is_telling: Whether the run did try all of them.
        hinders: Whether not even a right operator can do its work at rest.
        about: The context of the case, if it is not that of the sample.
    """

    code: Code
    history: History
    judge: Callable[[Outcome], Iterable[Violation]]
    parts: tuple[Case, ...] = ()
    is_telling: Callable[[Outcome], bool] = lambda _: True
    hinders: bool = False
    about: Context | None = None


def about(case: Case, context: Context) -> Case:
    """The same case, which is about another context."""
    return replace(case, about=context, parts=tuple(replace(part, about=context) for part in case.parts))


@dataclass(slots=True)
class Context:
    """What the cases of a sample are made from.

    Attributes:
        subject: What is explored.
        sample: The object that the operator works on.
        run: Runs a history.
        ignore: Fields that may differ.
        ignored: Those of them that did.
        note: What is special about the sample, for people.
        left_out: How many specs were not yielded by :meth:`changed`, at the edges of the schema and others.
        base: What comes of the creation of the sample.
    """

    subject: Subject
    sample: Manifest
    run: Callable[[History], Outcome]
    ignore: Sequence[str] = ()
    ignored: set[str] = field(default_factory=set)
    note: str = ""
    left_out: dict[bool, int] = field(default_factory=dict)
    base: Outcome = field(init=False)
    _decided_by: Literal["chance", "others", ""] | None = field(init=False, default=None)
    _by_time: set[tuple[Identity, str, str]] | None = field(init=False, default=None)
    _walks: dict[int, tuple[Step, ...]] = field(init=False, default_factory=dict)
    _others: dict[int, tuple[History, Outcome]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Create the sample. Everything is compared with this."""
        self.base = self.undisturbed(self.create)

    def with_sample(self, sample: Manifest, note: str) -> Context:
        """The context of another spec of the sample."""
        return Context(self.subject, sample, self.run, self.ignore, self.ignored, note)

    def undisturbed(self, *steps: Step) -> Outcome:
        """What comes of steps without a fault."""
        return self.run(History(steps))

    def comes_right(
        self, outcome: Outcome, wrong: Callable[[Outcome, State], object], *, after: float = IDLE_SECONDS
    ) -> bool:
        """Whether nothing is wrong with the state any more after hours, in which the operator may look again."""
        later = self.run(replace(outcome.history or History(()), idle=after))
        return later.later is not None and not wrong(later, later.later)

    def is_by_time(self, found: Sequence[Difference]) -> bool:
        """Whether some hours in which nothing happens do the same to all of these fields, as if something is idle."""
        if not found:
            return False
        if self._by_time is None:
            later = self.run(History((self.create,), idle=IDLE_SECONDS)).later if self.base.at_rest else None
            every = differences(self.base.states[0], later) if later is not None else ()
            self._by_time = {(each.identity, each.path, repr(each.found)) for each in every if each.path}
        return self._by_time.issuperset((each.identity, each.path, repr(each.found)) for each in found)

    def waits(self, outcome: Outcome, step: int, wrong: Callable[[Outcome, State], object]) -> bool:
        """Whether the operator says after a step that it waits for somebody, or for its time, and does the rest then.

        Args:
            outcome: The run.
            step: The step, counted from 1.
            wrong: What is wrong with a later state.
        """
        if waits_for_people(outcome, self.own, step, self.base):
            return True
        if outcome.history is None or not waits_for_time(outcome, self.own, step, self.base):
            return False
        until = replace(outcome, history=replace(outcome.history, steps=outcome.history.steps[:step]))
        return self.comes_right(until, wrong, after=DAY_SECONDS)

    @property
    def definition(self) -> Manifest | None:
        """The CRD of the sample, if its kind is not Kubernetes' own."""
        group = self.sample["apiVersion"].rpartition("/")[0]
        kinds = ((crd, crd["spec"]) for crd in self.subject.crds)
        of_sample = (
            crd for crd, spec in kinds if (spec["group"], spec["names"]["kind"]) == (group, self.sample["kind"])
        )
        return next(of_sample, None)

    @property
    def own(self) -> Identity:
        """The sample's identity in the states: in the version in which it is stored."""
        if self.definition is None:
            return Identity.of(self.sample)
        spec = self.definition["spec"]
        stored = next(version["name"] for version in spec["versions"] if version.get("storage"))
        return Identity.of(self.sample)._replace(api_version=f"{spec['group']}/{stored}")

    @property
    def create(self) -> Step:
        """Creates the sample."""
        return Step(Verb.CREATE, self.sample, note=self.note)

    @property
    def delete(self) -> Step:
        """Deletes the sample."""
        return Step(Verb.DELETE, self.sample)

    def life(self) -> tuple[Step, ...]:
        """The sample is created, changed and deleted."""
        return (self.create, *self.replaced(), self.delete)

    def walk(self, turn: int) -> tuple[Step, ...]:
        """The sample is created, and changed several times: it gets smaller, loses a field, and more, and is as before.

        Args:
            turn: Selects the fields.
        """
        if turn not in self._walks:
            self._walks[turn] = self._walk(turn)
        return self._walks[turn]

    def _walk(self, turn: int) -> tuple[Step, ...]:
        schema = schema_of(self.subject.crds, self.sample)
        fewer = list(lower(schema, self.sample))
        every = list(variants(schema, self.sample, edges=False))[1:]  # the first one is that of `life`
        without = [each for each in every if each[0].startswith("no ")]
        others = [each for each in every if each not in without]
        kinds = [(fewer, 1), (without, 1), (others, _MOST_WALKED - 2)]
        chosen = [each for kind, most in kinds for each in _in_turn(kind, turn, most)]
        steps = [Step(Verb.REPLACE, manifest, note=text) for text, manifest in chosen]
        tried = self.undisturbed(self.create, *steps, Step(Verb.REPLACE, self.sample))
        fine = [step for number, step in enumerate(steps, start=1) if _is_fine(tried, step, number)]
        return (self.create, *fine, Step(Verb.REPLACE, self.sample)) if fine else (self.create,)

    def smaller(self) -> Step | None:
        """Changes the sample, to a smaller number if it has one."""
        return next(iter(self.walk(0)[1:2]), None)

    def replaced(self) -> tuple[Step, ...]:
        """The sample gets another spec, if there is one."""
        change = next(self.changed(edges=False), None)
        return () if change is None else (Step(Verb.REPLACE, change[1], note=change[0]),)

    def changed(self, *, edges: bool) -> Iterator[tuple[str, Manifest]]:
        """Other specs of the sample, spread over its fields, each with a text about it."""
        every = list(variants(schema_of(self.subject.crds, self.sample), self.sample, edges=edges))
        chosen = spread(every, _MOST_VARIANTS)
        self.left_out[edges] = len(every) - len(chosen)
        yield from chosen

    def children(self) -> list[Identity]:
        """The objects that the operator made for the sample, without those of generated names: nobody can name them."""
        named = {change.identity for change in self.base.changes} - {self.own, *self.base.initial}
        return [each for each in self.base.states[0] if each in named and self.base.maker_of(each)]

    def is_owned(self, identity: Identity) -> bool:
        """Whether a child names its owner, by which everybody can watch it."""
        return _names_owner(identity, self.base.states[0])

    def is_watched(self, identity: Identity, *states: State) -> bool:
        """Whether an object is of the sample's kind, or names its owner in one of these states.

        Another one may stand for what is in a system that nobody can watch, so the operator may look again.
        """
        return identity.kind == self.own.kind or any(_names_owner(identity, state) for state in states)

    def others(self) -> list[Manifest]:
        """The other samples that are there."""
        initial = {each[1:] for each in self.base.initial}
        return [each for each in self.subject.around(self.sample) if Identity.of(each)[1:] in initial]

    def sources(self) -> list[Manifest]:
        """Objects of the background that the operator reads, or whose kind it watches."""
        read_names = {(sent.group, sent.resource, sent.name) for sent in self.base.sent if sent.verb == "get"}
        listed = {(sent.group, sent.resource) for sent in self.base.sent if sent.verb in ("list", "watch")}
        plurals = {group_kind_of(crd): crd for crd in self.subject.crds}
        found = []
        for manifest in self.subject.background:
            gvk, name = gvk_of(manifest), manifest["metadata"]["name"]
            cls, crd = find_class(gvk), plurals.get((gvk.group, gvk.kind))
            plural = crd["spec"]["names"]["plural"] if crd is not None else ""
            plural = cls.resource.plural if cls is not None and cls.resource is not None else plural
            if (gvk.group, plural) in listed or (gvk.group, plural, name) in read_names:
                found.append(manifest)
        return found

    def created(self, identity: Identity) -> Manifest:
        """An object as the operator last wrote it."""
        written = (each.after for each in reversed(self.base.changes) if each.identity == identity and each.by)
        manifest: Manifest = orjson.loads(next(each for each in written if each))
        return manifest

    def compare(
        self, expected: State, found: State, *, outcome: Outcome | None = None, of: Outcome | None = None
    ) -> tuple[Difference, ...]:
        """The differences that are not ignored. What chance or others decide is compared by where it comes from.

        Args:
            expected: The expected state.
            found: The other one.
            outcome: The run of the other one. ``None`` compares each value as it is.
            of: The run of the expected one. Defaults to the same.
        """
        every = self._counting(differences(expected, found))
        if not every or outcome is None or not self._look_for_others():
            return every
        one, two = self._masked(expected, of or outcome), self._masked(found, outcome)
        unlike = differences(one, two, self.ignore)
        if self._has_chance():
            return unlike
        plain = {(each.identity, each.path): each for each in every}  # a value that is the same is right
        keys = ((each, (each.identity, each.path)) for each in unlike)
        named = {*expected, *found}
        return tuple(plain.get(key, each) for each, key in keys if key in plain or each.identity not in named)

    def compare_with_new(
        self, expected: State, found: State, *, outcome: Outcome, of: Outcome | None = None
    ) -> tuple[Difference, ...]:
        """The differences from what is made anew, see :meth:`compare`, without what may depend on the past."""

        def unlike(every: Sequence[Difference], found: State) -> tuple[Difference, ...]:
            return without_revisions(without_done(every, expected, found, outcome, self.own), found)

        every = unlike(self.compare(expected, found, outcome=outcome, of=of), found)
        others = exchanged(every, found)
        return () if any(not unlike(differences(expected, each, self.ignore), each) for each in others) else every

    def _counting(self, every: Sequence[Difference]) -> tuple[Difference, ...]:
        """Those that are not ignored. Notes by what the others are."""
        by = [(each, ignoring(each, self.ignore)) for each in every]
        self.ignored.update(name for _, name in by if name is not None)
        return tuple(each for each, name in by if name is None)

    def _has_chance(self) -> bool:
        """Whether the operator uses random values. Only runs that differ need to know it: it takes a run."""
        return self._look_for_others() == "chance"

    def _look_for_others(self) -> Literal["chance", "others", ""]:
        """What decides values beside the sample: chance, or other objects, as with the lowest free port."""
        if self._decided_by is None:
            life = self.life()
            usual, other = self.undisturbed(*life), self.run(History(life, chance=1))
            if any(differences(*pair) for pair in zip(usual.states, other.states, strict=False)):
                self._decided_by = "chance"
            else:
                among = self.run(History(life, chance=1, background=self._holders()))
                is_fine = not unfitness(among)
                is_told = is_fine and any(masked(each, other, among, is_given_out) != each for each in other.states)
                self._decided_by = "others" if is_told else ""
        return self._decided_by

    def _holders(self) -> tuple[Manifest, ...]:
        metadata = self.sample["metadata"]
        names = [f"{metadata['name']}-holder{number}" for number in range(_HOLDERS)]
        return tuple({**self.sample, "metadata": {**metadata, "name": name}} for name in names)

    def is_random(self, identity: Identity, path: Path) -> bool:
        """Whether chance made a value of an object in the undisturbed run. Nobody can bring such a value back."""
        if not self._has_chance():
            return False
        state = self.base.states[0]
        known = self._masked(state, self.base).get(identity)
        return known is None or any(path == each for each, *_ in sorted_changes(state[identity], known))

    def _masked(self, state: State, outcome: Outcome) -> State:
        history = outcome.history
        if history is None:
            return state
        if id(history) not in self._others:
            if len(self._others) >= _MOST_OTHERS:
                self._others.clear()
            other = replace(history, chance=history.chance + 1)
            if self._decided_by == "others":
                other = replace(other, background=self._holders())
            self._others[id(history)] = (history, self.run(other))
        counts = is_given_out if self._decided_by == "others" else None
        return masked(state, outcome, self._others[id(history)][1], counts)


def _names_owner(identity: Identity, state: State) -> bool:
    return bool(state.get(identity, {}).get("metadata", {}).get("ownerReferences"))


def _in_turn(every: Sequence[T], turn: int, most: int) -> list[T]:
    """At most so many, others in each turn."""
    start = turn * most % len(every) if every else 0
    return [*every[start:], *every[:start]][:most]


def _is_fine(outcome: Outcome, step: Step, number: int) -> bool:
    """Whether a step of an undisturbed run was accepted, and the operator had no error then."""
    began = outcome.began[number : number + 2]  # fewer if the operator did not come to rest before
    begin, end = [*began, float("inf"), float("inf")][:2]
    is_refused = any(refused == step for refused, _ in outcome.refused)
    return begin < float("inf") and not is_refused and not any(begin <= each.at < end for each in outcome.failures)


def same_states(
    context: Context, expected: Outcome, what: str, counts: Callable[[Difference], bool] = lambda _: True
) -> Verdict:
    """A verdict: the same states at rest as in another run.

    Args:
        context: The sample.
        expected: The other run.
        what: What happened.
        counts: Whether a difference matters.
    """

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if not outcome.at_rest:
            if expected.at_rest:
                yield restless(outcome, what)
            return
        for number, (one, other) in enumerate(zip(expected.states, outcome.states, strict=False), start=1):
            every = context.compare(one, other, outcome=outcome, of=expected)
            if found := tuple(each for each in every if counts(each)):
                struck = outcome.struck_before(number)
                place = struck.place if struck is not None else place_among(found, outcome, expected)
                yield Violation(f"{found[0]} {what}", place, found, cause_of(found), steps=number)
                return
        yield from once(context, expected, outcome, what)

    return Verdict(judge, lambda other, steps: same_states(other, calm(other, steps), what, counts))


def calm(context: Context, steps: Sequence[Step]) -> Outcome:
    """What comes of steps if the operator sees each of them, and has the time for it."""
    return context.undisturbed(*(replace(step, unseen=False, soon=False, together=False, members=0) for step in steps))


def once(context: Context, expected: Outcome, outcome: Outcome, what: str) -> Iterator[Violation]:
    """No effect comes more often than in another run of the same steps, whatever is left of it in the end."""
    usual, found = _effects(context, expected), _effects(context, outcome)
    for kind, made in sorted(found.items()):
        before = len(usual.get(kind, ()))
        if len(made) > before:
            last = made[-1]
            message = f"a {kind} is created {times(len(made))} {what}, instead of {times(before)}"
            yield Violation(message, last.place, (), ("once", kind, last.place), by=last)
            return


def _effects(context: Context, outcome: Outcome) -> dict[str, list[Sent]]:
    kinds = {*WORK, *context.subject.once}
    every: dict[str, list[Sent]] = {}
    gone: set[str] = set()
    for change in outcome.changes:
        if change.after is None:
            gone.add(read(change.before or b"{}")["metadata"]["uid"])
        elif change.before is None and change.by is not None and change.identity.kind in kinds:
            owners = [owner["uid"] for owner in read(change.after)["metadata"].get("ownerReferences") or ()]
            if not owners or not gone.issuperset(owners):  # else the cluster takes it away before it does something
                every.setdefault(change.identity.kind, []).append(change.by)
    return every


def times(number: int) -> str:
    """How often, as a word."""
    return {0: "never", 1: "once", 2: "twice"}.get(number, f"{number} times")


def same_end(context: Context, expected: Outcome, what: str, *, is_alone: bool = True, is_new: bool = False) -> Verdict:
    """A verdict: the same last state as in another run, of which each step was accepted.

    Args:
        context: The sample.
        expected: The other run.
        what: What happened.
        is_alone: Whether there was no other object of the kind, for which the operator works, too.
        is_new: Whether everything was made anew in the other run.
    """
    compare = context.compare_with_new if is_new else context.compare

    def unlike_in(outcome: Outcome, state: State) -> tuple[Difference, ...]:
        return compare(expected.states[-1], state, outcome=outcome, of=expected)

    def comes_later(outcome: Outcome, found: Iterable[Difference]) -> bool:
        states = (expected.states[-1], outcome.states[-1])
        is_watched = any(context.is_watched(each.identity, *states) for each in found)
        if not is_watched and context.comes_right(outcome, unlike_in):
            return True
        return context.waits(outcome, len(outcome.states), unlike_in)

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if outcome.refused or expected.refused:
            return
        if not outcome.at_rest:
            if expected.at_rest:
                yield restless(outcome, what)
        elif (found := unlike_in(outcome, outcome.states[-1])) and not comes_later(outcome, found):
            yield Violation(f"{found[0]} {what}", place_among(found, outcome, expected), found, cause_of(found))
        elif is_alone:
            yield from once(context, expected, outcome, what)

    return Verdict(
        judge, lambda other, steps: same_end(other, calm(other, steps), what, is_alone=is_alone, is_new=is_new)
    )


def comes_back(context: Context, after: str, cause: tuple[str, ...] = (), undo: tuple[Step, ...] = ()) -> Verdict:
    """A verdict: what somebody did to a child has no lasting effect, unless nobody can undo it.

    The operator may look again for a child that it cannot watch, and one of kopf for each child, by a timer.

    Args:
        context: The sample.
        after: What somebody did.
        cause: See :class:`Violation`.
        undo: What somebody did, and the opposite. The API server may refuse it, as if a volume became smaller.
    """
    unlike_in = partial(lasting, context)

    def comes_later(outcome: Outcome) -> bool:
        child = Identity.of(outcome.history.steps[-1].manifest) if outcome.history is not None else None
        may_look_later = child is not None and (outcome.is_of_kopf or not context.is_owned(child))
        if may_look_later and context.comes_right(outcome, unlike_in):
            return True
        return context.waits(outcome, len(outcome.states), unlike_in)

    def judge(outcome: Outcome) -> Iterator[Violation]:
        if outcome.refused:
            return  # the API server does not let anybody do it
        if not outcome.at_rest:
            yield restless(outcome, f"after the {after}")
            return
        unlike = unlike_in(outcome, outcome.states[-1])
        if unlike and not comes_later(outcome) and not (undo and context.undisturbed(context.create, *undo).refused):
            place = place_among(unlike, outcome, context.base)
            yield Violation(f"{unlike[0]} after the {after}", place, unlike, cause or cause_of(unlike))

    return Verdict(judge, lambda other, _: comes_back(other, after, cause, undo))


def unbroken(*, hinders: bool = False) -> Verdict:
    """A verdict: the invariants hold.

    Args:
        hinders: Whether they need not hold at rest, see :class:`Case`.
    """
    return by_itself(partial(_broken, hinders=hinders))


def _broken(outcome: Outcome, *, hinders: bool) -> Iterator[Violation]:
    for breach in outcome.breaches:
        if breach.at_rest and hinders:
            continue
        change = breach.change
        by = change.by if change is not None else None
        maker = outcome.maker_of(change.identity) if change is not None and by is None else None
        struck = outcome.struck_before(breach.step)
        place = next((sent.place for sent in (by, struck, maker) if sent is not None and sent.place), None)
        message = f"the invariant `{breach.name}` does not hold: {breach.text}".removesuffix(": it does not hold")
        yield Violation(message, place, (), ("invariant", breach.name), breach.step, by)


def first_bug(outcome: Outcome) -> Failure | None:
    """The first error of programming."""
    return next((failure for failure in outcome.failures if failure.is_bug), None)


def without_bug(context: Context) -> Verdict:
    """A verdict: no error of programming comes up, whatever happens, beside one that the sample itself shows.

    Operators check with ``assert`` and raise ``ValueError`` on purpose, so that they are called again.
    """

    def judge(outcome: Outcome) -> Iterator[Violation]:
        known = {(each.kind, each.place) for each in context.base.failures}
        for each in outcome.failures:
            if each.is_bug and each.kind not in _RAISED and (each.kind, each.place) not in known:
                steps = max(1, sum(began <= each.at for began in outcome.began))
                told = f"{each.kind} in a reconcile: {each.message}"
                yield Violation(told, each.place, (), _bug(each), steps, remedy=_MEND)
                return

    return Verdict(judge, lambda other, _: without_bug(other), compares=False)


_MEND = "it hides the error that led here, and what the operator would do next: mend the line, and test it"
_RAISED = ("ValueError", "ValidationError", "AssertionError")


def _bug(failure: Failure) -> tuple[Any, ...]:
    return failure.kind, failure.place


def bug_of(failure: Failure, accepted: str, *, steps: int | None = None) -> Violation:
    """The operator, a webhook or a converter fails for what the schema accepts."""
    told = f"{failure.kind}, though the schema accepts {accepted}: {failure.message}"
    if failure.kind == SystemExit.__name__:
        told = f"the process ends, though the schema accepts {accepted}: {failure.kind}: {failure.message}"
    return Violation(told, failure.place, (), _bug(failure), steps)


def lasting(context: Context, outcome: Outcome, state: State) -> tuple[Difference, ...]:
    """In which ways a later state is not like the first one of a run, though somebody only changed a child."""
    found = context.compare_with_new(outcome.states[0], state, outcome=outcome)
    return tuple(each for each in found if not _is_extended(each))


def _is_extended(difference: Difference) -> bool:
    """Whether a list only has more members. With server-side apply, those of others stay, as under another port."""
    expected, found = difference.expected, difference.found
    return isinstance(expected, list) and isinstance(found, list) and all(each in found for each in expected)


def place_of(sent: Sent | None) -> Span | None:
    """The line that sent a request."""
    return sent.place if sent is not None else None


def restless(outcome: Outcome, when: str) -> Violation:
    """The operator writes or reconciles without end."""
    if outcome.unrest:
        place = outcome.unrest_at
        message = f"the operator does not come to rest {when}: it {outcome.unrest}"
        return Violation(message, place, (), ("restless", place))
    last = next((sent for sent in reversed(outcome.sent) if sent.write), None)
    message = f"the operator does not come to rest {when}: it {last or 'reconciles again and again'}"
    return Violation(message, place_of(last), (), ("restless", place_of(last)), by=last)


def place_among(found: Sequence[Difference], outcome: Outcome, expected: Outcome) -> Span | None:
    """The line that made the first of the differences: that wrote the field, or else the object."""
    for difference in found:
        runs = (outcome, expected) if difference.path else ()
        writers = (run.writer_of(difference.identity, difference.path) for run in runs)
        if place := next((writer.place for writer in writers if writer is not None and writer.place), None):
            return place
        if (
            difference.found is not None
            and not difference.path
            and (creator := outcome.creator_of(difference.identity))
        ):
            return creator.place
        maker = outcome.maker_of(difference.identity) or expected.maker_of(difference.identity)
        if maker is not None:
            return maker.place
    return None


def cause_of(found: Sequence[Difference]) -> tuple[Any, ...]:
    """What differs, without names and numbers."""
    return tuple(sorted({(each.identity.kind, each.path.partition("[")[0], each.found is None) for each in found}))
