"""What kopf's handlers get of a list and a watch."""

from datetime import timedelta

from pykb.client.clock import VirtualClock
from pykb.client.json_text import CUT
from pykb.client.listwatch import LISTED
from pykb.runtime._kopf.watch import HandlerWatches
from pykb.runtime._lasting import SILENCE

from .conftest import target, widget  # noqa: TID252 - shared by this folder only


class Script:
    """A list-watch that yields the items it has."""

    def __init__(self):
        self.items = []

    async def stream(self, _):
        """Yield the items."""
        for item in self.items:
            yield item


async def test_a_skipped_object_is_logged_once_per_hour(caplog):
    """Not for each of its events. Other objects are logged, too."""
    script, clock = Script(), VirtualClock()
    watches = HandlerWatches(script, clock=clock)

    async def logged(*names):
        caplog.clear()
        script.items = [{"type": "MODIFIED", "object": {**widget(name), CUT: "spec.x"}} for name in names]
        script.items.insert(1, LISTED)
        assert not [event async for event in watches.watch(target()) if isinstance(event, dict)]
        return [record.object for record in caplog.records]

    assert await logged("a", "a", "b", "a") == ["default/a", "default/b"]
    clock.advance(SILENCE - timedelta(seconds=1))
    assert await logged("a") == []
    clock.advance(timedelta(seconds=1))
    assert await logged("a", "a") == ["default/a"]
