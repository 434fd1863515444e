"""`SchemaPatch` and `Conversion`: what has no other spelling."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pykb.gen.options import GenerateOptions
from pykb.gen.run import generate

HEADER = """\
from typing import Annotated, Any
from pykb.api import *
from pykb.api.core.v1 import PodSpec
class Inner(Struct):
    \"\"\"Inner.\"\"\"

    a: str
    b: int | None = None
"""


@pytest.fixture
def spec_of(tmp_path: Path):
    """The schema of `spec`, and the CRD, of types in a module."""

    def make(source: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        kind = 'class Thing(CustomResource, group_version=GroupVersion("example.com", "v1")):\n    spec: Spec\n'
        (tmp_path / "thing_types.py").write_text(f"{HEADER}{source}{'' if 'class Thing' in source else kind}")
        result = generate(GenerateOptions(tmp_path, ("crd",), ("thing_types.py",)))
        assert [d.message for d in result.diagnostics] == []
        crd = result.artifacts["crd"][0].documents[0]
        root = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]  # type: ignore[index]
        return root["properties"].get("spec", {}), crd

    return make


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("x: Annotated[str, SchemaPatch({'not': {'pattern': 'y'}})]", {"type": "string", "not": {"pattern": "y"}}),
        ("x: Annotated[str, Field(min_length=1), SchemaPatch({'minLength': 0})]", {"type": "string", "minLength": 0}),
        ("x: Annotated[str, Field(min_length=1), SchemaPatch({'minLength': None})]", {"type": "string"}),
        ("x: Annotated[IntOrString, SchemaPatch({'anyOf': None})]", {"x-kubernetes-int-or-string": True}),
        (
            "x: Annotated[Inner, SchemaPatch({'properties': {'b': None}, 'required': []})]",
            {"type": "object", "description": "Inner.", "properties": {"a": {"type": "string"}}},
        ),
        (
            "x: Annotated[list[Inner], SchemaPatch({'items': {'description': None, 'properties': {'a': None}}})]",
            {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "integer"}}}},
        ),
        (
            "x: Annotated[dict[str, str], SchemaPatch({'additionalProperties': {'maxLength': 3}})]",
            {"type": "object", "additionalProperties": {"type": "string", "maxLength": 3}},
        ),
    ],
)
def test_a_patch_adds_replaces_and_takes_away(field: str, expected: Mapping[str, object], spec_of) -> None:
    """At the type itself and in its parts."""
    spec, _ = spec_of(f"class Spec(Struct):\n    {field}\n")
    assert spec["properties"]["x"] == expected


def test_a_patch_of_a_class_holds_wherever_it_is_used(spec_of) -> None:
    """Fields that only the patch has, unknown names of `required`, alternatives."""
    patch = "{'oneOf': [{'required': ['a']}, {'required': ['z']}], 'required': ['z'], 'properties': {'n': {'type': 'integer'}}}"
    spec, _ = spec_of(f"@annotate(SchemaPatch({patch}))\nclass Spec(Struct):\n    a: str\n")
    assert spec == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "n": {"type": "integer"}},
        "required": ["z"],
        "oneOf": [{"required": ["a"]}, {"required": ["z"]}],
    }


def test_a_built_in_type_can_be_cut_down(spec_of) -> None:
    """An older server's PodSpec is one with some fields less."""
    cut = "SchemaPatch({'properties': {'hostUsers': None, 'containers': {'items': {'properties': {'resizePolicy': None}}}}})"
    spec, _ = spec_of(f"class Spec(Struct):\n    pod: PodSpec\n    old: Annotated[PodSpec, {cut}]\n")
    new, old = spec["properties"]["pod"], spec["properties"]["old"]
    assert set(new["properties"]) - set(old["properties"]) == {"hostUsers"}
    fields = [set(pod["properties"]["containers"]["items"]["properties"]) for pod in (new, old)]
    assert fields[0] - fields[1] == {"resizePolicy"}


def test_the_name_of_a_kind_can_be_constrained(spec_of) -> None:
    """The API server allows it for `metadata.name`, and nothing else there."""
    _, crd = spec_of(
        "@annotate(SchemaPatch({'properties': {'metadata': {'properties': {'name': {'maxLength': 5}}}}}))\n"
        'class Thing(CustomResource, group_version=GroupVersion("example.com", "v1")):\n    pass\n'
    )
    root = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert root["properties"]["metadata"] == {"type": "object", "properties": {"name": {"maxLength": 5}}}


def test_a_conversion_is_written_as_it_stands(spec_of) -> None:
    """For kinds whose webhook belongs to somebody else."""
    conversion = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}}
    _, crd = spec_of(
        f"@annotate(Conversion({conversion!r}))\n"
        'class Thing(CustomResource, group_version=GroupVersion("example.com", "v1")):\n    pass\n'
    )
    assert crd["spec"]["conversion"] == conversion
