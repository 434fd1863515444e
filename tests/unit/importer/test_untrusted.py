"""A CRD of a stranger becomes types and runs nothing, though they are imported to be compared."""

from __future__ import annotations

import ast
import copy
import io
import tokenize
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import pytest
import yaml

from pykb.cli import app
from pykb.diagnostics import Diagnostics
from pykb.importer.definition import Document, find_definitions, parse
from pykb.importer.plan import NotDeclarativeError, check_declarative, package_files

CALL = "__import__('os').abort()"
HOSTILE = [
    f"a\n{CALL}\n#",
    "a" + "".join(f"{end}{CALL}{end}#" for end in "\r\x0b\x0c\x1c\x1e\x85\u2028\u2029"),
    f"a\0{CALL}",
    f'"""\n{CALL}\n"""' + f"'''\n{CALL}\n'''",
    f"\"+{CALL}+'+{CALL}+`\n{CALL}",
    f'\\"""+{CALL}+""""""+{CALL}#\\\n{CALL}',
    "\\N{DIGIT ONE}\\",
    f"a: int = {CALL}",
    "a\u202e#b",
    "a,path=evil;scope=Cluster",
    "None",
    "\u212aind",  # its lower case is ASCII
    "",
]


def _crd() -> dict[str, Any]:
    """A CRD with every field that is a text, and with every shape of a schema."""
    inner = {
        "type": "object",
        "description": "Inner.",
        "required": ["name"],
        "properties": {"name": {"type": "string", "description": "Name."}, "value": {"type": "integer"}},
    }
    spec: dict[str, Any] = {
        "plain": {
            "type": "string",
            "title": "Title",
            "description": "Plain.",
            "pattern": "^a$",
            "default": "a",
            "example": "a",
            "externalDocs": {"url": "https://example.com", "description": "Docs."},
        },
        "choice": {"type": "string", "enum": ["a", "b"]},
        "form": {"type": "string", "format": "ipv4", "default": "x"},
        "inner": inner,
        "list": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": {"type": "string"}}},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        "map": {"type": "object", "additionalProperties": {"type": "string", "description": "One."}},
        "open": {"x-kubernetes-preserve-unknown-fields": True, "description": "Anything."},
        "number": {"type": "integer", "format": "int32"},
        "ruled": {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "x-kubernetes-map-type": "atomic",
            "x-kubernetes-validations": [
                {"rule": "true", "message": "Must.", "messageExpression": "'a'", "reason": "FieldValueInvalid"}
            ],
            "oneOf": [{"required": ["a"]}],
            "default": {"a": "b"},
        },
    }
    schema = {
        "type": "object",
        "description": "A thing.",
        "required": ["spec"],
        "properties": {
            "spec": {"type": "object", "properties": spec},
            "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "deprecated": True,
        "deprecationWarning": "Old.",
        "schema": {"openAPIV3Schema": schema},
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.number",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            },
        },
        "additionalPrinterColumns": [
            {"name": "Plain", "type": "string", "jsonPath": ".spec.plain", "description": "It.", "format": "byte"}
        ],
        "selectableFields": [{"jsonPath": ".spec.plain"}],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "oddities.example.com", "labels": {"a": "b"}, "annotations": {"c": "d"}},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {
                "kind": "Thing",
                "listKind": "ThingList",
                "plural": "oddities",
                "singular": "oddity",
                "shortNames": ["th"],
                "categories": ["all"],
            },
            "conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "conversionReviewVersions": ["v1"],
                    "clientConfig": {"service": {"name": "s", "namespace": "n"}},
                },
            },
            "versions": [version],
        },
    }


Way = tuple[str | int, ...]


_NAMED = {(name,) for name in ("properties", "labels", "annotations", "default", "service")}


def _texts(value: object, way: Way = ()) -> Iterator[tuple[Way, bool]]:
    """The way to each text of a document. The keys of a mapping of names are such, too."""
    if isinstance(value, dict):
        for key, item in value.items():
            if way[-1:] in _NAMED:
                yield (*way, key), True
            yield from _texts(item, (*way, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*way, index))
    elif isinstance(value, str):
        yield way, False


