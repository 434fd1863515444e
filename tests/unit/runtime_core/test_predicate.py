"""Filters on events, and their combinations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykb.client.selectors import LabelSelector
from pykb.runtime.cache.event import (
    AnnotationChanged,
    Event,
    EventType,
    GenerationChanged,
    LabelChanged,
    LabelSelectorPredicate,
    Predicate,
    ResourceVersionChanged,
    Where,
)

from .conftest import widget  # noqa: TID252 - shared by this folder only


def event(kind=EventType.UPDATE, old=None, new=None):
    """An event between two states of an object, given as metadata."""
    before = widget("a", metadata=old or {})
    now = widget("a", metadata=new or {})
    if kind is not EventType.UPDATE:
        return Event(kind, now, parse=dict)
    version = before["metadata"]["resourceVersion"]
    return Event(kind, now, parse=dict, load_old=lambda: before, old_resource_version=version)


@pytest.mark.parametrize(
    ("predicate", "old", "new", "passes"),
    [
        (GenerationChanged(), {"generation": 1}, {"generation": 2}, True),
        (
            GenerationChanged(),
            {"generation": 2, "resourceVersion": "1"},
            {"generation": 2, "resourceVersion": "2"},
            False,
        ),
        (ResourceVersionChanged(), {"resourceVersion": "1"}, {"resourceVersion": "2"}, True),
        (ResourceVersionChanged(), {"resourceVersion": "2"}, {"resourceVersion": "2"}, False),
        (LabelChanged(), {"labels": {"a": "1"}}, {"labels": {"a": "2"}}, True),
        (LabelChanged(), {"labels": {"a": "1"}}, {"labels": {"a": "1"}, "generation": 2}, False),
        (LabelChanged(), {}, {"labels": {}}, False),
        (AnnotationChanged(), {}, {"annotations": {"a": "2"}}, True),
        (AnnotationChanged(), {"annotations": {"a": "2"}}, {"annotations": {"a": "2"}}, False),
        (LabelSelectorPredicate("app=web"), {}, {"labels": {"app": "web"}}, True),
        (LabelSelectorPredicate({"app": "web"}), {"labels": {"app": "web"}}, {}, False),
        (LabelSelectorPredicate(LabelSelector.parse("!app")), {"labels": {"app": "web"}}, {}, True),
    ],
)
def test_updates_pass_when_what_they_are_about_changed(predicate, old, new, passes):
    """Each predicate compares its part of the old and the new object."""
    assert predicate(event(old=old, new=new)) is passes


@pytest.mark.parametrize("kind", [EventType.CREATE, EventType.DELETE, EventType.GENERIC])
@pytest.mark.parametrize(
    "predicate", [GenerationChanged(), ResourceVersionChanged(), LabelChanged(), AnnotationChanged()]
)
def test_other_events_pass_the_change_predicates(predicate, kind):
    """Only updates can have changed nothing."""
    assert predicate(event(kind))


def test_a_subclass_judges_each_kind_of_event_by_its_method():
    """What is not overridden passes."""

    class NoDeletes(Predicate):
        def delete(self, event):
            return False

    assert [NoDeletes()(event(kind)) for kind in EventType] == [True, True, False, True]


def test_typed_objects_are_parsed_only_when_asked_for():
    """A predicate on metadata costs no validation."""
    parsed = []
    ev = Event(EventType.CREATE, widget("a"), parse=lambda raw: parsed.append(raw) or "typed")
    assert GenerationChanged()(ev)
    assert parsed == []
    assert (ev.object, ev.object, ev.old) == ("typed",) * 3
    assert len(parsed) == 1


def leaf(value):
    """A predicate that always says the same."""
    return Where(lambda _: value)


EXPRESSIONS = st.recursive(
    st.booleans().map(lambda value: (leaf(value), value)),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: (p[0][0] & p[1][0], p[0][1] and p[1][1])),
        st.tuples(inner, inner).map(lambda p: (p[0][0] | p[1][0], p[0][1] or p[1][1])),
        inner.map(lambda p: (~p[0], not p[1])),
        st.tuples(inner, st.booleans()).map(lambda p: (p[0][0] & (lambda _: p[1]), p[0][1] and p[1])),
        st.tuples(inner, st.booleans()).map(lambda p: ((lambda _: p[1]) | p[0][0], p[0][1] or p[1])),
    ),
)


@given(EXPRESSIONS)
def test_and_or_not_are_those_of_logic(expression):
    """Any combination, also with plain functions on either side, says what the same expression of bools says."""
    predicate, value = expression
    assert predicate(event()) is value
