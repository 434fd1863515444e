"""Other specs near a sample: one field differs, and the schema accepts it."""

from __future__ import annotations

import copy

import pytest

from pykb.explore._context import Context
from pykb.explore._outcome import Outcome
from pykb.explore._plans.theft import _foreign
from pykb.explore._project import Subject
from pykb.explore._variants import another, leaves, lower, patch_of, put, spell, variants
from tests.explorer.zoo import kinds

SCHEMA = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 4},
        "size": {"type": "integer", "minimum": 1, "maximum": 3},
        "on": {"type": "boolean"},
        "mode": {"type": "string", "enum": ["a", "b"]},
        "ports": {"type": "array", "items": {"type": "object", "properties": {"port": {"type": "integer"}}}},
        "extra": {"type": "object", "additionalProperties": {"type": "string"}},
        "more": {"type": "integer", "minimum": 7},
    },
}
SAMPLE = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "w"},
    "spec": {"name": "abc", "size": 3, "on": True, "mode": "a", "ports": [{"port": 1}], "extra": {"x": "y"}},
}


def texts(*, edges):
    """What each variant is called."""
    return [text for text, _ in variants(SCHEMA, SAMPLE, edges=edges)]


def test_ordinary_values_stay_within_the_schema():
    """A number at its maximum becomes smaller, a text at its greatest length shorter."""
    found = texts(edges=False)
    assert 'spec.name = "ab"' in found
    assert "spec.size = 2" in found
    assert "spec.on = false" in found
    assert 'spec.mode = "b"' in found
    assert "spec.ports = []" in found
    assert "spec.ports[0].port = 2" in found
    assert 'spec.extra.other = "a"' in found
    assert "no spec.extra.x" in found
    assert "spec.more = 7" in found


@pytest.mark.parametrize(
    ("pattern", "value", "other"),
    [
        ("^[a-z]([a-z0-9]*)$", "blue", "blueb"),
        ("^[a-z]{4}$", "blue", "bluf"),
        ("^(blue|clue)$", "blue", "clue"),
        ("^[a-z0-9-]+$", "blue", "blue-b"),
        ("^[1-9][0-9]?Gi$", "10Gi", "11Gi"),
        ("^[1-9]Gi$", "9Gi", "8Gi"),
        ("^blue$", "blue", None),
    ],
)
def test_a_text_with_a_pattern_becomes_one_that_fits_it(pattern, value, other):
    """A character more, another one of its class, or one less. Nothing if none of them fits."""
    schema = {"properties": {"color": {"type": "string", "pattern": pattern}}, "required": ["color"]}
    found = [each["spec"]["color"] for _, each in variants(schema, {"spec": {"color": value}}, edges=False)]
    assert found[:1] == ([other] if other else [])


def test_edges_are_the_least_the_greatest_and_nothing():
    """A required field stays, an empty text only where it may be."""
    found = texts(edges=True)
    assert "spec.size = 1" in found
    assert "no spec.size" in found
    assert "no spec.name" not in found
    assert 'spec.name = ""' not in found
    assert 'spec.name = "aaaa"' in found
    assert "spec.ports = []" in found


def test_a_part_of_the_spec_goes_away():
    """A user who removes it wants what was made for it to go. A required field stays."""
    found = texts(edges=False)
    assert "no spec.extra" in found
    assert "no spec.size" in found
    assert "no spec.name" not in found
    assert found[0] == 'spec.name = "ab"'


def test_a_map_becomes_shorter_within_the_schema():
    """As a list does, by its last entry."""
    schema = {"properties": {"extra": {"additionalProperties": {"type": "string"}, "minProperties": 1}}}
    found = [
        [text for text, _ in variants(schema, {"spec": {"extra": extra}}, edges=False)]
        for extra in ({"x": "y"}, {"x": "y", "z": "y"})
    ]
    assert [[text for text in each if text.startswith("no spec.extra.")] for each in found] == [[], ["no spec.extra.z"]]


def test_a_field_with_its_default_is_not_removed():
    """The API server would add it again."""
    schema = {"type": "object", "properties": {"size": {"type": "integer", "default": 3}, "on": {"type": "boolean"}}}
    found = [text for text, _ in variants(schema, {**SAMPLE, "spec": {"size": 3, "on": True}}, edges=False)]
    assert found == ["spec.size = 4", "spec.on = false", "no spec.on"]


def test_a_smaller_number_is_within_the_schema():
    """Of a list, too. Zero does not become smaller."""
    found = [text for text, _ in lower(SCHEMA, {**SAMPLE, "spec": {"size": 2, "more": 7, "ports": [{"port": 3}]}})]
    assert found == ["spec.ports[0].port = 2", "spec.size = 1"]


