"""RBAC markers become roles, and what the API server would refuse, or never allow, is said."""

from __future__ import annotations

import pytest

from pykb.diagnostics import Diagnostics, Severity
from pykb.gen._rbac import generate_rbac
from pykb.gen.output import Artifact
from pykb.markers.collect import collect
from pykb.markers.registry import builtin_registry


def generate(*markers: str) -> tuple[list[Artifact], Diagnostics]:
    """The artifacts of marker arguments, one file for all."""
    text = "".join(f"# +kubebuilder:rbac:{m}\n" for m in markers)
    diagnostics = Diagnostics()
    source = collect(text, "a.py", registry=builtin_registry(), diagnostics=diagnostics)
    return generate_rbac([source], role_name="manager-role", diagnostics=diagnostics), diagnostics


def test_the_manifest_has_the_cluster_role_first_then_roles_by_namespace_and_name() -> None:
    """A document each; a namespace makes a Role, a roleName another object."""
    artifacts, diagnostics = generate(
        "groups=apps,resources=deployments,verbs=get,namespace=b",
        "groups=apps,resources=deployments,verbs=get,namespace=a,roleName=z",
        "groups=apps,resources=deployments,verbs=get,namespace=a,roleName=y",
        "groups=apps,resources=deployments,verbs=get;list",
        'groups="",resources=pods,verbs=get,roleName=another',
    )
    assert len(diagnostics) == 0
    assert [(d["kind"], d["metadata"]) for d in artifacts[0].documents] == [
        ("ClusterRole", {"name": "another"}),
        ("ClusterRole", {"name": "manager-role"}),
        ("Role", {"name": "y", "namespace": "a"}),
        ("Role", {"name": "z", "namespace": "a"}),
        ("Role", {"name": "manager-role", "namespace": "b"}),
    ]


def test_the_bytes_are_those_of_controller_gen() -> None:
    """Keys in order, empty lists left out, the core group in quotes."""
    artifacts, _ = generate(
        "groups=core,resources=pods/log;pods,verbs=get",
        "urls=/metrics,verbs=get",
        'groups="",resources=pods,verbs=list',
    )
    assert artifacts[0].path == "role.yaml"
    assert (
        artifacts[0].render()
        == """\
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: manager-role
rules:
- nonResourceURLs:
  - /metrics
  verbs:
  - get
- apiGroups:
  - ""
  resources:
  - pods
  verbs:
  - get
  - list
- apiGroups:
  - ""
  resources:
  - pods/log
  verbs:
  - get
"""
    )


def test_no_markers_make_no_manifest() -> None:
    """Nothing to write is no empty file."""
    artifacts, diagnostics = generate()
    assert (artifacts, len(diagnostics)) == ([], 0)


@pytest.mark.parametrize(
    ("marker", "code", "severity", "found"),
    [
        ("groups=apps,resources=deployments,verbs=gett", "rbac-verb", Severity.ERROR, "gett"),
        ("groups=apps,resources=deployments,verbs=get;LIST", "rbac-verb", Severity.ERROR, "LIST"),
        ("groups=apps,resources=deployments,verbs=frobnicate", "rbac-verb", Severity.WARNING, "frobnicate"),
        ("urls=/metrics,verbs=list", "rbac-verb", Severity.WARNING, "list"),
        ("urls=/metrics,verbs=Get", "rbac-verb", Severity.ERROR, "Get"),
        ("groups=apps,verbs=get", "rbac-incomplete", Severity.ERROR, None),
        ("resources=pods,verbs=get", "rbac-incomplete", Severity.ERROR, None),
        ("groups=apps/v1,resources=deployments,verbs=get", "rbac-group", Severity.ERROR, "apps/v1"),
        ("groups=Apps,resources=deployments,verbs=get", "rbac-group", Severity.ERROR, "Apps"),
        ("groups=apps,resources=Deployments,verbs=get", "rbac-resource", Severity.ERROR, "Deployments"),
        ("groups=apps,resources=/metrics,verbs=get", "rbac-resource", Severity.ERROR, "/metrics"),
        ("groups=apps,resources=deployments,resourceNames=x,verbs=create", "rbac-names", Severity.WARNING, "x"),
        ("groups=apps,resources=deployments,resourceNames=x,verbs=list", "rbac-names", Severity.NOTE, "x"),
        ("urls=metrics,verbs=get", "rbac-url", Severity.ERROR, "metrics"),
        ("urls=/a/*/b,verbs=get", "rbac-url", Severity.ERROR, "/a/*/b"),
        ("urls=/metrics,verbs=get,namespace=a", "rbac-url", Severity.ERROR, "/metrics"),
        ("urls=/metrics,groups=apps,resources=deployments,verbs=get", "rbac-url", Severity.ERROR, "/metrics"),
        ("groups=apps,resources=deployments,verbs=get,namespace=A_b", "rbac-role", Severity.ERROR, "A_b"),
        ("groups=apps,resources=deployments,verbs=get,roleName=a/b", "rbac-role", Severity.ERROR, "a/b"),
        ("groups=,resources=pods,verbs=get", "marker-argument", Severity.ERROR, None),
        ("groups=apps,resources=deployments,verbs=get,list", "marker-syntax", Severity.ERROR, None),
        ("groups=apps,resources=deployments", "marker-argument-missing", Severity.ERROR, None),
    ],
)
def test_what_cannot_work_is_reported_at_its_place(
    marker: str, code: str, severity: Severity, found: str | None
) -> None:
    """One finding, whose span is the word to change."""
    _, diagnostics = generate(marker)
    (diagnostic,) = diagnostics
    assert (diagnostic.code.slug, diagnostic.severity) == (code, severity)
    assert diagnostic.span is not None
    if found is not None:
        text = f"# +kubebuilder:rbac:{marker}"
        assert text[diagnostic.span.column - 1 : diagnostic.span.end_column - 1] == found


@pytest.mark.parametrize(
    "marker",
    [
        "groups=*,resources=*,verbs=*",
        "groups=certificates.k8s.io,resources=signers,resourceNames=example.com/*,verbs=approve;sign",
        "groups=rbac.authorization.k8s.io,resources=roles,verbs=bind;escalate",
        'groups="",resources=users;serviceaccounts,verbs=impersonate',
        'groups="",resources=pods/exec,resourceNames=web,verbs=create',
        "urls=/healthz/*,verbs=get;head",
        "urls=*,verbs=*",
    ],
)
def test_unusual_but_right_rules_pass(marker: str) -> None:
    """Wild cards, special verbs, named subresources."""
    _, diagnostics = generate(marker)
    assert len(diagnostics) == 0