def _with(manifest: dict[str, Any], way: Way, text: str, *, is_key: bool) -> dict[str, Any]:
    """The document with another text in one place. Its name follows, or the API server would refuse it for that."""
    made = copy.deepcopy(manifest)
    place: Any = made
    for step in way[:-1]:
        place = place[step]
    if is_key:
        place[text] = place.pop(way[-1])
    else:
        place[way[-1]] = text
    if way[:1] == ("spec",) and not is_key:
        made["metadata"]["name"] = f"{made['spec']['names']['plural']}.{made['spec']['group']}"
    return made


def _modules(manifest: dict[str, Any]) -> list[str] | None:
    """The modules of a CRD; ``None`` if it is refused, with a finding."""
    found = Diagnostics()
    definitions = find_definitions([Document(manifest, "crd.yaml")], found)
    if found.has_errors():
        return None
    files = package_files(definitions, found)
    assert not list(found)
    return [file.text for file in files]


def _skeleton(text: str) -> tuple[object, ...]:
    """What a module does: its statements, classes, fields, the names that it uses, and how many comments it has.

    Texts are left out. So are the calls that hold a text in another place than a docstring or a default.
    """
    tree = ast.parse(text)
    statements = [type(node).__name__ for node in tree.body]
    classes = [
        (len(node.bases), [type(each).__name__ for each in node.body if not isinstance(each, ast.Expr | ast.Pass)])
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    ]
    kinds = {type(node).__name__ for node in ast.walk(tree)} - {"Dict", "List", "Pass", "Expr", "Constant", "Tuple"}
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    comments = [t.string for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.COMMENT]
    markers = sorted(comment.partition("=")[0].partition('"')[0] for comment in comments[2:])
    return statements, classes, kinds - {"Call"}, called - _HOLDERS, markers


_HOLDERS = {"Field", "SchemaPatch", "ServerDefault", "RawSchema", "Wire", "Format", "CEL", "ExternalDocs", "annotate"}
_HOLDERS |= {"ListMap", "Atomic", "MapType", "Conversion"}
"""Calls that may come or go with a text: it is too long for a default, or no text of a docstring."""
PLACES = list(_texts(_crd()))


@pytest.mark.parametrize(("way", "is_key"), PLACES, ids=[".".join(map(str, way)) + ":" * key for way, key in PLACES])
def test_a_text_is_a_text_wherever_it_stands(way: Way, *, is_key: bool) -> None:
    """Each text of a CRD, and each key: the module has the form of the module of a harmless one, or none is made."""
    manifest = _crd()
    harmless = _modules(_with(manifest, way, "harmless", is_key=is_key))
    for text in HOSTILE:
        made = _modules(_with(manifest, way, text, is_key=is_key))
        if made is None:
            continue
        assert len(made) == 1
        check_declarative(made[0])
        assert _names(made[0]).isdisjoint({"__import__", "abort", "os"}), text
        if harmless is not None:
            assert _skeleton(made[0]) == _skeleton(harmless[0]), text


def _names(text: str) -> set[str]:
    """All names that a module uses, in any way."""
    nodes = list(ast.walk(ast.parse(text)))
    return {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.attr for node in nodes if isinstance(node, ast.Attribute)
    }


@pytest.mark.parametrize(
    "way",
    [
        ("spec", "group"),
        ("spec", "scope"),
        ("spec", "conversion", "strategy"),
        ("spec", "versions", 0, "name"),
        ("spec", "versions", 0, "additionalPrinterColumns", 0, "type"),
        ("spec", "versions", 0, "additionalPrinterColumns", 0, "format"),
        *(("spec", "names", name) for name in ("kind", "listKind", "plural", "singular")),
        *(("spec", "names", name, 0) for name in ("shortNames", "categories")),
    ],
    ids=lambda way: ".".join(map(str, way)),
)
def test_a_name_that_the_api_server_refuses_is_refused(way: Way) -> None:
    """With its place."""
    text = yaml.safe_dump(_with(_crd(), way, f"a\n{CALL}\n", is_key=False))
    found = Diagnostics()
    find_definitions(parse(text, "crd.yaml", found), found)
    (problem,) = found
    assert problem.code.slug == "import-crd-form"
    assert problem.span is not None
    assert problem.span.line > 1


