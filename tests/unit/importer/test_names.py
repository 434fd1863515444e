"""Names: readable, unlike each other, and none that Python or the imports have already."""

from __future__ import annotations

import pytest

from pykb.diagnostics import Diagnostics
from pykb.importer.plan import package_files
from pykb.importer.shape import attribute_name, choose_names, group_folder, singular
from pykb.meta.names import pluralize


@pytest.mark.parametrize(
    "word",
    ["container", "policy", "address", "database", "status", "match", "cache", "index", "key", "proxy", "alias", "box"],
)
def test_the_singular_of_a_plural_is_the_word(word: str) -> None:
    """The way back from controller-gen's plurals."""
    assert singular(pluralize(word)) == word


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        ([["Kind", "Spec"]], ["KindSpec"]),
        ([["Kind", "Spec", "Container"]], ["Container"]),
        ([["K", "Spec", "A", "Item"], ["K", "Spec", "B", "Item"]], ["AItem", "BItem"]),
        ([["K", "Spec", "Item"], ["K", "Spec", "A", "Item"]], ["SpecItem", "AItem"]),
        ([["K", "Spec", "Quantity"]], ["SpecQuantity"]),
        ([["K", "Spec", "Warning"]], ["SpecWarning"]),
        ([["K", "Spec", "3d"]], ["Spec3d"]),
        ([["K", "A"], ["K", "A"]], ["KA", "KA2"]),
    ],
)
def test_the_shortest_end_of_a_path_that_is_unique(paths: list[list[str]], expected: list[str]) -> None:
    """Longer only where a shorter name would be taken."""
    assert choose_names(paths, ["Quantity"]) == expected


@pytest.mark.parametrize(
    ("wire", "expected"),
    [("hostIP", "host_ip"), ("class", "class_"), ("list", "list_"), ("model_x", "model_x_"), ("", "field")],
)
def test_attributes_are_none_that_a_struct_has(wire: str, expected: str) -> None:
    """Keywords, methods of the base class and types of annotations get an underscore."""
    assert attribute_name(wire) == expected


def test_equal_attributes_are_told_apart() -> None:
    """Two wire names can lead to one attribute."""
    assert attribute_name("fooBar", ["foo_bar"]) == "foo_bar_2"


def test_folders_are_identifiers() -> None:
    """A group's folder can be imported from."""
    for group in ("cert-manager.io", "3scale.net", "import"):
        assert group_folder(group).isidentifier()


def test_equal_parts_of_one_name_are_one_class(make_crd, define) -> None:
    """What is written out many times in a CRD is one class in Python, where its name says the same of all."""
    part = "{type: object, properties: {x: {type: string}}}"
    made = define(
        make_crd(
            f"httpProxy: {part}\nproxy: {part}\nproxies: {{type: array, items: {part}}}\n"
            f"byProxy: {{type: object, additionalProperties: {part}}}\nother: {part}"
        )
    )
    [file] = package_files(made, Diagnostics())
    assert "http_proxy: Proxy | None" in file.text
    assert "proxy: Proxy | None" in file.text
    assert "proxies: list[Proxy] | None" in file.text
    assert "by_proxy: dict[str, Proxy] | None" in file.text
    assert "other: Other | None" in file.text


def test_the_parts_of_kinds_are_named_after_the_shorter_kind(make_crd, define) -> None:
    """An Issuer has an IssuerSpec, and a ClusterIssuer, too; a Thing of the same form has its own."""
    made = define(*(make_crd("x: {type: string}", kind=kind) for kind in ("ClusterIssuer", "Issuer", "Thing")))
    [file] = package_files(made, Diagnostics())
    assert file.text.count("    spec: IssuerSpec | None") == 2
    assert file.text.count("    spec: ThingSpec | None") == 1


@pytest.mark.parametrize(
    ("field", "text", "expected"),
    [
        ("password", "The key of the secret to select from.", "SecretKeySelector"),
        ("config", "The key of the secret to select from.", "SecretKeySelector"),
        ("settingsConfigMap", "The key to select.", "ConfigMapKeySelector"),
        ("source", "The key to select.", "Source"),
    ],
)
def test_types_of_equal_fields_are_told_apart_or_copied(field: str, text: str, expected: str, make_crd, define) -> None:
    """A key of a Secret is none of a ConfigMap; where neither name nor text tells, the fields are copied."""
    properties = {"key": {"type": "string", "description": text}, "name": {"type": "string", "default": ""}}
    selector = {
        "type": "object",
        "required": ["key"],
        "x-kubernetes-map-type": "atomic",
        "properties": properties | {"optional": {"type": "boolean"}},
    }
    [file] = package_files(define(make_crd({field: selector})), Diagnostics())
    assert f": {expected} | None = None" in file.text
