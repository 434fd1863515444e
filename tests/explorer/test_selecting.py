"""Which pods a child selects."""

from __future__ import annotations

import pytest

from pykb.explore._history import Identity
from pykb.explore._selecting import mixed_up

SAMPLE = {"apiVersion": "zoo.example.com/v1", "kind": "Animal", "metadata": {"name": "kiki", "namespace": "default"}}
BUDGET = Identity("policy/v1", "PodDisruptionBudget", "default", "kiki")
POD = Identity("v1", "Pod", "default", "kiki-2")


def selected(requirement: dict[str, object]) -> list[tuple[Identity, str]]:
    """What is said of a budget that selects pods of another object, which is there in the end."""
    alone = {BUDGET: {"spec": {"selector": {"matchExpressions": [requirement]}}}}
    both = {**alone, POD: {"metadata": {"labels": {"app": "animal"}}}}
    return list(mixed_up([BUDGET], alone, both, SAMPLE))


def test_pods_of_another_object_are_named_with_the_selector():
    """Whatever form the selector has."""
    assert selected({"key": "app", "operator": "In", "values": ["animal"]}) == [(BUDGET, "app=animal")]
    assert selected({"key": "app", "operator": "Exists"}) == [(BUDGET, "app")]
    assert selected({"key": "app", "operator": "NotIn", "values": ["animal"]}) == []


@pytest.mark.parametrize("operator", ["in", "Equals", ""])
def test_a_selector_that_no_api_server_takes_selects_nothing(operator):
    """The one in memory takes it."""
    assert selected({"key": "app", "operator": operator, "values": ["animal"]}) == []
