"""What is read, and what is said about sources that cannot be imported."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
import yaml

from pykb.diagnostics import Diagnostics
from pykb.importer.definition import Definition, find_definitions, read_sources

SCHEMA = "spec.versions.0.schema.openAPIV3Schema"


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
    assert "two different definitions" in read("-", stdin=yaml.safe_dump_all([crd, other]))[1][0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [", "import-source-broken: `<stdin>` is not YAML"),
        ("a: !!python/object:os.system {}", "import-source-broken: `<stdin>` is not YAML"),
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: &a {b: *a}", "import-source-broken: `<stdin>` cannot be read: it contains itself through an alias"),
        (
            "a: " + "[" * 900 + "]" * 900,
            "import-source-broken: `<stdin>` cannot be read: it is nested more than 100 levels deep",
        ),
        (
            "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
            + "".join(f"{b}: &{b} [{', '.join(['*' + a] * 10)}]\n" for a, b in itertools.pairwise("abcdefghi")),
            "import-source-broken: `<stdin>` cannot be read: its aliases expand to too many values",
        ),
    ],
)
def test_yaml_that_is_a_trap_is_said(text: str, expected: str) -> None:
    """Neither a traceback nor a machine out of memory."""
    assert read("-", stdin=text)[1][0].startswith(expected)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("spec.group", 5, "`spec.group` of `things.example.com` is invalid: expected a domain name with a"),
        ("metadata.labels", {"a": True}, "`metadata.labels.a` of `things.example.com` is invalid: expec"),
        ("spec.names.shortNames", "t", "`spec.names.shortNames` of `things.example.com` is invalid: exp"),
        (f"{SCHEMA}.properties", ["a"], "expected a mapping of schemas, found a list"),
        (f"{SCHEMA}.properties.a", None, "it is null"),
        (f"{SCHEMA}.properties.spec.maximum", "5", "expected a number, found the string `5`"),
        (f"{SCHEMA}.properties.spec.default", float("inf"), "expected a JSON value, found the number `inf`"),
        (f"{SCHEMA}.properties.spec.nullable", "no", "expected `true` or `false`, found the string `no`"),
        ("spec.versions.0.additionalPrinterColumns", [{"name": "A", "type": "string"}], "jsonPath` of"),
    ],
)
def test_a_value_of_the_wrong_form_is_said(make_crd, path: str, value: object, expected: str) -> None:
    """With the way to it; an API server would not take it either."""
    crd = make_crd("a: {type: string}")
    *way, last = path.split(".")
    place = crd
    for step in way:
        place = place[int(step) if step.isdecimal() else step]
    place[last] = value
    definitions, problems = read("-", stdin=yaml.safe_dump(crd))
    assert definitions == []
    assert problems[0].startswith("import-crd-form: ")
    assert expected in problems[0]


def test_plain_scalars_are_what_they_are_to_an_api_server() -> None:
    """Operators such as `=` in an enum, numbers with an exponent, times; PyYAML takes each for something else."""
    text = """
      apiVersion: apiextensions.k8s.io/v1
      kind: CustomResourceDefinition
      metadata: {name: things.example.com}
      spec:
        group: example.com
        names: {kind: Thing, plural: things}
        versions:
        - name: v1
          schema:
            openAPIV3Schema:
              enum: [=, "<<", 12:30:45, 2024-01-15, 1e3, 0o7]
              properties:
                =: {type: string}
    """
    (definition,), problems = read("-", stdin=text)
    assert problems == []
    assert definition.versions[0].schema == {
        "enum": ["=", "<<", "12:30:45", "2024-01-15", 1000, 7],
        "properties": {"=": {"type": "string"}},
    }


def test_a_version_without_a_schema_is_said(make_crd) -> None:
    """There is nothing to make types of."""
    crd = make_crd()
    del crd["spec"]["versions"][0]["schema"]
    assert "has no `schema.openAPIV3Schema`" in read("-", stdin=yaml.safe_dump(crd))[1][0]


def test_missing_files_and_empty_folders_are_said(tmp_path: Path) -> None:
    """All of them in one run."""
    problems = read(str(tmp_path), str(tmp_path / "none.yaml"))[1]
    assert [problem.partition(":")[0] for problem in problems[:2]] == ["import-source-missing"] * 2
