"""Webhooks of a manager under test: called by a real API server while the block lasts, and never after it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from pykb.api import CustomResource, Field, GroupVersion, Struct
from pykb.api.conversion import Converter, carry_over
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.errors import ApiError
from pykb.diagnostics import EnvironmentProblem
from pykb.envtest import ControlPlane
from pykb.envtest.webhooks import installed_with
from pykb.runtime import Client, Defaulter, Denied, Manager, ManagerOptions, Validator, WebhookBuilder
from pykb.testing import RunManager

pytestmark = pytest.mark.apiserver

GROUP = "hooks.example.com"
V1, V2 = GroupVersion(GROUP, "v1"), GroupVersion(GROUP, "v2")


class MachineSpecV1(Struct):
    """The spoke knows a text."""

    size: str = ""


class MachineV1(CustomResource, group_version=V1, kind="Machine"):
    """The spoke."""

    spec: MachineSpecV1 = Field(default_factory=MachineSpecV1)


class MachineSpec(Struct):
    """The hub knows two numbers."""

    cpu: int = 0
    memory: int = 0
    zone: str | None = None


class Machine(CustomResource, group_version=V2):
    """The hub, which is stored."""

    spec: MachineSpec = Field(default_factory=MachineSpec)


class MachineDefaulter(Defaulter[Machine]):
    """Gives a zone."""

    async def default(self, obj: Machine) -> None:
        """Set it where it is missing."""
        obj.spec.zone = obj.spec.zone or "here"


class MachineValidator(Validator[Machine]):
    """Wants CPUs."""

    async def validate_create(self, obj: Machine) -> list[str] | None:
        """Refuse what has none."""
        if obj.spec.cpu < 1:
            raise Denied(f"cpu is {obj.spec.cpu}, expected at least 1")
        return ["that is much"] if obj.spec.cpu > 64 else None


class MachineConverter(Converter[MachineV1, Machine]):
    """`2x512` is two CPUs and 512 of memory."""

    def to_hub(self, spoke: MachineV1) -> Machine:
        """Take it apart."""
        hub = carry_over(spoke, Machine)
        cpu, _, memory = (spoke.spec.size or "0x0").partition("x")
        hub.spec = MachineSpec(cpu=int(cpu), memory=int(memory))
        return hub

    def from_hub(self, hub: Machine) -> MachineV1:
        """Put it together."""
        spoke = carry_over(hub, MachineV1)
        spoke.spec = MachineSpecV1(size=f"{hub.spec.cpu}x{hub.spec.memory}")
        return spoke


def setup_machine_webhook(manager: Manager) -> None:
    """As a project has it."""
    builder = WebhookBuilder(manager).for_(Machine).with_defaulter(MachineDefaulter())
    builder.with_validator(MachineValidator()).with_converter(MachineConverter()).complete()


def setup_defaulter(manager: Manager) -> None:
    """Only a part of it."""
    WebhookBuilder(manager).for_(Machine).with_defaulter(MachineDefaulter()).complete()


def configuration(kind: str, verb: str) -> dict[str, object]:
    """As the generator writes it."""
    service = {"name": "webhook-service", "namespace": "system", "path": f"/{verb}-hooks-example-com-v2-machine"}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": f"{kind.lower()}-webhook-configuration"},
        "webhooks": [
            {
                "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": service},
                "failurePolicy": "Fail",
                "name": f"{verb[0]}machine-v2.kb.io",
                "rules": [
                    {"apiGroups": [GROUP], "apiVersions": ["v2"], "operations": ["CREATE"], "resources": ["machines"]}
                ],
                "sideEffects": "None",
            }
        ],
    }


def version(name: str, properties: dict[str, object]) -> dict[str, object]:
    """A version of the definition."""
    spec = {"type": "object", "properties": properties}
    schema = {"type": "object", "properties": {"spec": spec}}
    return {"name": name, "served": True, "storage": name == "v2", "schema": {"openAPIV3Schema": schema}}


CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"machines.{GROUP}"},
    "spec": {
        "group": GROUP,
        "names": {"kind": "Machine", "plural": "machines"},
        "scope": "Namespaced",
        "versions": [
            version("v1", {"size": {"type": "string"}}),
            version("v2", {"cpu": {"type": "integer"}, "memory": {"type": "integer"}, "zone": {"type": "string"}}),
        ],
    },
}


@pytest.fixture
def project(tmp_path: Path, control_plane: ControlPlane) -> Path:
    """A project with a manifest, its definition installed."""
    folder = tmp_path / "config" / "webhook"
    folder.mkdir(parents=True)
    documents = [configuration("Mutating", "mutate"), configuration("Validating", "validate")]
    (folder / "manifests.yaml").write_text("---\n".join(json.dumps(document) + "\n" for document in documents))
    bases = tmp_path / "config" / "crd" / "bases"
    bases.mkdir(parents=True)
    (bases / "machines.yaml").write_text(json.dumps(CRD))
    control_plane.install_crds(bases)
    return tmp_path


@pytest.fixture
def run(control_plane: ControlPlane, project: Path) -> RunManager:
    """Runs managers of that project."""
    return RunManager(control_plane.kubeconfig, project)


def machine(namespace: str, name: str, cpu: int) -> Machine:
    """One of the hub's version."""
    return Machine(metadata=ObjectMeta(name=name, namespace=namespace), spec=MachineSpec(cpu=cpu))


