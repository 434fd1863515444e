"""A sample, what the operator makes of it, and other specs of it: what the cases of all codes are made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

import orjson

from pykb.api.builtin import find_class
from pykb.client.codec import gvk_of
from pykb.explore._chance import is_given_out, masked
from pykb.explore._history import History, Identity, Manifest, Step, Verb
from pykb.explore._objects import group_kind_of
from pykb.explore._outcome import Outcome, unfitness
from pykb.explore._past import exchanged, without_done, without_revisions
from pykb.explore._project import Subject
from pykb.explore._signs import waits_for_people, waits_for_time
from pykb.explore._state import Difference, State, differences, ignoring
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
        there = self.base.states[0] if self.base.states else ()  # it never came to rest
        return [each for each in there if each in named and self.base.maker_of(each)]

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

        def is_read(manifest: Manifest) -> bool:
            name = manifest["metadata"]["name"]
            return self.is_listed(manifest) or (*self.resource_of(manifest), name) in read_names

        return [manifest for manifest in self.subject.background if is_read(manifest)]

    def is_listed(self, manifest: Manifest) -> bool:
        """Whether the operator lists or watches the kind of an object."""
        listed = {(sent.group, sent.resource) for sent in self.base.sent if sent.verb in ("list", "watch")}
        return self.resource_of(manifest) in listed

    def resource_of(self, manifest: Manifest) -> tuple[str, str]:
        """The group and the plural of an object's kind."""
        gvk = gvk_of(manifest)
        cls = find_class(gvk)
        if cls is not None and cls.resource is not None:
            return gvk.group, cls.resource.plural
        crds = (crd for crd in self.subject.crds if group_kind_of(crd) == (gvk.group, gvk.kind))
        return gvk.group, next((crd["spec"]["names"]["plural"] for crd in crds), "")

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
