"""The fixtures in a project with settings of its own: pytest-asyncio's strict mode, anyio, an existing cluster, definitions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pykb.envtest import ControlPlane

pytestmark = pytest.mark.apiserver

CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.fixtures.test}
spec:
  group: fixtures.test
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""

TEST = """\
import pytest
from pykb.api.core.v1 import Namespace

MARK

async def test_it(client, namespace, crds, control_plane):
    assert crds == ["things.fixtures.test"]
    assert control_plane.url == "URL"
    assert (await client.get(Namespace, namespace)).metadata.name == namespace
"""


@pytest.mark.parametrize(
    ("mark", "options", "config"),
    [
        (
            "asyncio",
            ("-p", "no:anyio", "-o", "asyncio_mode=strict", "-o", "asyncio_default_fixture_loop_scope=function"),
            "config",
        ),
        ("anyio", ("-p", "no:asyncio"), "deploy/config"),
    ],
)
def test_async_fixtures_work_under_either_plugin(
    control_plane: ControlPlane, tmp_path: Path, mark: str, options: tuple[str, ...], config: str
) -> None:
    """Against the cluster that the environment names, whose definitions come from the project's folder."""
    bases = tmp_path / config / "crd" / "bases"
    (tmp_path / "pyproject.toml").write_text(f'[tool.pykb]\nconfig = "{config}"\n')
    bases.mkdir(parents=True)
    (bases / "things.yaml").write_text(CRD)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    backend = "@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n\n" if mark == "anyio" else ""
    text = TEST.replace("MARK", f"{backend}pytestmark = pytest.mark.{mark}").replace("URL", control_plane.url)
    (tmp_path / "test_it.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", *options],
        cwd=tmp_path,
        env={**os.environ, "USE_EXISTING_CLUSTER": "true", "KUBECONFIG": str(control_plane.kubeconfig)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_a_kubeconfig_alone_is_not_used(tmp_path: Path) -> None:
    """Nobody's tests shall write to a cluster because a variable was left set."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_it.py").write_text("def test_it(control_plane):\n    assert control_plane.pids\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio"],
        cwd=tmp_path,
        env={**os.environ, "KUBECONFIG": "/no/such/kubeconfig"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
