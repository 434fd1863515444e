"""Simpler histories and smaller values, to tell a finding by the least that shows it."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pykb.explore._earlier import Life
from pykb.explore._history import Fault, History, Identity, Manifest, Verb
from pykb.explore._outcome import Outcome
from pykb.explore._variants import AND, put, shorten, spell
from pykb.meta.json_diff import MISSING, Path, at, changes
from pykb.reading import mapping


def counted_by_step(history: History, outcome: Outcome) -> History:
    """The same history, of which the faults strike in the same way whatever steps are before.

    Args:
        history: The history.
        outcome: What came of it.
    """
    faults = [_counted_by_step(fault, outcome) for fault in history.faults]
    return replace(history, fault=faults[0], further=tuple(faults[1:])) if faults else history


def _counted_by_step(fault: Fault, outcome: Outcome) -> Fault:
    struck = outcome.struck.get(fault)
    if struck is None or fault.step or not fault.request:
        return fault
    step, what = sum(began <= struck.at for began in outcome.began), struck.what
    since = outcome.began[step - 1]
    alike = [sent for sent in outcome.sent if sent.number and sent.at >= since and sent.what == what]
    return replace(fault, request=alike.index(struck) + 1, step=step, what=what)


def simpler(history: History) -> Iterator[History]:
    """Yield histories with fewer objects, faults or acts. The first act stays."""
    if history.background:
        yield replace(history, background=())
        for index in range(len(history.background) if len(history.background) > 1 else 0):
            yield replace(history, background=_without(history.background, index))
    for index in range(len(history.further)):
        yield replace(history, further=_without(history.further, index))
    for index in reversed(range(1, len(history.steps))):
        left = [_before_step(fault, index + 1) for fault in history.faults]
        faults = [fault for fault in left if fault is not None]
        if history.is_plain and len(faults) == len(left):
            steps = _without(history.steps, index)
            first = faults[0] if faults else None
            yield replace(history, steps=steps, fault=first, further=tuple(faults[1:]))


def _without(every: tuple[Any, ...], index: int) -> tuple[Any, ...]:
    return (*every[:index], *every[index + 1 :])


def _before_step(fault: Fault, gone: int) -> Fault | None:
    """A fault when a step is gone; ``None`` if it has no place any more."""
    if fault.request and fault.step in (0, gone):
        return None
    return replace(fault, step=fault.step - 1) if fault.step > gone else fault


def smaller(schema: Mapping[str, Any], sample: Manifest, history: History) -> Iterator[tuple[Manifest, History]]:
    """Yield smaller samples, each with the history in which it takes the place of the sample.

    Args:
        schema: The schema of the spec.
        sample: The sample.
        history: The history. What its steps change stays as it is.
    """
    own = Identity.of(sample).key
    manifests = [step.manifest for step in history.steps]
    specs = [each.get("spec") for each in manifests if Identity.of(each).key == own and "spec" in each]
    every = [
        (path, value)
        for path, value in _smaller(schema, sample.get("spec"), ())
        if all(at(spec, path) == at(sample.get("spec"), path) for spec in specs)
    ]
    unneeded = [change for change in every if len(change[0]) == 1 and change[1] is MISSING]
    for smallest in [unneeded] * (len(unneeded) > 1) + [[change] for change in every]:
        steps = [
            replace(step, manifest=_changed(step.manifest, smallest))
            if Identity.of(step.manifest).key == own and "spec" in step.manifest and step.verb is not Verb.PATCH
            else step
            for step in history.steps
        ]
        yield _changed(sample, smallest), replace(history, steps=tuple(steps))


def smaller_before(schema: Mapping[str, Any], life: Life, history: History) -> Iterator[History]:
    """Yield histories that begin with what an earlier operator makes of smaller samples.

    Args:
        schema: The schema of the spec of then.
        life: What it made of the sample of then.
        history: The history. The operator ends each time at the same moment.
    """
    if history.after is not None and not history.after.is_recorded:
        for sample, other in smaller(schema, life.sample, history):
            yield replace(other, after=replace(history.after, smaller=sample))


def at_the_same_moment(history: History, life: Life) -> History | None:
    """The history, which begins with another life of the operator of then; ``None`` if that had no such moment."""
    start = history.after
    moments = life.records[0].moments
    alike = [
        each
        for each in moments
        if start is not None and each.what == start.what and bool(each.write) == bool(start.write)
    ]
    if start is None or not alike:
        return None
    moment = min(alike, key=lambda each: abs(each.write - start.write))
    return replace(history, after=replace(start, write=moment.write))


def milder(sample: Manifest, history: History) -> Iterator[History]:
    """Yield histories in which the first act differs less from the sample: in one field less, or by a smaller value."""
    first = history.steps[0]
    if Identity.of(first.manifest).key != Identity.of(sample).key or "spec" not in first.manifest or not first.note:
        return
    found = changes(sample.get("spec"), first.manifest["spec"])
    back = [(path, before) for path, before, _ in found] if len(found) > 1 else []
    for path, value in [*back, *((path, each) for path, before, after in found for each in _between(before, after))]:
        changed = _changed(first.manifest, [(path, value)])
        note = AND.join(_note(path, value) for path, _, value in changes(sample.get("spec"), changed["spec"]))
        if note:
            yield replace(history, steps=(replace(first, manifest=changed, note=note), *history.steps[1:]))


def _between(before: Any, after: Any) -> Iterator[Any]:
    """Yield smaller values than the second one that are not the first one, the smallest first."""
    sizes = (1, 2, 10, 100, 1000, 10_000)
    if type(after) is int:
        yield from (each for each in sizes if each < after and each != before)
    elif isinstance(after, str | list):
        yield from (after[:each] for each in sizes if each < len(after) and after[:each] != before)


def _note(path: Path, value: Any) -> str:
    name = spell(("spec", *path))
    return f"no {name}" if value is MISSING else f"{name} = {shorten(value)}"


def _smaller(schema: Mapping[str, Any], value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield values to remove, shorter lists and smaller numbers, the largest savings first."""
    if isinstance(value, dict):
        properties: Mapping[str, Any] = schema.get("properties") or {}
        extra = mapping(schema.get("additionalProperties"))
        for name in value:
            if name not in (schema.get("required") or ()):
                yield (*path, name), MISSING
        for name, each in value.items():
            inner = properties.get(name) or extra
            yield from _smaller(inner, each, (*path, name))
    elif isinstance(value, list):
        if len(value) > schema.get("minItems", 0):
            yield path, value[:-1]
        for index, each in enumerate(value):
            yield from _smaller(schema.get("items") or {}, each, (*path, index))
    elif type(value) is int and value > max(schema.get("minimum", 1), 1):
        yield path, max(schema.get("minimum", 1), 1)


def _changed(manifest: Manifest, values: Iterable[tuple[Path, Any]]) -> Manifest:
    changed = copy.deepcopy(manifest)
    for path, value in values:
        put(changed, ("spec", *path), value)
    return changed
