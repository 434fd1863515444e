"""Names of API types: Kubernetes' rules, and the nearest name that follows them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykb.meta import names


@pytest.mark.parametrize("text", ["v1", "v2beta1", "v1alpha12", "v10"])
def test_versions_that_kubernetes_orders_are_versions(text: str) -> None:
    """`v`, a number, and alpha or beta with a number."""
    assert names.is_version(text)


@pytest.mark.parametrize(
    "text", ["", "1", "V1", "v0", "v01", "v1.2", "v1-beta1", "v1beta", "v1gamma1", "banana", "v1 "]
)
def test_other_texts_are_no_versions(text: str) -> None:
    """Kubebuilder takes several of these, and fails later or never."""
    assert not names.is_version(text)


@pytest.mark.parametrize("text", ["Foo", "DNS", "A", "Http2Route", "X" * 63])
def test_pascal_case_is_a_kind(text: str) -> None:
    """Letters and digits, upper case first, at most 63."""
    assert names.is_kind(text)


@pytest.mark.parametrize("text", ["", "foo", "Foo-Bar", "Foo_Bar", "Foo.Bar", "1Foo", "Größe", "X" * 64, "Foo\n"])
def test_other_texts_are_no_kinds(text: str) -> None:
    """A hyphen passes kubebuilder's check and breaks its scaffold half-way."""
    assert not names.is_kind(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("example.com", True),
        ("a-b.c", True),
        ("a", True),
        ("", False),
        ("A.b", False),
        ("a..b", False),
        ("-a", False),
        ("a_b", False),
        ("a\n", False),
        ("x" * 254, False),
    ],
)
def test_subdomains_follow_dns_1123(text: str, *, expected: bool) -> None:
    """Lower case labels joined by dots, at most 253 characters."""
    assert names.is_subdomain(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("memcached", True),
        ("memcached:1.6.26-alpine3.19", True),
        ("localhost:5000/a/b__c:latest", True),
        ("Registry.example.com/a", True),
        (f"a@sha256:{'0' * 64}", True),
        (f"a:1@sha256:{'0' * 64}", True),
        ("", False),
        ("a b", False),
        ("a/B", False),
        ("a:", False),
        ("a@sha256:12", False),
        ("a//b", False),
        ("a\n", False),
        (f"{'a' * 513}", False),
    ],
)
def test_images_follow_the_grammar_of_references(text: str, *, expected: bool) -> None:
    """A registry, a path, a tag and a digest."""
    assert names.is_image(text) is expected


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ("k8s.io", True),
        ("x.k8s.io", True),
        ("a.kubernetes.io", True),
        ("xk8s.io", False),
        ("k8s.io.example.com", False),
    ],
)
def test_groups_of_the_kubernetes_project_are_protected(group: str, *, expected: bool) -> None:
    """Those at and under k8s.io and kubernetes.io (KEP-2337)."""
    assert names.is_protected_group(group) is expected


@given(st.text(max_size=80))
def test_suggestions_follow_the_rules_themselves(text: str) -> None:
    """Whatever was typed: what is suggested is a valid name, or nothing."""
    for suggest, valid in (
        (names.as_label, names.is_rfc_1035_label),
        (names.as_version, names.is_version),
        (names.as_kind, names.is_kind),
    ):
        near = suggest(text)
        assert near == "" or valid(near), (suggest.__name__, near)
    near = names.as_subdomain(text)
    assert near == "" or names.is_subdomain(near) or len(near) > names.SUBDOMAIN_LENGTH


@given(st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,20}[a-z0-9])?", fullmatch=True))
def test_labels_and_subdomains_give_module_names(text: str) -> None:
    """Any group or project name can be imported once it is spelt for Python."""
    assert names.is_module_name(names.as_module_name(text))


@pytest.mark.parametrize(
    ("text", "kind", "label"),
    [("foo-bar", "FooBar", "foo-bar"), ("virtulMachine", "VirtulMachine", "virtul-machine"), ("AWS", "AWS", "aws")],
)
def test_suggestions_are_what_a_person_would_type(text: str, kind: str, label: str) -> None:
    """Words stay words."""
    assert (names.as_kind(text), names.as_label(text)) == (kind, label)
