"""Invariants of a project: when they are checked, what counts, and what is said of those that fail."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.diagnostics import EnvironmentProblem
from pykb.explore import Check, ClusterView, Explorer, Report, always, within
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime import Manager
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import Animal, subject_of


def explored(check: Check, of: str = "explore-theft") -> Report:
    """What the explorer says of a right operator with an invariant, in the histories of a code."""

    def register(manager: Manager) -> None:
        Keeper(manager.client).setup(manager)

    return Explorer(subject_of(register, invariants=(check,)), only=(of, "explore-invariant"), histories=40).run()


def messages(report: Report) -> list[str]:
    """All messages of a report."""
    return [each.message for each in report.diagnostics()]


def has_menu(cluster: ClusterView) -> bool:
    """Each animal has its child."""
    return all(
        cluster.find(ConfigMap, f"{each.metadata.name}-menu", namespace=each.metadata.namespace) is not None
        for each in cluster.list(Animal, namespace="default")
        if each.metadata.deletion_timestamp is None
    )


def test_it_need_not_hold_before_everything_is_at_rest():
    """Nor while somebody else is the owner of the name."""
    report = explored(has_menu, of="explore-theft")
    assert report.findings == []
    assert report.histories.total() > 0


def test_what_somebody_does_counts_only_at_rest():
    """The animal is there before its child, and somebody deletes the child."""
    assert explored(always(has_menu), of="explore-drift").findings == []


def test_a_limit_of_time_begins_when_it_does_not_hold_any_more():
    """And its end is found, even if the operator comes to it later."""
    assert explored(within(timedelta(minutes=2))(has_menu), of="explore-leak").findings == []
    [message] = messages(explored(within(timedelta(milliseconds=1))(has_menu), of="explore-leak"))
    assert message == "the invariant `has_menu` does not hold: it did not hold for more than 0.001 seconds"


def test_kinds_without_a_class_can_be_read():
    """By group, version and kind."""

    def has_food(cluster: ClusterView) -> str:
        found = cluster.list(GroupVersionKind("", "v1", "ConfigMap"), labels="!owner")
        return "".join("no food" for each in found if "food" not in each.data["data"])

    assert explored(has_food).problems == []


def test_another_version_is_refused():
    """The view does not convert."""

    def asks_for_v2(cluster: ClusterView) -> bool:
        return not cluster.list(GroupVersionKind("zoo.example.com", "v2", "Animal"))

    [message, *_] = messages(explored(asks_for_v2))
    assert message.startswith("the invariant `asks_for_v2` raises LookupError: the API server stores Animal as ")


def test_an_invariant_that_fails_is_said_and_the_operator_is_not_accused():
    """It is no finding."""

    def divides(cluster: ClusterView) -> bool:
        return 1 / len(cluster.list(Animal)) > 0

    report = explored(divides)
    assert report.findings == []
    [message] = messages(report)
    assert message == "the invariant `divides` raises ZeroDivisionError: division by zero"


def test_an_async_function_is_refused():
    """It would hold always, because nobody awaits it."""

    async def never(_: ClusterView) -> bool:
        return False

    [message] = messages(explored(never))  # type: ignore[arg-type]
    assert message == "the invariant `never` returns coroutine, no truth value or text"


def test_an_invariant_that_does_not_end_is_said():
    """Not the operator is to blame."""

    def waits(_: ClusterView) -> bool:
        return all(number >= 0 for number in itertools.count())

    with pytest.raises(EnvironmentProblem, match="the invariant `waits` does not end"):
        explored(waits)


def test_alone_it_is_looked_for_in_the_histories_of_all_codes():
    """Only invariants are judged in them."""
    report = Explorer(
        subject_of(lambda manager: Keeper(manager.client).setup(manager), invariants=(has_menu,)),
        only=("explore-invariant",),
        seconds=1,
    ).run()
    assert {"explore-crash", "explore-drift", "explore-bug"} <= {*report.histories, *report.unfinished}


def test_without_an_invariant_nothing_can_be_looked_for():
    """That is said."""
    report = Explorer(subject_of(lambda _: None), only=("explore-invariant",)).run()
    assert messages(report) == ["this project says of nothing that it must always hold"]
