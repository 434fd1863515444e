"""The main job, from an empty directory to a deployed operator, as the README tells it.

The tests of this file are one story: each goes on where the one before it stopped.
"""

from __future__ import annotations

import json
import re
import sys
import urllib.request
from pathlib import Path

import pytest
import yaml

from pykb.envtest import ControlPlane
from tests.e2e.conftest import Shell, deployed, eventually, free_port

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

PROJECT = "sealvm"
TYPES = "sealvm/api/v1/virtulmachine_types.py"
CONTROLLER = "sealvm/controllers/virtulmachine_controller.py"
SAMPLE = "config/samples/infra_v1_virtulmachine.yaml"
DOMAIN = "walk.sealyun.com"
KIND = f"virtulmachines.infra.{DOMAIN}"

FIELDS = '''    cpu: str
    """Number of virtual CPUs."""

    memory: str
    """Size of the memory."""
'''
STATUS = '''    """Observed state of VirtulMachine."""

    status: str | None = None
    """What the machine does."""
'''
IMPORT = """
from pykb.runtime import ControllerBuilder, Manager, Reconciler, Request, Result
"""
IMPORTS = """
from pykb.runtime import (
    ControllerBuilder,
    Manager,
    Reconciler,
    Request,
    Result,
    ensure_finalizer,
    release_finalizer,
)
"""
RECONCILE = """        if resource.metadata.deletion_timestamp is not None:
            print(f"cleaning up {request}", flush=True)
            await release_finalizer(self.client, resource, FINALIZER)
            return Result()
        await ensure_finalizer(self.client, resource, FINALIZER)
        print(f"cpu {resource.spec.cpu}, memory {resource.spec.memory}", flush=True)
        if resource.spec.cpu in ("", "0"):
            print("a machine needs a CPU", flush=True)
            raise RuntimeError("a machine needs a CPU")
        resource.status.status = "Running"
        await self.client.status.update(resource)
"""


def status(shell: Shell, name: str = "virtulmachine-sample") -> str:
    """The field `status` of a machine's status."""
    return shell.ctl("get", KIND, name, "--output=jsonpath={.status.status}")


def test_scaffold(shell: Shell) -> None:
    """Two commands make a project with a kind, and the manifests of it."""
    shell.pykb("init", "--domain", DOMAIN, "--license", "apache2", "--owner", "fanux")
    shell.pykb("create", "api", "--group", "infra", "--version", "v1", "--kind", "VirtulMachine")
    assert (shell.directory / "config/crd/bases/infra.walk.sealyun.com_virtulmachines.yaml").exists()


def test_fresh_project_passes_its_own_checks(shell: Shell) -> None:
    """Format, lint and types are in order before anybody has written a line. The environment is made by the uv on PATH."""
    programs = shell.directory.parent / "bin"
    programs.mkdir()
    (programs / "uv").symlink_to(Path(sys.executable).with_name("uv"))
    shell.environment["PATH"] = f"{programs}:{shell.environment['PATH']}"
    shell.run("make")
    shell.run("make", "check-manifests")


def test_types_are_checked_where_an_object_is_made(shell: Shell) -> None:
    """A misspelt field, or a value of another type, fails `make typecheck`: in the project's types and in Kubernetes' own."""
    module = shell.directory / "sealvm" / "slips.py"
    module.write_text(
        "from pykb.api.core.v1 import Container\n"
        "from sealvm.api.v1.virtulmachine_types import VirtulMachineSpec\n"
        'VirtulMachineSpec(fo="bar")\n'
        "VirtulMachineSpec(foo=1)\n"
        'Container(name="main", imag="nginx")\n',
        encoding="utf-8",
    )
    found = shell.run(".venv/bin/mypy", code=1)
    module.unlink()
    assert re.findall(r"slips\.py:(\d+): error", found) == ["3", "4", "5"]


def test_install_and_run(shell: Shell) -> None:
    """`make install run` brings the CRD into the cluster and reconciles the sample."""
    probes = f"127.0.0.1:{free_port()}"
    with shell.running("make", "install", "run", f"ARGS=--health-probe-bind-address={probes}") as manager:
        eventually(lambda: KIND in shell.ctl("get", "crd", "--output=name"), f"{KIND} installed")
        shell.ctl("wait", "--for=condition=Established", f"crd/{KIND}", "--timeout=60s")
        shell.ctl("apply", "--kustomize", "config/samples")
        manager.prints("default/virtulmachine-sample")
        for path in ("healthz", "readyz"):
            with urllib.request.urlopen(f"http://{probes}/{path}", timeout=60) as answer:
                assert answer.status == 200
        manager.interrupt()
    shell.ctl("delete", "--kustomize", "config/samples", "--timeout=60s")


