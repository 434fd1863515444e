"""The fixtures of pykb.testing on a real control plane."""

from __future__ import annotations

from datetime import timedelta

import kopf
import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.envtest import ControlPlane
from pykb.runtime import Client, ControllerBuilder, Manager, ManagerOptions, Reconciler, Request, Result
from pykb.testing import RunManager, eventually
from tests.pages import program

pytestmark = pytest.mark.apiserver


async def test_client_and_namespace_work_together(client: Client, namespace: str) -> None:
    """The client may write into the namespace of the test."""
    await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace), data={"k": "v"}))
    found = await client.get(ConfigMap, f"{namespace}/a")
    assert found.data == {"k": "v"}


async def test_namespaces_are_named_after_their_test(namespace: str) -> None:
    """What a failed test leaves behind tells whose it is."""
    assert namespace.startswith("test-namespaces-are-named-after-their-")


def test_crds_without_a_folder_are_none(crds: list[str]) -> None:
    """A project without config/crd/bases has nothing to install."""
    assert crds == []


class Marker(Reconciler):
    """Marks ConfigMaps of one test."""

    async def reconcile(self, request: Request) -> Result:
        """Set a key."""
        found = await self.client.find(ConfigMap, request)
        if found is not None and found.metadata.labels == {"mark": "me"} and found.data != {"marked": "yes"}:
            found.data = {"marked": "yes"}
            await self.client.update(found)
        return Result()

    def setup(self, manager: Manager) -> None:
        """Watch ConfigMaps."""
        ControllerBuilder(manager).for_(ConfigMap).complete(self)


async def test_run_manager_runs_reconcilers(client: Client, namespace: str, run_manager: RunManager) -> None:
    """A reconciler works on what a test creates while the block lasts."""
    async with run_manager(Marker):
        metadata = ObjectMeta(name="a", namespace=namespace, labels={"mark": "me"})
        await client.create(ConfigMap(metadata=metadata))

        async def is_marked() -> None:
            assert (await client.get(ConfigMap, f"{namespace}/a")).data == {"marked": "yes"}

        await eventually(is_marked)


async def test_run_manager_passes_on_what_the_manager_failed_with(
    control_plane: ControlPlane, run_manager: RunManager
) -> None:
    """A manager that breaks fails the test, with the manager's own error."""

    async def explode() -> None:
        raise ZeroDivisionError("on purpose")

    def register(manager: Manager) -> None:
        manager.add(explode, name="explode")

    async def run() -> None:
        async with run_manager(register) as manager:
            await eventually(manager.elected.is_set)

    with pytest.raises((ZeroDivisionError, ExceptionGroup)):
        await run()


async def test_run_manager_runs_kopf_handlers(client: Client, namespace: str, run_manager: RunManager) -> None:
    """Plain kopf handlers on a control plane, without kopf's own runner: for as long as the block lasts."""
    registry = kopf.OperatorRegistry()

    @kopf.on.create("", "v1", "configmaps", registry=registry)
    async def created(patch: kopf.Patch, **_: object) -> None:
        patch["data"] = {"seen": "yes"}

    options = ManagerOptions(namespaces=(namespace,))
    async with run_manager(lambda manager: manager.add_kopf_handlers(registry), options=options):
        await client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace)))

        async def handled() -> None:
            assert (await client.get(ConfigMap, f"{namespace}/a")).data == {"seen": "yes"}

        await eventually(handled, timedelta(seconds=30))


async def test_the_page_on_tests_shows_one_that_passes(client: Client, namespace: str, run_manager: RunManager) -> None:
    """Its reconciler runs on a real API server."""
    await program("docs/how-to/test-an-operator.md")["test_on_a_server"](client, namespace, run_manager)
