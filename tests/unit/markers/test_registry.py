"""The vocabulary: everything that controller-gen knows, and what each marker must have to be explained."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from pykb.diagnostics import Diagnostics, Severity
from pykb.markers._reader import MarkerReader
from pykb.markers.definition import Grammar, MarkerDefinition, MarkerTarget, ValueKind
from pykb.markers.model import MarkerComment, Place
from pykb.markers.registry import MarkerRegistry, builtin_registry

DEFINITIONS = list(builtin_registry())
with (Path(__file__).parent / "controller_gen.tsv").open(encoding="utf-8") as file:
    PEERS = list(csv.DictReader(file, delimiter="\t"))


def find(text: str, target: MarkerTarget) -> tuple[object, list[str]]:
    """The marker in a text, and the codes of the errors."""
    diagnostics = Diagnostics()
    place = Place((target,), f"the {target}")
    marker = MarkerReader(builtin_registry(), diagnostics).read(MarkerComment(text, "x.py", 1, 3), place)
    return marker, [d.code.slug for d in diagnostics if d.severity is Severity.ERROR]


@pytest.mark.parametrize("peer", PEERS, ids=lambda p: f"{p['name']}-{p['target']}")
def test_every_definition_of_controller_gen_is_known(peer: dict[str, str]) -> None:
    """Name, target and names of arguments, as `controller-gen crd|rbac|webhook -wwww` of v0.23.0 lists them."""
    ours = builtin_registry().get(peer["name"])
    assert ours is not None
    if (peer["name"], peer["target"]) != ("k8s:enum", "field"):  # is only there to be refused
        assert MarkerTarget(peer["target"]) in ours.targets
    names = {a.partition(":")[0].replace("=", "") for a in peer["arguments"].split()}
    if peer["name"] == "default":
        names = {""}  # one JSON text, which Go keeps in a field called `value`
    assert {a.name for a in ours.arguments} == names
    for argument in peer["arguments"].split():
        name, _, kind = argument.partition(":")
        known = ours.argument(name.replace("=", "")) or ours.arguments[0]
        assert known.optional == kind.endswith("?")


def test_the_table_of_controller_gen_is_complete() -> None:
    """134 of crd, 1 of rbac, 2 of webhook."""
    assert len(PEERS) == 137


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda d: d.name)
def test_every_marker_explains_itself_by_an_example_that_is_right(definition: MarkerDefinition) -> None:
    """A summary of one sentence, a category, and an example that the parser accepts on each of its targets."""
    assert definition.summary.endswith(".")
    assert "\n" not in definition.summary
    assert definition.category
    for target in definition.targets:
        marker, errors = find(definition.example, target)
        assert errors == []
        assert marker is not None


@pytest.mark.parametrize("definition", [d for d in DEFINITIONS if not d.anywhere], ids=lambda d: d.name)
def test_every_marker_is_refused_on_another_target(definition: MarkerDefinition) -> None:
    """A known marker on the wrong kind of declaration is an error, where controller-gen ignores it."""
    for target in set(MarkerTarget) - definition.targets:
        marker, errors = find(definition.example, target)
        assert marker is None
        assert errors == ["marker-target"]


def wrong_arguments(definition: MarkerDefinition) -> list[str]:
    """Texts of a marker with an argument that cannot be right."""
    value = definition.value
    if definition.grammar is Grammar.DECLARATIVE:
        bad = [
            f"+{definition.name}(nosuch: 1)=+k8s:optional" if not definition.open_arguments else f"+{definition.name}(a"
        ]
        return bad if value is None or value.type.kind is ValueKind.RAW else [*bad, f"+{definition.name}='x"]
    if value is None and not definition.arguments:
        return [f"+{definition.name}=1"]
    if value is None:
        return [f"+{definition.name}:nosuch=1"]
    if value.type.kind is ValueKind.RAW:
        return [f"+{definition.name}:nosuch=1"]
    return [f"+{definition.name}:nosuch=1", f'+{definition.name}="open']


@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda d: d.name)
def test_every_marker_diagnoses_a_bad_argument(definition: MarkerDefinition) -> None:
    """No value that cannot be read, and no argument that does not exist, passes."""
    for text in wrong_arguments(definition):
        for target in definition.targets:
            marker, errors = find(text, target)
            assert marker is None
            assert errors


@pytest.mark.parametrize(
    ("name", "target", "suggestion"),
    [
        ("kubebuilder:validation:Maxlength", "field", "kubebuilder:validation:MaxLength"),
        ("kubebuilder:validation:Minimim", "field", "kubebuilder:validation:Minimum"),
        ("kubebuilder:validation:enum", "field", "kubebuilder:validation:Enum"),
        ("kubebuilder:validation:nullable", "field", "nullable"),
        ("kubebuilder:validation:optional", "field", "kubebuilder:validation:Optional"),
        ("kubebuilder:validation:items:Maxlength", "field", "kubebuilder:validation:items:MaxLength"),
        ("kubebuilder:MinLength", "field", "kubebuilder:validation:MinLength"),
        ("kubebulder:validation:MinLength", "field", "kubebuilder:validation:MinLength"),
        ("kubebuilder:printcolum", "type", "kubebuilder:printcolumn"),
        ("kubebuilder:subresources:status", "type", "kubebuilder:subresource:status"),
        ("kubebuilder:storageVersion", "type", "kubebuilder:storageversion"),
        ("kubebuilder:rbca", "package", "kubebuilder:rbac"),
        ("k8s:maxLenght", "field", "k8s:maxLength"),
        ("listtype", "field", "listType"),
        ("optinal", "field", "optional"),
        ("groupname", "package", "groupName"),
        ("kubebuilder:nothing-like-it", "type", None),
    ],
)
def test_a_misspelt_name_gets_the_nearest_that_fits(name: str, target: str, suggestion: str | None) -> None:
    """Case, single letters and a wrong way to the right last segment are seen through."""
    assert builtin_registry().suggest(name, target=MarkerTarget(target)) == suggestion


def test_a_name_cannot_be_defined_twice() -> None:
    """A second definition would hide the first."""
    registry = MarkerRegistry([DEFINITIONS[0]])
    with pytest.raises(ValueError, match="defined twice"):
        registry.define(DEFINITIONS[0])