def conversion(control_plane: ControlPlane) -> str:
    """How the definition is converted."""
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/machines.{GROUP}"
    return str(control_plane.rest().call("GET", path).body["spec"]["conversion"]["strategy"])


async def test_webhooks_are_in_effect_for_the_block_and_gone_after_it(
    client: Client, namespace: str, run: RunManager, control_plane: ControlPlane
) -> None:
    """The first request meets them, and the first one after the block does not; several times over."""
    for number in range(4):
        async with run(setup_machine_webhook):
            made = await client.create(machine(namespace, f"a{number}", 2))
            assert made.spec.zone == "here"
            with pytest.raises(ApiError, match="cpu is 0, expected at least 1"):
                await client.create(machine(namespace, f"b{number}", 0))
            spoke = await client.get(MachineV1, f"{namespace}/a{number}")
            assert spoke.spec.size == "2x0"
            written = MachineV1(
                metadata=ObjectMeta(name=f"c{number}", namespace=namespace), spec=MachineSpecV1(size="4x512")
            )
            await client.create(written)
            assert (await client.get(Machine, f"{namespace}/c{number}")).spec.memory == 512
        bare = await client.create(machine(namespace, f"d{number}", 0))
        assert bare.spec.zone is None
        assert conversion(control_plane) == "None"
    assert installed_with(control_plane.rest(), "pykb-test-") == []


async def test_only_what_is_registered_is_installed(client: Client, namespace: str, run: RunManager) -> None:
    """A test may register a part of the project's webhooks."""
    async with run(setup_defaulter):
        made = await client.create(machine(namespace, "a", 0))
        assert made.spec.zone == "here"


async def test_two_managers_run_side_by_side(
    client: Client, namespace: str, run: RunManager, control_plane: ControlPlane
) -> None:
    """Each at its own port; the one that ends leaves the other's webhooks and conversion."""
    async with run(setup_machine_webhook):
        async with run(setup_machine_webhook):
            await client.create(machine(namespace, "a", 2))
        assert (await client.create(machine(namespace, "b", 2))).spec.zone == "here"
        assert (await client.get(MachineV1, f"{namespace}/b")).spec.size == "2x0"
    assert conversion(control_plane) == "None"


async def test_a_webhook_that_no_manifest_lists_fails_the_test(run: RunManager, project: Path) -> None:
    """With what lists it: otherwise the test would run without it."""
    (project / "config" / "webhook" / "manifests.yaml").unlink()
    with pytest.raises(EnvironmentProblem, match="serves webhooks at `/mutate-hooks-example-com-v2-machine`") as raised:
        async with run(setup_machine_webhook):
            pass
    assert "pykb generate" in "".join(raised.value.__notes__)


async def test_a_body_that_fails_leaves_nothing(run: RunManager, control_plane: ControlPlane) -> None:
    """Its own error comes out."""

    async def body() -> None:
        async with run(setup_machine_webhook):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await body()
    assert installed_with(control_plane.rest(), "pykb-test-") == []
    assert conversion(control_plane) == "None"


async def test_a_manager_that_breaks_leaves_nothing(run: RunManager, control_plane: ControlPlane) -> None:
    """Also when it ends within the block."""
    explode, ended = asyncio.Event(), asyncio.Event()

    async def breaking() -> None:
        await explode.wait()
        ended.set()
        raise ZeroDivisionError

    async def body() -> None:
        async with run(setup_machine_webhook, lambda manager: manager.add(breaking, name="breaking")):
            explode.set()
            await ended.wait()

    with pytest.raises(ZeroDivisionError):
        await body()
    assert installed_with(control_plane.rest(), "pykb-test-") == []


async def test_a_cluster_that_does_not_reach_this_machine_is_told(
    run: RunManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the variable that tells where it would."""
    monkeypatch.setenv("PYKB_WEBHOOK_HOST", "nowhere.invalid")
    with pytest.raises(EnvironmentProblem, match="cannot call webhooks at") as raised:
        async with run(setup_machine_webhook):
            pass
    assert "PYKB_WEBHOOK_HOST=" in "".join(raised.value.__notes__)


async def test_another_host_is_in_the_certificate(
    client: Client, namespace: str, run: RunManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name by which the cluster reaches this machine."""
    monkeypatch.setenv("PYKB_WEBHOOK_HOST", "localhost")
    async with run(setup_machine_webhook):
        assert (await client.create(machine(namespace, "a", 2))).spec.zone == "here"


async def test_webhooks_can_be_switched_off(client: Client, namespace: str, run: RunManager) -> None:
    """Then nothing is served or installed."""
    async with run(setup_machine_webhook, options=ManagerOptions(webhooks=False)):
        assert (await client.create(machine(namespace, "a", 0))).spec.zone is None
