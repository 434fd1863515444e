"""Webhook markers become configurations; what the API server would refuse is said before it does."""

from __future__ import annotations

import pytest

from pykb.diagnostics import Diagnostics, Severity
from pykb.gen._webhook import generate_webhook
from pykb.gen.output import Artifact
from pykb.markers.collect import collect
from pykb.markers.registry import builtin_registry

PATCH = "`{}`"
DEFAULTS = {
    "path": "/mutate-a-example-com-v1-foo",
    "mutating": "true",
    "failurePolicy": "fail",
    "sideEffects": "None",
    "groups": "a.example.com",
    "resources": "foos",
    "verbs": "create;update",
    "versions": "v1",
    "name": "mfoo-v1.kb.io",
    "admissionReviewVersions": "v1",
}


def webhook(**changes: str | None) -> str:
    """A right marker with some arguments changed or, with ``None``, left out."""
    arguments = {**DEFAULTS, **changes}
    return "+kubebuilder:webhook:" + ",".join(f"{k}={v}" for k, v in arguments.items() if v is not None)


def generate(*markers: str) -> tuple[list[Artifact], Diagnostics]:
    """The artifacts of markers, one file for all."""
    text = "".join(f"# {m}\n" for m in markers)
    diagnostics = Diagnostics()
    source = collect(text, "a.py", registry=builtin_registry(), diagnostics=diagnostics)
    return generate_webhook([source], diagnostics=diagnostics), diagnostics


def test_the_bytes_are_those_of_controller_gen() -> None:
    """The mutating configuration first; webhooks by name; spellings of the API, whatever the marker's case."""
    artifacts, diagnostics = generate(
        webhook(
            path="/validate-b", mutating="false", name="v.b.c", failurePolicy="IGNORE", verbs="DELETE", groups="core"
        ),
        webhook(
            name="z.b.c", timeoutSeconds="5", matchPolicy="exact", reinvocationPolicy="ifneeded", servicePort="8443"
        ),
        webhook(name="a.b.c", path=None, url='"https://a:443/b"'),
    )
    assert len(diagnostics) == 0
    assert artifacts[0].path == "manifests.yaml"
    assert (
        artifacts[0].render()
        == """\
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: mutating-webhook-configuration
webhooks:
- admissionReviewVersions:
  - v1
  clientConfig:
    url: https://a:443/b
  failurePolicy: Fail
  name: a.b.c
  rules:
  - apiGroups:
    - a.example.com
    apiVersions:
    - v1
    operations:
    - CREATE
    - UPDATE
    resources:
    - foos
  sideEffects: None
- admissionReviewVersions:
  - v1
  clientConfig:
    service:
      name: webhook-service
      namespace: system
      path: /mutate-a-example-com-v1-foo
      port: 8443
  failurePolicy: Fail
  matchPolicy: Exact
  name: z.b.c
  reinvocationPolicy: IfNeeded
  rules:
  - apiGroups:
    - a.example.com
    apiVersions:
    - v1
    operations:
    - CREATE
    - UPDATE
    resources:
    - foos
  sideEffects: None
  timeoutSeconds: 5
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: validating-webhook-configuration
webhooks:
- admissionReviewVersions:
  - v1
  clientConfig:
    service:
      name: webhook-service
      namespace: system
      path: /validate-b
  failurePolicy: Ignore
  name: v.b.c
  rules:
  - apiGroups:
    - ""
    apiVersions:
    - v1
    operations:
    - DELETE
    resources:
    - foos
  sideEffects: None
"""
    )


def test_no_markers_make_no_manifest() -> None:
    """Nothing to write is no empty file."""
    assert generate()[0] == []


