"""Credentials that stop working, and writers that get in each other's way."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from pykb.runtime import ApiError, MergePatch
from pykb.testing import eventually
from tests.chaos.kinds import Gadget
from tests.chaos.play import Scene, Setting, Size
from tests.chaos.proxy import Proxy

LONG = timedelta(seconds=60)


class TokenRotated:
    """The token is revoked; the new one comes a while later.

    Args:
        plugin: Whether a credential plugin prints it, rather than a file holding it.
    """

    def __init__(self, *, plugin: bool) -> None:
        self._plugin = plugin
        self.name = f"token revoked, rotated ({'exec plugin' if plugin else 'token file'})"

    def setting(self, size: Size) -> Setting:
        """A proxy that sees the 401s."""
        return Setting(proxied=True, plugin=self._plugin)

    async def strike(self, scene: Scene) -> None:
        """Make the account anew, which ends its tokens; wait until the operator was refused; hand out a new one."""
        for _ in range(max(1, scene.size.times // 10)):
            refused = {proxy: proxy.seen.answers[401] for proxy in scene.proxies}
            await scene.cluster.admit()
            for proxy, token in zip(scene.proxies, scene.token_files, strict=True):
                if not scene.size.true_times:
                    proxy.revoked.add(token.read_text(encoding="utf-8"))
                proxy.disconnect()  # a watch goes on for as long as its connection does

            async def is_refused(refused: dict[Proxy, int] = refused) -> bool:
                return all(proxy.seen.answers[401] >= before + 5 for proxy, before in refused.items())

            await eventually(is_refused, timeout=LONG)
            for token in scene.token_files:
                draft = token.with_suffix(".new")
                draft.write_text(scene.cluster.token(), encoding="utf-8")
                draft.replace(token)
            await scene.load.progress(scene.size.writes)


class Conflicts:
    """A second controller writes to the same objects all the time."""

    name = "409 storm from a second writer"

    def setting(self, size: Size) -> Setting:
        """A proxy that sees the 409s."""
        return Setting(proxied=True)

    async def strike(self, scene: Scene) -> None:
        """Write a label of every object, over and over, until it has hurt."""
        client = scene.cluster.client
        wanted = _conflicts(scene) + scene.size.objects

        async def write(part: int) -> None:
            number = 0
            while _conflicts(scene) < wanted:
                for name in scene.load.names[part::4]:
                    number += 1
                    patch = MergePatch({"metadata": {"labels": {"storm": str(number)}}})
                    try:
                        await client.patch(
                            Gadget.from_wire({"metadata": {"name": name, "namespace": scene.namespace}}), patch
                        )
                    except ApiError:
                        await asyncio.sleep(0)  # it is being deleted

        await asyncio.gather(*(write(part) for part in range(4)))


def _conflicts(scene: Scene) -> int:
    return sum(proxy.seen.answers[409] for proxy in scene.proxies)
