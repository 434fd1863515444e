"""What happens to the API server, and on the way to it."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from pykb.api.core.v1 import Namespace
from pykb.envtest import ControlPlane
from pykb.envtest.cache import CONTROLLER_MANAGER
from pykb.runtime import Gone
from pykb.testing import eventually
from tests.chaos.kinds import Gadget
from tests.chaos.play import Scene, Setting, Size
from tests.chaos.proxy import Refusals

LONG = timedelta(minutes=5)
WAYS = (429, 429, 500, 502, 503, 504, 0)


def restart(plane: ControlPlane) -> None:
    """Kill the API server and start it again."""
    plane.kill()
    plane.restart()


class ApiserverKilled:
    """The API server dies and comes back, again and again."""

    name = "apiserver killed and restarted"

    def setting(self, size: Size) -> Setting:
        """One operator, connected directly."""
        return Setting()

    async def strike(self, scene: Scene) -> None:
        """Kill and restart, under load."""
        plane = scene.cluster.plane
        for _ in range(scene.size.times):
            await asyncio.to_thread(restart, plane)
            await scene.load.progress(scene.size.writes // 4)


class Compacted:
    """While the operator is cut off, objects vanish without a trace and the store forgets all history."""

    name = "compacted while cut off (410)"

    def setting(self, size: Size) -> Setting:
        """A proxy that cuts the line."""
        return Setting(proxied=True)

    async def strike(self, scene: Scene) -> None:
        """Cut, delete past the finalizers, compact, restart (or the server's own memory would still tell), reconnect."""
        cluster, load = scene.cluster, scene.load
        before = (await cluster.client.list(Gadget, namespace=scene.namespace)).resource_version
        for proxy in scene.proxies:
            proxy.cut = True
            proxy.disconnect()
        victims = load.names[::3]
        await load.progress(scene.size.writes)
        await load.stop()
        for name in victims:
            await load.force_delete(name)
        await cluster.compact()
        await asyncio.to_thread(restart, cluster.plane)
        try:
            async with cluster.client.watch(Gadget, namespace=scene.namespace, resource_version=before) as watch:
                scene.problems.append(f"the server still knew what came after {before}: {await anext(watch)}")
        except Gone:
            pass
        load.start(without=set(victims))  # who comes back under the same name would hide the loss
        await load.progress(scene.size.writes // 4)
        for proxy in scene.proxies:
            proxy.cut = False
        await load.progress(scene.size.writes // 4)


class WatchStalled:
    """The connections stay open, and nothing comes any more."""

    name = "watch stalls silently"

    def setting(self, size: Size) -> Setting:
        """A proxy that swallows; a silence is noticed after 70 s, which a quick round makes shorter."""
        return Setting(proxied=True, arguments=[] if size.true_times else ["--silence=3"])

    async def strike(self, scene: Scene) -> None:
        """Swallow what is sent on the connections there are; new ones work."""
        stalled = sum(proxy.stall(everything=scene.size.true_times) for proxy in scene.proxies)
        scene.expect(stalled >= 2, f"{stalled} connections stalled")
        await scene.load.progress(scene.size.writes)


class Overloaded:
    """The API server, or what stands in front of it, answers with errors."""

    name = "bursts of 429 and 5xx"

    def setting(self, size: Size) -> Setting:
        """A proxy that refuses."""
        return Setting(proxied=True)

    async def strike(self, scene: Scene) -> None:
        """Refuse every third request for a while, in each way there is; a 0 breaks the connection."""
        size = scene.size
        for _ in range(max(1, size.times // 4)):
            before = {proxy: proxy.seen.refused.copy() for proxy in scene.proxies}
            for proxy in scene.proxies:
                proxy.refusals = Refusals(share=0.35, statuses=WAYS)
                proxy.disconnect()  # lists and watches shall meet it too
            await scene.load.progress(size.writes * 2)
            await eventually(
                lambda before=before: all(
                    proxy.seen.refused[way] > seen[way] for proxy, seen in before.items() for way in WAYS
                ),
                LONG,
            )
            for proxy in scene.proxies:
                proxy.refusals = None
            await scene.load.progress(size.writes)
        hurried = [each for proxy in scene.proxies for each in proxy.seen.hurried]
        scene.expect(not hurried, f"requests that did not wait for what Retry-After said: {hurried}")


class DefinitionDeleted:
    """The CRD is deleted, with all its objects, and installed again."""

    name = "CRD deleted and re-created"

    def setting(self, size: Size) -> Setting:
        """One operator."""
        return Setting()

    async def strike(self, scene: Scene) -> None:
        """Delete it under load: its end waits for the operator to let go of every object."""
        for _ in range(max(1, scene.size.times // 10)):
            await scene.cluster.undefine()
            await scene.cluster.define()
            await scene.load.progress(scene.size.writes)


class NamespaceDeleted:
    """The namespace is deleted under the operator, and made again."""

    name = "namespace deleted under it"

    def setting(self, size: Size) -> Setting:
        """One operator."""
        return Setting()

    async def strike(self, scene: Scene) -> None:
        """Delete it under load; Kubernetes' own controller empties it."""
        cluster, client = scene.cluster, scene.cluster.client
        program = cluster.plane.assets.kube_controller_manager
        assert program is not None, "kube-controller-manager is needed: `pykb envtest use`"
        await asyncio.to_thread(cluster.plane.start_controller_manager, program)
        try:
            for _ in range(max(1, scene.size.times // 10)):
                await client.delete(Namespace, scene.namespace)

                async def is_gone() -> bool:
                    return await client.find(Namespace, scene.namespace) is None

                await eventually(is_gone, timeout=LONG)
                await cluster.make_namespace(scene.namespace)
                await scene.load.progress(scene.size.writes)
        finally:
            # Without it nobody collects garbage: what is left over shall be seen.
            await asyncio.to_thread(cluster.plane.kill, CONTROLLER_MANAGER)
