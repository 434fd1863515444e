"""Objects whose values are of another type than the class says: told by name and field, and no other is hidden."""

import asyncio
import logging
from typing import Any

import pytest

from pykb.api.meta.v1 import ObjectMeta
from pykb.api.unreadable import UnreadableObject
from pykb.meta.gvk import NamespacedName
from pykb.runtime import ControllerBuilder, InformerCache, MergePatch, Reconciler, Request
from pykb.testing import eventually, running

from .conftest import Widget, client_for, manager_for  # noqa: TID252 - shared by this folder only

pytestmark = pytest.mark.apiserver


def widget(namespace: str, name: str, size: Any) -> dict[str, Any]:
    """An object as another program writes it: the definition lets anything pass."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "runtime.example.com/v1", "kind": "Widget", "metadata": metadata, "spec": {"size": size}}


@pytest.fixture
async def client(widgets, namespace):
    """A client; `bad` has a string where the class has an integer."""
    async with client_for(widgets) as client:
        await client.create(widget(namespace, "bad", "s3cret"))
        await client.create(widget(namespace, "good", 5))
        yield client


async def test_reading_it_says_which_and_why(client, namespace):
    """The error names the object and the field, and not the value."""
    with pytest.raises(UnreadableObject) as caught:
        await client.get(Widget, f"{namespace}/bad")
    assert str(caught.value) == (
        f"`Widget` {namespace}/bad does not fit its type: `spec.size` should be a valid integer, found a string"
    )
    assert caught.value.key == NamespacedName(namespace, "bad")
    assert [problem.path for problem in caught.value.problems] == ["spec.size"]
    assert caught.value.__cause__ is None
    assert (await client.get(Widget.gvk, f"{namespace}/bad")).data["spec"] == {"size": "s3cret"}


async def test_a_list_has_the_others_and_says_what_it_left_out(client, namespace, caplog):
    """By request and from a mirror; the log says it once however often it is met."""
    async with InformerCache.of(client) as informers:
        lister = informers.lister(Widget)
        await informers.wait_for_sync()
        for reader in (client, client.with_cache(informers)):
            found = await reader.list(Widget, namespace=namespace)
            assert [item.metadata.name for item in found] == ["good"]
            assert [error.key.name for error in found.unreadable] == ["bad"]
        assert [item.metadata.name async for item in client.iterate(Widget, namespace=namespace)] == ["good"]
        assert [item.metadata.name for item in lister.list(namespace=namespace)] == ["good"]
        with pytest.raises(UnreadableObject):
            lister.get("bad", namespace=namespace)
    (told,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert told.object == f"{namespace}/bad"
    assert "spec.size" in told.error
    assert "s3cret" not in caplog.text + told.error


async def test_a_watch_goes_on_after_it(client, namespace):
    """Its events are left out, those of others and of its mended state come."""
    async with asyncio.timeout(60), client.watch(Widget, namespace=namespace) as events:
        assert (await anext(events)).object.metadata.name == "good"
        await client.create(widget(namespace, "worse", [1]))
        bad = await client.get(Widget.gvk, f"{namespace}/bad")
        bad.data["spec"]["size"] = 3
        await client.update(bad)
        event = await anext(events)
        assert (event.object.metadata.name, event.object.spec.size) == ("bad", 3)


async def test_an_operator_keeps_reconciling_the_others(client, widgets, namespace, caplog):
    """Typed predicates and map functions see the good ones; the bad one is an error of its own until it is mended."""
    manager = manager_for(widgets, namespaces=(namespace,))
    done: dict[str, int] = {}
    mapped: set[str] = set()

    class Sizer(Reconciler):
        async def reconcile(self, request):
            found = await self.client.get(Widget, request)
            done[found.metadata.name] = found.spec.size

    class Mapped(Reconciler):
        async def reconcile(self, request):
            mapped.add(request.name)

    def by_size(found):
        return [Request(namespace, f"size-{found.spec.size}")]

    typed = [lambda event: event.object.spec.size >= 0]
    ControllerBuilder(manager).for_(Widget, predicates=typed).complete(Sizer(manager.client))
    ControllerBuilder(manager).named("mapped").watches(Widget, by_size).complete(Mapped(manager.client))
    counted = {"group": "runtime.example.com", "version": "v1", "kind": "Widget"}

    async with running(manager):
        await eventually(lambda: done == {"good": 5} and "size-5" in mapped)

        def failed() -> bool:
            return any("reconcile failed" in record.getMessage() for record in caplog.records)

        await eventually(failed)
        assert manager.metrics.registry.get_sample_value("pykb_unreadable_objects_total", counted) >= 1
        await client.create(widget(namespace, "later", 6))
        await eventually(lambda: done == {"good": 5, "later": 6} and "size-6" in mapped)
        bad = await client.get(Widget.gvk, f"{namespace}/bad")
        bad.data["spec"]["size"] = 3
        await client.update(bad)
        await eventually(lambda: done == {"good": 5, "later": 6, "bad": 3} and "size-3" in mapped)
    assert not [record for record in caplog.records if "event handler failed" in record.getMessage()]
    assert "s3cret" not in caplog.text


async def test_a_write_to_it_is_done_and_says_that_the_answer_does_not_fit(client, namespace):
    """A merge patch of its labels arrives; what cannot be held is the answer."""
    stub = Widget(metadata=ObjectMeta(name="bad", namespace=namespace))
    with pytest.raises(UnreadableObject, match=r"spec\.size"):
        await client.patch(stub, MergePatch({"metadata": {"labels": {"a": "b"}}}))
    assert (await client.get(Widget.gvk, f"{namespace}/bad")).metadata["labels"] == {"a": "b"}
