"""The CEL rules that markers and tags become: of the right fields, by names that CEL can read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from pykb.diagnostics.render import Format, render
from pykb.gen.run import GenerateResult

Generate = Callable[..., GenerateResult]

KIND = "class Thing(CustomResource, group_version=GV):\n    spec: Spec\n"


def spec_of(result: GenerateResult) -> dict[str, Any]:
    """The schema of the field `spec`."""
    assert not result.diagnostics.has_errors(), render(result.diagnostics, style=Format.CONCISE)
    (artifact,) = result.artifacts["crd"]
    crd = yaml.safe_load(artifact.render())
    found: dict[str, Any] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


def rules_of(schema: dict[str, Any]) -> list[str]:
    """The rules of a schema."""
    return [rule["rule"] for rule in schema.get("x-kubernetes-validations", [])]


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        (
            ("# +kubebuilder:validation:ExactlyOneOf=namespace;in\nclass Spec(Struct):\n"
            "    namespace: str | None = None\n    in_: str | None = None\n"),
            "(has(self.__namespace__)?1:0)+(has(self.__in__)?1:0) == 1",
        ),
        (
            ("# +kubebuilder:validation:AtLeastOneOf=a-b;c.d\nclass Spec(Struct):\n"
            "    x: Annotated[str | None, Wire('a-b')] = None\n    y: Annotated[str | None, Wire('c.d')] = None\n"),
            "has(self.a__dash__b)||has(self.c__dot__d)",
        ),
        (
            "class Spec(Struct):\n    # +k8s:immutable\n    namespace: str | None = None\n",
            "!has(oldSelf.__namespace__) || has(self.__namespace__)",
        ),
        (
            "class Spec(Struct):\n    # +k8s:forbidden\n    package: str | None = None\n",
            "!has(self.__package__)",
        ),
        (
            "class Spec(Struct):\n    # +k8s:dependentRequired(for)\n    a: str | None = None\n    for_: str | None = None\n",
            "!has(self.a) || has(self.__for__)",
        ),
        (
            ("class Spec(Struct):\n    # +k8s:unionDiscriminator\n    package: str\n"
            '    # +k8s:unionMember(memberName: "X")\n    let: str | None = None\n'),
            "(self.__package__ == 'X') == has(self.__let__)",
        ),
    ],
)  # fmt: skip
def test_a_rule_names_fields_as_cel_does(source: str, rule: str, generate_types: Generate) -> None:
    """Words of the language, dots and dashes are escaped; the API server refuses a rule that does not."""
    assert rules_of(spec_of(generate_types(source + KIND))) == [rule]


def test_both_kinds_of_discriminator_stand_side_by_side(generate_types: Generate) -> None:
    """`+k8s:member` goes by `+k8s:discriminator`, `+k8s:ifMode` by `+k8s:modeDiscriminator`, also without names."""
    source = """\
class Spec(Struct):
    # +k8s:discriminator
    by: str
    # +k8s:modeDiscriminator
    way: str
    # +k8s:member("A")=+k8s:required
    a: str | None = None
    # +k8s:ifMode("B")=+k8s:required
    b: str | None = None
"""
    assert rules_of(spec_of(generate_types(source + KIND))) == [
        "self.by != 'A' || has(self.a)",
        "self.way != 'B' || has(self.b)",
    ]


@pytest.mark.parametrize(
    ("marker", "annotation"),
    [
        ("kubebuilder:validation:ExclusiveMinimum=false", "int"),
        ("kubebuilder:validation:ExclusiveMaximum=false", "int"),
        ("kubebuilder:validation:UniqueItems=false", "list[str]"),
    ],
)
def test_a_flag_that_is_false_is_not_written(marker: str, annotation: str, generate_types: Generate) -> None:
    """`false` is what its absence means; Kubernetes' own types leave it out."""
    plain = spec_of(generate_types(f"class Spec(Struct):\n    a: {annotation}\n{KIND}"))
    assert spec_of(generate_types(f"class Spec(Struct):\n    # +{marker}\n    a: {annotation}\n{KIND}")) == plain
