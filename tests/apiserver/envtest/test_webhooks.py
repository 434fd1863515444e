"""Webhooks and conversions on a real control plane, served by this process: in effect when they should be, then gone."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from pykb.diagnostics import EnvironmentProblem
from pykb.envtest import ControlPlane
from pykb.envtest import rest as rest_module
from pykb.envtest.components import Authority
from pykb.envtest.crds import TABLE, install_conversions, remove_conversions, settle_conversions
from pykb.envtest.rest import Rest
from pykb.envtest.webhooks import Serving, WebhookManifest, install_webhooks, installed_with, remove_webhooks, settle
from pykb.meta.gvk import GroupKind

pytestmark = pytest.mark.apiserver

MANIFEST = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: validating-webhook-configuration
webhooks:
- admissionReviewVersions: [v1]
  clientConfig:
    service: {name: webhook-service, namespace: system, path: /validate--v1-configmap}
  failurePolicy: Fail
  name: vconfigmap-v1.kb.io
  objectSelector: {matchLabels: {judge: me}}
  rules:
  - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  sideEffects: None
"""
GROUP = "turns.example.com"
CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"things.{GROUP}"},
    "spec": {
        "group": GROUP,
        "names": {"kind": "Thing", "plural": "things"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": version,
                "served": True,
                "storage": version == "v2",
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
            for version in ("v1", "v2")
        ],
    },
}

Answer = Callable[[dict[str, Any]], dict[str, Any]]


@contextmanager
def serving(paths: dict[str, Answer], folder: Path) -> Iterator[Serving]:
    """A small webhook server at 127.0.0.1."""
    authority = Authority()
    certificate, key = authority.server(["127.0.0.1"], title="webhooks").write(folder, "tls")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = paths.get(self.path.partition("?")[0])
            body = b"there is nothing here\n"
            if answer is not None:
                response = {"uid": review["request"]["uid"], **answer(review["request"])}
                body = json.dumps({**review, "request": None, "response": response}).encode()
            self.send_response(404 if answer is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Serving.at("127.0.0.1", server.server_port, authority.pair.certificate)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def turn(request: dict[str, Any]) -> dict[str, Any]:
    """Write the version that is asked for, and where it came from."""
    objects = [
        {**obj, "apiVersion": request["desiredAPIVersion"], "from": obj["apiVersion"]} for obj in request["objects"]
    ]
    return {"convertedObjects": objects, "result": {"status": "Success"}}


@pytest.fixture
def rest(control_plane: ControlPlane) -> Rest:
    """The control plane as its administrator."""
    return control_plane.rest()


def test_a_server_that_is_not_reached_is_told(rest: Rest, tmp_path: Path) -> None:
    """With what the API server met: nobody who listens, or a certificate of somebody else's."""
    with serving({}, tmp_path) as served:
        pass
    assert "connection refused" in settle(rest, served)
    with serving({}, tmp_path) as served:
        assert "x509" in settle(rest, Serving(served.url, Authority().pair.certificate))


def test_a_configuration_that_is_refused_is_told(rest: Rest, tmp_path: Path) -> None:
    """With the server's reason."""
    file = tmp_path / "manifests.yaml"
    file.write_text(MANIFEST.replace("sideEffects: None", "sideEffects: Some"))
    with pytest.raises(EnvironmentProblem) as raised:
        install_webhooks(
            rest, WebhookManifest.read(file).configurations(Serving("https://127.0.0.1:1", b"x"), prefix="pykb-c-")
        )
    assert raised.value.diagnostic.code.slug == "webhook-refused"
    assert "sideEffects" in raised.value.diagnostic.notes[0]


def test_an_installer_without_the_rights_is_told(rest: Rest, control_plane: ControlPlane, tmp_path: Path) -> None:
    """One who may install webhooks but not try them: no wait without an end, and nothing is left."""
    group, name = "rbac.authorization.k8s.io", "webhook-installer"
    rules = [{"apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"], "verbs": ["*"]}]
    role = {"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": name}],
    }
    assert rest.call("POST", f"/apis/{group}/v1/clusterroles", role).ok
    assert rest.call("POST", f"/apis/{group}/v1/clusterrolebindings", binding).ok
    installer = Rest.from_kubeconfig(control_plane.user(name))
    with pytest.raises(EnvironmentProblem) as raised:
        settle(installer, Serving("https://127.0.0.1:1", Authority().pair.certificate))
    assert raised.value.diagnostic.code.slug in {"webhook-not-in-effect", "webhook-refused"}
    assert "forbidden" in raised.value.diagnostic.notes[0]
    assert installed_with(rest, "pykb-probe-") == []


