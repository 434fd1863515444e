"""Checks with random objects that a converter loses nothing: converting there and back gives the same object."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from pykb.api.conversion import Converter, Unconvertible
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.api.wire import encode, wire_name
from pykb.meta.json_diff import Parts, Path, changes
from pykb.testing._paths import is_within, parse_path, spell
from pykb.testing.objects.kinds import Override, check_paths, drawn_objects, smallest
from pykb.webhook.conversion import finished

MOST_SHOWN = 10
Overrides = Mapping[str, Override] | Mapping[type[Any], Mapping[str, Override]]
"""How to make fields, by path, for both versions or for each version."""
_LONGEST = 120


@dataclass(frozen=True, slots=True)
class Difference:
    """One different value."""

    path: Path
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{spell(self.path)}: {_shown(self.before)} became {_shown(self.after)}"


def assert_round_trips(
    converter: Converter[Any, Any],
    *,
    samples: int = 100,
    seed: int = 0,
    overrides: Overrides | None = None,
    ignore: Sequence[str] = (),
) -> None:
    """Convert random objects spoke -> hub -> spoke and hub -> spoke -> hub, and assert that nothing is lost.

    ::

        def test_no_field_is_lost() -> None:
            assert_round_trips(CronJobConverter(), ignore=("spec.color",))

    The converter gets the objects as the API server sends them: in wire form, and the metadata is
    copied. They are compared as Python objects: a missing field, ``None`` and the default are
    equal, and ``1000m`` equals ``1``. An object that the converter refuses with ``Unconvertible``
    is skipped.

    A spoke may have fewer fields than the hub. It then either keeps the others in an annotation, or
    loses them on purpose. List the fields that it loses in ``ignore``.

    Args:
        converter: The converter.
        samples: How many objects of each version to try.
        seed: Selects the objects. The same seed makes the same objects, so a failure can be
            reproduced.
        overrides: How to make fields with rules beyond their schema; see :func:`objects_of`. They
            apply to both versions, or are given for each: ``{v1.Box: {"spec.size": ...}, v2.Box:
            {"spec.width": ...}}``.
        ignore: Fields that may be lost or changed, including all below them: ``spec.newField``,
            ``spec.ports[].appProtocol``, ``metadata.annotations[example.com/hub]``.

    Raises:
        AssertionError: A field was lost or changed, or the converter failed. The message shows the
            smallest such object and its conversion.
        ValueError: A field needs an override, or a path does not lead to a field.
    """
    __tracebackhide__ = True  # pytest shows only the test's line and the message
    kinds = (converter.spoke, converter.hub)
    check_paths(ignore, kinds)
    own = _by_version(overrides or {}, kinds)
    ignored = tuple(map(parse_path, ignore))
    for kind in kinds:
        trip = _Trip(converter, kind, ignored)
        fault = trip.smallest_fault(own[kind], samples, seed)
        if fault is not None:
            raise AssertionError(_report(fault, converter)) from fault.error


def _by_version(
    overrides: Overrides, kinds: tuple[type[Object], type[Object]]
) -> dict[type[Object], Mapping[str, Override]]:
    """Return the overrides of each version, with checked paths. Overrides without a version apply to both."""
    shared = {path: make for path, make in overrides.items() if isinstance(path, str) and not isinstance(make, Mapping)}
    check_paths(shared, kinds)
    found: dict[type[Object], Mapping[str, Override]] = dict.fromkeys(kinds, shared)
    for kind, own in overrides.items():
        if isinstance(kind, str) or not isinstance(own, Mapping):
            continue
        if kind not in found:
            names = " and ".join(f"`{known.gvk.version}.{known.__name__}`" for known in kinds)
            raise ValueError(f"`{kind.__name__}` in `overrides` is not a version of the converter, which has {names}")
        check_paths(own, (kind,))
        found[kind] = own
    return found


@dataclass(frozen=True, slots=True)
class _Fault:
    """The error for one object."""

    trip: _Trip
    obj: Object
    step: str
    between: dict[str, Any] | None = None
    found: tuple[Difference, ...] = ()
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class _Trip:
    """One direction: from one version to the other and back."""

    converter: Converter[Any, Any]
    kind: type[Object]
    ignored: tuple[Path, ...]

    @property
    def from_(self) -> str:
        """The version that it starts with."""
        return f"{self.kind.gvk.version}.{self.kind.gvk.kind}"

    @property
    def other(self) -> type[Object]:
        """The version in between."""
        return self.converter.hub if self.kind is self.converter.spoke else self.converter.spoke

    def fault(self, obj: Object) -> _Fault | None:
        """Convert there and back. Return the error, if any.

        Raises:
            Unconvertible: The converter refuses the object.
        """
        between: dict[str, Any] | None = None
        obj = _as_sent(obj)
        current, targets = obj, (self.other, self.kind)
        for target in targets:
            step = "to_hub" if target is self.converter.hub else "from_hub"
            before = current.to_wire()
            try:
                made = getattr(self.converter, step)(current)
                if not isinstance(made, target):
                    raise TypeError(f"it must return a {target.gvk.version}.{target.__name__}, got {made!r}")  # noqa: TRY301
                wire = finished(before, made.to_wire(), target.gvk)
                after, current = current, target.from_stored(wire)
            except Unconvertible:
                raise
            except Exception as error:  # noqa: BLE001 - whatever the user's code raises
                return _Fault(self, obj, f"`{step}` failed", between, error=error)
            if after.to_wire() != before:
                changed = tuple(differences(type(after).from_stored(before), after))
                return _Fault(self, obj, f"`{step}` changed its argument", between, changed)
            between = wire if between is None else between
        found = tuple(d for d in differences(obj, current) if not is_within(d.path, self.ignored))
        return _Fault(self, obj, "", between, found) if found else None

    def smallest_fault(self, overrides: Mapping[str, Override], samples: int, seed: int) -> _Fault | None:
        """Return the error of the smallest object that hypothesis finds.

        Raises:
            AssertionError: The converter refuses every object.
        """
        tried, refusals = 0, []

        def shown(obj: Object) -> _Fault | None:
            nonlocal tried
            tried += 1
            try:
                return self.fault(obj)
            except Unconvertible as error:
                refusals.append(error)
                return None

        found = smallest(drawn_objects(self.kind, overrides), shown, samples=samples, seed=seed)
        if tried and len(refusals) == tried:
            raise AssertionError(f"every random {self.from_} was refused: {refusals[-1]}")
        return found


def _as_sent(obj: Object) -> Object:
    """Return the object as the API server sends it, without empty labels or annotations."""
    wire = obj.to_wire()
    metadata = wire.get("metadata") or {}
    empty = [field for field in ("labels", "annotations") if metadata.get(field) == {}]
    if not empty:
        return obj
    wire["metadata"] = {field: value for field, value in metadata.items() if field not in empty}
    return type(obj).from_stored(wire)


def _report(fault: _Fault, converter: Converter[Any, Any]) -> str:
    trip, name = fault.trip, type(converter).__name__
    there = f"{trip.other.gvk.version}.{trip.other.gvk.kind}"
    head = f"{name}: {fault.step or f'{trip.from_} -> {there} -> {trip.from_} gives another object'}"
    lines = [f"{head}: {fault.error}" if fault.error else head]
    shown, more = fault.found[:MOST_SHOWN], len(fault.found) - MOST_SHOWN
    lines += [f"  {difference}" for difference in shown]
    if more > 0:
        lines.append(f"  and {more} more")
    lines += [f"the smallest {trip.from_} that shows it:", *_yaml(fault.obj.to_wire())]
    if fault.between:
        lines += [f"the same object as {there}:", *_yaml(fault.between)]
    if shown and not fault.step:
        general = [tuple("" if isinstance(step, int) else step for step in difference.path) for difference in shown]
        paths = ", ".join(dict.fromkeys(f'"{spell(path)}"' for path in general))
        lines.append(f"if the loss is intended: ignore=({paths},); else keep the value in an annotation")
    return "\n".join(lines)


def _yaml(wire: Mapping[str, Any]) -> list[str]:
    text = yaml.safe_dump(dict(wire), sort_keys=False, allow_unicode=True, default_flow_style=False)
    return [f"  {line}" for line in text.splitlines()]


def differences(before: Any, after: Any, path: Path = ()) -> Iterator[Difference]:
    """Compare as Python does, and return the smallest parts that differ."""
    for change in changes([before], [after], _parts):
        yield Difference((*path, *change.path[1:]), change.before, change.after)


def _are_equal(before: Any, after: Any) -> bool:
    """Whether two plain values are equal. Unlike in Python, ``True`` is not 1, so parts are compared one by one."""
    if isinstance(before, Struct | Mapping) or _is_list(before):
        return False
    return isinstance(before, bool) is isinstance(after, bool) and bool(before == after)


def _parts(_path: Path, before: Any, after: Any) -> Parts | None:
    """The parts of two structs, maps or lists. A missing part is ``None``."""
    kinds = {Mapping if isinstance(side, Mapping) else type(side) for side in (before, after) if side is not None}
    one: Mapping[Any, Any]
    other: Mapping[Any, Any]
    if _is_list(before) and _is_list(after) and len(before) == len(after):
        one, other = dict(enumerate(before)), dict(enumerate(after))
    elif len(kinds) == 1 and all(issubclass(kind, Struct | Mapping) for kind in kinds):
        one, other = _entries(before, after), _entries(after, before)
    else:
        return None
    is_only_presence = (before is None or after is None) and not one and not other
    if is_only_presence or (Mapping in kinds and _nulls(one) - other.keys() | _nulls(other) - one.keys()):
        return None  # in JSON, a null and an empty object differ from a missing field
    every = ((encode(name), one.get(name), other.get(name)) for name in dict.fromkeys([*one, *other]))
    return [part for part in every if not _are_equal(*part[1:])]


def _entries(side: Any, other: Any) -> Mapping[Any, Any]:
    """The entries of a map, or the fields of a struct by their wire names: those that are set, if there is no other."""
    if not isinstance(side, Struct):
        return side or {}
    known = {wire_name(name, field): getattr(side, name) for name, field in type(side).__pydantic_fields__.items()}
    every = {**known, **(side.__pydantic_extra__ or {})}
    present = every if other is not None else encode(side)
    return {name: value for name, value in every.items() if name in present}


def _nulls(entries: Mapping[Any, Any]) -> set[Any]:
    return {name for name, value in entries.items() if value is None}


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _shown(value: Any) -> str:
    if value is None:
        return "absent"
    text = json.dumps(encode(value), ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