def test_a_configuration_can_be_named() -> None:
    """Each of the two on its own."""
    artifacts, diagnostics = generate(webhook(), "+kubebuilder:webhookconfiguration:mutating=true,name=foo-defaults")
    assert len(diagnostics) == 0
    assert artifacts[0].documents[0]["metadata"] == {"name": "foo-defaults"}


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ('{"timeoutSeconds":25}', {"timeoutSeconds": 25}),
        ('{"timeoutSeconds":null}', {"timeoutSeconds": None}),
        ('{"namespaceSelector":{"matchLabels":{"a":"b"}}}', {"namespaceSelector": {"matchLabels": {"a": "b"}}}),
        (
            '{"clientConfig":{"service":{"port":1}}}',
            {
                "clientConfig": {
                    "service": {"name": "webhook-service", "namespace": "system", "path": DEFAULTS["path"], "port": 1}
                }
            },
        ),
        ('{"clientConfig":{"$patch":"replace","url":"https://a"}}', {"clientConfig": {"url": "https://a"}}),
        (
            '{"matchConditions":[{"name":"a","expression":"true"}]}',
            {"matchConditions": [{"name": "a", "expression": "true"}]},
        ),
        (
            '{"rules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],"resources":["*"],"scope":"Cluster"}]}',
            {
                "rules": [
                    {
                        "operations": ["*"],
                        "apiGroups": ["*"],
                        "apiVersions": ["*"],
                        "resources": ["*"],
                        "scope": "Cluster",
                    }
                ]
            },
        ),
    ],
)
def test_a_patch_is_merged_onto_the_webhook(patch: str, expected: dict[str, object]) -> None:
    """Objects merge, lists are replaced, null removes."""
    artifacts, diagnostics = generate(webhook(timeoutSeconds="5", patch=f"`{patch}`"))
    assert len(diagnostics) == 0
    (made,) = artifacts[0].documents[0]["webhooks"]  # type: ignore[misc]
    for key, value in expected.items():
        assert made.get(key) == value


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"name": "Bad Name"}, "webhook-name"),
        ({"name": "two.parts"}, "webhook-name"),
        ({"path": None}, "webhook-client"),
        ({"url": '"https://a/b"'}, "webhook-client"),
        ({"path": None, "url": '"http://a/b"'}, "webhook-client"),
        ({"path": None, "url": '"https:///b"'}, "webhook-client"),
        ({"path": None, "url": '"https://a/b?c=d"'}, "webhook-client"),
        ({"path": None, "url": '"https://a/b"', "servicePort": "1"}, "webhook-client"),
        ({"serviceName": "A"}, "webhook-client"),
        ({"serviceNamespace": "A"}, "webhook-client"),
        ({"path": "mutate-a"}, "webhook-path"),
        ({"path": "/Mutate"}, "webhook-path"),
        ({"path": "/a//b"}, "webhook-path"),
        ({"resources": "Foos"}, "webhook-rule"),
        ({"groups": "A"}, "webhook-rule"),
        ({"groups": "*;apps"}, "webhook-rule"),
        ({"versions": "*;v1"}, "webhook-rule"),
        ({"verbs": "*;create"}, "webhook-rule"),
        ({"sideEffects": None}, "webhook-side-effects"),
        ({"admissionReviewVersions": "v2"}, "webhook-review"),
        ({"mutating": "false", "path": "/validate-a", "reinvocationPolicy": "Never"}, "webhook-review"),
        ({"patch": "`{`"}, "webhook-patch"),
        ({"patch": "`[]`"}, "webhook-patch"),
        ({"patch": '`{"namespaceSelctor":{}}`'}, "webhook-patch"),
        ({"patch": '`{"TimeoutSeconds":1}`'}, "webhook-patch"),
        ({"patch": '`{"timeoutSeconds":"1"}`'}, "webhook-patch"),
        ({"patch": '`{"timeoutSeconds":true}`'}, "webhook-patch"),
        ({"patch": '`{"timeoutSeconds":99}`'}, "webhook-patch"),
        ({"patch": '`{"timeoutSeconds":1,"timeoutSeconds":2}`'}, "webhook-patch"),
        ({"patch": '`{"rules":{}}`'}, "webhook-patch"),
        ({"patch": '`{"rules":[{"resource":["a"]}]}`'}, "webhook-patch"),
        ({"patch": '`{"sideEffects":"Some"}`'}, "webhook-patch"),
        ({"patch": '`{"admissionReviewVersions":null}`'}, "webhook-patch"),
        ({"patch": '`{"$patch":"merge"}`'}, "webhook-patch"),
        ({"patch": '`{"$patch":{}}`'}, "webhook-patch"),
        ({"patch": '`{"$patch":null}`'}, "webhook-patch"),
        ({"patch": '`{"rules":[{"$patch":"delete"}]}`'}, "webhook-patch"),
        ({"patch": '`{"rules":[null]}`'}, "webhook-patch"),
        ({"patch": '`{"namespaceSelector":{"matchLabels":{"a":1}}}`'}, "webhook-patch"),
        ({"failurePolicy": "sometimes"}, "marker-argument"),
        ({"matchPolicy": "foo"}, "marker-argument"),
        ({"sideEffects": "Some"}, "marker-argument"),
        ({"timeoutSeconds": "31"}, "marker-argument"),
        ({"webhookVersions": "v1beta1"}, "marker-argument"),
        ({"verbs": "creat"}, "marker-argument"),
        ({"mutating": None}, "marker-argument-missing"),
    ],
)
def test_what_would_be_refused_is_an_error_with_a_place(changes: dict[str, str | None], code: str) -> None:
    """One finding for one mistake."""
    _, diagnostics = generate(webhook(**changes))
    errors = [d for d in diagnostics if d.severity is Severity.ERROR]
    assert [d.code.slug for d in errors] == [code]
    assert errors[0].span is not None


def test_a_path_of_the_other_kind_is_a_warning() -> None:
    """It works, but nobody will find it."""
    _, diagnostics = generate(webhook(mutating="false"))
    assert [(d.code.slug, d.severity) for d in diagnostics] == [("webhook-path", Severity.WARNING)]


@pytest.mark.parametrize(
    ("markers", "code"),
    [
        ([webhook(), webhook()], "webhook-duplicate"),
        ([webhook(), webhook(mutating="false", name="v.b.c", path=DEFAULTS["path"])], "webhook-path"),
        (
            [
                webhook(),
                "+kubebuilder:webhookconfiguration:mutating=true,name=a",
                "+kubebuilder:webhookconfiguration:mutating=true,name=b",
            ],
            "webhook-duplicate",
        ),
        (["+kubebuilder:webhookconfiguration:mutating=true,name=a"], "webhook-configuration"),
        ([webhook(), "+kubebuilder:webhookconfiguration:mutating=true,name=A_b"], "webhook-configuration"),
    ],
)
def test_duplicates_and_useless_configurations_are_reported(markers: list[str], code: str) -> None:
    """controller-gen lets the last one win, or writes both."""
    _, diagnostics = generate(*markers)
    assert code in [d.code.slug for d in diagnostics]
