"""What is in the cluster before the first step: objects as another cluster has recorded them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pykb.api.core.v1 import ConfigMap
from pykb.explore import Explorer, History, Report, Step, Verb
from pykb.explore._outcome import Outcome
from pykb.explore._time import VirtualTime
from pykb.explore._world import cluster_of, play
from pykb.runtime import Manager, Reconciler
from tests.explorer.keeper import Guard, Keeper
from tests.explorer.zoo.kinds import SAMPLE, Animal, Manifest, subject_of

HERD: Manifest = {"apiVersion": "zoo.example.com/v1", "kind": "Animal", "spec": {"food": "leaves"}}
HERD["metadata"] = {"name": "bobo", "namespace": "default", "uid": "0d1b7a0c-5f0e-4a63-9d3b-7f5a1f1b2c3d"}
HERD["status"] = {"phase": "Old"}
MENU: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"food": "leaves", "count": "1"}}
OWNER = {"apiVersion": "zoo.example.com/v1", "kind": "Animal", "name": "bobo", "uid": HERD["metadata"]["uid"]}
MENU["metadata"] = {"name": "bobo-menu", "namespace": "default", "ownerReferences": [{**OWNER, "controller": True}]}
TICKET: Manifest = {"apiVersion": "fair.example.com/v1", "kind": "Ticket"}
TICKET["metadata"] = {"name": "one", "namespace": "default"}


class SweepsAll(Guard):
    """Deletes what others have, too, when it cleans up."""

    async def clean_up(self, animal: Animal) -> None:
        """Delete all menus."""
        await super().clean_up(animal)
        for menu in await self.client.list(ConfigMap, namespace="default"):
            await self.client.delete(menu)


def subject(operator: type[Reconciler]):
    """An operator in a cluster with another animal, its menu, and an object whose definition is not known."""

    def register(manager: Manager) -> None:
        operator(manager.client).setup(manager)  # type: ignore[attr-defined]

    return replace(subject_of(register), background=(HERD, MENU, TICKET), root=Path(__file__).parent)


def explored(operator: type[Reconciler], *only: str) -> Report:
    """What the explorer says of an operator in this cluster."""
    return Explorer(subject(operator), only=only, histories=40).run()


def test_a_history_begins_with_the_objects_of_the_background():
    """As they were recorded: with uid, status and owners. The operator finds them when it starts."""
    outcome, keeper = Outcome(), subject(Keeper)

    async def played() -> None:
        await play(keeper, await cluster_of(keeper), History((Step(Verb.CREATE, SAMPLE),)), outcome)

    VirtualTime().run(played, 0)
    before = {each.name: content for each, content in outcome.initial.items() if each.kind != "Namespace"}
    assert set(before) == {"bobo", "bobo-menu", "one"}
    assert before["bobo"]["status"] == {"phase": "Old", "count": 1}  # the operator has looked at it
    assert before["bobo-menu"]["data"] == MENU["data"]
    after = [each.name for each in outcome.states[0] if each.kind != "Namespace"]
    assert after == ["bobo-menu", "kiki-menu", "one", "bobo", "kiki"]


def test_a_sound_operator_is_not_accused_of_what_was_there_before():
    """Neither of its children of another object, nor of kinds that it does not know."""
    report = explored(Keeper)
    report.check()
    assert report.histories.total() > 20


def test_an_operator_that_takes_what_was_there_before_is_found():
    """The state after the deletion is that before the creation."""
    [finding] = explored(SweepsAll, "explore-leak").findings
    assert finding.message == "ConfigMap bobo-menu, which was there before, is deleted with Animal kiki"
    assert finding.span is not None
    assert finding.span.path == Path(__file__).name
