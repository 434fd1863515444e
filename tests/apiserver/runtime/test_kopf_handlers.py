"""kopf stays kopf: the user's handlers run next to reconcilers, also on the same kind."""

import asyncio
import signal
import sys
from datetime import timedelta

import kopf
import pytest

from pykb.api.meta.v1 import ObjectMeta
from pykb.envtest import ControlPlane
from pykb.runtime import ControllerBuilder, MergePatch, Reconciler, release_finalizer
from pykb.testing import eventually, running

from .conftest import NO_PORTS, Etcd, Widget, client_for, manager_for  # noqa: TID252 - shared by this folder only

pytestmark = pytest.mark.apiserver

LONG = timedelta(seconds=60)
WIDGETS = ("runtime.example.com", "v1", "widgets")


class Seen(Reconciler):
    """Notes its requests."""

    def __init__(self, client):
        super().__init__(client)
        self.names = []

    async def reconcile(self, request):
        """Note one."""
        self.names.append(request.name)


async def test_handlers_and_a_reconciler_share_a_kind(widgets, namespace):
    """Creation, field change, timer, daemon and deletion handlers run as in plain kopf; so does the reconciler."""
    registry = kopf.OperatorRegistry()
    called = []

    @kopf.on.create(*WIDGETS, registry=registry)
    async def created(name, **_):
        called.append(f"created {name}")

    @kopf.on.field(*WIDGETS, field="spec.size", registry=registry)
    def resized(new, **_):
        called.append(f"size {new}")

    @kopf.timer(*WIDGETS, interval=0.1, registry=registry)
    async def tick(**_):
        called.append("tick")

    @kopf.daemon(*WIDGETS, registry=registry)
    async def daemon(stopped, **_):
        called.append("daemon")
        await stopped.wait()

    @kopf.on.delete(*WIDGETS, registry=registry)
    async def deleted(name, **_):
        called.append(f"deleted {name}")

    manager = manager_for(widgets, namespaces=(namespace,))
    manager.add_kopf_handlers(registry)
    reconciler = Seen(manager.client)
    ControllerBuilder(manager).for_(Widget).complete(reconciler)
    async with client_for(widgets) as client, running(manager):
        await client.create(Widget(metadata=ObjectMeta(name="a", namespace=namespace)))
        await eventually(lambda: {"created a", "tick", "daemon"} <= set(called), timeout=LONG)
        # A patch: kopf writes its annotations at the same time, and an update would be of an old version.
        resize = MergePatch({"spec": {"size": 5}})
        await client.patch(Widget(metadata=ObjectMeta(name="a", namespace=namespace)), resize)
        await eventually(lambda: "size 5" in called, timeout=LONG)
        await client.delete(Widget, f"{namespace}/a")
        await eventually(lambda: "deleted a" in called, timeout=LONG)

        async def gone():
            assert await client.find(Widget, f"{namespace}/a") is None

        await eventually(gone, timeout=LONG)
        assert "a" in reconciler.names


class Mute(Exception):  # noqa: N818 - what it is
    """An error without a text."""

    def __str__(self):
        """Fail."""
        raise SystemExit(7)

    __repr__ = __str__


async def test_a_handler_is_tried_again_whatever_it_raised(widgets, namespace):
    """Kopf asks an error for its text, and takes a cancellation for its own. Both would end it, or the object's turn."""
    registry = kopf.OperatorRegistry()
    failures = [Mute, asyncio.CancelledError, lambda: asyncio.current_task().cancel()]
    done = []

    @kopf.on.create(*WIDGETS, registry=registry, backoff=0.1)
    async def created(name, **_):
        if failures:
            failed = failures.pop()()
            if isinstance(failed, BaseException):
                raise failed
            await asyncio.sleep(0)
        done.append(name)

    manager = manager_for(widgets, namespaces=(namespace,))
    manager.add_kopf_handlers(registry)
    async with client_for(widgets) as client, running(manager):
        await client.create(Widget(metadata=ObjectMeta(name="a", namespace=namespace)))
        await eventually(lambda: done == ["a"], timeout=LONG)
        assert not failures


class Releasing(Reconciler):
    """Takes away what kopf left, as `docs/how-to/move-from-kopf.md` has it."""

    async def reconcile(self, request):
        """Release one."""
        widget = await self.client.find(Widget, request)
        if widget is not None:
            await release_finalizer(self.client, widget, "kopf.zalando.org/KopfFinalizerMarker")


