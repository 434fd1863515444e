"""The webhook manifest of a project: read, judged, and made fit for a server on this machine."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from pykb.diagnostics import EnvironmentProblem
from pykb.envtest.webhooks import Serving, WebhookManifest, host_of

MANIFEST = """\
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: mutating-webhook-configuration
webhooks:
- name: mthing.kb.io
  clientConfig: {service: {name: webhook-service, namespace: system, path: /mutate-thing}}
  sideEffects: None
- name: mother.kb.io
  clientConfig: {service: {name: webhook-service, namespace: system, path: /mutate-other}}
- name: mremote.kb.io
  clientConfig: {url: "https://elsewhere.example.com/x"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: validating-webhook-configuration}
webhooks:
- name: vthing.kb.io
  clientConfig: {service: {name: webhook-service, namespace: system, path: /validate-thing}}
"""
SERVING = Serving("https://127.0.0.1:1234", b"PEM")


def manifest(folder: Path, text: str = MANIFEST) -> WebhookManifest:
    """Read a text as a manifest."""
    file = folder / "manifests.yaml"
    file.write_text(text)
    return WebhookManifest.read(file)


def test_services_become_urls(tmp_path: Path) -> None:
    """With the authority of the certificate; all else stays, and the names are ours."""
    made = manifest(tmp_path).configurations(SERVING, prefix="pykb-")
    assert [(c["kind"], c["metadata"]["name"]) for c in made] == [
        ("MutatingWebhookConfiguration", "pykb-mutating-webhook-configuration"),
        ("ValidatingWebhookConfiguration", "pykb-validating-webhook-configuration"),
    ]
    assert made[0]["webhooks"][0] == {
        "name": "mthing.kb.io",
        "sideEffects": "None",
        "clientConfig": {
            "url": "https://127.0.0.1:1234/mutate-thing",
            "caBundle": base64.b64encode(b"PEM").decode(),
        },
    }


def test_only_the_paths_that_are_asked_for_are_there(tmp_path: Path) -> None:
    """A configuration of which nothing is left is none; a webhook somewhere else is not ours."""
    read = manifest(tmp_path)
    made = read.configurations(SERVING, prefix="", paths={"/mutate-other"})
    assert [[w["name"] for w in c["webhooks"]] for c in made] == [["mother.kb.io"]]
    assert [w["name"] for c in read.configurations(SERVING, prefix="") for w in c["webhooks"]] == [
        "mthing.kb.io",
        "mother.kb.io",
        "vthing.kb.io",
    ]
    assert read.paths == {"/mutate-thing", "/mutate-other", "/validate-thing"}


def test_what_is_served_and_not_listed_is_told(tmp_path: Path) -> None:
    """With the command that lists it."""
    read = manifest(tmp_path)
    told = read.unlisted(["/mutate-thing", "/mutate-new", "/convert-x"])
    assert told is not None
    assert told.message == (
        f"the manager serves webhooks at `/convert-x` and `/mutate-new`, and `{read.file}` does not list that"
    )
    assert "pykb generate" in told.help
    missing = WebhookManifest.read(tmp_path / "none.yaml").unlisted(["/x"])
    assert missing is not None
    assert "does not exist" in missing.message
    assert read.unlisted(["/mutate-thing"]) is None


def test_what_is_listed_and_not_served_is_told_with_its_place(tmp_path: Path) -> None:
    """At its name; it may be registered nowhere, or at another path."""
    told = manifest(tmp_path).unserved({"/mutate-thing", "/mutate-other"})
    assert [d.message for d in told] == [
        "the manager serves nothing at `/validate-thing`, the path of the webhook `vthing.kb.io`"
    ]
    assert told[0].span is not None
    assert (told[0].span.line, told[0].span.column) == (19, 9)
    assert 'path="/validate-thing"' in told[0].help[1]


def test_a_project_without_a_manifest_has_no_webhooks(tmp_path: Path) -> None:
    """It is no mistake."""
    assert WebhookManifest.read(tmp_path / "none.yaml").configurations(SERVING, prefix="") == []


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("a: [", "is not YAML", 2),
        (f"{MANIFEST}---\nkind: Service\napiVersion: v1\n", "found `Service` of `v1`, expected", 22),
        ("- 1\n", "found a list without a kind, expected", 1),
        (MANIFEST.replace("  name: mutating-webhook-configuration\n", "  labels: {}\n"), "has no `metadata.name`", 2),
        (MANIFEST.replace("metadata: {name: validating-webhook-configuration}\nwebhooks:\n", ""), "YAML", 17),
        (
            MANIFEST.partition("webhooks:")[0] + "webhooks: {a: 1}",
            "`webhooks` of `mutating-webhook-configuration` is not a list of webhooks",
            2,
        ),
    ],
)
def test_what_is_no_manifest_is_told_with_its_place(tmp_path: Path, text: str, message: str, line: int) -> None:
    """As a diagnostic, which says what writes the file."""
    with pytest.raises(EnvironmentProblem) as raised:
        manifest(tmp_path, text)
    found = raised.value.diagnostic
    assert message in found.message
    assert found.code.slug == "webhook-manifest"
    assert found.help == ("pykb generate",)
    assert found.span is not None
    assert found.span.line == line


@pytest.mark.parametrize(
    ("host", "url"), [("127.0.0.1", "https://127.0.0.1:9443"), ("::1", "https://[::1]:9443"), ("me", "https://me:9443")]
)
def test_hosts_become_urls_and_are_read_again(host: str, url: str) -> None:
    """Also addresses with colons."""
    assert Serving.at(host, 9443, b"").url == url
    assert host_of(f"{url}/convert") == (host, 9443)
