"""Steps and amounts of which several plans make their histories."""

from __future__ import annotations

from dataclasses import replace

from pykb.explore._actors import KINDS
from pykb.explore._context import Context
from pykb.explore._gate import Sent
from pykb.explore._history import Fault, FaultKind, Identity, Manifest, Step, Verb
from pykb.explore._outcome import Outcome

WORKLOADS_LATE_SECONDS = 120.0
"""How long workloads do not become ready, or fail."""

LAGS_SECONDS = (3.0, 30.0)
"""For how long the caches lag behind."""

_ARRIVES_SECONDS = 60.0
"""How long a request of a leader that is paused is on its way. The next process works after 32 seconds: a lease is
valid for 15. The world is at rest after 90."""

CONTENT = ("spec", "data", "binaryData", "rules", "subjects", "webhooks")
"""The fields of an object that say what is wanted, or hold its data."""

MOST_SOURCES = 4
"""Objects that the operator reads and somebody changes."""


def overtaken(sent: Sent) -> Fault:
    """A request of the former leader arrives when the next one has done its work."""
    return Fault(FaultKind.OVERTAKEN, sent.number, seconds=_ARRIVES_SECONDS)


def two_in_a_row(context: Context) -> tuple[tuple[Step, ...], Outcome]:
    """Two changes of the sample in a row, and what comes of them if there is time in between.

    None if that is not what comes of the sample alone, since the operator refuses it, or is wrong: then the end depends
    on what was before, and so on how far the operator was.
    """
    smaller, base = context.smaller(), context.base
    if smaller is None:
        return (), base
    back = Step(Verb.REPLACE, context.sample)
    expected = context.undisturbed(context.create, smaller, back)
    if context.compare(base.states[0], expected.states[-1], outcome=expected, of=base):
        return (), base
    return (context.create, replace(smaller, soon=True), back), expected


def made_again(context: Context) -> Outcome | None:
    """What comes of the sample if it is deleted and made again; ``None`` if something is missing that was there before.

    It is later, so more may be there, and the status may say something else.
    """
    expected, base = context.undisturbed(context.create, context.delete, context.create), context.base
    last = expected.states[-1] if len(expected.states) > 2 else {}
    found = context.compare_with_new(base.states[0], last, outcome=expected, of=base)
    lacks = any(each.found is None and not each.path.startswith("status") for each in found)
    return None if lacks else expected


def create_another(context: Context) -> Step:
    """Creates another object of the kind, with the same spec."""
    return Step(Verb.CREATE, renamed(context.sample))


def renamed(sample: Manifest) -> Manifest:
    """Another object of the kind, with the same spec."""
    return {**sample, "metadata": {**sample["metadata"], "name": other_than(Identity.of(sample)).name}}


def other_than(identity: Identity) -> Identity:
    """The identity of another object of the kind."""
    return identity._replace(name=f"{identity.name}-2")


def workloads(context: Context) -> list[Identity]:
    """The children that become ready, or fail."""
    return [identity for identity in context.children() if identity.kind in KINDS]


def placed(manifest: Manifest, namespace: str) -> Manifest:
    """The same object in another namespace."""
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": namespace}}
