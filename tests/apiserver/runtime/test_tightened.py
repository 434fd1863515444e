"""Objects that a server stored before their definition demanded more: they are read, listed, watched and reconciled."""

import asyncio
import copy
from typing import Any

import pytest

from pykb.api import CustomResource, Field, GroupVersion, Struct
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.errors import ApiError, Invalid, NoKindMatch
from pykb.runtime import ControllerBuilder, Reconciler, patch_status
from pykb.testing import eventually, running

from .conftest import client_for, manager_for  # noqa: TID252 - shared by this folder only

pytestmark = pytest.mark.apiserver

GROUP = "tightened.example.com"


class LoadSpec(Struct):
    """What the definition demands by now."""

    size: int = Field(default=1, ge=1, le=10)


class LoadStatus(Struct):
    """What is there."""

    phase: str | None = None


class Load(CustomResource, group_version=GroupVersion(GROUP, "v1")):
    """A kind whose rules became stricter."""

    spec: LoadSpec = Field(default_factory=LoadSpec)
    status: LoadStatus = Field(default_factory=LoadStatus)


def _definition(size: dict[str, Any]) -> dict[str, Any]:
    properties = {
        "spec": {"type": "object", "properties": {"size": size}},
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
        "subresources": {"status": {}},
    }
    names = {"kind": "Load", "plural": "loads", "singular": "load", "listKind": "LoadList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"loads.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


LOOSE = _definition({"type": "integer"})
TIGHT = _definition({"type": "integer", "minimum": 1, "maximum": 10})


def load(namespace: str, name: str, size: int) -> dict[str, Any]:
    """An object as another program writes it."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": f"{GROUP}/v1", "kind": "Load", "metadata": metadata, "spec": {"size": size}}


@pytest.fixture
async def client(control_plane, namespace):
    """A client; `big` was stored when its size was allowed, `small` is still right."""
    async with client_for(control_plane) as client:
        await client.apply(copy.deepcopy(LOOSE), force=True)

        async def stored() -> bool:
            try:
                await client.apply(load(namespace, "big", 50), force=True)
            except (ApiError, NoKindMatch):
                return False  # not served yet, or still judged by the rules of the test before
            return True

        await eventually(stored)
        await client.create(load(namespace, "small", 5))
        await client.apply(copy.deepcopy(TIGHT), force=True)

        async def judged() -> None:
            try:
                await client.with_options(dry_run=True).create(load(namespace, "probe", 50))
            except Invalid:
                return
            raise AssertionError("the stricter definition is not in force")

        await eventually(judged)
        yield client


async def test_what_was_stored_before_a_constraint_is_read_listed_and_watched(client, namespace):
    """One object that breaks a later rule hides no other, and is itself there as it is stored."""
    assert (await client.get(Load, f"{namespace}/big")).spec.size == 50
    assert {item.metadata.name: item.spec.size for item in await client.list(Load, namespace=namespace)} == {
        "big": 50,
        "small": 5,
    }
    async with asyncio.timeout(60), client.watch(Load, namespace=namespace) as events:
        seen = [(await anext(events)).object.spec.size for _ in range(2)]
    assert sorted(seen) == [5, 50]


async def test_what_was_stored_before_a_constraint_is_reconciled(client, control_plane, namespace):
    """Cached reads and predicates see it, its status can be written, and once mended it is like any other."""
    manager = manager_for(control_plane, namespaces=(namespace,))

    class Sizer(Reconciler):
        async def reconcile(self, request):
            found = await self.client.find(Load, request)
            if found is not None:
                before = copy.deepcopy(found)
                found.status.phase = "TooBig" if found.spec.size > 10 else "Fits"
                await patch_status(self.client, found, before)

    ControllerBuilder(manager).for_(Load, predicates=[lambda event: event.object.spec.size > 0]).complete(
        Sizer(manager.client)
    )

    async def phases(**expected: str) -> None:
        found = await client.list(Load, namespace=namespace)
        assert {item.metadata.name: item.status.phase for item in found} == expected

    async with running(manager):
        await eventually(lambda: phases(big="TooBig", small="Fits"))
        big = await client.get(Load, f"{namespace}/big")
        big.spec.size = 7
        await client.update(big)
        await eventually(lambda: phases(big="Fits", small="Fits"))


async def test_what_is_made_here_is_still_judged(namespace):
    """Leniency is for what a server holds, not for what a program writes."""
    with pytest.raises(ValueError, match="less than or equal to 10"):
        Load(metadata=ObjectMeta(name="new", namespace=namespace), spec=LoadSpec(size=50))