def test_a_field_with_a_default_is_tried_with_another_value():
    """The default is what the sample has already."""
    switch = {"type": "boolean", "default": False}
    schema = {
        "type": "object",
        "properties": {"safe": switch, "mode": {**SCHEMA["properties"]["mode"], "default": "a"}},
    }
    found = [text for text, _ in variants(schema, {**SAMPLE, "spec": {}}, edges=False)]
    assert found == ["spec.safe = true", 'spec.mode = "b"']


def test_a_field_that_is_not_there_is_tried_with_all_of_its_few_values():
    """Each may be a mode. Within an object, only with one."""
    modes = {"type": "string", "enum": ["a", "b"]}
    switch = {"type": "boolean"}
    inner = {"type": "object", "properties": {"on": switch}}
    schema = {"type": "object", "properties": {"mode": modes, "on": switch, "inner": inner}}
    found = [text for text, _ in variants(schema, {**SAMPLE, "spec": {"inner": {}}}, edges=False)]
    assert found == [
        "spec.inner.on = true",
        "no spec.inner",
        'spec.mode = "a"',
        'spec.mode = "b"',
        "spec.on = true",
        "spec.on = false",
    ]


def test_only_the_named_field_differs():
    """The sample itself is not changed."""
    before = repr(SAMPLE)
    for _, other in variants(SCHEMA, SAMPLE, edges=False):
        assert other != SAMPLE
        assert {**other, "spec": 0} == {**SAMPLE, "spec": 0}
    assert repr(SAMPLE) == before


def test_a_patch_of_a_value_in_a_list_has_the_whole_list():
    """As merge patches need it."""
    obj = {"spec": {"ports": [{"port": 1}, {"port": 2}], "name": "x"}}
    assert dict(leaves(obj))["spec", "ports", 1, "port"] == 2
    assert patch_of(obj, ("spec", "ports", 1, "port"), 9) == {"spec": {"ports": [{"port": 1}, {"port": 9}]}}
    assert patch_of(obj, ("spec", "name"), "y") == {"spec": {"name": "y"}}
    assert spell(("spec", "ports", 1, "port")) == "spec.ports[1].port"


def test_an_object_of_somebody_else_is_whole_and_differs_in_one_value():
    """The API server would refuse a Deployment without its template."""
    spec = {"replicas": 2, "template": {"spec": {"containers": [{"name": "a", "image": "a:1"}]}}}
    made = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w", "uid": "1"}, "spec": spec}
    assert _foreign(made)["spec"] == {**spec, "replicas": 3}
    assert made["spec"] == spec
    put(spec, ("template", "spec", "containers", 0, "image"), "b:1")
    assert spec["template"]["spec"]["containers"] == [{"name": "a", "image": "b:1"}]


def test_the_specs_of_a_large_schema_are_spread_over_its_fields():
    """The others are counted."""
    names = [f"field{number}" for number in range(100)]
    crd = copy.deepcopy(kinds.CRDS[0])
    [version] = crd["spec"]["versions"]
    version["schema"]["openAPIV3Schema"]["properties"]["spec"] = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
    }
    sample = {**kinds.SAMPLE, "spec": dict.fromkeys(names, "value")}
    context = Context(Subject(lambda _: None, [crd], [sample]), sample, lambda _: Outcome())
    tried = [path for path, _ in context.changed(edges=False)]
    assert len(tried) == 40
    assert tried[0].startswith("spec.field0 ")
    assert tried[-1].endswith("spec.field97")
    assert context.left_out == {False: 160}


def test_another_value_is_of_the_same_type():
    """The API server would refuse a text that is not base64, a quantity or a choice."""
    spec = ("spec", "x")
    assert another("Widget", spec, value=True) is False
    assert another("Widget", spec, 3) == 4
    assert another("Widget", spec, "a") == "ax"
    assert another("Widget", spec, "10Gi") == "11Gi"
    assert another("Widget", spec, "0.5") == "1.5"
    assert another("Widget", spec, "30s") == "31s"
    assert another("Widget", spec, "nginx:1.27") == "nginx:1.27x"
    assert another("Widget", spec, "2030-01-01") == "2030-01-01x"
    assert another("Secret", ("data", "k"), "YQ==") == "YXg="
    assert another("ConfigMap", ("data", "k"), "YQ==") == "YQ==x"
    assert another("ConfigMap", ("binaryData", "k"), "YQ==") == "YXg="
    assert another("Widget", ("webhooks", 0, "clientConfig", "caBundle"), "YQ==") == "YXg="
    assert another("Deployment", ("spec", "imagePullPolicy"), "Always") == "IfNotPresent"
