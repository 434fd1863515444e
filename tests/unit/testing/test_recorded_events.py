"""The recorder for tests."""

from __future__ import annotations

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import Reconciler, Request
from pykb.runtime.fake import fake_client
from pykb.testing import RecordedEvents


class Teller(Reconciler):
    """Tells about each object, twice."""

    async def reconcile(self, request: Request) -> None:
        """Tell."""
        found = await self.client.get(ConfigMap, request)
        self.recorder.event(found, "Normal", "Seen", "it is there")
        self.recorder.event(found, "Warning", "SeenAgain", "it still is", action="Look", related=found)
        await self.recorder.flush()


async def test_what_a_reconciler_tells_is_kept() -> None:
    """In order, by object, and nothing is written to the cluster."""
    config_map = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"))
    client = fake_client(config_map)
    events = RecordedEvents()
    await Teller(client, recorder=events).reconcile(Request("default", "a"))
    assert events.of(config_map) == ["Normal Seen it is there", "Warning SeenAgain it still is"]
    assert events.of(ConfigMap(metadata=ObjectMeta(name="b", namespace="default"))) == []
    assert events.events[1].action == "Look"
    assert events.events[1].related == events.events[0].key
