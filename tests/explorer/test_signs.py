"""By what an operator says that it leaves an object alone: in which places, and in which words."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import orjson
import pytest

from pykb.explore import History, Step, Verb
from pykb.explore._context import _is_fine
from pykb.explore._gate import Sent
from pykb.explore._history import Identity
from pykb.explore._outcome import Change, Outcome
from pykb.explore._runner import Runner
from pykb.explore._signs import (
    heard,
    is_paused,
    is_refused,
    is_unchangeable,
    waits_for_people,
    waits_for_time,
)
from tests.explorer.keeper import Keeper
from tests.explorer.test_zoo import _subject_of
from tests.explorer.zoo.kinds import HERE, SAMPLE, Animal

OWN = Identity.of(SAMPLE)
SINCE = {"lastTransitionTime": "2030-01-01T00:00:00Z"}


def outcome(status: dict[str, Any], *, event: dict[str, Any] | None = None, warning: str = "", **spec: Any) -> Outcome:
    """A run with one step."""
    obj = {**SAMPLE, "spec": {**SAMPLE["spec"], **spec}, "status": status}
    found = Outcome(states=[{OWN: obj}], began=[10.0])
    if event is not None:
        sent = Sent(1, 1, "create", "", "events", "e", None)
        identity = Identity("v1", "Event", "default", "e")
        about = {"involvedObject": {"name": "kiki"}, "metadata": {"uid": "1"}}
        found.changes.append(Change(identity, None, orjson.dumps({"type": "Normal", **about, **event}), sent, 11.0))
    if warning:
        found.warnings.append((1, warning))
    return found


def condition(kind: str, status: str, reason: str = "", message: str = "") -> dict[str, Any]:
    """A status with a condition."""
    return {"conditions": [{"type": kind, "status": status, "reason": reason, "message": message, **SINCE}]}


USUAL = outcome({"phase": "Ready", "lastError": "none", **condition("Ready", "True", "Kept")})


@pytest.mark.parametrize(
    "found",
    [
        outcome({"phase": "Rejected"}),
        outcome({"state": "Failed"}),
        outcome({"message": "count must be at most 2"}),
        outcome({"lastError": "three are one more than two"}),
        outcome({"rejected": True}),
        outcome(condition("Ready", "False", "InvalidCount")),
        outcome(condition("Ready", "False", "Stopped", "count exceeds 2")),
        outcome(condition("Accepted", "False", "Large")),
        outcome(condition("Invalid", "True", "Large")),
        outcome({}, event={"type": "Warning", "reason": "Large", "message": "three"}),
        outcome({}, event={"reason": "Skipped", "message": "three"}),
        outcome({}, warning="three animals are not supported"),
    ],
    ids=repr,
)
def test_a_refusal_is_a_durable_sign_in_any_place(found):
    """The status, its conditions, an event, or a warning in the log."""
    assert is_refused(found, OWN, 1, USUAL)
    assert not is_refused(found, OWN, 1, found)
    assert not is_unchangeable(found, OWN, 1, USUAL)


@pytest.mark.parametrize(
    "found",
    [
        USUAL,
        outcome({"phase": "Ready", "count": 3, "house": "too-large"}, house="too-large"),
        outcome({"phase": "Resting", "rejected": False}),
        outcome(condition("Ready", "False", "Resting")),
        outcome(condition("Accepted", "True", "Large")),
        outcome(condition("Invalid", "False", "Fine")),
        outcome({}, event={"reason": "Kept", "message": "three"}),
        outcome({}, event={"type": "Warning", "reason": "Large", "involvedObject": {"name": "koko"}}),
    ],
    ids=repr,
)
def test_what_names_no_refusal_is_none(found):
    """A repeated value of the spec, a state of what is managed, what is about another object."""
    assert not is_refused(found, OWN, 1, USUAL)


@pytest.mark.parametrize(
    "text",
    [
        "house is immutable",
        "the house cannot be changed",
        "house must not change",
        "the claim has 20Gi and cannot shrink",
        "ShrinkNotSupported",
        "storage can only be increased",
        "refused to scale down",
        "CannotShrink",
        "the size may only grow",
        "a downgrade from 3 to 2 is not allowed",
    ],
)
def test_a_field_that_cannot_be_changed_is_said_as_well(text):
    """Then a fresh object may have the value."""
    assert is_unchangeable(outcome({"message": text}), OWN, 1, USUAL)


@pytest.mark.parametrize(
    "text",
    [
        "another size: changed",
        "count must be at most 2",
        "update failed: conflict",
        "waiting: the pod does not exist yet, its image changed",
        "only 2 of 3 are ready after scaling down",
        "the child is not ready, so the size is not changed yet",
        "cannot reach the bank, which is asked before the price is changed",
    ],
)
def test_a_failure_to_change_is_not_a_rule(text):
    """Somebody may try again, or a fresh object may not have the value either."""
    assert not is_unchangeable(outcome({"message": text}), OWN, 1, USUAL)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("AwaitingApproval", (True, False)),
        ("PendingReview", (True, False)),
        ("the new image needs a confirmation", (True, False)),
        ("WaitsForWindow", (False, True)),
        ("OutsideMaintenanceWindow", (False, True)),
        ("the next window begins at 02:00", (False, True)),
        ("Approved", (False, False)),
        ("Waiting", (False, False)),
        ("waiting: the pod does not exist yet", (False, False)),
    ],
)
def test_who_or_what_lets_the_operator_go_on_is_said(text, expected):
    """Somebody, or a time of day. Whoever only waits may be stuck."""
    found = outcome({"message": text})
    assert (waits_for_people(found, OWN, 1, USUAL), waits_for_time(found, OWN, 1, USUAL)) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"paused": True}, True),
        ({"reconcile": {"onHold": True}}, True),
        ({"mode": "Paused"}, True),
        ({"managementState": "Unmanaged"}, True),
        ({"paused": False}, False),
        ({"threshold": True}, False),
        ({"note": "this house must not be paused at night"}, False),
        ({"enabled": False}, False),
    ],
)
def test_a_pause_is_a_mode_of_the_spec(spec, expected):
    """A switch, or a value of its own. What is not enabled should be gone, unless the operator says otherwise."""
    assert is_paused({"spec": spec}) is expected


def test_a_step_that_was_never_taken_is_not_fine():
    """The operator did not come to rest two steps before."""
    assert not _is_fine(Outcome(began=[1.0]), Step(Verb.REPLACE, SAMPLE), 3)


def test_only_warnings_of_the_operator_are_heard(tmp_path):
    """Each with the number of the step. Arguments that do not fit end nothing."""
    found = Outcome(began=[1.0, 2.0])
    own, other = logging.getLogger("zoo.own"), logging.getLogger("zoo.other")
    with heard(HERE.parent, found):
        own.warning("%s is refused", "kiki")
        own.warning("%d is refused", "kiki")
        own.info("fine")
    with heard(tmp_path, found):
        other.error("not the operator's")
    assert found.warnings == [(2, "kiki is refused")]


class Warns(Keeper):
    """Logs a warning in each reconcile."""

    async def keep(self, animal: Animal) -> None:
        """Warn, and apply the child."""
        logging.getLogger("zoo.own").warning("%s is fed", animal.metadata.name)
        await super().keep(animal)


def test_no_log_of_a_history_reaches_a_handler(caplog):
    """Nor one of what was before the first step. The outcome has those of the steps."""
    other = {**SAMPLE, "metadata": {**SAMPLE["metadata"], "name": "koko"}}
    subject = replace(_subject_of(Warns), root=HERE.parent)
    with Runner(subject, 0) as runner:
        outcome = runner.run(History((Step(Verb.CREATE, SAMPLE),), background=(other,)))
    assert (1, "kiki is fed") in outcome.warnings
    assert not [record.getMessage() for record in caplog.records if record.name == "zoo.own"]
