"""What is read, and what is said about sources that cannot be imported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from pykb.diagnostics import Diagnostics
from pykb.importer.definition import Definition, find_definitions
from pykb.importer.source import read_sources


def read(*sources: str, stdin: str = "") -> tuple[list[Definition], list[str]]:
    """The CRDs of sources, and the findings as `slug: message`."""
    found = Diagnostics()
    documents = read_sources(sources, stdin=stdin, kubectl=None, diagnostics=found)
    definitions = find_definitions(documents, found)
    return definitions, [f"{d.code.slug}: {d.message}" for d in found]


def test_a_stream_a_list_json_and_a_folder_all_do(tmp_path: Path, make_crd) -> None:
    """One or many documents, lists of any kind, YAML or JSON, folders with other objects in them."""
    many = [make_crd(kind=kind) for kind in ("A", "B")]
    items = [{k: v for k, v in make_crd(kind="C").items() if k not in {"kind", "apiVersion"}}]
    typed = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinitionList", "items": items}
    untyped = {"apiVersion": "v1", "kind": "List", "items": [make_crd(kind="D")]}
    (tmp_path / "deep").mkdir()
    (tmp_path / "many.yaml").write_text(yaml.safe_dump_all([*many, {"kind": "ConfigMap"}]))
    (tmp_path / "deep" / "typed.json").write_text(json.dumps(typed))
    (tmp_path / "other.yml").write_text("kind: Deployment\n")
    found, problems = read(str(tmp_path), "-", stdin=yaml.safe_dump(untyped))
    assert [definition.kind for definition in found] == ["A", "B", "C", "D"]
    assert problems == []


def test_the_same_crd_twice_is_one(make_crd) -> None:
    """A repeated document is no mistake; a different one of the same name is."""
    crd, other = make_crd("a: {type: string}"), make_crd("a: {type: integer}")
    assert read("-", stdin=yaml.safe_dump_all([crd, crd]))[1] == []
    assert "defined twice" in read("-", stdin=yaml.safe_dump_all([crd, other]))[1][0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [", "import-source-broken: `<stdin>` is no YAML"),
        ("a: !!python/object:os.system {}", "import-source-broken: `<stdin>` is no YAML"),
        ("kind: Deployment", "import-no-crd: expected a `CustomResourceDefinition`, found `Deployment`"),
        ("just a text", "import-no-crd: expected a `CustomResourceDefinition`, found `an object without `kind``"),
        ("", "import-source-broken: `<stdin>` is empty"),
        (
            "{apiVersion: apiextensions.k8s.io/v1beta1, kind: CustomResourceDefinition, metadata: {name: a.b.c}}",
            "import-crd-old: `a.b.c` is of `apiextensions.k8s.io/v1beta1`",
        ),
        (
            "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a.b.c}}",
            "import-crd-incomplete: `a.b.c` is incomplete: `spec.group` is missing",
        ),
    ],
)
def test_what_is_no_crd_is_said(text: str, expected: str) -> None:
    """Each mistake has its own message, none a traceback."""
    definitions, problems = read("-", stdin=text)
    assert definitions == []
    assert problems[0].startswith(expected)


def test_a_version_without_a_schema_is_said(make_crd) -> None:
    """There is nothing to make types of."""
    crd = make_crd()
    del crd["spec"]["versions"][0]["schema"]
    assert "has no `schema.openAPIV3Schema`" in read("-", stdin=yaml.safe_dump(crd))[1][0]


def test_missing_files_and_empty_folders_are_said(tmp_path: Path) -> None:
    """All of them in one run."""
    problems = read(str(tmp_path), str(tmp_path / "none.yaml"))[1]
    assert [problem.partition(":")[0] for problem in problems[:2]] == ["import-source-missing"] * 2
