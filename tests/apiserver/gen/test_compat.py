"""What an API server does to objects that it stored before an incompatible change, beside what the generator says."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pykb.envtest import ControlPlane
from pykb.envtest.rest import Rest
from pykb.gen.compat import (
    DEFAULTED,
    EMBEDDED,
    IMMUTABLE,
    LIST,
    NARROWED,
    NARROWED_AT_ROOT,
    NULL,
    PRUNED,
    REQUIRED,
    REQUIRED_AT_ROOT,
    RETYPED,
    VERSION_GONE,
    Effect,
    compare_definitions,
)

pytestmark = pytest.mark.apiserver

GROUP = "compat.example.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = "application/merge-patch+json"
HELD = ["example.com/held"]

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
STRINGS = {"type": "array", "items": STRING}
RULE = {"rule": "self.a == 'y'", "message": "not y"}

DROPPED, REFUSED_ANEW, REFUSED_BESIDE, KEPT_FOR_EVER = "dropped", "refused anew", "refused beside", "kept for ever"
"""The value is not there any more; a new object like it is refused; so is a change of another field of the spec; so is
a change of metadata, and with it the end of a finalizer."""


def spec(required: str = "", **fields: Any) -> dict[str, Any]:
    """The schema of a kind whose spec has these fields, and one that no change is about."""
    found: dict[str, Any] = {"type": "object", "properties": {"beside": STRING, **fields}}
    if required:
        found["required"] = required.split()
    return {"type": "object", "properties": {"spec": found}}


def a_map(values: dict[str, Any]) -> dict[str, Any]:
    """The schema of a map."""
    return {"type": "object", "additionalProperties": values}


ITEM = {"type": "object", "properties": {"k": STRING}}
KEYED = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
Case = tuple[dict[str, Any], dict[str, Any] | None, dict[str, Any], Effect | None, set[str]]
CASES: Mapping[str, Case] = {
    "removed": (spec(a=STRING), {"a": "x"}, spec(), PRUNED, {DROPPED}),
    "renamed": (spec(a=STRING), {"a": "x"}, spec(b=STRING), PRUNED, {DROPPED}),
    "closed": (spec(a=a_map(STRING)), {"a": {"k": "x"}}, spec(a={"type": "object"}), PRUNED, {DROPPED}),
    "unknown": (spec(a=ANYTHING), {"a": {"k": "x"}}, spec(a={"type": "object"}), PRUNED, {DROPPED}),
    "required": (spec(a=STRING), {}, spec("a", a=STRING), REQUIRED, {REFUSED_ANEW, REFUSED_BESIDE}),
    "root": (
        spec(),
        None,
        {**spec(), "required": ["spec"]},
        REQUIRED_AT_ROOT,
        {REFUSED_ANEW, KEPT_FOR_EVER},
    ),
    "retyped": (spec(a=STRING), {"a": "x"}, spec(a=INTEGER), RETYPED, {REFUSED_ANEW}),
    "listed": (spec(a=STRING), {"a": "x"}, spec(a=STRINGS), RETYPED, {REFUSED_ANEW}),
    "either": (
        spec(a={"x-kubernetes-int-or-string": True}),
        {"a": 5},
        spec(a=STRING),
        RETYPED,
        {REFUSED_ANEW},
    ),
    "enum": (spec(a=STRING), {"a": "x"}, spec(a={**STRING, "enum": ["y"]}), NARROWED, {REFUSED_ANEW}),
    "pattern": (spec(a=STRING), {"a": "x"}, spec(a={**STRING, "pattern": "y"}), NARROWED, {REFUSED_ANEW}),
    "format": (spec(a=STRING), {"a": "x"}, spec(a={**STRING, "format": "date"}), NARROWED, {REFUSED_ANEW}),
    "minimum": (spec(a=INTEGER), {"a": 1}, spec(a={**INTEGER, "minimum": 2}), NARROWED, {REFUSED_ANEW}),
    "step": (spec(a=INTEGER), {"a": 1}, spec(a={**INTEGER, "multipleOf": 2}), NARROWED, {REFUSED_ANEW}),
    "long": (spec(a=STRING), {"a": "xx"}, spec(a={**STRING, "maxLength": 1}), NARROWED, {REFUSED_ANEW}),
    "many": (spec(a=STRINGS), {"a": ["x", "y"]}, spec(a={**STRINGS, "maxItems": 1}), NARROWED, {REFUSED_ANEW}),
    "entries": (
        spec(a=a_map(STRING)),
        {"a": {"k": "x", "l": "x"}},
        spec(a={**a_map(STRING), "maxProperties": 1}),
        NARROWED,
        {REFUSED_ANEW},
    ),
    "rule": (
        spec(a=ANYTHING),
        {"a": {"a": "x"}},
        spec(a={**ANYTHING, "properties": {"a": STRING}, "x-kubernetes-validations": [RULE]}),
        NARROWED,
        {REFUSED_ANEW},
    ),
    "rooted": (
        spec(a=STRING),
        {"a": "x"},
        {**spec(a=STRING), "x-kubernetes-validations": [{**RULE, "rule": "self.spec.a == 'y'"}]},
        NARROWED_AT_ROOT,
        {REFUSED_ANEW, REFUSED_BESIDE, KEPT_FOR_EVER},
    ),
    "null": (spec(a={**STRING, "nullable": True}), {"a": None}, spec(a=STRING), NULL, {DROPPED}),
    "set": (
        spec(a=STRINGS),
        {"a": ["x", "x"]},
        spec(a={**STRINGS, "x-kubernetes-list-type": "set"}),
        LIST,
        {REFUSED_ANEW},
    ),
    "keys": (
        spec(a={"type": "array", "items": ITEM}),
        {"a": [{}]},
        spec(a={"type": "array", "items": {**ITEM, "required": ["k"]}, **KEYED}),
        LIST,
        {REFUSED_ANEW, REFUSED_BESIDE, KEPT_FOR_EVER},
    ),
    "embedded": (
        spec(a=ANYTHING),
        {"a": {"k": "x"}},
        spec(a={**ANYTHING, "x-kubernetes-embedded-resource": True}),
        EMBEDDED,
        {REFUSED_ANEW, REFUSED_BESIDE, KEPT_FOR_EVER},
    ),
    "default": (
        spec(a={**STRING, "default": "x"}),
        {},
        spec(a={**STRING, "default": "y"}),
        DEFAULTED,
        set(),
    ),
    # The last one: when it is in force, all are.
    "wider": (spec(a={**STRING, "maxLength": 1}), {"a": "x"}, spec(a={**STRING, "maxLength": 2}), None, set()),
}


def definition(case: str, schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A definition with one version."""
    kind = case.title()
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{case}s.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": f"{case}s", "singular": case, "listKind": f"{kind}List"},
            "versions": [version],
            **more,
        },
    }


