"""What kopf's handlers get of a list and a watch."""

from dataclasses import dataclass, field
from datetime import timedelta

import kopf

from pykb.client import Credentials
from pykb.client.clock import VirtualClock
from pykb.client.json_text import CUT
from pykb.client.listwatch import LISTED
from pykb.runtime._kopf import watch
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


@dataclass(slots=True)
class Rotated:
    """A source that cannot be referred to weakly, as `StaticCredentials`."""

    asked: list[str] = field(default_factory=list)

    async def current(self):
        self.asked.append("current")
        return Credentials("http://127.0.0.1:1")

    async def refresh(self):
        self.asked.append("refresh")
        return Credentials("http://127.0.0.1:1")


async def test_any_source_of_credentials_logs_in_and_is_renewed(monkeypatch):
    """The first login takes what there is. Another one means that it was refused."""

    async def configured(*_):
        """Configure no library."""

    monkeypatch.setattr(watch, "configure_libraries", configured)
    registry, source = kopf.OperatorRegistry(), Rotated()
    watch.give_login(registry)
    watch.begin_login(source)
    (login,) = registry._activities.get_all_handlers()
    for _ in range(2):
        await (await login.fn()).aiohttp_session.close()
    assert source.asked == ["current", "refresh"]
