"""Conditions follow the API conventions."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from pykb.api import Struct
from pykb.api.apiextensions.v1 import CustomResourceDefinitionCondition
from pykb.api.apps.v1 import DeploymentCondition
from pykb.api.batch.v1 import JobCondition
from pykb.api.conditions import find_condition, is_condition_false, is_condition_true, remove_condition, set_condition
from pykb.api.core.v1 import PodCondition
from pykb.api.flowcontrol.v1 import FlowSchemaCondition
from pykb.api.meta.v1 import Condition

EARLIER = datetime(2026, 1, 31, 12, tzinfo=UTC)
LATER = datetime(2026, 1, 31, 13, tzinfo=UTC)


def test_a_new_condition_is_added() -> None:
    """None counts as no conditions; the time is the given one."""
    conditions = set_condition(None, "Ready", False, reason="Starting", message="m", observed_generation=3, now=EARLIER)
    assert [c.to_wire() for c in conditions] == [
        {
            "type": "Ready",
            "status": "False",
            "reason": "Starting",
            "message": "m",
            "observedGeneration": 3,
            "lastTransitionTime": "2026-01-31T12:00:00Z",
        }
    ]
    assert is_condition_false(conditions, "Ready")


def test_the_transition_time_moves_only_with_the_status() -> None:
    """A new reason is no transition; a new status is."""
    first = set_condition(None, "Ready", False, reason="Starting", now=EARLIER)
    same = set_condition(first, "Ready", False, reason="Pulling", now=LATER)
    assert same[0].last_transition_time == EARLIER
    assert same[0].reason == "Pulling"
    changed = set_condition(same, "Ready", True, reason="Up", now=LATER)
    assert changed[0].last_transition_time == LATER
    assert first[0].reason == "Starting"  # nothing that was given is touched


def test_setting_the_same_again_changes_nothing() -> None:
    """A reconciler may set its conditions every time without causing an update."""
    first = set_condition(None, "Ready", True, reason="Up", observed_generation=1, now=EARLIER)
    assert set_condition(first, "Ready", True, reason="Up", observed_generation=1, now=LATER) == first


def test_conditions_are_found_and_removed_by_type() -> None:
    """Other conditions stay as they are."""
    conditions = set_condition(None, "A", True, reason="R", now=EARLIER)
    conditions = set_condition(conditions, "B", "Unknown", reason="R", now=EARLIER)
    assert is_condition_true(conditions, "A")
    assert not is_condition_true(conditions, "B")
    assert find_condition(conditions, "C") is None
    assert [c.type for c in remove_condition(conditions, "A")] == ["B"]
    assert remove_condition(None, "A") == []


@pytest.mark.parametrize(("type_", "reason"), [("Ready", "not a word"), ("Ready", ""), ("no type", "R")])
def test_what_the_schema_refuses_is_refused(type_: str, reason: str) -> None:
    """metav1.Condition's own constraints hold in Python, for a new and for a changed condition."""
    with pytest.raises(ValueError, match="expected"):
        set_condition(None, type_, True, reason=reason)
    with pytest.raises(ValueError, match="expected"):
        set_condition(set_condition(None, "Ready", True, reason="R"), type_, False, reason=reason)


def test_conditions_of_servers_are_read_though_they_break_the_rules() -> None:
    """ServiceCIDR has conditions without a reason; reading an object never fails for such a thing."""
    found = {
        "type": "Ready",
        "status": "True",
        "reason": "",
        "message": "",
        "lastTransitionTime": "2026-01-31T12:00:00Z",
    }
    assert Condition.from_wire(found).to_wire() == found


@pytest.mark.parametrize(
    "kind", [PodCondition, DeploymentCondition, JobCondition, CustomResourceDefinitionCondition, FlowSchemaCondition]
)
def test_conditions_of_built_in_kinds_are_read(kind: type[Struct]) -> None:
    """Each has a class of its own, and some may lack a type."""
    conditions: list[Any] = [
        kind.from_wire({"type": "Ready", "status": "True"}),
        kind.from_wire({"type": "Failed", "status": "Unknown"}),
        kind.from_wire({"type": "Old", "status": "False"}),
    ]
    assert find_condition(conditions, "Failed") is conditions[1]
    assert find_condition(None, "Failed") is None
    assert [is_condition_true(conditions, name) for name in ("Ready", "Failed", "Old", "None")] == [True] + [False] * 3
    assert [is_condition_false(conditions, name) for name in ("Ready", "Failed", "Old")] == [False, False, True]
    assert remove_condition(conditions, "Failed") == [conditions[0], conditions[2]]
