"""The Helm chart of a project on a real node: installed, upgraded and uninstalled by Helm itself.

PYKB_NODE_HELM is the program; `helm` of PATH otherwise. cert-manager is not in the cluster. So a project with
cert-manager is installed with `certManager.enabled=false`, which lets Helm make the certificate.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.node.audit import AuditLog
from tests.node.operator import Node, Operator, copied, objects
from tests.node.requests import MACHINE

RELEASE = "sealvm"
CHART = "charts/sealvm"
CRD = "customresourcedefinition/virtulmachines.infra.sealyun.com"
WAIT = ("--wait", "--timeout=3m")
ISSUED_BY_HELM = ("--set=certManager.enabled=false",)


class Release(Operator):
    """An operator that Helm installs."""

    def __init__(self, node: Node, folder: Path, program: str, values: tuple[str, ...]) -> None:
        super().__init__(node, folder)
        self.program = program
        self.values = values

    def helm(self, *arguments: str, code: int = 0) -> str:
        """Run Helm in the operator's namespace."""
        return self.shell.run(self.program, *arguments, f"--namespace={self.namespace}", code=code, both=True)

    def of_image(self, tag: str) -> tuple[str, ...]:
        """The values of an image, and the others."""
        repository, _, version = self.image(tag).rpartition(":")
        named = (f"--set=manager.image.repository={repository}", f"--set=manager.image.tag={version}")
        return (*named, *self.values)

    def authorities(self) -> set[bytes]:
        """Whom the API server trusts."""
        kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations"
        clients = [hook["clientConfig"] for each in self.json("get", kinds)["items"] for hook in each["webhooks"]]
        return {base64.b64decode(client.get("caBundle", "")) for client in clients}

    def reconciled(self, name: str) -> None:
        """Apply a machine, and wait until a pod has reconciled it."""
        machine = json.dumps({**MACHINE, "metadata": {"name": name, "namespace": "default"}, "spec": {"cpu": "1"}})
        self.eventually(lambda: self._applied(machine), "the API server reaches the webhooks")
        status = ("get", "virtulmachines", name, "--output=jsonpath={.status.status}")
        self.eventually(lambda: self.shell.ctl(*status) == "Running", f"a pod reconciles {name}")

    def _applied(self, text: str) -> bool:
        """Whether the API server accepts an object. Helm waits for pods, and not for their webhooks."""
        try:
            self.shell.ctl("apply", "--filename=-", text=text)
        except pytest.fail.Exception:
            return False
        return True


@contextmanager
def charted(node: Node, folder: Path, certificates: str, *values: str) -> Iterator[Release]:
    """A project with a chart, its image in the node, and its namespace. At the end, nothing of it is left."""
    program = shutil.which(os.environ.get("PYKB_NODE_HELM", "helm"))
    if program is None:
        pytest.fail("the tests of charts need `helm`, or PYKB_NODE_HELM", pytrace=False)
    release = Release(node, copied("virtulmachine", folder), program, values)
    if certificates != "built-in":
        release.shell.pykb("edit", f"--certificates={certificates}")
    release.shell.pykb("generate")
    release.shell.pykb("edit", "--plugins=helm")
    release.build("chart")
    release.prepare_namespace()
    try:
        yield release
    finally:
        if release.shell.ctl("get", CRD, "--ignore-not-found"):
            release.shell.ctl("delete", "virtulmachines", "--all", "--timeout=60s")  # while the manager runs
        release.helm("uninstall", RELEASE, "--ignore-not-found", *WAIT)
        release.shell.ctl("delete", CRD, "--ignore-not-found", "--timeout=60s")
        release.shell.ctl("delete", "namespace", release.namespace)


@pytest.mark.parametrize(
    ("certificates", "values"), [("built-in", ()), ("cert-manager", ISSUED_BY_HELM)], ids=["manager", "helm"]
)
def test_a_chart_from_its_install_to_its_uninstall(
    certificates: str, values: tuple[str, ...], node: Node, audit_log: AuditLog, tmp_path: Path
) -> None:
    """An upgrade changes the pods and keeps the certificate. The CRD and its objects outlive the release.

    The next release of that name takes them over, so that their finalizers can be removed.
    """
    before, start = objects(node), audit_log.size()
    with charted(node, tmp_path, certificates, *values) as release:
        assert "0 chart(s) failed" in release.helm("lint", CHART, "--strict", *release.of_image("chart"))
        release.helm("install", RELEASE, CHART, *WAIT, *release.of_image("chart"))
        release.eventually(lambda: b"" not in release.authorities(), "the API server trusts the webhooks")
        release.reconciled("first")

        (authority,) = release.authorities()
        more = ("--set=manager.replicas=2", "--set=manager.extraArgs={--log-level=debug}")
        release.helm("upgrade", RELEASE, CHART, *WAIT, *release.of_image("chart"), *more)
        release.eventually(lambda: len(release.pods()) == 2, "the pod of before has ended")
        containers = [each["spec"]["containers"][0] for each in release.pods()]
        assert all("--log-level=debug" in each["args"] for each in containers)
        assert release.authorities() == {authority}
        release.reconciled("second")

        # Helm deletes the roles while the pods still end, so that they cannot release the lease.
        assert audit_log.forbidden(release.account, start) == []
        release.helm("uninstall", RELEASE, *WAIT)
        assert release.shell.ctl("get", CRD, "--output=name").strip().endswith(CRD.rpartition("/")[2])
        kept = release.shell.ctl("get", "virtulmachines", "--output=name").split()
        assert [name.rpartition("/")[2] for name in kept] == ["first", "second"]
        release.helm("install", RELEASE, CHART, *WAIT, *release.of_image("chart"))
        release.reconciled("third")
    release.eventually(lambda: objects(node) <= before, "nothing is left")


def test_a_chart_with_cert_manager_waits_for_it(node: Node, tmp_path: Path) -> None:
    """It has a Certificate for the webhooks. A cluster that does not serve this kind refuses the whole release."""
    with charted(node, tmp_path, "cert-manager") as release:
        text = release.shell.run(release.program, "template", RELEASE, CHART, *release.of_image("chart"))
        rendered = [each for each in yaml.safe_load_all(text) if each]
        (certificate,) = [each for each in rendered if each["kind"] == "Certificate"]
        annotations = {
            each["metadata"].get("annotations", {}).get("cert-manager.io/inject-ca-from")
            for each in rendered
            if each["kind"].endswith("WebhookConfiguration")
        }
        assert annotations == {f"default/{certificate['metadata']['name']}"}
        refused = release.helm("install", RELEASE, CHART, *release.of_image("chart"), code=1)
        assert 'no matches for kind "Certificate" in version "cert-manager.io/v1"' in refused
        assert release.helm("list", "--short").strip() == ""
