"""A project whose kind has a conversion webhook: its tests need no manager for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pykb.envtest import ControlPlane

pytestmark = pytest.mark.apiserver

DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ropes.converted.test}
spec:
  group: converted.test
  names: {kind: Rope, plural: ropes}
  scope: Namespaced
  conversion:
    strategy: Webhook
    webhook:
      clientConfig: {service: {name: webhook-service, namespace: system, path: /convert}}
      conversionReviewVersions: [v1]
  versions:
  - name: v1
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}
  - name: v2
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        {type: object, properties: {spec: {type: object, properties: {length: {type: integer}}}}}
"""

API = """\
from pykb.api import Converter, CustomResource, GroupVersion, Struct, carry_over

class OldSpec(Struct):
    size: int

class OldRope(CustomResource, group_version=GroupVersion("converted.test", "v1"), kind="Rope"):
    spec: OldSpec

class RopeSpec(Struct):
    length: int

class Rope(CustomResource, group_version=GroupVersion("converted.test", "v2")):
    spec: RopeSpec

class RopeConverter(Converter[OldRope, Rope]):
    def to_hub(self, spoke):
        hub = carry_over(spoke, Rope)
        hub.spec = RopeSpec(length=spoke.spec.size)
        return hub

    def from_hub(self, hub):
        spoke = carry_over(hub, OldRope)
        spoke.spec = OldSpec(size=hub.spec.length)
        return spoke
"""

MAIN = """\
from pykb.runtime import WebhookBuilder
from fleet.api import Rope, RopeConverter

def register(manager):
    WebhookBuilder(manager).for_(Rope).with_converter(RopeConverter()).complete()
"""

TEST = """\
import pytest
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import MergePatch
from fleet.__main__ import register
from fleet.api import OldRope, OldSpec, Rope

pytestmark = pytest.mark.usefixtures("crds")

async def kept(client, namespace, name):
    await client.create(OldRope(metadata=ObjectMeta(name=name, namespace=namespace), spec=OldSpec(size=3)))
    return (await client.get(Rope, name, namespace=namespace)).spec.length

async def test_without_a_manager(client, namespace):
    assert await kept(client, namespace, "a") == 3

async def test_with_the_manager(client, namespace, run_manager):
    async with run_manager(register):
        assert await kept(client, namespace, "b") == 3

async def test_without_it_again(client, namespace):
    assert await kept(client, namespace, "c") == 3
"""


def test_every_test_of_a_project_has_its_conversions(control_plane: ControlPlane, tmp_path: Path) -> None:
    """Served for the whole session by what the project registers, given way to a manager that serves them itself."""
    files = {
        "PROJECT": 'domain: test\nlayout: [python.pykb.dev/v1]\nprojectName: fleet\nrepo: fleet\nversion: "3"\n',
        "config/crd/bases/converted.test_ropes.yaml": DEFINITION,
        "fleet/__init__.py": "",
        "fleet/__main__.py": MAIN,
        "fleet/api.py": API,
        "test_it.py": TEST,
        "pytest.ini": "[pytest]\npythonpath = .\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "-p", "no:anyio"],
        cwd=tmp_path,
        env={**os.environ, "USE_EXISTING_CLUSTER": "true", "KUBECONFIG": str(control_plane.kubeconfig)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout
    definition = control_plane.rest().call(
        "GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ropes.converted.test"
    )
    assert "service" in definition.body["spec"]["conversion"]["webhook"]["clientConfig"]
