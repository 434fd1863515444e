"""A marker is one definition: read, applied, explained, listed and suggested, with nothing said about it elsewhere."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from hack.markers import render as render_reference
from pykb.diagnostics.render import Format, render
from pykb.gen.options import GenerateOptions
from pykb.gen.run import GenerateResult, generate
from pykb.markers.builtin import definitions
from pykb.markers.definition import (
    INTEGER,
    TEXTS,
    Argument,
    Does,
    Holder,
    MarkerDefinition,
    MarkerTarget,
    Sets,
    Subject,
)
from pykb.markers.registry import MarkerRegistry, builtin_registry, explain_marker, list_markers

ROOT = Path(__file__).parents[3] / "pykb"
FIELD = frozenset({MarkerTarget.FIELD})
HEADER = """\
from typing import *
from pykb.api import *
GV = GroupVersion("example.com", "v1")
"""


def _slug(schema: Subject) -> None:
    schema.put("pattern", "^[a-z-]+$")
    schema.fill("maxLength", schema.argument())
    schema.rule("!self.endsWith('-')", "must not end in a dash")


def _only_with_host(holder: Holder) -> None:
    host = holder.beside("host")
    if host is not None:
        holder.rule(f"!has({holder.at}) || has({host})", f"{holder.name} needs a host")


SLUG = MarkerDefinition(
    "example:slug",
    FIELD,
    (Argument("", INTEGER, minimum=1, summary="The greatest number of characters."),),
    summary="The text can stand in a URL.",
    example="+example:slug=40",
    category="Example",
    effect=Does(_slug, TEXTS),
    member=_only_with_host,
)
SHORTEST = MarkerDefinition(
    "example:shortest",
    FIELD,
    (Argument("", INTEGER, minimum=0),),
    summary="The least number of characters.",
    example="+example:shortest=3",
    category="Example",
    effect=Sets("minLength"),
)


@pytest.fixture
def registry() -> MarkerRegistry:
    """The markers of pykb and two more."""
    return MarkerRegistry([*definitions(), SLUG, SHORTEST])


def run(folder: Path, registry: MarkerRegistry, marker: str, kind: str = "str") -> GenerateResult:
    """What is generated from one field with a marker."""
    package = folder / "shop" / "api" / "v1"
    package.mkdir(parents=True)
    for part in (package, package.parent, package.parent.parent):
        (part / "__init__.py").touch()
    fields = f"    # {marker}\n    name: {kind} | None = None\n    host: str | None = None\n"
    source = HEADER + "class Thing(CustomResource, group_version=GV):\n" + fields
    (package / "things.py").write_text(source, encoding="utf-8")
    return generate(GenerateOptions(root=folder), registry=registry)


def schema_of(result: GenerateResult) -> dict[str, Any]:
    """The schema in the CRD."""
    assert not result.diagnostics.has_errors(), render(result.diagnostics, style=Format.CONCISE)
    (artifact,) = result.artifacts["crd"]
    (document,) = artifact.documents
    versions: Any = document["spec"]
    schema: dict[str, Any] = versions["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def test_its_effect_is_in_the_crd(tmp_path: Path, registry: MarkerRegistry) -> None:
    """Keywords and a rule of the field, and a rule of the object around it."""
    schema = schema_of(run(tmp_path, registry, "+example:slug=40"))
    assert schema["properties"]["name"] == {
        "type": "string",
        "pattern": "^[a-z-]+$",
        "maxLength": 40,
        "x-kubernetes-validations": [{"rule": "!self.endsWith('-')", "message": "must not end in a dash"}],
    }
    assert schema["x-kubernetes-validations"] == [
        {"rule": "!has(self.name) || has(self.host)", "message": "name needs a host"}
    ]


@pytest.mark.parametrize(
    ("marker", "kind", "code", "words"),
    [
        ("+example:slug=40", "int", "marker-type", "`example:slug` applies to strings"),
        ("+example:slgu=40", "str", "marker-unknown", "`+example:slug`"),
        ("+example:slug=0", "str", "marker-argument", "expected at least 1"),
        ("+example:slug", "str", "marker-argument-missing", "+example:slug=40"),
        ("+example:shortest=3\n    # +kubebuilder:validation:MinLength=2", "str", "marker-conflict", "shortest=3"),
        ("+example:shortest=9\n    # +kubebuilder:validation:MaxLength=2", "str", "marker-conflict", "`9`"),
        ("+example:shortest=9", "Annotated[str, Field(min_length=1)]", "constraint-conflict", "min_length=1"),
    ],
)
def test_its_mistakes_are_found(
    marker: str, kind: str, code: str, words: str, tmp_path: Path, registry: MarkerRegistry
) -> None:
    """A wrong type, name or argument, and another value by another marker or by Python."""
    (found,) = run(tmp_path, registry, marker, kind).diagnostics
    assert found.code.slug == code
    assert words in f"{found.message} {' '.join(found.help)}"


def test_it_is_in_the_reference(registry: MarkerRegistry) -> None:
    """The page, the list, and the explanation."""
    assert "## Example\n\n### `+example:shortest`" in render_reference(registry)
    assert "+example:slug  " in list_markers(registry)
    assert "The greatest number of characters." in explain_marker(SLUG)


def test_no_marker_about_schemas_is_named_outside_of_its_definition() -> None:
    """What other modules need to know of a marker stands in its definition."""
    names = {d.name for d in builtin_registry() if ":" in d.name and (d.effect or d.member or d.required is not None)}
    modules = [path for folder in ("gen", "markers") for path in (ROOT / folder).rglob("*.py")]
    named = {
        (path.name, node.value)
        for path in modules
        if path.parent.name != "builtin"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in names
    }
    assert len(names) > 60
    assert not named
