"""The load keeps its word about troubles, whatever its drivers are in the middle of."""

from __future__ import annotations

import asyncio

from pykb.runtime.fake import fake_client
from tests.chaos.kinds import Gadget
from tests.chaos.load import DRIVERS, Load


async def test_a_creation_under_way_does_not_bring_back_a_trouble(monkeypatch):
    """It holds the trouble that was there when it began."""
    client = fake_client(kinds=[Gadget])
    begun, go_on = asyncio.Event(), asyncio.Event()
    create = client.create

    async def slowly(obj: Gadget) -> None:
        if obj.metadata.name == name:
            begun.set()
            await go_on.wait()
        await create(obj)

    load = Load(client, "default", objects=DRIVERS)
    name = load.names[0]
    await load.trouble("hang", [name])
    await client.delete(Gadget, f"default/{name}")
    monkeypatch.setattr(client, "create", slowly)
    load.start()
    await begun.wait()
    ending = asyncio.create_task(load.trouble(None, [name]))
    await asyncio.sleep(0)
    go_on.set()
    await ending
    await load.stop()
    await load.create_all()
    assert (await client.get(Gadget, f"default/{name}")).spec.trouble is None