def test_what_is_not_deleted_is_told(control_plane: ControlPlane) -> None:
    """Somebody would meet it later, and not know whence it came."""
    nobody = Rest.from_kubeconfig(control_plane.user("nobody"))
    with pytest.raises(EnvironmentProblem, match="did not delete webhook configurations"):
        remove_webhooks(nobody, ["mutatingwebhookconfigurations/a"])


def test_a_kind_is_converted_from_the_first_request_to_the_last(
    rest: Rest, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """Many times over; a definition that is installed again keeps its conversion; at the end there is none."""
    file = tmp_path / "crd.yaml"
    file.write_text(json.dumps(CRD))
    control_plane.install_crds(file)
    things = f"/apis/{GROUP}/v1/namespaces/default/things"
    thing = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": "a"}}
    before = definition(rest)
    with serving({"/convert": turn}, tmp_path) as served:
        for _ in range(3):
            converted = install_conversions(rest, [GroupKind(GROUP, "Thing")], served)
            settle_conversions(rest, converted)
            made = rest.call("POST", f"{things}?dryRun=All", thing)
            assert made.body.get("from") == f"{GROUP}/v2", made.message
            control_plane.install_crds(file)
            assert definition(rest)["spec"]["conversion"]["webhook"]["clientConfig"]["url"] == f"{served.url}/convert"
            remove_conversions(rest, converted)
            settle_conversions(rest, converted)
            assert "from" not in rest.call("POST", f"{things}?dryRun=All", thing).body
    assert definition(rest)["spec"] == before["spec"]


class Late(Rest):
    """Reads of an API server that notices a change of a definition only at the third look."""

    looks = 0

    def call(self, *call: Any, **options: Any) -> rest_module.Answer:
        answer = super().call(*call, **options)
        if options.get("accept") == TABLE:
            self.looks += 1
            if self.looks < 3:
                return rest_module.Answer(answer.status, {**answer.body, "columnDefinitions": []})
        return answer


def test_a_conversion_has_settled_when_the_api_server_shows_it(
    rest: Rest, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """It is asked again until it does, and what was added to see that is removed."""
    file = tmp_path / "crd.yaml"
    file.write_text(json.dumps(CRD))
    control_plane.install_crds(file)
    before = definition(rest)["spec"]
    with serving({"/convert": turn}, tmp_path) as served:
        converted = install_conversions(rest, [GroupKind(GROUP, "Thing")], served)
        late = Late.from_kubeconfig(control_plane.kubeconfig)
        assert isinstance(late, Late)
        settle_conversions(late, converted)
        assert late.looks == 3
        remove_conversions(rest, converted)
    assert definition(rest)["spec"] == before


def definition(rest: Rest) -> dict[str, Any]:
    """The definition as it is installed."""
    return rest.call("GET", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{GROUP}").body


def test_a_conversion_inside_another_gives_it_back(rest: Rest, control_plane: ControlPlane, tmp_path: Path) -> None:
    """Whichever ends first; one that nobody serves any more is not put back."""
    file = tmp_path / "crd.yaml"
    file.write_text(json.dumps(CRD))
    control_plane.install_crds(file)
    kinds = [GroupKind(GROUP, "Thing")]

    def url() -> str | None:
        webhook = definition(rest)["spec"]["conversion"].get("webhook") or {}
        found: str | None = (webhook.get("clientConfig") or {}).get("url")
        return found

    with serving({"/convert": turn}, tmp_path) as outer, serving({"/convert": turn}, tmp_path) as inner:
        first, second = install_conversions(rest, kinds, outer), install_conversions(rest, kinds, inner)
        remove_conversions(rest, second)
        assert url() == f"{outer.url}/convert"
        second = install_conversions(rest, kinds, inner)
        remove_conversions(rest, first)
        assert url() == f"{inner.url}/convert"
    remove_conversions(rest, second)
    assert url() is None


def test_a_kind_without_a_definition_is_told(rest: Rest) -> None:
    """With what installs it."""
    with pytest.raises(EnvironmentProblem) as raised:
        install_conversions(rest, [GroupKind(GROUP, "Nothing")], Serving("https://127.0.0.1:1", b"x"))
    assert raised.value.diagnostic.code.slug == "conversion-without-crd"
