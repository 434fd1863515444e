"""Patches, selectors, keys and errors: pure values."""

import copy
import pickle
from datetime import timedelta
from typing import Any

import orjson
import pytest

from pykb.api import CustomResource, Field, GroupVersion, Struct
from pykb.api.apps.v1 import Deployment
from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import LabelSelector as MetaLabelSelector
from pykb.api.meta.v1 import ObjectMeta
from pykb.api.object import Unstructured
from pykb.client import JsonPatch, MergePatch, errors, merge_from
from pykb.client.codec import gvk_of, key_of, member_to_wire, replace_content, to_wire
from pykb.client.events import reference_to
from pykb.client.json_text import encode
from pykb.client.patches import merge_diff
from pykb.client.selectors import FieldSelector, field_query, label_query
from pykb.meta.gvk import GroupVersionKind, NamespacedName


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ({}, {}, {}),
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1, "b": 2}, {"b": 2}, {"a": None}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, {"a": {"c": 3}}),
        ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": None}}),
        ({"a": [1, 2]}, {"a": [1]}, {"a": [1]}),
        ({"a": {"b": 1}}, {"a": [1]}, {"a": [1]}),
        ({"a": "x"}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"a": 1}, {"a": True}, {"a": True}),
        ({}, {"a": {"b": {}}}, {"a": {"b": {}}}),
    ],
)
def test_a_merge_diff_says_what_changed_and_nothing_else(before, after, change):
    """RFC 7386: removed keys are null, lists are whole, equal parts are left out."""
    assert merge_diff(before, after) == change


def test_merge_from_remembers_the_object_as_it_was():
    """Changes made after `merge_from` are the patch, in typed objects and in dicts."""
    typed = ConfigMap(metadata=ObjectMeta(name="a", labels={"x": "1"}), data={"k": "v"})
    untyped = typed.to_wire()
    patches = [merge_from(typed), merge_from(untyped)]
    typed.metadata.labels["x"] = "2"
    untyped["metadata"]["labels"]["x"] = "2"
    for patch, obj in zip(patches, [typed, untyped], strict=True):
        assert orjson.loads(patch.body_for(obj)) == {"metadata": {"labels": {"x": "2"}}}


def test_merge_from_of_an_unchanged_object_has_no_body():
    """Without a difference there is nothing to send."""
    obj = ConfigMap(metadata=ObjectMeta(name="a"))
    assert merge_from(obj).body_for(obj) is None
    assert merge_from(obj, copy.deepcopy(obj)).body_for(obj) is None


def test_an_optimistic_lock_adds_the_version_and_needs_one():
    """The version that the object was read with goes along; without one it is a mistake."""
    obj = ConfigMap(metadata=ObjectMeta(name="a", resource_version="5"))
    patch = merge_from(obj, optimistic_lock=True)
    obj.data = {"k": "v"}
    assert orjson.loads(patch.body_for(obj)) == {"data": {"k": "v"}, "metadata": {"resourceVersion": "5"}}
    bare = ConfigMap(metadata=ObjectMeta(name="a"))
    patch = merge_from(bare, optimistic_lock=True)
    bare.data = {"k": "v"}
    with pytest.raises(ValueError, match="resourceVersion"):
        patch.body_for(bare)


def test_patches_carry_their_media_types():
    """The server reads the body by its media type."""
    assert MergePatch({"a": 1}).content_type == "application/merge-patch+json"
    patch = JsonPatch([{"op": "remove", "path": "/a"}])
    assert patch.content_type == "application/json-patch+json"
    assert orjson.loads(patch.body_for({})) == [{"op": "remove", "path": "/a"}]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (None, None),
        ("", None),
        ({}, None),
        ("a=b,!c", "a=b,!c"),
        ({"b": "2", "a": "1"}, "a=1,b=2"),
        (MetaLabelSelector(match_labels={"a": "1"}), "a=1"),
        (MetaLabelSelector(), None),
    ],
)
def test_labels_are_taken_in_every_form(given, text):
    """Text, a mapping and metav1.LabelSelector become one query, in a fixed order."""
    assert label_query(given) == text


def test_field_values_are_escaped():
    """Comma, equals sign and backslash of a value do not end it, and come back when it is read."""
    text = field_query({"metadata.name": "a,b=c\\d"})
    assert text == "metadata.name=a\\,b\\=c\\\\d"
    assert FieldSelector.parse(text).equalities == {"metadata.name": "a,b=c\\d"}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("", True),
        ("metadata.name=web", True),
        ("metadata.name==web", True),
        ("metadata.name=db", False),
        ("metadata.name!=db", True),
        ("metadata.name=web,status.phase=Running", True),
        ("metadata.name=web,status.phase!=Running", False),
        ("spec.absent=", True),
        ("spec.on=true,spec.count=3", True),
        ("metadata.name.deeper=", True),
    ],
)
def test_field_selectors_match_as_the_server_does(selector, matches):
    """Absent fields are empty, booleans and numbers are text, all requirements must hold."""
    obj = {"metadata": {"name": "web"}, "status": {"phase": "Running"}, "spec": {"on": True, "count": 3}}
    assert FieldSelector.parse(selector).matches(obj) is matches


