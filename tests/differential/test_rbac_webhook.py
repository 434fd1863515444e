"""RBAC and webhook manifests, byte for byte those of the real controller-gen for the same markers."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pykb.diagnostics import Diagnostics
from pykb.gen._rbac import generate_rbac
from pykb.gen._webhook import generate_webhook
from pykb.markers.collect import collect
from pykb.markers.model import SourceFile
from pykb.markers.registry import builtin_registry

pytestmark = pytest.mark.differential

RBAC = [
    'groups="",resources=pods,verbs=get;list;watch',
    "groups=core,resources=pods,verbs=create",
    'groups="";apps,resources=events;deployments,verbs=patch;create',
    "groups=apps,resources=deployments;statefulsets;deployments/status,verbs={get,list}",
    "groups=apps,resources=deployments,resourceNames=a;b,verbs=get",
    "groups=apps,resources=daemonsets,verbs=*",
    "groups=apps,resources=daemonsets,verbs=get",
    "groups=*,resources=*,verbs=get",
    "urls=/metrics;/healthz,verbs=get",
    "urls=/readyz,verbs=get",
    "groups=batch,resources=jobs,verbs=get,namespace=system",
    "groups=batch,resources=jobs,verbs=list,namespace=system,roleName=jobs-reader",
    "groups=batch,resources=cronjobs,verbs=get,roleName=other",
    "groups=a.example.com,resources=foos,verbs=get;list;watch;create;update;patch;delete",
    "groups=a.example.com,resources=foos/status,verbs=get;update;patch",
    "groups=a.example.com,resources=foos/finalizers,verbs=update",
    "groups=b.example.com,resources=foos,verbs=get;list;watch;create;update;patch;delete",
]
WEBHOOKS = [
    (
        "path=/mutate-a,mutating=true,failurePolicy=fail,sideEffects=None,groups=a.example.com,resources=foos,"
        "verbs=create;update,versions=v1,name=mfoo.kb.io,admissionReviewVersions=v1"
    ),
    (
        "path=/validate-a,mutating=false,failurePolicy=Ignore,matchPolicy=exact,sideEffects=noneondryrun,groups=core;apps,"
        "resources=pods;deployments/scale,verbs=delete;CONNECT,versions=v1;v1beta1,name=z.kb.io,"
        "admissionReviewVersions={v1,v1beta1},timeoutSeconds=7"
    ),
    (
        "url=https://example.com:443/x,mutating=false,failurePolicy=fail,sideEffects=None,groups=*,resources=*,verbs=*,"
        "versions=*,name=a.kb.io,admissionReviewVersions=v1"
    ),
    (
        "path=/mutate-b,serviceName=other,serviceNamespace=elsewhere,servicePort=8443,reinvocationPolicy=IfNeeded,"
        "mutating=true,failurePolicy=fail,sideEffects=None,groups=a.example.com,resources=foos,verbs=create,versions=v1,"
        "name=b.kb.io,admissionReviewVersions=v1"
    ),
    (
        "path=/mutate-c,mutating=true,failurePolicy=fail,sideEffects=None,groups=a.example.com,resources=foos,verbs=create,"
        "versions=v1,name=c.kb.io,admissionReviewVersions=v1,timeoutSeconds=3,"
        'patch=`{"namespaceSelector":{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"k","operator":"In","values":["x"]}]},'
        '"timeoutSeconds":null,"clientConfig":{"service":{"port":9}},"matchConditions":[{"name":"n","expression":"true"}]}`'
    ),
]


def read(name: str, arguments: list[str]) -> SourceFile:
    """The markers as a Python file."""
    diagnostics = Diagnostics()
    text = "".join(f"# +kubebuilder:{name}:{a}\n" for a in arguments)
    source = collect(text, "a.py", registry=builtin_registry(), diagnostics=diagnostics)
    assert not diagnostics.has_errors(), list(diagnostics)
    return source


def as_go(name: str, arguments: list[str]) -> dict[str, str]:
    """The markers as a Go package."""
    lines = "".join(f"// +kubebuilder:{name}:{a}\n" for a in arguments)
    return {"controllers/controller.go": f"package controllers\n\n{lines}\nfunc main() {{}}\n"}


def run(controller_gen: Callable[..., Any], folder: Path, generator: str) -> str:
    """What controller-gen writes."""
    done = controller_gen(folder, generator, "paths=./controllers", "output:dir=out")
    assert done.returncode == 0, done.stderr
    return "".join(p.read_text(encoding="utf-8") for p in sorted((folder / "out").glob("*.yaml")))


@pytest.mark.parametrize("seed", range(8))
def test_rbac_is_byte_equal(seed: int, controller_gen: Callable[..., Any], go_module: Callable[..., Path]) -> None:
    """All markers, then random selections in random orders; none has the collision that loses permissions."""
    chance = random.Random(seed)
    markers = RBAC if seed == 0 else chance.sample(RBAC, chance.randrange(1, len(RBAC)))
    diagnostics = Diagnostics()
    (artifact,) = generate_rbac([read("rbac", markers)], role_name="manager-role", diagnostics=diagnostics)
    assert not diagnostics.has_errors()
    assert artifact.render() == run(controller_gen, go_module(as_go("rbac", markers)), "rbac:roleName=manager-role")


@pytest.mark.parametrize("count", range(1, len(WEBHOOKS) + 1))
def test_webhooks_are_byte_equal(
    count: int, controller_gen: Callable[..., Any], go_module: Callable[..., Path]
) -> None:
    """Services, URLs, policies in any case, ports, patches; sorted by name, the mutating ones first."""
    markers = WEBHOOKS[:count]
    diagnostics = Diagnostics()
    (artifact,) = generate_webhook([read("webhook", markers)], diagnostics=diagnostics)
    assert not diagnostics.has_errors(), list(diagnostics)
    assert artifact.render() == run(controller_gen, go_module(as_go("webhook", markers)), "webhook")


@pytest.mark.parametrize(
    ("markers", "verbs"),
    [
        (
            [
                "groups=g1,resources=a,verbs=get",
                "groups=g2,resources=a,verbs=get",
                "groups=g1;g2,resources=a,verbs=list",
            ],
            ["get", "list"],
        ),
        (["urls=/x,verbs=get", "urls=/y,verbs=get", "urls=/x;/y,verbs=post"], ["get", "post"]),
    ],
)
def test_where_controller_gen_loses_permissions_all_are_kept(
    markers: list[str], verbs: list[str], controller_gen: Callable[..., Any], go_module: Callable[..., Path]
) -> None:
    """It writes one of the two verbs, by the order of a map; the rest of its text is the same."""
    (artifact,) = generate_rbac([read("rbac", markers)], role_name="manager-role", diagnostics=Diagnostics())
    (rule,) = artifact.documents[0]["rules"]  # type: ignore[misc]
    assert rule["verbs"] == verbs
    theirs = run(controller_gen, go_module(as_go("rbac", markers)), "rbac:roleName=manager-role")
    kept = [v for v in verbs if f"  - {v}\n" in theirs]
    assert len(kept) == 1
    lost = next(v for v in verbs if v not in kept)
    assert artifact.render().replace(f"  - {lost}\n", "") == theirs


@pytest.mark.parametrize(
    "change",
    [
        ("path=/mutate-a", ""),
        ("path=/mutate-a", "path=/mutate-a,url=https://a.b/c"),
        ("sideEffects=None,", ""),
        ("sideEffects=None", "sideEffects=Some"),
        ("mutating=true", "mutating=yes"),
        ("admissionReviewVersions=v1", "timeoutSeconds=31,admissionReviewVersions=v1"),
        ("admissionReviewVersions=v1", "matchPolicy=foo,admissionReviewVersions=v1"),
        ("admissionReviewVersions=v1", "webhookVersions=v1beta1,admissionReviewVersions=v1"),
        ("admissionReviewVersions=v1", "admissionReviewVersions=v1,patch=`{`"),
        ("admissionReviewVersions=v1", 'admissionReviewVersions=v1,patch=`{"nosuch":1}`'),
        ("admissionReviewVersions=v1", 'admissionReviewVersions=v1,patch=`{"nosuch":null}`'),
        ("admissionReviewVersions=v1", 'admissionReviewVersions=v1,patch=`{"timeoutSeconds":"5"}`'),
        ("admissionReviewVersions=v1", 'admissionReviewVersions=v1,patch=`{"timeoutSeconds":55}`'),
        ("admissionReviewVersions=v1", 'admissionReviewVersions=v1,patch=`{"sideEffects":null}`'),
    ],
)
def test_what_controller_gen_refuses_is_refused(
    change: tuple[str, str], controller_gen: Callable[..., Any], go_module: Callable[..., Path]
) -> None:
    """Every error of its webhook generator is an error of ours."""
    marker = WEBHOOKS[0].replace(*change).lstrip(",")
    done = controller_gen(go_module(as_go("webhook", [marker])), "webhook", "paths=./controllers", "output:dir=out")
    assert done.returncode == 1
    diagnostics = Diagnostics()
    source = collect(f"# +kubebuilder:webhook:{marker}\n", "a.py", registry=builtin_registry(), diagnostics=diagnostics)
    generate_webhook([source], diagnostics=diagnostics)
    assert diagnostics.has_errors()
