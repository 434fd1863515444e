"""controller-gen's command lines as typed options."""

from __future__ import annotations

import pytest

from pykb.diagnostics import Diagnostics, Severity
from pykb.gen.request import CommandLine, OutputKind, OutputRule, parse_command_line


def parse(*words: str) -> tuple[CommandLine, Diagnostics]:
    """The options, and what is wrong."""
    diagnostics = Diagnostics()
    return parse_command_line(words, diagnostics=diagnostics), diagnostics


def test_the_line_of_a_kubebuilder_makefile_is_understood() -> None:
    """As it stands in every scaffolded Go project."""
    options, diagnostics = parse(
        "rbac:roleName=manager-role", "crd", "webhook", "paths=./...", "output:crd:artifacts:config=config/crd/bases"
    )
    assert len(diagnostics) == 0
    assert options == CommandLine(
        arguments={"rbac": {"roleName": "manager-role"}, "crd": {}, "webhook": {}},
        paths=("./...",),
        outputs={"crd": OutputRule(OutputKind.ARTIFACTS, "config/crd/bases")},
    )
    assert options.generators == ("crd", "rbac", "webhook")
    assert options.output_for("rbac") is None


def test_all_options_are_typed() -> None:
    """Integers, booleans, lists, and what was not said."""
    options, diagnostics = parse(
        "crd:maxDescLen=0,allowDangerousTypes=true,generateEmbeddedObjectMeta=false,ignoreUnexportedFields=true,"
        "crdVersions=v1,deprecatedV1beta1CompatibilityPreserveUnknownFields=false,omitToolVersion=true,"
        "headerFile=hack/boilerplate.txt,year=2026",
        "rbac:fileName=a.yaml,headerFile=h,year=2025",
        "webhook:headerFile=w",
        "paths=./api/v1;./api/v2/...",
        "paths={./c}",
        "output:stdout",
        "output:rbac:dir=x",
        "output:webhook:none",
    )
    assert len(diagnostics) == 0
    assert options.arguments == {
        "crd": {
            "maxDescLen": 0,
            "allowDangerousTypes": True,
            "generateEmbeddedObjectMeta": False,
            "ignoreUnexportedFields": True,
            "crdVersions": ["v1"],
            "deprecatedV1beta1CompatibilityPreserveUnknownFields": False,
            "omitToolVersion": True,
            "headerFile": "hack/boilerplate.txt",
            "year": "2026",
        },
        "rbac": {"fileName": "a.yaml", "headerFile": "h", "year": "2025"},
        "webhook": {"headerFile": "w"},
    }
    assert options.paths == (
        "./api/v1",
        "./api/v2/...",
        "./c",
    )
    assert options.output_for("crd") == OutputRule(OutputKind.STDOUT)
    assert options.output_for("rbac") == OutputRule(OutputKind.DIRECTORY, "x")
    assert options.output_for("webhook") == OutputRule(OutputKind.NONE)


def test_generators_of_go_code_are_accepted_with_a_note() -> None:
    """A Makefile with `make generate` can be moved as it is."""
    options, diagnostics = parse("object:headerFile=hack/boilerplate.go.txt", "paths=./...")
    assert options.skipped == ("object",)
    assert options.generators == ()
    assert [d.severity for d in diagnostics] == [Severity.NOTE]


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("crdd", "`crd`"),
        ("crd:foo=1", "no argument `foo`"),
        ("crd:maxDescLen=x", "expected an integer"),
        ("crd:maxDescLen=-1", "at least 0"),
        ("crd:crdVersions=v1beta1", "expected `v1`"),
        ("rbac:rolename=x", "`roleName`"),
        ("rbac=x", "named arguments"),
        ("schemapatch:manifests=x", "not supported"),
        ("output:dir", "needs a value"),
        ("output:foo", "neither"),
        ("paths", "needs a value"),
        ("everything", "neither a generator"),
    ],
)
def test_a_wrong_word_is_one_error(word: str, text: str) -> None:
    """With what was expected, without a usage dump."""
    _, diagnostics = parse(word)
    (found,) = diagnostics
    assert text in "\n".join((found.message, *found.help, *found.notes))


@pytest.mark.parametrize(
    "words", [("crd", "crd"), ("crd", "output:crd:dir=a", "output:crd:dir=b"), ("output:stdout", "output:none")]
)
def test_a_word_that_is_repeated_is_an_error(words: tuple[str, ...]) -> None:
    """Only one of the two could count."""
    _, diagnostics = parse(*words)
    assert [d.code.slug for d in diagnostics] == ["generate-command-line"]


def test_an_output_rule_needs_no_generator_where_all_of_them_run() -> None:
    """Without a generator's name all three run, each with its rule."""
    options, diagnostics = parse("output:crd:dir=x", "output:none")
    assert len(diagnostics) == 0
    assert options.output_for("crd") == OutputRule(OutputKind.DIRECTORY, "x")
    assert options.output_for("rbac") == OutputRule(OutputKind.NONE)


@pytest.mark.parametrize("word", ["output:dir=", "output:crd:artifacts:config="])
def test_a_rule_without_a_folder_is_said(word: str) -> None:
    """An empty folder would be the project itself."""
    _, diagnostics = parse("crd", word)
    assert [d.code.slug for d in diagnostics] == ["generate-command-line"]
