"""Objects that are nested more deeply than parsers and writers of JSON go."""

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykb.api import CustomResource, GroupVersion, Struct
from pykb.api.object import Unstructured
from pykb.api.unreadable import DEEPEST, UnreadableObject
from pykb.client import json_text
from pykb.client.codec import alone, from_wire, snapshot, to_wire
from pykb.client.json_text import CUT, Page, SetAside, encode, read_around, read_object, storable, writable
from pykb.client.patches import MergePatch

OBJECT = ("object",)
METADATA = {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "7"}
PATHOLOGICAL = r'{"metadata":{"name":"no"}} \" ]]}} {{[['
"""A string that has another object's metadata and brackets in it."""


class Spec(Struct, extra="allow"):
    size: int = 0


class Thing(CustomResource, group_version=GroupVersion("example.com", "v1")):
    spec: Spec


def nested(levels, leaf="1"):
    """JSON of this many levels of objects and arrays."""
    return '{"a":[' * (levels // 2) + '{"a":' * (levels % 2) + leaf + "}" * (levels % 2) + "]}" * (levels // 2)


def text(x, **metadata):
    """An object of which `spec.x` is this JSON. The object and its spec are two more levels."""
    around = {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "note": PATHOLOGICAL,
        "spec": {"s": PATHOLOGICAL, "x": 0, "z": [{"metadata": {"name": "other"}}]},
        "metadata": {**METADATA, **metadata},
    }
    return json.dumps(around).replace('"x": 0', f'"x": {x}')


def levels(value):
    """How deeply a value is nested."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if parts is None else 1 + max(map(levels, parts), default=0)


@pytest.mark.parametrize("depth", [1100, 9_990])
def test_an_object_beyond_the_parser_keeps_what_is_not_too_deep(depth):
    """Its own metadata and its other fields, whatever its strings and its other values look like."""
    read = read_object(text(nested(depth)).encode())
    assert read["metadata"] == METADATA
    assert read[CUT] == "spec.x.a"
    assert read["note"] == PATHOLOGICAL
    assert read["spec"]["z"] == [{"metadata": {"name": "other"}}]
    assert levels(read) == DEEPEST + 1


def test_the_limit_is_the_same_for_texts_and_values():
    """At the limit nothing is left out, and one level more is marked."""
    fits, more = text(nested(DEEPEST - 2)), text(nested(DEEPEST - 1))
    assert storable(json.loads(fits)) == json.loads(fits)
    for read in (read_object(text(nested(1100)).encode()), storable(json.loads(more))):
        assert read[CUT].startswith("spec.x.a")
        assert levels(read) == DEEPEST + 1
    assert levels(json.loads(more)) == DEEPEST + 1


def test_managed_fields_that_are_too_deep_are_left_out_without_a_mark():
    """They are three levels deeper than the fields they are about."""
    deep = text("1").replace('"uid"', f'"managedFields": [{{"fieldsV1": {nested(1200)}}}], "uid"')
    read = read_object(deep.encode())
    assert CUT not in read
    assert read["metadata"] == METADATA
    between = json.loads(deep.replace(nested(1200), nested(300)))
    assert storable(between) == read


def test_an_event_is_read_with_its_type():
    """The event is a level more than its object."""
    read = read_around(f'{{"type":"DELETED","object":{text(nested(3000))}}}'.encode(), OBJECT)
    assert read["type"] == "DELETED"
    assert read["object"]["metadata"] == METADATA
    assert read["object"][CUT] == "spec.x.a"
    assert levels(read["object"]) == DEEPEST + 1


@pytest.mark.parametrize("broken", ["<html>{}", "", '{"a":' * 2000, '{"a":"' + "x" * 100_000, text(nested(2000))[:-1]])
def test_what_is_not_json_is_still_an_error(broken):
    """Texts that end early as well, without a quadratic search for their end."""
    for content in (broken.encode(), b"\xff" + broken.encode()):
        with pytest.raises(orjson.JSONDecodeError):
            read_object(content)
        with pytest.raises(orjson.JSONDecodeError):
            read_around(content, OBJECT)


def test_each_object_of_a_review_has_its_own_mark():
    """Only the objects at the named places are marked."""
    places = (("request", "object"), ("request", "oldObject"))
    for new, old in ((nested(2000), "1"), ("1", nested(2000)), (nested(2000), nested(5000))):
        body = f'{{"request":{{"options":{nested(900)},"object":{text(new)},"oldObject":{text(old)}}}}}'
        request = read_around(body.encode(), *places)["request"]
        assert [CUT in request["object"], CUT in request["oldObject"]] == [len(new) > 1, len(old) > 1]
    body = f'{{"request":{{"options":{nested(1500)},"object":{text("1")},"oldObject":null}}}}'
    assert read_around(body.encode(), *places)["request"]["object"] == json.loads(text("1"))


def test_what_was_set_aside_is_put_back():
    """Whatever happens around it, in any order, and more than once."""
    deep, other = nested(3000), nested(700, leaf='"\\"]}"')
    aside = SetAside(f"[{text(deep)},{text(other)},{text('1')}]".encode(), levels=200)
    first, second, third = json.loads(aside.content)
    assert third == json.loads(text("1"))
    written = json.dumps([second, first, second], separators=(",", ":"))
    put_back = aside.put_back(written.encode()).decode()
    assert (put_back.count(deep), put_back.count(other)) == (1, 2)


def test_a_page_has_the_objects_around_one_that_is_too_deep():
    """The first, one in the middle, and two in a row."""
    items = [text(nested(2000), name="a"), text("1", name="b"), text(nested(9000), name="c"), text("[]", name="d")]
    items.append(text(nested(1500), name="e"))
    page = Page(f'{{"items":[{", ".join(items)}],"metadata":{{"resourceVersion":"9","continue":"t"}}}}'.encode())
    found = [writable(item) for item in page.items()]
    assert [(item["metadata"]["name"], CUT in item) for item in found] == [
        ("a", True),
        ("b", False),
        ("c", True),
        ("d", False),
        ("e", True),
    ]
    assert page.metadata == {"resourceVersion": "9", "continue": "t"}
    assert page.count == 5


TREES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text('a"\\[]{}: ,é', max_size=5)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('a"\\[{}:', max_size=3), inner, max_size=3),
    max_leaves=20,
)


@given(st.dictionaries(st.text('a"\\]', max_size=3), TREES, max_size=4), st.booleans())
def test_a_text_and_its_value_lose_the_same(tree, is_wide):
    """At any limit; spaces do not matter."""
    written = json.dumps(tree, ensure_ascii=False, separators=(", ", ": ") if is_wide else (",", ":"))
    for limit in (4, 5, 9):
        short, end = json_text._shortened(f"{written}]", 0, limit)
        assert json.loads(short) == json_text._storable(tree, limit)
        assert end == len(written)
        assert json_text.is_deeper(json.loads(short), limit) == (levels(tree) > limit)


def test_a_large_float_that_was_written_as_an_integer_is_a_float():
    """Go writes 1e20 so. A writer of 64 bits could not store the object."""
    found = writable(json.loads(text("[100000000000000000000, -100000000000000000000, 18446744073709551615]")))
    assert found["spec"]["x"] == [1e20, -1e20, 2**64 - 1]
    assert isinstance(found["spec"]["x"][0], float)
    assert CUT not in found
    assert orjson.dumps(found)


@pytest.mark.parametrize("kind", [Thing, Thing.gvk])
def test_a_marked_object_cannot_be_read(kind):
    """The error says where it is too deep. Without its mark, an object could be taken for a whole one."""
    with pytest.raises(UnreadableObject) as caught:
        from_wire(kind, read_object(text(nested(2000)).encode()))
    message = f"`Thing` n/a cannot be read: `spec.x.a` is nested deeper than {DEEPEST} levels"
    assert str(caught.value) == message
    assert (str(caught.value.key), caught.value.resource_version) == ("n/a", "7")
    assert "schema" in caught.value.remedy
    assert caught.value.partial is None


def test_a_marked_object_that_is_being_deleted_is_read_without_its_deepest_values():
    """So that its finalizers can run."""
    wire = read_object(text(nested(2000), deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["f"]).encode())
    typed = alone(lambda found: from_wire(Thing, found), dict(wire))
    assert isinstance(typed, Thing)
    assert typed.metadata.finalizers == ["f"]
    untyped = alone(lambda found: from_wire(Thing.gvk, found), dict(wire))
    assert isinstance(untyped, Unstructured)
    assert untyped.metadata["finalizers"] == ["f"]
    assert CUT not in untyped.data


def itself():
    """A value that contains itself, in two places."""
    value = {}
    value["a"], value["b"] = value, [value]
    return value


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"spec": {"x": orjson.loads(nested(900))}}, "`spec.x.a` cannot be sent: it is nested deeper than 250 levels"),
        ({"spec": [itself()]}, r"`spec\[0\].[ab]` cannot be sent: it .*, or contains itself"),
        ({"spec": {"n": [1, 10**20]}}, r"`spec.n\[1\]` cannot be sent: it has an integer of more than 64 bits"),
    ],
)
def test_what_is_too_deep_to_be_sent_is_named(body, message):
    """Also in patches."""
    with pytest.raises(ValueError, match=message):
        encode(body)
    with pytest.raises(ValueError, match=message):
        MergePatch(body).body_for({})


@pytest.mark.parametrize("convert", [to_wire, snapshot])
def test_a_typed_object_that_is_too_deep_to_be_sent_is_named(convert):
    """And an untyped one; not by a RecursionError."""
    spec = {"size": 1, "x": orjson.loads(nested(1015))}
    typed = Thing(metadata={"name": "a"}, spec=spec)
    untyped = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec}
    with pytest.raises(ValueError, match="`Thing` a cannot be sent: it is nested deeper than 250 levels"):
        convert(typed)
    if convert is snapshot:
        with pytest.raises(ValueError, match="`Thing` a cannot be sent"):
            convert(untyped)
