"""An annotation or a label that the code looks up is put on the object, and taken off again."""

from __future__ import annotations

import pytest

from pykb.explore import History
from pykb.explore._constants import Mark, marks_of
from pykb.explore._context import Context
from pykb.explore._outcome import Outcome
from pykb.explore._plans.pauses import paused
from pykb.explore._runner import Runner
from pykb.runtime import ControllerBuilder, GenerationChanged, Manager, Request, Result, ensure_applied
from tests.explorer.keeper import Guard, Keeper
from tests.explorer.test_zoo import _subject_of
from tests.explorer.zoo.kinds import SAMPLE, Animal

SOURCE = """
GROUP_VERSION = GroupVersion("example.com", "v1")
PAUSED = f"{GROUP_VERSION.group}/paused"
FINALIZER = "example.com/cleanup"

class Names:
    MODE = "mode"

def reconcile(self, site):
    notes = site.metadata.annotations or {}
    if notes.get(PAUSED) == "yes" or has_mark(site, HOLD) or "skip" in notes.values():
        return
    mode = (site.metadata.annotations or {}).get(Names.MODE, "auto").lower()
    if mode in ("manual", "off") or "tier" in site.metadata.labels or FINALIZER in site.metadata.finalizers:
        return
    if (state := meta.get("annotations", {}).get("state")) != "on":
        ensure_finalizer(self.client, site, FINALIZER)
    site.metadata.annotations["written"] = "example.com/v1"
    read("example.com/v1", site.data["key"], f"{site.name}/x.y")

@kopf.on.update("sites", annotations={"kept": kopf.ABSENT}, labels={"size": "big"})
def update(spec): ...
"""


def test_marks_are_the_annotations_and_labels_that_code_looks_up():
    """With what they are compared with. Of names that are looked up elsewhere, those with a domain count."""
    found = marks_of([SOURCE, "def broken(:"], ['HOLD = "cluster.x-k8s.io/paused"', "HELD = HOLD"])
    annotations = {mark for mark in found if mark.field == "annotations"}
    assert {(mark.key, mark.value) for mark in annotations} == {
        ("mode", "manual"),
        ("mode", "off"),
        ("state", "on"),
        ("kept", "true"),
        ("example.com/paused", "yes"),
        ("cluster.x-k8s.io/paused", "true"),
    }
    assert {*found} - annotations == {Mark("labels", "tier", "true"), Mark("labels", "size", "big")}


def seen(operator: type[Keeper], key: str) -> list[tuple[str, str]]:
    """What does not hold if an object has an annotation for a time."""
    subject = _subject_of(operator)

    def run(history: History) -> Outcome:
        outcome = runner.run(history)
        outcome.history = history
        return outcome

    with Runner(subject, 0) as runner:
        context = Context(subject, SAMPLE, run)
        cases = list(paused(context, Mark("annotations", f"zoo.example.com/{key}", "true")))
        return [(case.code.slug, each.message) for case in cases for each in case.judge(run(case.history))]


class Restarts(Keeper):
    """An annotation is copied to the child, and another one is answered in the status."""

    async def keep(self, animal: Animal) -> None:
        """Apply the child with what is asked for."""
        child, notes = self.child(animal), animal.metadata.annotations or {}
        if "zoo.example.com/restart" in notes:
            child.metadata.annotations = {"restart": notes["zoo.example.com/restart"]}
        animal.status.checked = notes.get("zoo.example.com/requested") or animal.status.checked
        await ensure_applied(self.client, child, owner=animal)


class Status(Keeper):
    """There is no child, and an answer in the status stays."""

    async def keep(self, animal: Animal) -> None:
        """Answer."""
        notes = animal.metadata.annotations or {}
        animal.status.checked = notes.get("zoo.example.com/requested") or animal.status.checked


class Held(Guard):
    """Nothing happens while the annotation is there, not even the clean-up."""

    async def reconcile(self, request: Request) -> Result | None:
        """Leave it alone, or do all."""
        animal = await self.client.find(Animal, request)
        if animal is not None and (animal.metadata.annotations or {}).get("zoo.example.com/hold") == "true":
            return None
        return await super().reconcile(request)


class Asleep(Held):
    """And nothing wakes it when the annotation goes."""

    def setup(self, manager: Manager) -> None:
        """Look at the spec only."""
        ControllerBuilder(manager).for_(Animal, predicates=[GenerationChanged()]).complete(self)


class LetsGo(Asleep):
    """The clean-up is not held."""

    async def reconcile(self, request: Request) -> Result | None:
        """Clean up at once."""
        animal = await self.client.find(Animal, request)
        if animal is not None and animal.metadata.deletion_timestamp is not None:
            return await Guard.reconcile(self, request)
        return await super().reconcile(request)


@pytest.mark.parametrize(
    ("operator", "key"), [(Restarts, "restart"), (Restarts, "requested"), (Status, "requested"), (Held, "hold")]
)
def test_who_does_the_rest_or_does_it_at_once_is_not_accused(operator, key):
    """A mark that means something else is no pause."""
    assert not seen(operator, key)


def test_an_object_that_is_deleted_meanwhile_goes_at_last():
    """And what was not made for it is made."""
    held = "Animal kiki is never let go after it was deleted with a mark: a finalizer stays"
    what = 'after `metadata.annotations["zoo.example.com/hold"]` was there for a time'
    made = ("explore-history", f"Secret kiki-key is missing {what}")
    assert seen(Asleep, "hold") == [made, ("explore-leak", held)]
    assert seen(LetsGo, "hold") == [made]
