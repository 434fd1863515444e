"""Descriptions of built-in types come from OpenAPI, or there are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pykb.diagnostics import Diagnostics
from pykb.gen._builtin_texts import read_builtin_texts
from pykb.gen.options import GenerateOptions
from pykb.gen.run import generate

TYPES = """\
from pykb.api import CustomResource, GroupVersion
from pykb.api.core.v1 import LocalObjectReference
from pykb.api.meta.v1 import LabelSelector


class Box(CustomResource, group_version=GroupVersion("shop.example.com", "v1")):
    reference: LocalObjectReference
    selector: LabelSelector
    \"\"\"Which things.\"\"\"
"""
DEFINITIONS = {
    "io.k8s.api.core.v1.LocalObjectReference": {
        "description": "A reference.",
        "properties": {"name": {"description": "Its name.", "type": "string"}},
    },
    "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector": {
        "description": "A selector.",
        "properties": {"matchLabels": {"description": "Its labels."}, "matchExpressions": {}},
    },
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A kind that embeds two built-in types."""
    package = tmp_path / "shop" / "api" / "v1"
    package.mkdir(parents=True)
    for folder in (package, package.parent, package.parent.parent):
        (folder / "__init__.py").touch()
    (package / "box.py").write_text(TYPES, encoding="utf-8")
    return tmp_path


def properties(root: Path, name: str | None) -> Any:
    """The properties of the kind."""
    options = GenerateOptions(root=root, generators=("crd",), builtin_descriptions=name)
    (artifact,) = generate(options).artifacts["crd"]
    (document,) = artifact.documents
    version: Any = document["spec"]["versions"][0]  # type: ignore[index]
    return version["schema"]["openAPIV3Schema"]["properties"]


@pytest.mark.parametrize("document", [{"definitions": DEFINITIONS}, {"components": {"schemas": DEFINITIONS}}])
def test_types_and_fields_are_described(document: object, project: Path) -> None:
    """By both versions of OpenAPI; a description of one's own wins."""
    (project / "openapi.json").write_text(json.dumps(document), encoding="utf-8")
    found = properties(project, "openapi.json")
    assert found["reference"]["description"] == "A reference."
    assert found["reference"]["properties"]["name"]["description"] == "Its name."
    assert found["selector"]["description"] == "Which things."
    assert found["selector"]["properties"]["matchLabels"]["description"] == "Its labels."
    assert "description" not in found["selector"]["properties"]["matchExpressions"]


def test_without_openapi_built_in_types_have_no_descriptions(project: Path) -> None:
    """Small CRDs are the default."""
    found = properties(project, None)
    assert "description" not in found["reference"]
    assert "description" not in found["reference"]["properties"]["name"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [(None, "cannot be read"), ("{", "it is not JSON"), ("{}", "it has neither"), ("[]", "it has neither")],
)
def test_a_file_that_is_no_openapi_is_said(text: str | None, reason: str, tmp_path: Path) -> None:
    """With what was expected."""
    if text is not None:
        (tmp_path / "x.json").write_text(text, encoding="utf-8")
    found = Diagnostics()
    assert read_builtin_texts(tmp_path, "x.json", found) is None
    (diagnostic,) = found
    assert reason in diagnostic.message
