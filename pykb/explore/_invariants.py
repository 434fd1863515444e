"""Invariants: what a project says must hold in its cluster, whatever happens."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple, cast

from pykb.api.safe_text import error_text, safe_text
from pykb.client.codec import Key, ReadKind, ReadT, from_wire, gvk_of, key_of, kind_of
from pykb.client.guard import is_end, outside_task
from pykb.client.selectors import Labels, as_selector
from pykb.diagnostics import Diagnostic, Span
from pykb.diagnostics.codes.explore import INVARIANT
from pykb.explore._gate import place_in
from pykb.explore._history import Identity
from pykb.explore._outcome import Breach, Change, Outcome, place_of_error
from pykb.explore._state import read
from pykb.explore._watch import Interrupted
from pykb.meta.gvk import GroupVersionKind

_LONGEST_TEXT = 200
_MOST_CHANGES = 200
"""The changes before a rest among which the guilty one is looked for."""


class ClusterView:
    """The objects of the cluster at one moment, to read only.

    ::

        def is_owned(cluster: ClusterView) -> None:
            for child in cluster.list(ConfigMap, labels="app.kubernetes.io/managed-by=pykb"):
                assert child.metadata.owner_references, f"{child.metadata.name} would be left over"
    """

    def __init__(self, objects: Mapping[Identity, bytes]) -> None:
        self._objects = objects

    def list(self, kind: ReadKind[ReadT], *, namespace: str | None = None, labels: Labels | None = None) -> list[ReadT]:
        """The objects of a kind, sorted by namespace and name.

        Args:
            kind: A class, or the identity of a kind for untyped JSON.
            namespace: Only objects in this namespace. ``None`` means all namespaces.
            labels: Only objects that match this label selector, such as ``"app=web"``.

        Raises:
            LookupError: The API server stores the kind in another version.
        """
        selector = as_selector(labels)
        every = (
            read(self._objects[each])
            for each in sorted(self._of_kind(gvk_of(kind_of(kind))))
            if namespace is None or each.namespace == namespace
        )
        chosen = (each for each in every if selector is None or selector.matches(each["metadata"].get("labels")))
        return [cast("ReadT", from_wire(kind_of(kind), each)) for each in chosen]

    def find(self, kind: ReadKind[ReadT], key: Key, *, namespace: str | None = None) -> ReadT | None:
        """One object, or ``None``.

        Args:
            kind: A class, or the identity of a kind for untyped JSON.
            key: The object, its name, or ``namespace/name``.
            namespace: The namespace, if the key has none.

        Raises:
            LookupError: The API server stores the kind in another version.
        """
        where = key_of(key)
        wanted = (where.namespace or namespace or "", where.name)
        for each in self._of_kind(gvk_of(kind_of(kind))):
            if (each.namespace, each.name) == wanted:
                return cast("ReadT", from_wire(kind_of(kind), read(self._objects[each])))
        return None

    def _of_kind(self, gvk: GroupVersionKind) -> Iterator[Identity]:
        for each in self._objects:
            if each.kind == gvk.kind and each.api_version.rpartition("/")[0] == gvk.group:
                if each.api_version != gvk.api_version:
                    message = f"the API server stores {each.kind} as {each.api_version}, not as {gvk.api_version}"
                    raise LookupError(message)
                yield each


Check = Callable[[ClusterView], bool | str | None]
"""Says whether something holds: by ``assert``, by ``False``, or by a text that says what does not."""


@dataclass(frozen=True, slots=True)
class Invariant:
    """Something that must hold whenever everything is at rest.

    Attributes:
        check: Says whether it holds.
        is_strict: Whether it must hold after each change of the operator, too.
        seconds: For how long it may not hold. Defaults to the next rest.
    """

    check: Check
    is_strict: bool = False
    seconds: float | None = None

    def __call__(self, view: ClusterView) -> bool | str | None:
        """Check it, as the function itself does."""
        return self.check(view)

    def load(self) -> Invariant:
        """It is imported already."""
        return self

    @property
    def name(self) -> str:
        """What people call it."""
        return getattr(self.check, "__name__", None) or type(self.check).__name__

    def place(self, root: Path | None) -> Span | None:
        """The line of its function."""
        code = getattr(self.check, "__code__", None)
        return None if code is None else place_in(root, [(code.co_filename, code.co_firstlineno)])


def invariant_of(check: Check) -> Invariant:
    """An invariant that holds at each rest, unless the function says something else."""
    return check if isinstance(check, Invariant) else Invariant(check)


def always(check: Check) -> Invariant:
    """Let a condition hold after each change, not only at rest. What somebody else changes does not count.

    ::

        @always
        def never_two_primaries(cluster: ClusterView) -> bool:
            return len(cluster.list(Pod, labels="role=primary")) <= 1
    """
    return Invariant(check, is_strict=True)


def within(limit: timedelta) -> Callable[[Check], Invariant]:
    """Let a condition hold again after a limit of virtual time, not only at rest.

    ::

        @within(timedelta(minutes=5))
        def is_published(cluster: ClusterView) -> bool:
            return all(site.status.created for site in cluster.list(Site))
    """
    return lambda check: Invariant(check, seconds=limit.total_seconds())


class _Wrong(NamedTuple):
    """Since when an invariant does not hold, and the change that made it so."""

    at: float
    change: Change | None


@dataclass(slots=True)
class Watched:
    """Checks invariants in one history, and notes in its outcome what does not hold.

    Attributes:
        invariants: The invariants.
        root: The folder of the user's code.
        outcome: Where to note.
        objects: The objects at the present moment.
    """

    invariants: Sequence[Invariant]
    root: Path | None
    outcome: Outcome
    objects: dict[Identity, bytes]
    _failed: set[str] = field(init=False, default_factory=set)
    _wrong: dict[int, _Wrong] = field(init=False, default_factory=dict)
    _at_rest: dict[Identity, bytes] = field(init=False, default_factory=dict)
    _since_rest: list[Change] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        """Nothing has changed yet."""
        self._at_rest = dict(self.objects)

    def note(self, change: Change, *, is_unavoidable: bool) -> None:
        """Something has changed."""
        _apply(self.objects, change)
        self._since_rest.append(change)
        for number, invariant in enumerate(self.invariants):
            if invariant.is_strict or invariant.seconds is not None:
                self._look(number, change, is_unavoidable=is_unavoidable)

    def rest(self) -> None:
        """Everything is at rest, so everything must hold."""
        for number, invariant in enumerate(self.invariants):
            if text := self._ask(invariant, self.objects):
                change = self._wrong[number].change if number in self._wrong else self._guilty(invariant)
                self._break(number, text, change, at_rest=True)
        self._at_rest = dict(self.objects)
        self._since_rest.clear()

    def _look(self, number: int, change: Change, *, is_unavoidable: bool) -> None:
        """Check an invariant after a change."""
        invariant = self.invariants[number]
        text = self._ask(invariant, self.objects)
        before = self._wrong.get(number)
        if before is not None and invariant.seconds is not None and change.at - before.at > invariant.seconds:
            late = f"it did not hold for more than {invariant.seconds:g} seconds"
            self._break(number, late, before.change)
        if not text:
            self._wrong.pop(number, None)
        elif before is None:
            self._wrong[number] = _Wrong(change.at, change)
            if invariant.is_strict and not is_unavoidable and not self._is_collected(change):
                self._break(number, text, change)

    def _break(self, number: int, text: str, change: Change | None, *, at_rest: bool = False) -> None:
        """Note that an invariant does not hold, once in a history."""
        name = self.invariants[number].name
        if not any(each.name == name for each in self.outcome.breaches):
            self.outcome.breaches.append(Breach(name, text, change, max(1, len(self.outcome.began)), at_rest))

    def _is_collected(self, change: Change) -> bool:
        """Whether an object goes because its owner has gone."""
        if change.after is not None or change.by is not None or change.before is None:
            return False
        owners = {owner["uid"] for owner in read(change.before)["metadata"].get("ownerReferences") or ()}
        return not owners <= {read(each)["metadata"]["uid"] for each in self.objects.values()}

    def _guilty(self, invariant: Invariant) -> Change | None:
        """The change since the last rest after which an invariant did not hold any more."""
        objects, found = dict(self._at_rest), None
        for change in self._since_rest[:_MOST_CHANGES]:
            _apply(objects, change)
            if not self._ask(invariant, objects):
                found = None
            elif found is None:
                found = change
        return found

    def _ask(self, invariant: Invariant, objects: Mapping[Identity, bytes]) -> str:
        """What does not hold; empty if everything does, or if the function fails."""
        if invariant.name in self._failed:
            return ""
        self.outcome.checks = invariant.name
        try:
            answer: Any = outside_task(invariant.check, ClusterView(objects))
        except Interrupted:
            raise
        except AssertionError as error:
            answer = _short(error) or False
        except BaseException as error:
            if is_end(error):
                raise
            self._fail(invariant, place_of_error(error, self.root), f"raises {error_text(error)}")
            answer = None
        self.outcome.checks = ""
        if answer is False:
            return "it does not hold"
        if isinstance(answer, str):
            return _short(answer)
        if answer is None or answer is True:
            return ""
        if inspect.iscoroutine(answer):
            answer.close()
        self._fail(invariant, invariant.place(self.root), f"returns {type(answer).__name__}, no truth value or text")
        return ""

    def _fail(self, invariant: Invariant, place: Span | None, why: str) -> None:
        """Note that an invariant cannot be checked. It is not asked again in this history."""
        self._failed.add(invariant.name)
        message = f"the invariant `{invariant.name}` {why}"
        self.outcome.unchecked.append(INVARIANT.at(place, message, _PLAIN))


_PLAIN = "write a plain function of the cluster: it says by `assert`, by `False` or by a text what does not hold"


def endless(name: str, invariants: Sequence[Invariant], root: Path | None) -> Diagnostic:
    """The message about an invariant that does not end."""
    place = next((each.place(root) for each in invariants if each.name == name), None)
    return INVARIANT.at(place, f"the invariant `{name}` does not end", _PLAIN)


def view_of(outcome: Outcome) -> ClusterView:
    """What has changed in a history, as it is in the end."""
    objects: dict[Identity, bytes] = {}
    for change in outcome.changes:
        _apply(objects, change)
    return ClusterView(objects)


def _apply(objects: dict[Identity, bytes], change: Change) -> None:
    if change.after is None:
        objects.pop(change.identity, None)
    else:
        objects[change.identity] = change.after


def _short(value: object) -> str:
    return safe_text(value, _LONGEST_TEXT).partition("\n")[0]