def test_change_the_types(shell: Shell) -> None:
    """New fields are in the CRD that `kustomize build config/default` shows, with their descriptions."""
    text = (shell.directory / TYPES).read_text(encoding="utf-8")
    example = re.search(r'    foo: .*\n    """.*"""\n', text)
    assert example is not None
    shell.edit(TYPES, (example[0], FIELDS), ('    """Observed state of VirtulMachine."""\n', STATUS))
    shell.edit(SAMPLE, ("  foo: bar\n", '  cpu: "2"\n  memory: 4Gi\n'))
    shell.edit(
        CONTROLLER,
        ('        self.logger.info("reconciling %s", request)\n', RECONCILE),
        (IMPORT, IMPORTS),
        ("import VirtulMachine\n", 'import VirtulMachine\n\nFINALIZER = "infra.sealyun.com/machine"\n'),
    )
    shell.run("make")
    shell.run("make", "install")
    rendered = list(yaml.safe_load_all(shell.ctl("kustomize", "config/default")))
    (crd,) = [each for each in rendered if each["kind"] == "CustomResourceDefinition"]
    properties = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    assert properties["spec"]["properties"] == {
        "cpu": {"type": "string", "description": "Number of virtual CPUs."},
        "memory": {"type": "string", "description": "Size of the memory."},
    }
    assert properties["spec"]["required"] == ["cpu", "memory"]
    assert properties["status"]["properties"]["status"] == {"type": "string", "description": "What the machine does."}


def test_reconcile(shell: Shell) -> None:
    """The reconciler gets the object, prints it, writes its status, cleans up before it goes, and tries again on error."""
    run = ("make", "run", f"ARGS=--health-probe-bind-address=127.0.0.1:{free_port()}")
    with shell.running(*run) as manager:
        shell.ctl("apply", "--kustomize", "config/samples")
        manager.prints("cpu 2, memory 4Gi")
        eventually(lambda: status(shell) == "Running", "the status is Running", context=lambda: manager.log)
        manager.interrupt()

    # Nobody is there to clean up: the finalizer holds the object.
    shell.ctl("delete", "--kustomize", "config/samples", "--wait=false")
    held = json.loads(shell.ctl("get", KIND, "virtulmachine-sample", "--output=json"))
    assert held["metadata"]["deletionTimestamp"]
    assert held["metadata"]["finalizers"] == ["infra.sealyun.com/machine"]

    with shell.running(*run) as manager:
        manager.prints("cleaning up default/virtulmachine-sample")
        gone = ("get", KIND, "--output=name")
        eventually(lambda: not shell.ctl(*gone), "the object is gone", context=lambda: manager.log)

        failing = (shell.directory / SAMPLE).read_text(encoding="utf-8").replace('cpu: "2"', 'cpu: "0"')
        shell.ctl("apply", "--filename=-", text=failing)
        manager.prints("a machine needs a CPU\n", times=3)
        shell.ctl("apply", "--kustomize", "config/samples")
        eventually(lambda: status(shell) == "Running", "the next try succeeds", context=lambda: manager.log)
        shell.ctl("delete", "--kustomize", "config/samples", "--timeout=60s")
        manager.interrupt()


def test_deploy(shell: Shell, control_plane: ControlPlane) -> None:
    """What `make deploy` applies suffices: the manager, as the deployed ServiceAccount, is forbidden nothing."""
    with deployed(shell, control_plane, "sealvm") as manager:
        shell.ctl("apply", "--kustomize", "config/samples")
        eventually(lambda: status(shell) == "Running", "the status is Running", context=lambda: manager.log)
        shell.ctl("delete", "--kustomize", "config/samples", "--timeout=60s")
        lease = shell.ctl("--namespace=sealvm-system", "get", "lease", f"sealvm.{DOMAIN}", "--output=json")
        assert json.loads(lease)["spec"]["holderIdentity"]


def test_installer(shell: Shell) -> None:
    """`make build-installer` writes what `make deploy` applies, with the image set, and changes no other file."""
    kustomizations = sorted(shell.directory.glob("config/**/*.yaml"))
    contents = [path.read_bytes() for path in kustomizations]
    shell.run("make", "build-installer", "IMG=registry.example.com/sealvm:v2")
    objects = list(yaml.safe_load_all((shell.directory / "dist/install.yaml").read_text(encoding="utf-8")))
    (deployment,) = [each for each in objects if each["kind"] == "Deployment"]
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "registry.example.com/sealvm:v2"
    assert [path.read_bytes() for path in kustomizations] == contents


def test_uninstall(shell: Shell) -> None:
    """`make uninstall` takes the CRDs away; a second time there is nothing to do."""
    shell.run("make", "uninstall")
    assert KIND not in shell.ctl("get", "crd", "--output=name")
    shell.run("make", "uninstall")


def test_add_webhooks(shell: Shell) -> None:
    """They pass the project's own checks as they are, on an API server of the project's own. A cluster needs nothing else.

    The scaffolded tests of the controller read the sample, so they hold for the changed types, too.
    """
    names = ("--group", "infra", "--version", "v1", "--kind", "VirtulMachine")
    shell.pykb("create", "webhook", *names, "--defaulting", "--programmatic-validation")
    shell.run("make")
    shell.run("make", "check-manifests", "test")
    shell.run("make", "build-installer")
    assert "cert-manager" not in (shell.directory / "dist/install.yaml").read_text(encoding="utf-8")


def test_no_file_tells_of_this_machine(shell: Shell) -> None:
    """No file of the project that git would show holds a path of the machine that made it."""
    home = str(shell.directory.parent)
    local = {".venv", ".pykb", ".mypy_cache", ".ruff_cache", ".pytest_cache", "__pycache__"}
    for path in shell.directory.rglob("*"):
        if path.is_file() and not local.intersection(path.relative_to(shell.directory).parts):
            assert home not in path.read_text(encoding="utf-8", errors="replace"), path
