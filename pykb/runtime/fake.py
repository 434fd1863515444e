"""An API server in memory, for unit tests: with the real client, without processes or network, in milliseconds.

::

    async def test_the_deployment_follows() -> None:
        machine = VirtulMachine(metadata=ObjectMeta(name="vm", namespace="default"), spec=VirtulMachineSpec())
        client = fake_client(machine)
        await VirtulMachineReconciler(client).reconcile(Request("default", "vm"))
        assert await client.find(Deployment, "default/vm") is not None

Like the real one, it supports versions and conflicts, finalizers, generations, subresources,
selectors, pages, server-side apply with owners, watches and dry runs. It calls webhooks and converters
that ``FakeApiServer.use_webhooks`` gives it, and asks for CEL rules what ``use_rules`` gives it. It
does not have controllers or access control. For those, and to confirm any behavior, use ``pykb.envtest``.
"""

from pykb.fake import FakeApiServer, fake_client

__all__ = ["FakeApiServer", "fake_client"]
