"""Which changes of a definition break stored objects or clients, and which do not."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from pykb.gen.compat import REQUIRED, REQUIRED_AT_ROOT, Incompatibility, compare_definitions, compare_schemas

STRING, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
ANYTHING = {"x-kubernetes-preserve-unknown-fields": True}
OBJECT = {"type": "object"}
OPEN = {**OBJECT, **ANYTHING}
INT_OR_STRING = {"x-kubernetes-int-or-string": True, "anyOf": [INTEGER, STRING]}
RULE = {"rule": "self != 'x'", "message": "no"}


def fields(required: str = "", **properties: Any) -> dict[str, Any]:
    """The schema of an object."""
    found = {**OBJECT, "properties": properties}
    return {**found, "required": required.split()} if required else found


def array(items: dict[str, Any], **keywords: Any) -> dict[str, Any]:
    """The schema of a list."""
    return {"type": "array", "items": items, **keywords}


def mapping(values: dict[str, Any]) -> dict[str, Any]:
    """The schema of a map."""
    return {**OBJECT, "additionalProperties": values}


def listed(kind: str, *keys: str) -> dict[str, Any]:
    """How the items of a list are told apart."""
    found: dict[str, Any] = {"x-kubernetes-list-type": kind}
    return {**found, "x-kubernetes-list-map-keys": list(keys)} if keys else found


KEYED = fields("a", a=STRING, b=STRING)
BREAKING: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "field removed": (fields(a=STRING, b=INTEGER), fields(a=STRING), ["b was removed"]),
    "field renamed": (fields(a=STRING), fields(b=STRING), ["a was removed, and `b` of the same type was added"]),
    "renamed to the likeliest": (
        fields(diskID=STRING),
        fields(zone=STRING, diskId={**STRING, "description": "More."}),
        ["diskID was removed, and `diskId` of the same type was added"],
    ),
    "another type is no rename": (fields(a=STRING), fields(b=INTEGER), ["a was removed"]),
    "optional field required": (fields(a=STRING), fields("a", a=STRING), ["a is required instead of optional"]),
    "new field required": (fields(), fields("a", a=STRING), ["a is new and required"]),
    "below a list": (
        array(fields(a=STRING)),
        array(fields("a", a=STRING)),
        ["[*].a is required instead of optional"],
    ),
    "below a map": (mapping(fields(a=STRING)), mapping(fields()), ["[*].a was removed"]),
    "type": (STRING, INTEGER, [" accepts integers instead of strings"]),
    "list of a value": (STRING, array(STRING), [" accepts lists instead of strings"]),
    "of items": (array(STRING), array(INTEGER), ["[*] accepts integers instead of strings"]),
    "numbers to integers": (NUMBER, INTEGER, [" accepts integers instead of numbers"]),
    "int-or-string to string": (INT_OR_STRING, STRING, [" accepts strings instead of integers and strings"]),
    "anything to objects": (ANYTHING, OPEN, [" accepts objects instead of anything"]),
    "enum values": (
        {**STRING, "enum": ["a", "b", "c"]},
        {**STRING, "enum": ["a", "d"]},
        [" no longer accepts `b`, `c`"],
    ),
    "enum added": (STRING, {**STRING, "enum": ["a"]}, [" accepts only the values of an enum instead of any"]),
    "minimum": ({**INTEGER, "minimum": 1}, {**INTEGER, "minimum": 2}, [" has `minimum: 2` instead of `1`"]),
    "minimum added": (INTEGER, {**INTEGER, "minimum": -1}, [" has `minimum: -1` instead of none"]),
    "maximum": ({**NUMBER, "maximum": 1.5}, {**NUMBER, "maximum": 1}, [" has `maximum: 1` instead of `1.5`"]),
    "exclusive": (
        {**INTEGER, "minimum": 1, "maximum": 9},
        {**INTEGER, "minimum": 1, "maximum": 9, "exclusiveMinimum": True, "exclusiveMaximum": True},
        [" no longer accepts the value of its `minimum`", " no longer accepts the value of its `maximum`"],
    ),
    "lengths": (
        {**STRING, "minLength": 1, "maxLength": 9},
        {**STRING, "minLength": 2, "maxLength": 8},
        [" has `minLength: 2` instead of `1`", " has `maxLength: 8` instead of `9`"],
    ),
    "items": (
        array(STRING),
        array(STRING, minItems=1, maxItems=3),
        [" has `minItems: 1` instead of none", " has `maxItems: 3` instead of none"],
    ),
    "properties": (
        mapping(STRING),
        {**mapping(STRING), "minProperties": 1, "maxProperties": 3},
        [" has `minProperties: 1` instead of none", " has `maxProperties: 3` instead of none"],
    ),
    "step": ({**INTEGER, "multipleOf": 2}, {**INTEGER, "multipleOf": 3}, [" has `multipleOf: 3` instead of `2`"]),
    "fraction": (
        {**NUMBER, "multipleOf": 0.5},
        {**NUMBER, "multipleOf": 0.2},
        [" has `multipleOf: 0.2` instead of `0.5`"],
    ),
    "pattern": (STRING, {**STRING, "pattern": "^a$"}, [" has the pattern `^a$` instead of none"]),
    "another pattern": (
        {**STRING, "pattern": "a"},
        {**STRING, "pattern": "b"},
        [" has the pattern `b` instead of `a`"],
    ),
    "format": (STRING, {**STRING, "format": "date"}, [" has the format `date` instead of none"]),
    "smaller integers": (
        {**INTEGER, "format": "int64"},
        {**INTEGER, "format": "int32"},
        [" has the format `int32` instead of `int64`"],
    ),
    "null": ({**STRING, "nullable": True}, STRING, [" no longer accepts null"]),
    "default": ({**STRING, "default": "a"}, {**STRING, "default": "b"}, [" has another default than before"]),
    "no default": ({**STRING, "default": "a"}, STRING, [" no longer has a default"]),
    "empty default": ({**STRING, "default": ""}, STRING, [" no longer has a default"]),
    "map closed": (mapping(STRING), fields(a=STRING), [" no longer keeps fields that the schema does not list"]),
    "unknown fields": (
        {**fields(a=STRING), **ANYTHING},
        fields(a=STRING),
        [" no longer keeps fields that the schema does not list"],
    ),
    "fields to a map": (fields(a=STRING), mapping(INTEGER), ["a accepts integers instead of strings"]),
    "set": (array(STRING), array(STRING, **listed("set")), [" has the list type `set` instead of `atomic`"]),
    "no set": (array(STRING, **listed("set")), array(STRING), [" has the list type `atomic` instead of `set`"]),
    "keys": (
        array(KEYED, **listed("map", "a")),
        array(KEYED, **listed("map", "a", "b")),
        [" has the keys `a, b` instead of `a`"],
    ),
    "map type": (
        OPEN,
        {**OPEN, "x-kubernetes-map-type": "atomic"},
        [" has the map type `atomic` instead of `granular`"],
    ),
    "embedded": (
        OPEN,
        {**OPEN, "x-kubernetes-embedded-resource": True},
        [" is now an embedded resource"],
    ),
    "rule": (STRING, {**STRING, "x-kubernetes-validations": [RULE]}, [" has a new rule, `self != 'x'`"]),
    "combined": (STRING, {**STRING, "allOf": [{"pattern": "a"}]}, [" has new constraints (`allOf`)"]),
    "one of": (
        fields(a=STRING),
        {**fields(a=STRING), "oneOf": [{"required": ["a"]}]},
        [" has other constraints than before (`oneOf`)"],
    ),
}
HARMLESS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the same": (fields("a", a=STRING), fields("a", a=STRING)),
    "prose": ({**STRING, "description": "a"}, {**STRING, "description": "b"}),
    "field added": (fields(a=STRING), fields(a=STRING, b=STRING)),
    "required with a default": (fields(), fields("a", a={**STRING, "default": "x"})),
    "required below what is new": (fields(), fields(a=fields("b", b=STRING))),
    "not required any more": (fields("a", a=STRING), fields(a=STRING)),
    "integers to numbers": (INTEGER, NUMBER),
    "wider integers": ({**INTEGER, "format": "int32"}, {**INTEGER, "format": "int64"}),
    "to int-or-string": (STRING, INT_OR_STRING),
    "to anything": (fields(a=STRING), ANYTHING),
    "kept as unknown": (fields(a=STRING), OPEN),
    "enum grown": ({**STRING, "enum": ["a"]}, {**STRING, "enum": ["b", "a"]}),
    "enum gone": ({**STRING, "enum": ["a"]}, STRING),
    "wider bounds": ({**INTEGER, "minimum": 2, "maximum": 8}, {**INTEGER, "minimum": 1, "maximum": 9}),
    "bounds gone": ({**STRING, "minLength": 1, "maxLength": 2, "pattern": "a", "format": "date"}, STRING),
    "length of nothing": (STRING, {**STRING, "minLength": 0}),
    "finer step": ({**NUMBER, "multipleOf": 0.3}, {**NUMBER, "multipleOf": 0.1}),
    "nullable": (STRING, {**STRING, "nullable": True}),
    "default added": (STRING, {**STRING, "default": "a"}),
    "rule gone": ({**STRING, "x-kubernetes-validations": [RULE]}, STRING),
    "message of a rule": (
        {**STRING, "x-kubernetes-validations": [RULE]},
        {**STRING, "x-kubernetes-validations": [{**RULE, "message": "never"}]},
    ),
    "atomic said": (array(STRING), array(STRING, **listed("atomic"))),
    "order of keys": (array(KEYED, **listed("map", "a", "b")), array(KEYED, **listed("map", "b", "a"))),
    "fields to a map of them": (fields(a=STRING), mapping(STRING)),
}


def told(found: Incompatibility) -> str:
    """A change as a test names it."""
    return f"{found.place} {found.what}"


@pytest.mark.parametrize("case", BREAKING)
def test_what_breaks_is_found_at_its_place(case: str) -> None:
    """Each with its place and in words; below `spec` as at any depth."""
    old, new, expected = BREAKING[case]
    assert sorted(map(told, compare_schemas(old, new))) == sorted(expected)
    within = [f"spec{place if place.startswith(('[', ' ')) else f'.{place}'}" for place in expected]
    assert sorted(map(told, compare_schemas(fields(spec=old), fields(spec=new)))) == sorted(within)


@pytest.mark.parametrize("case", HARMLESS)
def test_what_breaks_nothing_is_not_found(case: str) -> None:
    """A wider schema takes what the old one took."""
    old, new = HARMLESS[case]
    assert list(compare_schemas(fields(spec=old), fields(spec=new))) == []


@pytest.mark.parametrize("schema", [*BREAKING, *HARMLESS])
def test_nothing_breaks_what_is_the_same(schema: str) -> None:
    """Whatever it is made of."""
    for each in (BREAKING | HARMLESS)[schema][:2]:
        assert list(compare_schemas(each, copy.deepcopy(each))) == []


def test_what_the_root_demands_keeps_objects() -> None:
    """The API server judges the root whenever metadata changes, and the fields below only when they do."""
    (at_root,) = compare_schemas(fields(spec=STRING), fields("spec", spec=STRING))
    (below,) = compare_schemas(fields(spec=fields(a=STRING)), fields(spec=fields("a", a=STRING)))
    assert (at_root.effect, below.effect) == (REQUIRED_AT_ROOT, REQUIRED)
    assert "cannot be deleted" in at_root.effect.consequence


def version(name: str, **more: Any) -> dict[str, Any]:
    """A version as it stands in a definition."""
    schema = {"openAPIV3Schema": fields(spec=fields(a=STRING))}
    return {"name": name, "served": True, "storage": False, "schema": schema, **more}


def definition(*versions: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A definition."""
    names = {"kind": "Ship", "plural": "ships", "shortNames": ["sh"], **spec.pop("names", {})}
    return {"spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [*versions], **spec}}


STORED = version("v1", storage=True)
WEBHOOK = {"strategy": "Webhook"}
COLUMN, SELECTABLE = {"name": "Age", "jsonPath": ".a"}, {"jsonPath": ".spec.a"}
DEFINITIONS: dict[str, tuple[dict[str, Any], dict[str, Any] | None, list[str]]] = {
    "gone": (definition(STORED), None, ["is no longer generated"]),
    "version": (definition(version("v1beta1"), STORED), definition(STORED), ["no longer has the version `v1beta1`"]),
    "unserved": (
        definition(version("v1beta1"), STORED),
        definition(version("v1beta1", served=False), STORED),
        ["v1beta1 is no longer served"],
    ),
    "storage": (
        definition(version("v2"), STORED),
        definition(version("v2", storage=True), version("v1")),
        ["v2 is the storage version instead of `v1`"],
    ),
    "migration": (
        definition(version("v2"), STORED, conversion=WEBHOOK),
        definition(version("v2", storage=True), version("v1"), conversion=WEBHOOK),
        ["v2 is the storage version instead of `v1`"],
    ),
    "scope": (definition(STORED), definition(STORED, scope="Cluster"), ["has the scope Cluster instead of Namespaced"]),
    "kind": (definition(STORED), definition(STORED, names={"kind": "Boat"}), ["was called `Ship`"]),
    "short name": (
        definition(STORED),
        definition(STORED, names={"shortNames": []}),
        ["no longer has the short name `sh`"],
    ),
    "conversion": (
        definition(STORED, version("v2"), conversion=WEBHOOK),
        definition(STORED, version("v2")),
        ["no longer has a conversion webhook"],
    ),
    "status": (
        definition({**STORED, "subresources": {"status": {}, "scale": {}}}),
        definition(STORED),
        ["v1 no longer has the subresource `status`", "v1 no longer has the subresource `scale`"],
    ),
    "shown": (
        definition({**STORED, "additionalPrinterColumns": [COLUMN], "selectableFields": [SELECTABLE]}),
        definition(STORED),
        ["v1 no longer has the selectable field `.spec.a`", "v1 no longer has the column `Age`"],
    ),
    "version added": (definition(STORED), definition(STORED, version("v2"), conversion=WEBHOOK), []),
    "single version": (
        definition(STORED, version("v2"), conversion=WEBHOOK),
        definition(STORED),
        ["no longer has the version `v2`"],
    ),
}


@pytest.mark.parametrize("case", DEFINITIONS)
def test_what_a_definition_breaks_beside_its_schemas(case: str) -> None:
    """Names, versions, subresources; only what is shown otherwise does not matter to objects."""
    old, new, expected = DEFINITIONS[case]
    found = list(compare_definitions(old, new))
    assert [f"{each.version} {each.what}".strip() for each in found] == expected
    assert all(each.effect.matters for each in found) == (case not in {"short name", "shown", "migration"})
