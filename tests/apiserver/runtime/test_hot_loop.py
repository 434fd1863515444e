"""Hot loops on a real API server: they are found, a sound reconciler stays silent, and causes name who wrote."""

import logging
from datetime import UTC, datetime

import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import ControllerBuilder, MergePatch, ReconcileListener, Reconciler, Request
from pykb.runtime.records.recording import STEPS
from pykb.testing import eventually, running

from .conftest import Widget, WidgetSpec, client_for, manager_for  # noqa: TID252 - shared by this folder only

pytestmark = pytest.mark.apiserver


@pytest.fixture
async def client(widgets):
    """A client without a cache."""
    async with client_for(widgets) as client:
        yield client


class Counting(Reconciler):
    """Works on the objects of one namespace."""

    def __init__(self, client, namespace):
        super().__init__(client)
        self.namespace, self.count = namespace, 0

    async def reconcile(self, request):
        """Count, and work."""
        if request.namespace == self.namespace:
            self.count += 1
            await self.work(request)


class MovesTime(Counting):
    """Sets a time in each reconcile."""

    async def work(self, request):
        """Write the status."""
        status = {"lastTransitionTime": datetime.now(UTC).isoformat()}
        await self.client.status.patch(await self.client.get(Widget, request), MergePatch({"status": status}))


class FlipsOrder(Counting):
    """Sends a list in another order each time."""

    async def work(self, request):
        """Write the spec."""
        order = ["a", "b"] if self.count % 2 else ["b", "a"]
        await self.client.patch(await self.client.get(Widget, request), MergePatch({"spec": {"order": order}}))


class Sound(Counting):
    """Writes the status if it differs."""

    async def work(self, request):
        """Write the status."""
        found = await self.client.get(Widget, request)
        if found.status.size != found.spec.size:
            found.status.size = found.spec.size
            await self.client.status.update(found)


class Wants(Counting):
    """Wants a value of its own, as another operator does."""

    def __init__(self, client, namespace, value):
        super().__init__(client, namespace)
        self.value = value

    async def work(self, request):
        """Write the value."""
        found = await self.client.get(Widget, request)
        if found.status.phase != self.value:
            await self.client.status.patch(found, MergePatch({"status": {"phase": self.value}}))


class Why(ReconcileListener):
    """Keeps the causes."""

    def __init__(self):
        self.causes = []

    def started(self, record):
        """Note them."""
        self.causes += record.causes


def started(widgets, reconciler, namespace, *arguments):
    """A manager with a reconciler."""
    manager = manager_for(widgets)
    made = reconciler(manager.client, namespace, *arguments)
    ControllerBuilder(manager).for_(Widget).named("looping").complete(made)
    return manager, made


def loops(manager):
    """The metric."""
    return manager.metrics.registry.get_sample_value("pykb_reconcile_loops_total", {"controller": "looping"})


def widget(namespace, size=1):
    """An object to create."""
    return Widget(metadata=ObjectMeta(name="a", namespace=namespace), spec=WidgetSpec(size=size))


@pytest.mark.parametrize(
    ("reconciler", "field"),
    [(MovesTime, "status.lastTransitionTime"), (FlipsOrder, "spec.order")],
    ids=["a time", "an order"],
)
async def test_a_loop_is_reported_with_the_field_that_moves(widgets, client, namespace, reconciler, field, caplog):
    """Once, with both values."""
    caplog.set_level(logging.WARNING)
    manager, _ = started(widgets, reconciler, namespace)
    async with running(manager):
        await client.create(widget(namespace))
        await eventually(lambda: loops(manager) >= 2)
    (found,) = [record for record in caplog.records if record.getMessage().startswith("hot loop")]
    assert (found.object, found.field, found.times) == (f"Widget {namespace}/a", field, STEPS)
    assert found.before != found.after


async def test_a_sound_reconciler_is_silent(widgets, client, namespace, caplog):
    """However often somebody else changes its object."""
    manager, reconciler = started(widgets, Sound, namespace)
    async with running(manager):
        made = await client.create(widget(namespace, 0))
        for size in range(1, 2 * STEPS):
            await client.patch(made, MergePatch({"spec": {"size": size}}))
        await eventually(lambda: mirrored(client, namespace, 2 * STEPS - 1))
    assert reconciler.count > STEPS / 2
    assert loops(manager) == 0
    assert "hot loop" not in caplog.text


async def mirrored(client, namespace, size):
    """Whether the status has a size."""
    assert (await client.get(Widget, f"{namespace}/a")).status.size == size


async def test_two_operators_that_fight_know_each_other_by_the_causes(widgets, client, namespace, caplog):
    """Each is woken by the other's change. That is not a loop of its own."""
    first, mine = started(widgets, Wants, namespace, "one")
    second, theirs = started(widgets, Wants, namespace, "two")
    theirs.client = second.client.with_options(field_manager="their-operator")
    why = Why()
    first.listen(why)
    async with running(first), running(second):
        await client.create(widget(namespace))
        await eventually(lambda: min(mine.count, theirs.count) > 2 * STEPS)
    assert (loops(first), loops(second)) == (0, 0)
    assert "hot loop" not in caplog.text
    updates = [cause for cause in why.causes if cause.changes and cause.written_by is None]
    assert {cause.field_manager for cause in updates} == {"their-operator"}
    assert [str(change) for change in updates[-1].changes] == ['status.phase: "one" -> "two"']


async def test_a_deletion_by_a_reconcile_is_known_as_its_own(widgets, client, namespace):
    """The API server's answer names the object by its uid, and the event has no version of the deletion."""

    class Remakes(Counting):
        async def work(self, request):
            if self.count == 1:
                child = await self.client.create(ConfigMap(metadata=ObjectMeta(name="child", namespace=namespace)))
                await self.client.delete(child)

    def parent_of(child):
        return (
            [Request(namespace, "a")] if (child.metadata.namespace, child.metadata.name) == (namespace, "child") else []
        )

    manager = manager_for(widgets)
    reconciler, why = Remakes(manager.client, namespace), Why()
    ControllerBuilder(manager).for_(Widget).watches(ConfigMap, parent_of).complete(reconciler)
    manager.listen(why)
    async with running(manager):
        await client.create(widget(namespace))
        await eventually(lambda: any(cause.event == "delete" for cause in why.causes))
    own = {
        cause.event: cause.written_by for cause in why.causes if cause.object.kind == "ConfigMap" and cause.written_by
    }
    assert set(own) == {"create", "delete"}
    assert own["create"] == own["delete"]
