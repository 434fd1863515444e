"""What becomes of an object's metadata when it is converted."""

from __future__ import annotations

import pytest

from pykb.meta.gvk import GroupVersionKind
from pykb.webhook.conversion import finished

SHIP = GroupVersionKind("fleet.example.com", "v1", "Ship")


@pytest.mark.parametrize(
    ("source", "made", "expected"),
    [
        ({"a": "1"}, None, {"a": "1"}),
        ({"a": "1"}, {"b": "2"}, {"b": "2"}),
        ({"a": "1"}, {}, None),
        (None, {}, None),
        (None, {"b": "2"}, {"b": "2"}),
        ({}, {}, {}),
    ],
    ids=["not set", "set", "the last one taken away", "none and none", "the first one", "untouched"],
)
@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_what_the_converter_says_of_labels_and_annotations_holds(field, source, made, expected):
    """Where it says nothing they are the source's; an object without any looks as if it never had one."""
    before = {"metadata": {"uid": "1"} | ({} if source is None else {field: source})}
    result = {"metadata": {"name": "made up"} | ({} if made is None else {field: made})}
    after = finished(before, result, SHIP)
    assert after["metadata"] == {"uid": "1"} | ({} if expected is None else {field: expected})
    assert (after["apiVersion"], after["kind"]) == ("fleet.example.com/v1", "Ship")