def an_object(case: str, name: str, content: dict[str, Any] | None) -> dict[str, Any]:
    """An object that a finalizer holds."""
    metadata = {"name": name, "namespace": "default", "finalizers": HELD}
    found = {"apiVersion": f"{GROUP}/v1", "kind": case.title(), "metadata": metadata}
    return found if content is None else {**found, "spec": content}


def of(case: str, name: str = "", query: str = "") -> str:
    """Where the objects of a case are."""
    return f"/apis/{GROUP}/v1/namespaces/default/{case}s" + (f"/{name}" if name else "") + query


def install(plane: ControlPlane, folder: Path, index: int) -> None:
    """The definitions before, or after."""
    path = folder / f"{index}.yaml"
    documents = (json.dumps(definition(case, found[index])) for case, found in CASES.items())
    path.write_text("\n---\n".join(documents), encoding="utf-8")
    plane.install_crds(path)


@pytest.fixture(scope="module")
def changed(control_plane: ControlPlane, rest: Rest, tmp_path_factory: pytest.TempPathFactory) -> Rest:
    """A server that has an object of each kind, and then the other definitions."""
    folder = tmp_path_factory.mktemp("definitions")
    install(control_plane, folder, 0)
    for case, found in CASES.items():
        answer = rest.call("POST", of(case), an_object(case, "old", found[1]))
        assert answer.ok, answer.message
    install(control_plane, folder, 2)
    longer = an_object("wider", "new", {"a": "xx"})
    deadline = time.monotonic() + 60
    while not rest.call("POST", of("wider", query="?dryRun=All"), longer).ok:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return rest


@pytest.mark.parametrize("case", CASES)
def test_the_server_does_what_the_finding_says(changed: Rest, case: str) -> None:
    """To the object that was stored before, and to a new one like it."""
    before, content, after, effect, expected = CASES[case]
    found = [each.effect for each in compare_definitions(definition(case, before), definition(case, after))]
    consequences = {each.consequence for each in found}
    assert (effect.consequence in consequences) if effect else not consequences
    seen: set[str] = set()
    stored = changed.call("GET", of(case, "old")).body.get("spec")
    if effect is not DEFAULTED and stored != content:
        seen.add(DROPPED)
    anew = changed.call("POST", of(case, query="?dryRun=All"), an_object(case, "new", content))
    if not anew.ok:
        seen.add(REFUSED_ANEW)
    elif effect is DEFAULTED:
        assert (stored, anew.body["spec"]) == ({"a": "x"}, {"a": "y"})

    def takes(patch: dict[str, Any]) -> bool:
        return changed.call("PATCH", of(case, "old", "?dryRun=All"), patch, content_type=MERGE).ok

    if not takes({"spec": {"beside": "x"}}):
        seen.add(REFUSED_BESIDE)
    if not takes({"metadata": {"finalizers": None}}):
        seen.add(KEPT_FOR_EVER)
    assert seen == expected


def test_the_server_refuses_what_it_cannot_take_at_all(changed: Rest) -> None:
    """Another scope, and a version gone that objects are stored in."""
    name = f"{DEFINITIONS}/widers.{GROUP}"
    before = changed.call("GET", name).body
    schema = CASES["wider"][2]
    cluster = {**before, "spec": definition("wider", schema, scope="Cluster")["spec"]}
    assert [each.effect for each in compare_definitions(before, cluster)] == [IMMUTABLE]
    assert "immutable" in changed.call("PUT", f"{name}?dryRun=All", cluster).message
    other = definition("wider", schema)
    other["spec"]["versions"][0]["name"] = "v2"
    other = {**before, "spec": other["spec"]}
    assert [each.effect for each in compare_definitions(before, other)] == [VERSION_GONE]
    assert "status.storedVersions" in changed.call("PUT", f"{name}?dryRun=All", other).message
