"""What a leader's work may still do when the lease has run out."""

import asyncio

import pytest
from aiohttp import web

from pykb.client.login import Credentials
from pykb.client.task import check_fence, fenced
from pykb.runtime._kopf.watch import new_session
from pykb.runtime.controller.controller import Controller, ControllerOptions
from pykb.runtime.manager._runnables import RunnableGroup
from pykb.runtime.requests.reconcile import Reconciler, Request

A, B = Request("default", "a"), Request("default", "b")


class LeaseGoneError(Exception):
    """The lease has run out."""


class Lease:
    """May be taken away."""

    held = True

    def check(self):
        if not self.held:
            raise LeaseGoneError


class Loses(Reconciler):
    """Loses the lease during its first call."""

    def __init__(self, lease):
        super().__init__(client=None)
        self.lease = lease
        self.requests = []

    async def reconcile(self, request):
        """Note it."""
        self.requests.append(request)
        self.lease.held = False


async def test_without_a_fence_everything_may_write():
    """A program without leader election is never held back."""
    check_fence()


async def test_a_controller_that_leads_no_more_begins_no_reconcile():
    """A worker asks before each request; the controller then ends with what it heard, and so does the manager."""
    lease = Lease()
    reconciler = Loses(lease)
    controller = Controller("widget", reconciler, ControllerOptions(max_concurrent_reconciles=1))
    controller.queue.add(A)
    controller.queue.add(B)
    with pytest.raises(LeaseGoneError):
        async with asyncio.timeout(60):
            await asyncio.create_task(controller.run(), context=fenced(lease.check))
    assert reconciler.requests == [A]


async def test_what_is_added_to_the_leaders_group_later_is_fenced_too():
    """A runnable belongs to its group, not to whoever added it."""
    lease = Lease()
    failure = asyncio.get_running_loop().create_future()
    group = RunnableGroup("leader", failure.set_result)

    async def start():
        group.start()

    await asyncio.create_task(start(), context=fenced(lease.check))
    lease.held = False

    async def write():
        check_fence()

    group.add(write, name="late")
    assert isinstance(await asyncio.wait_for(failure, 60), LeaseGoneError)


async def test_kopf_handlers_are_fenced_too():
    """What kopf sends for a handler of the user is a leader's work as a reconciler's is; reading stays allowed."""
    lease = Lease()
    received = []

    async def receive(request):
        received.append(request.method)
        return web.json_response({})

    app = web.Application()
    app.router.add_route("*", "/", receive)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server = f"http://127.0.0.1:{runner.addresses[0][1]}"

    async def handle():
        async with new_session(Credentials(server)) as session:
            await session.patch(server)
            lease.held = False
            await session.get(server)
            await session.patch(server)

    try:
        with pytest.raises(LeaseGoneError):
            await asyncio.create_task(handle(), context=fenced(lease.check))
    finally:
        await runner.cleanup()
    assert received == ["PATCH", "GET"]
