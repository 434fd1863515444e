"""An API server in memory, for unit tests: with the real client, without processes or network, in milliseconds.

::

    async def test_the_deployment_follows() -> None:
        client = fake_client(Foo(metadata=ObjectMeta(name="x", namespace="default"), spec=...))
        await FooReconciler(client).reconcile(Request("default", "x"))
        await client.get(Deployment, "default/x-deployment")  # NotFound, if it is missing

Like the real one, it supports versions and conflicts, finalizers, generations, subresources,
selectors, pages, server-side apply with owners, watches and dry runs. It calls webhooks and converters
that ``FakeApiServer.use_webhooks`` gives it, and asks for CEL rules what ``use_rules`` gives it. It
does not have controllers or access control. For those, and to confirm any behavior, use ``pykb.envtest``.
"""

from pykb.runtime.fake._server import FakeApiServer, fake_client

__all__ = ["FakeApiServer", "fake_client"]
