"""The text of one marker: what it means, held to controller-gen's reading by a table that both are run through.

``vectors.json`` has a marker, and either its arguments or the code of its diagnostic. ``differs`` says why controller-gen
v0.23 sees it another way; ``tests/differential`` checks the table against the real thing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pykb.diagnostics import Diagnostic, Diagnostics, Severity
from pykb.markers._reader import MarkerReader
from pykb.markers.definition import MarkerTarget
from pykb.markers.model import Marker, MarkerComment, Place
from pykb.markers.registry import builtin_registry

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "vectors.json").read_text(encoding="utf-8"))


def read(text: str, target: str = "field") -> tuple[Marker | None, list[Diagnostic]]:
    """The marker in one comment, and what was found."""
    diagnostics = Diagnostics()
    place = Place((MarkerTarget(target),), f"the {target}")
    marker = MarkerReader(builtin_registry(), diagnostics).read(MarkerComment(text, "x.py", 7, 5), place)
    return marker, list(diagnostics)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["text"][:60])
def test_a_marker_has_the_value_or_the_diagnostic_of_the_table(vector: dict[str, Any]) -> None:
    """Values are typed Python data; a wrong marker gives no value but a finding of the listed kind, with a place."""
    marker, found = read(vector["text"], vector["target"])
    if "code" in vector:
        assert marker is None
        assert vector["code"] in {d.code.slug for d in found}
        assert all(d.span is not None and d.span.line == 7 and d.span.column >= 5 for d in found)
    else:
        assert marker is not None, found
        assert dict(marker.arguments) == vector["arguments"]
        assert json.dumps(dict(marker.arguments)) == json.dumps(vector["arguments"])
        assert not [d for d in found if d.severity is Severity.ERROR]


def test_the_span_of_an_argument_is_its_value_by_characters() -> None:
    """Blanks around a value are no part of it, and characters beyond ASCII count once."""
    text = '+kubebuilder:validation:XValidation:rule = "größe > 1" , message="b"'
    marker, _ = read(text)
    assert marker is not None
    span = marker.span_of("message")
    assert text[span.column - 5 : span.end_column - 5] == '"b"'
    span = marker.span_of("rule")
    assert text[span.column - 5 : span.end_column - 5] == '"größe > 1"'
    assert (marker.span.column, marker.span.end_column) == (5, 5 + len(text))


def test_an_element_of_a_list_has_a_place_of_its_own() -> None:
    """A finding about one verb points at that verb, not at the first text that looks like it."""
    text = "+kubebuilder:rbac:groups=apps,resources=deployments,verbs=getx;get"
    marker, _ = read(text, "package")
    assert marker is not None
    span = marker.span_of_element("verbs", "get")
    assert (text[span.column - 5 :], span.end_column - span.column) == ("get", 3)


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("+k8s:maxLength=10 # why", {"": 10}),
        ("+k8s:maxLength=10#why", {"": 10}),
        ("+k8s:minimum=-1.5", {"": -1.5}),
        ("+k8s:minimum=0x10", {"": 16}),
        ("+k8s:optional # because", {}),
        ("+k8s:optional()", {}),
        ('+k8s:neq="default" # c', {"": "default"}),
        ("+k8s:neq=5", {"": 5}),
        ("+k8s:neq=true", {"": True}),
        ("+k8s:neq=some words # c", {"": "some"}),
        ("+k8s:format=k8s-uuid", {"": "k8s-uuid"}),
        ("+k8s:unionMember(union: \"u\", memberName: 'x')", None),
        ('+k8s:unionMember(union: "u", memberName: "x")', {"union": "u", "memberName": "x"}),
        ("+k8s:unionMember", {}),
        ("+k8s:listMapKey=type", {"": "type"}),
        ("+k8s:update=NoModify", {"": "NoModify"}),
        ("+k8s:dependentRequired(other)", {"field": "other"}),
        ('+k8s:dependentRequired("other")', {"field": "other"}),
        ("+k8s:dependentRequired()", None),
        ("+k8s:dependentRequired", None),
        ("+k8s:maxLength", None),
        ("+k8s:maxLength=", None),
        ("+k8s:maxLength=-1", None),
        ("+k8s:maxLength=ten", None),
        ("+k8s:maxLength=1.5", None),
        ("+k8s:maxLength=10 11", None),
        ("+k8s:maxLength =10", None),
        ("+k8s:maxLength=99999999999999999999", None),
        ("+k8s:maxLength=+k8s:minLength=1", None),
        ("+k8s:optional=true", None),
        ("+k8s:optional(x)", None),
        ("+k8s:optional foo", None),
        ("+k8s:format=uuid", None),
        ("+k8s:format='k8s-uuid'", None),
        ("+k8s:eachVal=5", None),
        ("+k8s:eachVal", None),
        ("+k8s:eachVal=+k8s:maxLenght=5", None),
        ("+k8s:eachVal=+optional", None),
        ("+k8s:subfield=+k8s:required", None),
        ("+k8s:subfield(a, b)=+k8s:required", None),
        ("+k8s:subfield(a=+k8s:required", None),
        ("+k8s:unionMember(unoin: x)", None),
        ("+k8s:unionMember(union: x, union: y)", None),
        ("+k8s:unionMember(union x)", None),
        ("+k8s:update=NoMod", None),
    ],
)
def test_a_declarative_tag_has_the_value_of_the_table(text: str, arguments: dict[str, object] | None) -> None:
    """The grammar of gengo's codetags: named or positional arguments, typed values, trailing comments."""
    marker, found = read(text)
    if arguments is None:
        assert marker is None
        assert [d for d in found if d.severity is Severity.ERROR]
        assert all(d.span is not None for d in found)
    elif text.startswith("+k8s:neq=some"):
        assert marker is None  # a bare value of several words needs quotes
    else:
        assert marker is not None, found
        assert dict(marker.arguments) == arguments


def test_declarative_tags_nest_to_any_depth() -> None:
    """A tag may be the value of a tag; each is a marker with a place of its own."""
    text = '+k8s:alpha(since: "1.36")=+k8s:eachVal=+k8s:subfield(name)=+k8s:maxLength=63 # DNS label'
    marker, found = read(text)
    assert found == []
    names = []
    while isinstance(marker, Marker):
        names.append(marker.name)
        assert text[marker.span.column - 5 : marker.span.end_column - 5] == marker.text
        innermost, marker = marker, marker.value  # type: ignore[assignment]
    assert names == ["k8s:alpha", "k8s:eachVal", "k8s:subfield", "k8s:maxLength"]
    assert innermost.value == 63
    assert innermost.text == "+k8s:maxLength=63"


def test_items_markers_apply_at_any_depth() -> None:
    """`items:items:` means the elements of the elements; controller-gen knows one level and drops the others."""
    marker, _ = read("+kubebuilder:validation:items:items:items:MaxLength=3")
    assert marker is not None
    assert marker.definition.items_depth == 3
    assert marker.definition.base_name == "kubebuilder:validation:MaxLength"
    assert marker.name == "kubebuilder:validation:items:items:items:MaxLength"


@pytest.mark.parametrize(
    "text", ["+kubebuilder:scaffold:imports", "+pykb:scaffold:controllers", "+ a bullet", "+1", "+---+", "+"]
)
def test_anchors_and_prose_are_no_markers(text: str) -> None:
    """Scaffolding's anchors, bullets, banners and boxes pass without a word."""
    assert read(text) == (None, [])