@pytest.mark.parametrize("text", ["name", "=x", "a>b"])
def test_what_is_no_field_selector_is_refused(text):
    """A selector without a sign is a mistake, not a selector of everything."""
    with pytest.raises(ValueError, match="is not a valid requirement"):
        FieldSelector.parse(text)


POD = GroupVersionKind("", "v1", "Pod")


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("web", ("", "web")),
        ("team/web", ("team", "web")),
        (NamespacedName("team", "web"), ("team", "web")),
        (Unstructured.of(POD, "web", "team"), ("team", "web")),
        ({"metadata": {"name": "web", "namespace": "team"}}, ("team", "web")),
        (ConfigMap(metadata=ObjectMeta(name="web", namespace="team")), ("team", "web")),
        (ConfigMap(metadata=ObjectMeta(name="web")), ("", "web")),
    ],
)
def test_a_key_is_anything_that_names_an_object(key, expected):
    """Text, request, object: all name the same."""
    assert key_of(key) == NamespacedName(*expected)


def test_a_key_without_a_name_is_refused():
    """An object that was never named cannot be read or deleted."""
    with pytest.raises(ValueError, match="a name is needed"):
        key_of(ConfigMap())


def test_every_kind_of_object_knows_its_kind():
    """Class, object, Unstructured, dict; what has no kind says how to get one."""
    expected = GroupVersionKind("apps", "v1", "Deployment")
    wire = {"apiVersion": "apps/v1", "kind": "Deployment"}
    for what in (Deployment, Deployment(), wire, Unstructured(dict(wire)), expected):
        assert gvk_of(what) == expected
    with pytest.raises(ValueError, match="`apiVersion` and `kind`"):
        gvk_of({"kind": "Deployment"})
    with pytest.raises(TypeError, match="group_version="):
        gvk_of(MetaLabelSelector)  # type: ignore[arg-type]


def test_an_answer_replaces_an_object_whole():
    """Fields that the server removed are gone, unknown ones are kept, the object stays the same object."""
    obj = ConfigMap(metadata=ObjectMeta(name="a", labels={"x": "1"}), data={"k": "v"})
    replace_content(obj, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "novel": 1})
    assert obj.data is None
    assert obj.to_wire() == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "novel": 1}
    obj.data = {"k": "w"}
    assert obj.to_wire()["data"] == {"k": "w"}


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", errors.BadRequest),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (405, "MethodNotAllowed", errors.MethodNotSupported),
        (409, "Conflict", errors.Conflict),
        (409, "AlreadyExists", errors.AlreadyExists),
        (410, "Expired", errors.Expired),
        (410, "Gone", errors.Gone),
        (422, "Invalid", errors.Invalid),
        (500, "InternalError", errors.InternalServerError),
        (500, "ServerTimeout", errors.ServerTimeout),
        (504, "Timeout", errors.Timeout),
        (429, "", errors.TooManyRequests),
        (503, "SomethingNew", errors.ServiceUnavailable),
        (418, "", errors.ApiError),
    ],
)
def test_a_status_becomes_the_exception_of_its_reason(code, reason, kind):
    """The reason decides, the code where there is no known reason."""
    found = errors.error_from_status(code, {"kind": "Status", "code": code, "reason": reason, "message": "no"})
    assert type(found) is kind
    assert (found.status, found.reason, found.message) == (code, reason, "no")


def test_an_expired_watch_is_gone():
    """`except Gone` catches both of the server's words for it."""
    assert issubclass(errors.Expired, errors.Gone)


def test_details_say_what_and_where():
    """Name, kind, causes and the time to wait are read; the header is stronger than the body."""
    cause = {"reason": "FieldValueInvalid", "message": "must be positive", "field": "spec.replicas"}
    details = {"name": "x", "kind": "foos", "group": "g", "causes": [cause], "retryAfterSeconds": 3}
    body = {"kind": "Status", "code": 422, "reason": "Invalid", "message": "no", "details": details}
    found = errors.error_from_status(422, body)
    assert (found.details.name, found.causes[0].field, found.retry_after) == (
        "x",
        "spec.replicas",
        timedelta(seconds=3),
    )
    assert errors.error_from_status(422, body, retry_after=timedelta(seconds=9)).retry_after == timedelta(seconds=9)
    again = pickle.loads(pickle.dumps(found))
    assert (type(again), again.details) == (errors.Invalid, found.details)


def test_an_answer_of_something_else_is_an_error_too():
    """A proxy's page becomes an error with its text."""
    found = errors.error_from_status(502, "Bad Gateway\n")
    assert (type(found), found.message) == (errors.ApiError, "Bad Gateway")


