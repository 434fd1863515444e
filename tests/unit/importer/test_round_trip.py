"""Import, then generate: the same schema comes back."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from pykb.diagnostics import Diagnostics
from pykb.importer.definition import Document, find_definitions, read_sources
from pykb.importer.plan import differences, package_files, regenerate, verify
from pykb.importer.shape import builtin_types

CRDS = Path(__file__).parents[3] / "testdata" / "import" / "crds"

FIELDS = {
    "plain": "a: {type: string}",
    "bounds": "a: {type: integer, minimum: 1, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false}",
    "lengths of zero": "a: {type: string, minLength: 0}\nb: {type: array, minItems: 0, items: {type: string}}",
    "a pattern with quotes": "a: {type: string, pattern: '^\"[^\\\\\"'']*\"$'}",
    "a number": "a: {type: number, multipleOf: 0.25, minimum: -1.5}",
    "formats": "a: {type: string, format: ipv6}\nb: {type: integer, format: int32}\nc: {type: number, format: float}",
    "a choice with null": "a: {type: string, nullable: true, enum: [x, null]}",
    "a choice of booleans": "a: {type: boolean, enum: [true]}",
    "a choice with a length": "a: {type: string, enum: [x, yy], maxLength: 2}",
    "not nullable, said": "a: {type: string, nullable: false}",
    "a default of null": "a: {type: object, nullable: true, default: null, properties: {b: {type: string}}}",
    "empty defaults": "a: {type: array, default: [], items: {type: string}}\nb: {type: string, default: ''}",
    "a default and required": "a: {type: object, required: [b], properties: {b: {type: string, default: c}}}",
    "a list in a list": "a: {type: array, items: {type: array, maxItems: 3, items: {type: string, maxLength: 2}}}",
    "a map of anything": "a: {type: object, additionalProperties: {x-kubernetes-preserve-unknown-fields: true}}",
    "an open map": "a: {type: object, additionalProperties: true}",
    "a map of maps": "a: {type: object, additionalProperties: {type: object, additionalProperties: {type: integer}}}",
    "described elements": "a: {type: array, items: {type: string, description: 'One of them.'}}",
    "int or string": "a: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}",
    "bare int or string": "a: {x-kubernetes-int-or-string: true}",
    "a bounded int or string": "a: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], maximum: 5}",
    "unions": "a: {type: object, properties: {b: {type: string}, c: {type: string}}, oneOf: [{required: [b]}, {required: [c]}]}",
    "not": "a: {type: string, not: {pattern: '^x'}}",
    "allOf": "a: {type: string, allOf: [{minLength: 1}, {maxLength: 3}]}",
    "required without a field": "a: {type: object, required: [z, b], properties: {b: {type: string}}}",
    "equal names": "fooBar: {type: string}\nfoo_bar: {type: integer}\nfoo-bar: {type: boolean}",
    "awkward names": "'2d': {type: string}\n'$x': {type: string}\nNone: {type: string}\n__class__: {type: string}",
    "markers in descriptions": (
        'a: {type: object, description: "A.\\n+kubebuilder:x=1", properties: {b: {type: string, description: "+k8s:x"}}}'
    ),
    "an example": "a: {type: string, example: b, title: A, externalDocs: {url: https://example.com}}",
    "examples of elements": "a: {type: array, items: {type: string, example: b, default: c}}",
    "an atomic struct": "a: {type: object, x-kubernetes-map-type: atomic, properties: {b: {type: string}}}",
    "an embedded object": "a: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}",
}


@pytest.mark.parametrize("fields", FIELDS.values(), ids=FIELDS)
def test_every_construct_comes_back(fields: str, make_crd, define) -> None:
    """Whatever a schema says, the types say it, and the generator gives it back."""
    made = define(make_crd(fields))
    found = Diagnostics()
    files = package_files(made, found)
    verify(made, files, found)
    assert [(d.message, d.notes) for d in found] == []


def test_the_crds_of_testdata_come_back() -> None:
    """All of them at once, several kinds to a module."""
    found = Diagnostics()
    made = find_definitions(read_sources([str(CRDS)], stdin="", kubectl=None, diagnostics=found), found)
    verify(made, package_files(made, found), found)
    assert [(d.message, d.notes) for d in found] == []


def test_a_generated_pod_template_comes_back_as_one(make_crd, define) -> None:
    """Kubernetes' own types are recognised in full and used, not copied."""
    template = _schema_of("PodTemplateSpec")
    made = define(make_crd({"template": template}))
    found = Diagnostics()
    [file] = package_files(made, found)
    assert "template: PodTemplateSpec | None = None" in file.text
    assert file.text.count("class ") == 2
    verify(made, [file], found)
    assert not list(found)