async def test_objects_outlive_the_handlers_that_held_them(widgets, namespace):
    """A reconciler takes kopf's finalizer away when the handlers are gone: else nobody could delete the objects."""
    registry = kopf.OperatorRegistry()
    kopf.on.delete(*WIDGETS, registry=registry)(lambda **_: None)
    key = f"{namespace}/a"
    with_handlers = manager_for(widgets, namespaces=(namespace,))
    with_handlers.add_kopf_handlers(registry)
    async with client_for(widgets) as client:

        async def is_held():
            return bool((await client.get(Widget, key)).metadata.finalizers)

        async def is_gone():
            return await client.find(Widget, key) is None

        async with running(with_handlers):
            await client.create(Widget(metadata=ObjectMeta(name="a", namespace=namespace)))
            await eventually(is_held, timeout=LONG)
        await client.delete(Widget, key)
        assert await is_held()
        without = manager_for(widgets, namespaces=(namespace,))
        ControllerBuilder(without).for_(Widget).complete(Releasing(without.client))
        async with running(without):
            await eventually(is_gone, timeout=LONG)


async def test_stopping_kopf_leaves_the_tasks_of_the_program_alone(widgets, namespace):
    """Its own end cancels every task of the event loop; inside a manager it does not."""
    registry = kopf.OperatorRegistry()
    kopf.on.event(*WIDGETS, registry=registry)(lambda **_: None)
    manager = manager_for(widgets, namespaces=(namespace,))
    manager.add_kopf_handlers(registry)
    async with running(manager):
        ours = asyncio.create_task(asyncio.sleep(3600))
        await asyncio.sleep(0.3)
    assert not ours.done()
    ours.cancel()
    leftover = [task for task in asyncio.all_tasks() if task is not asyncio.current_task() and task is not ours]
    assert leftover == []


def flags_for(plane: ControlPlane, namespace: str) -> tuple[str, ...]:
    """Those of a program in one namespace."""
    return ("--kubeconfig", str(plane.kubeconfig), "--watch-namespace", namespace, *NO_PORTS)


PROGRAM = """
import sys, time
from datetime import timedelta
import kopf
from pykb.runtime import Manager, ManagerOptions

options = ManagerOptions.from_args(sys.argv[2:], graceful_shutdown_timeout=timedelta(seconds=1))

@kopf.on.event("runtime.example.com", "v1", "widgets")
def seen(**_):
    print("seen", flush=True)
    if sys.argv[1] == "hang":
        time.sleep(3600)

Manager(options).run()
print("stopped", flush=True)
"""


@pytest.mark.parametrize(("how", "code", "last"), [("pass", 0, "stopped\n"), ("hang", 1, "")])
async def test_the_signals_stay_the_managers_and_a_handler_that_hangs_is_left(widgets, namespace, how, code, last):
    """Kopf takes the signals and gets them taken back; a plain handler runs in a thread that cannot be broken off."""
    async with client_for(widgets) as client:
        await client.create(Widget(metadata=ObjectMeta(name="a", namespace=namespace)))
    flags = flags_for(widgets, namespace)
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, how, *flags), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert await program.stdout.readline() == b"seen\n"
        program.send_signal(signal.SIGTERM)
        said, _ = await asyncio.wait_for(program.communicate(), 60)
    finally:
        if program.returncode is None:
            program.kill()
    assert (program.returncode, said.decode()) == (code, last)


WITHOUT = """
import sys
from pykb.api.core.v1 import ConfigMap
from pykb.runtime import Manager, ManagerOptions

manager = Manager(ManagerOptions.from_args(sys.argv[1:]))
informer = manager.cache.informer(ConfigMap)

async def tell():
    await informer.wait_for_sync()
    print(sorted({"kopf"} & set(sys.modules)))
    manager.stop()

manager.add(tell)
manager.run()
"""


async def test_a_manager_without_handlers_does_not_load_kopf(widgets, namespace):
    """Nor does it pay for it: a quarter of a second and 5 MiB."""
    flags = flags_for(widgets, namespace)
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", WITHOUT, *flags), stdout=asyncio.subprocess.PIPE
    )
    said, _ = await asyncio.wait_for(program.communicate(), 60)
    assert (program.returncode, said) == (0, b"[]\n")


async def test_handlers_hear_of_deletions_that_happened_while_disconnected(own_plane):
    """Plain kopf would keep the deleted object for ever (in its indexes, memories and daemons)."""
    registry = kopf.OperatorRegistry()
    events = []

    @kopf.on.event(*WIDGETS, registry=registry)
    def heard(type, name, **_):  # noqa: A002 - kopf's name
        events.append((type, name))

    async with client_for(own_plane) as client:
        for name in ("g1", "g2"):
            await client.create(Widget(metadata=ObjectMeta(name=name, namespace="default")))
        manager = manager_for(own_plane)
        manager.add_kopf_handlers(registry)
        async with running(manager):
            await eventually(lambda: {(None, "g1"), (None, "g2")} <= set(events), timeout=LONG)
            own_plane.kill()
            etcd = Etcd(own_plane)
            await etcd.delete("default", "g2")
            await etcd.compact()
            await asyncio.to_thread(own_plane.restart)
            await eventually(lambda: ("DELETED", "g2") in events, timeout=LONG)
            assert ("DELETED", "g1") not in events