@pytest.mark.parametrize(
    ("refusal", "rule"),
    [
        (
            'widgets.x.io is forbidden: User "u" cannot list resource "widgets" in API group "x.io" at the cluster scope',
            "# +kubebuilder:rbac:groups=x.io,resources=widgets,verbs=get;list;watch",
        ),
        (
            'pods is forbidden: User "u" cannot create resource "pods" in API group "" in the namespace "default"',
            '# +kubebuilder:rbac:groups="",resources=pods,verbs=create',
        ),
        (
            'widgets.x.io "a" is forbidden: User "u" cannot patch resource "widgets/status" in API group "x.io"',
            "# +kubebuilder:rbac:groups=x.io,resources=widgets/status,verbs=patch",
        ),
        ('pods "a" is forbidden: exceeded quota: q, requested: pods=1', ""),
        ('forbidden: User "u" cannot get path "/metrics"', ""),
    ],
)
def test_a_refusal_names_the_rule_that_is_missing(refusal, rule):
    """The marker to write; where no rule is missing, the server's words stand alone."""
    error = errors.error_from_status(403, {"kind": "Status", "reason": "Forbidden", "message": refusal, "code": 403})
    assert str(error) == f"{refusal} (Forbidden, 403)" + (f"; to allow it: `{rule}`" if rule else "")
    assert errors.with_rule(refusal) == refusal + (f"; to allow it: `{rule}`" if rule else "")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"metadata": {"labels": {"a": "\udcff"}}}, "`metadata.labels.a` cannot be sent: .* not valid Unicode"),
        ({"spec": {"parts": [{"n": 1}, {"n": {1, 2}}]}}, r"`spec.parts\[1\].n` cannot be sent: it has a `set`"),
        ({"data": {1: "x"}}, "`data` cannot be sent: it has a `int`"),
    ],
)
def test_what_is_no_json_is_named_by_its_field(body, message):
    """An untyped object may hold anything; the message says where to look."""
    with pytest.raises(ValueError, match=message):
        encode(body)


class Part(Struct):
    phase: str = "Pending"
    count: int | None = None


class Whole(CustomResource, group_version=GroupVersion("example.com", "v1")):
    status: Part = Field(default_factory=lambda: Part(count=1))


class Loud(Whole, group_version=GroupVersion("example.com", "v1")):
    def to_wire(self) -> dict[str, Any]:
        return super().to_wire() | {"status": {"phase": "LOUD"}}


WHOLES = {
    "not set": Whole(),
    "set": Whole(status=Part(phase="Running")),
    "unknown to the class": ConfigMap.from_wire({"metadata": {"name": "a"}, "status": {"phase": "x"}}),
    "written by the class itself": Loud(),
    "untyped": Unstructured({"apiVersion": "v1", "kind": "X", "metadata": {}, "status": {"phase": "x"}}),
    "a dict": {"apiVersion": "v1", "kind": "X", "status": {"phase": "x"}},
    "nothing": ConfigMap(),
}


@pytest.mark.parametrize("case", WHOLES)
def test_a_member_is_what_it_is_within_the_whole(case):
    """Whatever holds it."""
    obj = WHOLES[case]
    assert member_to_wire(obj, "status") == to_wire(obj).get("status")


def test_a_reference_stays_the_same_while_its_object_changes():
    """It has no version: a status that has it would change with each change of the object."""
    metadata = {"name": "w", "namespace": "n", "uid": "u", "resourceVersion": "1"}
    before, after = (Whole(metadata={**metadata, "resourceVersion": version}) for version in ("1", "2"))
    assert reference_to(before) == reference_to(after)
    named = {"apiVersion": "example.com/v1", "kind": "Whole", "name": "w", "namespace": "n", "uid": "u"}
    assert reference_to(before).to_wire() == named
    assert reference_to({"apiVersion": "example.com/v1", "kind": "Whole", "metadata": metadata}).to_wire() == named


@pytest.mark.parametrize(
    ("found", "seconds"),
    [
        *(("0", 0), ("7", 7), (7, 7), (1.5, 1.5), ("999999999", 3600), (10**12, 3600)),
        *(("", None), ("²", None), ("-1", None), ("1" * 5000, None), ("tomorrow", None)),
        *((float("nan"), None), (float("inf"), None), (-1, None), (0, None), (None, None), ({}, None)),
    ],
    ids=lambda value: repr(value)[:12],
)
def test_any_time_to_wait_is_read(found, seconds):
    """A proxy may send anything."""
    assert errors.seconds_to_wait(found) == (None if seconds is None else timedelta(seconds=seconds))


def test_an_error_of_any_form_is_read():
    """Its texts are bounded, and what is not as it should be is left out."""
    large = "\x1b" + "x" * 1_000_000
    details = {"name": large, "causes": [1, {"message": large}] * 2000, "retryAfterSeconds": "soon"}
    body = {"kind": "Status", "code": "many", "reason": large, "message": large, "details": details}
    for found in (errors.error_from_status(500, body), errors.error_from_status(502, large)):
        assert found.status in (500, 502)
        assert len(str(found)) < 10_000
        assert "\x1b" not in str(found)
    assert errors.error_from_status(500, {"kind": "Status", "details": {"causes": 1}}).causes == ()
