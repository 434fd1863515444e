"""What a cluster holds at rest, without what servers count and clocks say, and how two states differ."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from pykb.explore._history import Identity, Manifest
from pykb.explore._variants import shorten, spell
from pykb.meta.json_diff import sorted_changes
from pykb.runtime.records.causes import HIDDEN

_SERVER_METADATA = (
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "managedFields",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PLACEHOLDER = re.compile(r"<(changed )?(random|given) value of [^>]*>\d*")
_COUNTER = re.compile(r"generation$|^collisionCount$", re.IGNORECASE)
_APART = ("Event", "Lease", "CustomResourceDefinition")

State = Mapping[Identity, Mapping[str, Any]]
"""Objects without what differs by design."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A field in which two states differ.

    Attributes:
        identity: The object.
        path: The field; empty for the whole object.
        expected: Its value, ``None`` if it should be missing.
        found: The other value, ``None`` if it is missing.
    """

    identity: Identity
    path: str
    expected: Any
    found: Any

    def __str__(self) -> str:
        name = str(self.identity)
        if not self.path:
            return f"{name} is missing" if self.found is None else f"{name} is left over"
        if self.found is None or self.expected is None:
            value = self.expected if self.found is None else self.found
            equals = "" if self.is_hidden else f" = {shorten(value)}"
            return f"{name}: {self.path}{equals} is {'missing' if self.found is None else 'left over'}"
        if self.is_hidden:
            return f"{name}: {self.path} has another value"
        return f"{name}: {self.path} is {shorten(self.found)} instead of {shorten(self.expected)}"

    @property
    def is_hidden(self) -> bool:
        """Whether it is in the content of a Secret."""
        return self.identity.is_secret and self.path.startswith(("data", "stringData"))

    def shown(self, value: Any) -> str:
        """A value of the field, shortened. Contents of Secrets are hidden."""
        return HIDDEN if self.is_hidden else shorten(value)


def read(content: bytes) -> Manifest:
    """An object from its JSON."""
    manifest: Manifest = orjson.loads(content)
    return manifest


@functools.lru_cache(maxsize=512)
def look_at(content: bytes) -> Manifest:
    """An object from its JSON, to look at. Others have it, too: do not change it."""
    return read(content)


def state_of(objects: Iterable[Mapping[str, Any]]) -> State:
    """Reduce objects to what can be compared. Generated names become their prefix and a number."""
    every = list(objects)
    named = {found["metadata"]["uid"]: f"<uid of {Identity.of(found)}>" for found in every}
    made = (found["metadata"] for found in every if found["metadata"].get("generateName"))
    named |= {metadata["name"]: f"{metadata['generateName']}<generated>" for metadata in made}
    state: dict[Identity, Mapping[str, Any]] = {}
    generated: dict[Identity, list[Mapping[str, Any]]] = {}
    for found in every:
        if found["kind"] in _APART:
            continue
        identity, reduced = Identity.of(found), _reduce(found, named)
        prefix = found["metadata"].get("generateName")
        if prefix:
            generated.setdefault(identity._replace(name=prefix), []).append(reduced)
        else:
            state[identity] = reduced
    for identity, members in generated.items():
        for number, member in enumerate(sorted(members, key=repr)):
            state[identity._replace(name=f"{identity.name}{number}")] = member
    return state


def is_generated(written: bytes | None, name: str) -> bool:
    """Whether a state calls an object so: by the prefix of its name and a number, or with placeholders for chance."""
    metadata = read(written)["metadata"] if written else {}
    text, count = _PLACEHOLDER.subn("\0", name)
    if count:
        return re.fullmatch(re.escape(text).replace("\0", ".+"), metadata.get("name", "")) is not None
    prefix: str = metadata.get("generateName") or name + "?"
    return name.startswith(prefix)


def differences(expected: State, found: State, ignore: Sequence[str] = ()) -> tuple[Difference, ...]:
    """The fields in which a state is not the expected one, in order: what comes or goes with its owner is last.

    Args:
        expected: The expected state.
        found: The other one.
        ignore: Fields that may differ; see :func:`ignoring`.
    """
    every: list[Difference] = []
    for identity in sorted({*expected, *found}):
        before, after = expected.get(identity), found.get(identity)
        if before is None or after is None:
            every.append(Difference(identity, "", before, after))
        elif before != after:
            every += [Difference(identity, spell(path), *values) for path, *values in sorted_changes(before, after)]
    whole = {each.identity.key for each in every if not each.path}
    every.sort(
        key=lambda each: not each.path and not whole.isdisjoint(owner_keys(each.identity, each.expected or each.found))
    )
    return tuple(each for each in every if ignoring(each, ignore) is None)


def owner_keys(identity: Identity, obj: Mapping[str, Any]) -> set[str]:
    """The keys of the owners of an object: in its namespace, or for the whole cluster, which is not known."""
    owners = obj.get("metadata", {}).get("ownerReferences") or ()
    places = ("", identity.namespace)
    return {Identity(each["apiVersion"], each["kind"], where, each["name"]).key for each in owners for where in places}


def beats(identity: Identity, before: bytes | None, after: bytes | None, ignored: Sequence[str]) -> set[str]:
    """The fields of a status that may differ, if an object was changed in nothing else; see :func:`ignoring`."""
    if not (before and after and ignored):
        return set()
    every = sorted_changes(_without_metadata(read(before)), _without_metadata(read(after)))
    changed = [Difference(identity, spell(path), *values) for path, *values in every]
    names = {ignoring(each, ignored) if each.path.startswith("status.") else None for each in changed}
    return set() if None in names else {name for name in names if name}


def _without_metadata(manifest: Manifest) -> Manifest:
    metadata = {name: value for name, value in manifest["metadata"].items() if name not in _SERVER_METADATA}
    return {**manifest, "metadata": metadata}


def ignoring(difference: Difference, ignored: Iterable[str]) -> str | None:
    """Which of some fields that may differ is about a difference, or around it.

    Args:
        difference: The difference.
        ignored: Fields such as ``status.startedAt`` or ``Widget.status.startedAt``, or kinds, which also stand for
            references to objects of them.
    """
    path = difference.path
    names = [name for name in (path, f"{difference.identity.kind}.{path}".rstrip(".")) if name]
    if path.startswith("status."):
        names += _referred_kind(difference)
    return next(
        (each for each in ignored if any(name == each or name.startswith((f"{each}.", f"{each}[")) for name in names)),
        None,
    )


def _referred_kind(difference: Difference) -> list[str]:
    """The kind of the references to objects that a difference is about, if it is about nothing else."""
    values = [value for value in (difference.expected, difference.found) if value is not None]
    every = [each for value in values for each in (value if isinstance(value, list) else [value])]
    kinds = {str(each.get("kind")) if isinstance(each, dict) and "name" in each else "" for each in every}
    return [*kinds] if len(kinds) == 1 else []


def _reduce(manifest: Mapping[str, Any], named: Mapping[str, str]) -> dict[str, Any]:
    metadata = {name: value for name, value in manifest["metadata"].items() if name not in _SERVER_METADATA}
    if metadata.pop("generateName", None):
        del metadata["name"]
    if manifest["metadata"].get("deletionTimestamp"):
        metadata["deletionTimestamp"] = "<set>"
    if references := metadata.get("ownerReferences"):
        metadata["ownerReferences"] = [
            {name: value for name, value in reference.items() if name != "uid"} for reference in references
        ]
    content = {name: value for name, value in manifest.items() if name not in ("apiVersion", "kind")}
    if manifest["kind"] == "Namespace":
        content.pop("spec", None)  # it is the API server's
    if not content.get("status"):
        content.pop("status", None)
    return {name: _timeless(value, named) for name, value in (content | {"metadata": metadata}).items()}


def _is_counter(name: str, value: Any) -> bool:
    """Whether a field counts changes: ``observedGeneration``, and what operators call it."""
    return (isinstance(value, int) or str(value).isdigit()) and _COUNTER.search(name) is not None


def _timeless(value: Any, named: Mapping[str, str]) -> Any:
    """Replace times and uids, and leave out counters."""
    if isinstance(value, dict):
        return {name: _timeless(each, named) for name, each in value.items() if not _is_counter(name, each)}
    if isinstance(value, list):
        values = [_timeless(each, named) for each in value]
        # Conditions, owner references: lists whose order says nothing.
        if all(isinstance(each, dict) and ("type" in each or "kind" in each) for each in values):
            values.sort(key=repr)
        return values
    if isinstance(value, str):
        if value in named:  # the name or the uid of an object
            return named[value]
        return UID.sub(lambda found: named.get(found[0], found[0]), _TIME.sub("<time>", value))
    return value
