"""The explorer's stand-ins for Kubernetes' controllers do what a real cluster did."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from pykb.api.core.v1 import Namespace
from pykb.api.meta.v1 import ObjectMeta
from pykb.explore import Fault, FaultKind
from pykb.explore._actors import Actors
from pykb.explore._time import VirtualTime
from pykb.runtime import Client
from pykb.runtime.fake import FakeApiServer
from tests.explorer.actors import scenarios
from tests.explorer.actors.golden import read

RECORDED = read()
until = scenarios.polling(1)
FACTS = tuple(name for name in RECORDED if name != "version")


def played(scenario: Callable[[Client], Awaitable[scenarios.Facts]], fault: Fault | None = None) -> scenarios.Facts:
    """What a scenario observes of the actors, in virtual time."""

    async def play() -> scenarios.Facts:
        server = FakeApiServer()
        client = Client(server)
        for name in ("one", "other"):
            await client.create(Namespace(metadata=ObjectMeta(name=name)))
        acting = asyncio.create_task(Actors(server, client, fault=fault).run())
        try:
            return await scenario(client)
        finally:
            acting.cancel()

    return VirtualTime().run(play, 0)


async def nothing() -> None:
    """No node and no volume is needed."""


@pytest.mark.parametrize("name", scenarios.CASES)
def test_the_status_of_a_workload_is_that_of_a_cluster(name):
    """While it starts, and when it is ready or has failed."""
    kind, _ = scenarios.CASES[name]
    fault = Fault(FaultKind.FAIL if name.endswith("fails") else FaultKind.LATE, seconds=60)
    found = played(lambda client: scenarios.workload(client, until, "one", kind, nothing), fault)
    assert found == RECORDED[name]


def test_owners_are_collected_as_in_a_cluster():
    """In the background, in the foreground, orphaned; blocked; one of two, abroad, gone."""
    assert played(lambda client: scenarios.owners(client, until, "one", "other")) == RECORDED["owners"]


def test_a_namespace_goes_as_in_a_cluster():
    """With all that is in it, and not before."""
    assert played(lambda client: scenarios.namespace_goes(client, until, "one")) == RECORDED["namespace"]


def test_every_record_is_compared():
    """None is left out."""
    assert set(FACTS) == {*scenarios.CASES, "owners", "namespace"}