@pytest.mark.parametrize(
    ("field", "properties", "expected"),
    [
        ("env", "{name: {type: string}, value: {type: string}}", None),
        ("httpHeaders", "{name: {type: string}, value: {type: string}}", "HTTPHeader"),
        ("pairs", "{name: {type: string}, value: {type: string}}", None),
        ("type", "{type: {type: string}}", None),
    ],
)
def test_a_few_fields_are_no_proof(field: str, properties: str, expected: str | None, make_crd, define) -> None:
    """`{name, value}` is a header only where the field says so."""
    required = "required: [name, value]" if "name" in properties else "required: [type]"
    made = define(make_crd(f"{field}: {{type: array, items: {{type: object, {required}, properties: {properties}}}}}"))
    [file] = package_files(made, Diagnostics())
    assert ("pykb.api.core.v1" in file.text) == (expected is not None)
    if expected:
        assert f"list[{expected}]" in file.text


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("properties", "spec", "properties", "a", "maxLength"), 4),
        (("properties", "spec", "properties", "a", "description"), "Other."),
        (("properties", "spec", "required"), ["a"]),
        (("properties", "spec", "properties", "b"), {"type": "string"}),
        (("x-kubernetes-preserve-unknown-fields",), True),
    ],
)
def test_a_difference_is_seen(path: tuple[str, ...], value: object, make_crd) -> None:
    """The comparison that proves an import is none that lets things pass."""
    crd = make_crd("a: {type: string, maxLength: 3, description: Text.}")
    other = copy.deepcopy(crd)
    place = other["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    known = builtin_types().is_known
    assert list(differences(crd, other, known))
    assert list(differences(other, crd, known))
    assert not list(differences(crd, crd, known))


def test_the_crd_itself_comes_back(make_crd, define) -> None:
    """Names, scope, columns, subresources, selectable fields, deprecation, conversion, annotations."""
    crd = make_crd("size: {type: integer}\nlabels: {type: string}")
    crd["metadata"] |= {"annotations": {"a.example.com/b": 'c, "d"; e=f'}, "labels": {"team": "x"}}
    crd["spec"]["scope"] = "Cluster"
    crd["spec"]["names"] |= {"plural": "thingies", "singular": "thingy", "shortNames": ["th"], "categories": ["all"]}
    crd["metadata"]["name"] = "thingies.example.com"
    crd["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://example.com/convert"}},
    }
    version = crd["spec"]["versions"][0]
    version |= {
        "deprecated": True,
        "deprecationWarning": 'use "v2"; `v1` goes',
        "selectableFields": [{"jsonPath": ".spec.labels"}],
        "additionalPrinterColumns": [
            {"name": "Size, in `m`", "type": "integer", "jsonPath": ".spec.size", "priority": 2, "description": "a\nb"}
        ],
        "subresources": {"scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
    }
    status = {"type": "object", "properties": {"size": {"type": "integer"}}}
    version["schema"]["openAPIV3Schema"]["properties"]["status"] = status
    made = define(crd)
    found = Diagnostics()
    files = package_files(made, found)
    verify(made, files, found)
    assert [(d.message, d.notes) for d in found] == []
    generated = regenerate(files, found)["thingies.example.com"]
    assert generated["metadata"] == crd["metadata"]


def test_the_same_crds_in_another_order_make_the_same_modules(make_crd) -> None:
    """Nothing depends on the order of files."""
    one, two = make_crd("a: {type: string}", kind="One"), make_crd("a: {type: string}", kind="Two")
    texts = []
    for manifests in ((one, two), (two, one)):
        found = Diagnostics()
        made = find_definitions([Document(manifest, "x.yaml") for manifest in manifests], found)
        texts.append([file.text for file in package_files(made, found)])
    assert texts[0] == texts[1]


def _schema_of(name: str) -> dict[str, object]:
    from pykb.importer.shape import _schemas

    return dict(next(schema for cls, schema in _schemas() if cls.__name__ == name))


def test_the_text_of_an_element_is_a_description(make_crd) -> None:
    """Not a patch of its schema."""
    (file,) = package_files(
        find_definitions([Document(make_crd(FIELDS["described elements"]), "crd.yaml")], Diagnostics()), Diagnostics()
    )
    assert 'list[Annotated[str, Field(description="One of them.")]]' in file.text
