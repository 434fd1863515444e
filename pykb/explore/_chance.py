"""What chance or other objects decided in a state: found by a run with others, and compared by where it comes from."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pykb.explore._history import Identity
from pykb.explore._outcome import Change, Outcome
from pykb.explore._state import State, read
from pykb.explore._variants import spell
from pykb.meta.json_diff import MISSING, Parts, Path, at, changes, fields_of

_WORD = re.compile(r"[A-Za-z0-9+/=_]*")
_NAME: Path = ("metadata", "name")


@dataclass(frozen=True, slots=True)
class _Token:
    """A part of a value that differs when chance does.

    Attributes:
        identity: The object.
        path: The field.
        before: What is before the part, in the value.
        text: The part.
        after: What is after the part.
    """

    identity: Identity
    path: Path
    before: str
    text: str
    after: str

    @property
    def plain(self) -> str:
        """The text, decoded in a Secret."""
        if self.identity.is_secret and self.path[0] == "data":
            try:
                return base64.b64decode(self.text, validate=True).decode()
            except (binascii.Error, ValueError):
                pass
        return self.text

    @property
    def origin(self) -> str:
        """Which field of which kind has it."""
        return f"{self.identity.kind}: {spell(self.path)}"


Counts = Callable[[Identity, Path, State], bool]
"""Whether a value counts that differs in another run: that of an object, at a path, in a state of that run."""


_RANDOM = "random value"


def is_given_out(identity: Identity, path: Path, state: State) -> bool:
    """Whether all objects of the kind have a value there, each another one, as with the lowest free port."""
    values = [at(content, path) for each, content in state.items() if each[:3] == identity[:3]]
    return MISSING not in values and len({repr(value) for value in values}) == len(values) > 1


def is_random(value: object) -> bool:
    """Whether :func:`masked` has put a placeholder for what chance made into a value."""
    return isinstance(value, str) and f"{_RANDOM} of " in value


def masked(state: State, outcome: Outcome, other: Outcome, counts: Counts | None = None) -> State:
    """A state with placeholders for what chance made, or was given out. Equal ones have the same place for it.

    Such a value that the operator changed later has another placeholder: users have the first one.

    Args:
        state: One of the outcome's.
        outcome: What came of a history.
        other: What came of the same history with other random values, or among more objects.
        counts: Which values get a placeholder, of those that differ. Defaults to all.
    """
    number = next((number for number, (rest, _) in enumerate(outcome.rests) if rest is state), None)
    if number is None or number >= len(other.rests):
        return state
    every = other.rests[number][0]
    twins = {each: content for each, content in every.items() if each in outcome.initial or each not in other.initial}
    pairs = list(_pairs(state, outcome, twins, other))
    tokens = [token for one, two in pairs for token in _tokens(one, state[one], two, twins[two])]
    if counts is not None:
        tokens = [token for token in tokens if counts(token.identity, token.path, every)]
    changes = outcome.changes[: outcome.rests[number][1]]
    origins = _origins(tokens, changes)
    # A status reports what other objects have, and follows them.
    sources = {id(token) for token in tokens if token.path[0] != "status"} or set(map(id, tokens))
    changed = {
        id(token)
        for token in tokens
        if id(token) in sources and _is_changed(token, _since_gone(token, outcome, number))
    }
    kind = _RANDOM
    if counts is not None:
        kind = "given value"
        changed |= {id(token) for token in tokens if token.path == _NAME and _is_exchanged(token.identity, changes)}
    result: dict[Identity, Mapping[str, Any]] = {}
    for identity in _by_creation(state, outcome):
        own = [token for token in tokens if token.identity == identity]
        words = {token.path: _placeholder(token, origins, kind, is_changed=id(token) in changed) for token in own}
        content = _replaced(state[identity], (), words)
        named = identity._replace(name=_numbered(identity, words, result))
        result[named] = content
    return result


def _pairs(one: State, first: Outcome, two: State, second: Outcome) -> Iterator[tuple[Identity, Identity]]:
    """Yield the objects of a state, each with the same one of another: of the same name, or made in the same order."""
    yield from ((identity, identity) for identity in one if identity in two)
    left = [identity for identity in _by_creation(two, second) if identity not in one]
    for identity in _by_creation(one, first):
        if identity not in two and (twin := next((each for each in left if each[:3] == identity[:3]), None)):
            left.remove(twin)
            yield identity, twin


def _by_creation(state: State, outcome: Outcome) -> list[Identity]:
    order = {change.identity: number for number, change in enumerate(outcome.changes) if change.before is None}
    return sorted(state, key=lambda identity: (order.get(identity, -1), identity))


def _tokens(one: Identity, content: Any, two: Identity, other: Any) -> Iterator[_Token]:
    if one.name != two.name:
        yield _token(one, _NAME, one.name, two.name)
    for path, value, twin in changes(content, other, _common_parts):
        if path != _NAME and type(value) is type(twin):
            yield _token(one, path, value, twin)


def _common_parts(_path: Path, one: Any, two: Any) -> Parts | None:
    """The parts that both have. The ends of a longer list are no values of chance."""
    if isinstance(one, dict) and isinstance(two, dict):
        return [part for part in fields_of(one, two) if part[1] is not MISSING and part[2] is not MISSING]
    if isinstance(one, list) and isinstance(two, list):
        pairs = enumerate(zip(one, two, strict=False))
        return [(index, old, new) for index, (old, new) in pairs if old != new]
    return None


def _token(identity: Identity, path: Path, one: Any, two: Any) -> _Token:
    """The middle of a text, where it differs. Words are not divided: by chance, they may begin alike."""
    if not isinstance(one, str):
        return _Token(identity, path, "", str(one), "")
    begin = next(
        (length for length, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two))
    )
    back = zip(reversed(one[begin:]), reversed(two[begin:]), strict=False)
    end = len(one) - next((length for length, (a, b) in enumerate(back) if a != b), min(len(one), len(two)) - begin)
    begin -= len(_WORD.match(one[:begin][::-1])[0])  # type: ignore[index] # it always matches
    end += len(_WORD.match(one[end:])[0])  # type: ignore[index]
    return _Token(identity, path, one[:begin], one[begin:end], one[end:])


def _origins(tokens: Sequence[_Token], changes: Sequence[Change]) -> dict[str, str]:
    """Where each text was first."""
    written = [(change.identity, change.after) for change in changes if change.after]
    order = {token: _first(token, written) for token in tokens}
    origins: dict[str, str] = {}
    for token in sorted(tokens, key=lambda each: (order[each], each.origin, each.identity)):
        origins.setdefault(token.plain, token.origin)
    return origins


def _first(token: _Token, written: Sequence[tuple[Identity, bytes]]) -> int:
    text = token.text.encode()
    each = (number for number, (identity, after) in enumerate(written) if identity == token.identity and text in after)
    return next(each, len(written))


def _placeholder(token: _Token, origins: Mapping[str, str], kind: str, *, is_changed: bool) -> str:
    return f"{token.before}<{'changed ' if is_changed else ''}{kind} of {origins[token.plain]}>{token.after}"


def _is_changed(token: _Token, changes: Sequence[Change]) -> bool:
    """Whether the operator wrote another value before, or deleted it, since somebody deleted something."""
    written = [each for each in _since_loss(changes) if each.identity == token.identity and each.by is not None]
    if any(each.after is None and at(read(each.before or b"{}"), token.path) is not MISSING for each in written):
        return True
    values = (at(read(each.after), token.path) for each in written if each.after)
    first = next((value for value in values if value is not MISSING and value is not None), None)
    return first is not None and token.text not in str(first)


def _since_gone(token: _Token, outcome: Outcome, number: int) -> Sequence[Change]:
    """The changes until a rest, since the last one without the value: users knew that it had gone."""
    earlier = (count for rest, count in outcome.rests[:number] if at(rest.get(token.identity), token.path) is MISSING)
    return outcome.changes[max(earlier, default=0) : outcome.rests[number][1]]


def _is_exchanged(identity: Identity, changes: Sequence[Change]) -> bool:
    """Whether the operator deleted an object of the kind that was there before, since somebody deleted something."""
    begun = {each.identity: number for number, each in enumerate(changes) if each.before is None}
    own = begun.get(identity, 0)
    deleted = [each.identity for each in _since_loss(changes) if each.by is not None and each.after is None]
    return any(each[:3] == identity[:3] and begun.get(each, own) < own for each in deleted)


def _since_loss(changes: Sequence[Change]) -> Sequence[Change]:
    """The changes after somebody last deleted something."""
    lost = [number for number, each in enumerate(changes) if each.by is None and each.after is None]
    return changes[lost[-1] :] if lost else changes


def _replaced(content: Any, path: Path, words: Mapping[Path, str]) -> Any:
    if path in words:
        return words[path]
    if isinstance(content, Mapping):
        return {name: _replaced(each, (*path, name), words) for name, each in content.items()}
    if isinstance(content, list):
        return [_replaced(each, (*path, index), words) for index, each in enumerate(content)]
    return content


def _numbered(identity: Identity, words: Mapping[Path, str], others: Mapping[Identity, object]) -> str:
    """The name with a placeholder. If several objects have it, those after the first one end with a number."""
    name = words.get(_NAME)
    if name is None:
        return identity.name
    number = 1
    while identity._replace(name=(numbered := name if number == 1 else f"{name}{number}")) in others:
        number += 1
    return numbered