@pytest.mark.parametrize("option", [["--dry-run"], ["--diff"]])
def test_who_only_looks_imports_nothing(
    option: list[str], make_crd: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module is shown, and not run, whatever it is made of."""
    (tmp_path / "crd.yaml").write_text(yaml.safe_dump(make_crd("a: {type: string}")))
    monkeypatch.chdir(tmp_path)
    imported: list[str] = []
    load = SourceFileLoader.exec_module
    monkeypatch.setattr(
        SourceFileLoader, "exec_module", lambda self, module: (imported.append(module.__name__), load(self, module))[1]
    )
    assert app.run(["import", "crd", "crd.yaml", "--output", "ext", *option]) == 0
    assert not [name for name in imported if "example_com" in name]
    assert app.run(["import", "crd", "crd.yaml", "--output", "ext"]) == 0
    assert [name for name in imported if "example_com" in name]  # the test sees imports


@pytest.mark.parametrize(
    "code",
    [
        "import os",
        "from os import path",
        "from pykb.api import *",
        "from pykb.api import Struct as str",
        "from .api import Struct",
        "x = 1",
        "GROUP_VERSION = open('x')",
        "open('x')",
        "class A(object):\n    pass",
        "class A(Struct):\n    x = open('x')",
        "class A(Struct):\n    x: int = open('x')",
        "class A(Struct):\n    x: 'open(1)' = None",
        "class A(Struct):\n    x: list['open(1)']",
        "class A(Struct):\n    x: list[open(1)]",
        "class A(Struct):\n    x: Literal[list['a']]",
        "class A(Struct):\n    x: Annotated[str, lambda: 1]",
        "class A(Struct):\n    x: int = f'{1}'",
        "class A(Struct):\n    x: int = [y for y in 'a']",
        "class A(Struct):\n    x: int = {**dict}",
        "class A(Struct):\n    x: int = dict(**dict)",
        "class A(Struct):\n    x: int = list(*[1])",
        "class A(Struct):\n    x: int = str.join",
        "class A(Struct):\n    def f(self): pass",
        "class A(Struct, metaclass=type):\n    pass",
        "@eval\nclass A(Struct):\n    pass",
        "if True:\n    pass",
        "x: int = 1",
        "a b",
    ],
)
def test_a_module_with_anything_but_declarations_is_not_imported(code: str) -> None:
    """The second lock: even if a text became code, nothing would run."""
    with pytest.raises(NotDeclarativeError):
        check_declarative(f'"""Types."""\nfrom typing import Annotated, Literal\nfrom pykb.api import Struct\n{code}\n')


@pytest.mark.parametrize("version", ["v1", "../../../../escaped", "v1/../../x", "os;import os"])
def test_no_text_of_a_crd_becomes_code_or_a_path(
    make_crd: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """Whatever ends a string, a comment or a line of Python, in every place that takes text."""
    proof = tmp_path / "proof"
    call = f"__import__('pathlib').Path({str(proof)!r}).touch()"
    texts = [f'"""\n{call}\n"""', f"\\\n{call}", f"\r{call}\x0c{call}\u2028{call}", f'"+{call}+"', f"'+{call}+'", "\\"]
    fields = {
        f"f{number}": {"type": "string", "description": text, "default": text, "enum": [text, "B"], "title": text}
        for number, text in enumerate(texts)
    }
    fields |= {f"x: int = {call}": {"type": "string"}, '"""': {"type": "string", "pattern": texts[0]}}
    manifest = make_crd(fields, description=texts[0])
    manifest["spec"]["versions"][0]["name"] = version
    (tmp_path / "p").mkdir()
    (tmp_path / "p/crd.yaml").write_text(yaml.safe_dump(manifest))
    monkeypatch.chdir(tmp_path / "p")
    assert app.run(["import", "crd", "crd.yaml", "--output", "ext"]) in {0, 1}
    assert not proof.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p"]
    assert {path.name for path in Path.cwd().iterdir()} <= {"crd.yaml", "ext"}
