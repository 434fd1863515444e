"""Any structural schema comes back: generated ones, of every keyword in any combination that makes sense."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pykb.diagnostics import Diagnostics
from pykb.importer.definition import Document, find_definitions
from pykb.importer.plan import package_files, verify

Schemas = st.SearchStrategy[dict[str, Any]]

_NAMES = st.sampled_from(
    [
        *("name", "hostIP", "podIPs", "class", "from", "copy", "x-y", "a_b", "aB", "A", "type", "spec", "items"),
        *("properties", "json", "$ref", "str", "Condition", "value", "values", "model_fields", "self"),
    ]
)
_TEXTS = st.one_of(
    st.sampled_from(
        ["Plain.", 'a "quoted" text', "back\\slash", "two\nlines", "  indented", "TODO: x", "---", "+marker"]
    ),
    st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30),
)
_SIZES = st.integers(0, 9)


def _with(base: dict[str, Any], optional: dict[str, st.SearchStrategy[Any]]) -> Schemas:
    """A schema with some of the optional keywords."""
    return st.fixed_dictionaries({}, optional=optional).map(lambda found: base | found)


_USE = {"description": _TEXTS, "nullable": st.booleans(), "title": st.just("Title")}
_RULES = st.just([{"rule": "true", "message": 'it "must"'}])
_SCALARS = st.one_of(
    _with(
        {"type": "string"},
        _USE
        | {
            "minLength": st.integers(0, 3),
            "maxLength": st.integers(4, 9),
            "pattern": st.sampled_from(["^a", r"^\d+$", "\"'", "[^/]{1,3}"]),
            "format": st.sampled_from(["date-time", "byte", "date", "ipv4", "uuid"]),
            "not": st.just({"pattern": "x"}),
        },
    ),
    _with({"type": "string"}, _USE | {"enum": st.lists(_TEXTS, min_size=1, max_size=4, unique=True)}),
    _with(
        {"type": "integer"},
        _USE
        | {
            "format": st.sampled_from(["int32", "int64"]),
            "minimum": st.integers(-5, 0),
            "maximum": st.integers(1, 5),
            "multipleOf": st.integers(1, 3),
        },
    ),
    _with({"type": "integer"}, _USE | {"default": st.integers(-5, 5)}),
    _with({"type": "string"}, _USE | {"default": _TEXTS}),
    _with({"type": "number", "minimum": 0.5}, _USE | {"exclusiveMinimum": st.booleans(), "default": st.just(1.5)}),
    _with({"type": "boolean"}, _USE | {"default": st.booleans(), "x-kubernetes-validations": _RULES}),
    _with({"x-kubernetes-preserve-unknown-fields": True}, _USE),
    _with(
        {"x-kubernetes-int-or-string": True},
        _USE
        | {
            "anyOf": st.just([{"type": "integer"}, {"type": "string"}]),
            "pattern": st.just("^[0-9]+%$"),
            "maximum": st.integers(1, 5),
        },
    ),
)


def _nested(inner: Schemas) -> Schemas:
    properties = st.dictionaries(_NAMES, inner, max_size=4)
    objects = _with(
        {"type": "object"},
        _USE
        | {
            "properties": properties,
            "minProperties": _SIZES,
            "x-kubernetes-map-type": st.sampled_from(["atomic", "granular"]),
            "x-kubernetes-preserve-unknown-fields": st.just(value=True),
            "x-kubernetes-validations": _RULES,
            "oneOf": st.just([{"required": ["name"]}, {"required": ["value"]}]),
            "default": st.just({}),
        },
    ).flatmap(_required)
    maps = _with({"type": "object"}, _USE | {"maxProperties": _SIZES}).flatmap(
        lambda found: inner.map(lambda values: found | {"additionalProperties": values})
    )
    lists = _with(
        {"type": "array"},
        _USE | {"maxItems": st.integers(1, 9), "x-kubernetes-list-type": st.just("atomic"), "default": st.just([])},
    ).flatmap(lambda found: inner.map(lambda items: found | {"items": items}))
    return st.one_of(objects, maps, lists)


def _required(found: dict[str, Any]) -> Schemas:
    names = sorted(found.get("properties", {}))
    if not names:
        return st.just(found)
    return st.lists(st.sampled_from(names), unique=True).map(lambda some: found | {"required": some} if some else found)


_SCHEMAS = st.recursive(_SCALARS, _nested, max_leaves=12)


@settings(
    max_examples=int(os.environ.get("PYKB_FUZZ_CASES", "0")) // 200 or 40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(properties=st.dictionaries(_NAMES, _SCHEMAS, min_size=1, max_size=5))
def test_a_schema_comes_back(properties: dict[str, Any], make_crd) -> None:
    """Import, generate, compare: nothing differs, whatever the combination."""
    found = Diagnostics()
    definitions = find_definitions([Document(make_crd(properties), "crd.yaml")], found)
    verify(definitions, package_files(definitions, found), found)
    # A default that does not fit is the schema's own mistake, which the generator says.
    lost = [(d.message, d.notes) for d in found if d.code.slug == "import-not-kept"]
    assert lost == []
    assert {d.code.slug for d in found} <= {"default-value"}
