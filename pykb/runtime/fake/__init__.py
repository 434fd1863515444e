"""An API server in memory, for unit tests: the real client, no processes, no network, milliseconds.

::

    async def test_the_deployment_follows() -> None:
        client = fake_client(Foo(metadata=ObjectMeta(name="x", namespace="default"), spec=...))
        await FooReconciler(client).reconcile(Request("default", "x"))
        assert await client.get(Deployment, "default/x-deployment")

It knows versions and conflicts, finalizers, generations, subresources, selectors, pages, server-side apply with owners,
watches and dry runs as the real one does; there are no controllers, no webhooks, no access control and no CEL rules.
For those, and for the last word on anything, there is ``pykb.envtest``.
"""

from pykb.runtime.fake._client import fake_client
from pykb.runtime.fake._server import FakeApiServer

__all__ = ["FakeApiServer", "fake_client"]
