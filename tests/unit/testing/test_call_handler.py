"""kopf handlers, called one by one without kopf running."""

from __future__ import annotations

from collections.abc import Iterator

import kopf
import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.testing import call_handler

REGISTRY = kopf.OperatorRegistry()


def config_map(**data: str) -> ConfigMap:
    """An object."""
    metadata = ObjectMeta(name="a", namespace="default", uid="u-1", labels={"tier": "web"})
    return ConfigMap(metadata=metadata, data=data)


async def test_a_handler_gets_what_kopf_would_give_it() -> None:
    """The object in all its views, the bookkeeping of retries, and a logger; by the names of kopf's documentation."""

    @kopf.on.create("v1", "configmaps", registry=REGISTRY)
    async def created(body, meta, spec, status, name, namespace, uid, labels, annotations, retry, reason, memo, **rest):
        assert (name, namespace, uid, dict(labels), dict(annotations)) == ("a", "default", "u-1", {"tier": "web"}, {})
        assert body["data"] == {"step": "1"}
        assert (dict(spec), dict(status), meta["name"]) == ({}, {}, "a")
        assert (retry, reason, memo) == (0, "create", {})
        assert set(rest) >= {"patch", "logger", "param", "started", "runtime", "old", "new", "diff"}
        return "done"

    assert (await call_handler(created, config_map(step="1"))).result == "done"


async def test_a_change_is_told_by_old_new_and_diff() -> None:
    """Computed as kopf does: what kopf ignores (status, versions) is no difference."""

    @kopf.on.update("v1", "configmaps", registry=REGISTRY)
    def updated(old, new, diff, reason, **_):
        return old["data"], new["data"], [tuple(item) for item in diff], reason

    outcome = await call_handler(updated, config_map(step="2"), old=config_map(step="1"))
    assert outcome.result == (
        {"step": "1"},
        {"step": "2"},
        [("change", ("data", "step"), "1", "2")],
        "update",
    )


async def test_what_a_handler_patches_and_returns_is_told() -> None:
    """The merge patch that kopf would send, without what was only looked at; sync handlers too."""

    @kopf.on.create("v1", "configmaps", registry=REGISTRY)
    def created(patch, **_):
        patch.status["phase"] = "Ready"
        patch.meta.setdefault("labels", {})["seen"] = "yes"
        _ = patch.spec
        return {"took": 1}

    outcome = await call_handler(created, config_map())
    assert outcome.patch == {"status": {"phase": "Ready"}, "metadata": {"labels": {"seen": "yes"}}}
    assert outcome.result == {"took": 1}


async def test_other_arguments_are_given_by_name() -> None:
    """Retries, memos, indexes; what only admission handlers and daemons have."""

    @kopf.on.validate("v1", "configmaps", registry=REGISTRY)
    def judge(warnings, userinfo, retry, my_index, **_):
        warnings.append(f"{userinfo['username']} {retry} {my_index}")
        raise kopf.AdmissionError("no", code=422)

    warnings: list[str] = []
    with pytest.raises(kopf.AdmissionError, match="no"):
        await call_handler(
            judge, config_map().to_wire(), warnings=warnings, userinfo={"username": "ann"}, retry=3, my_index={"k": 1}
        )
    assert warnings == ["ann 3 {'k': 1}"]


async def test_kopf_s_own_functions_work_in_a_handler() -> None:
    """A child is adopted, events are posted from async code and from a thread; the outcome has them."""

    @kopf.on.create("v1", "configmaps", registry=REGISTRY)
    async def made(body, **_):
        child = {"metadata": {"name": "child"}}
        kopf.adopt(child)
        kopf.event(body, type="Normal", reason="Made", message="a child")
        return child

    @kopf.on.create("v1", "configmaps", registry=REGISTRY)
    def warned(body, **_):
        kopf.warn(body, reason="Odd", message="said in a thread")

    outcome = await call_handler(made, config_map())
    assert outcome.result["metadata"]["ownerReferences"][0]["uid"] == "u-1"
    assert outcome.result["metadata"]["namespace"] == "default"
    assert outcome.events == ("Normal Made a child",)
    assert (await call_handler(warned, config_map())).events == ("Warning Odd said in a thread",)


async def test_sub_handlers_are_called() -> None:
    """Those of the decorator after the handler, those of `kopf.execute` where it stands; also handlers in handlers."""
    order = []

    @kopf.on.create("v1", "configmaps", registry=REGISTRY)
    async def parent(data="x", **_):
        @kopf.subhandler(id="later")
        async def later(patch, **_):
            order.append("later")
            patch.status["later"] = data

            @kopf.subhandler(id="deep")
            def deep(**_):
                order.append("deep")

        await kopf.execute(fns={"now": lambda **_: order.append("now")})
        order.append("parent")

    outcome = await call_handler(parent, config_map())
    assert order == ["now", "parent", "later", "deep"]
    assert outcome.patch == {"status": {"later": "x"}}


async def test_what_a_sub_handler_raises_is_raised() -> None:
    """For kopf it is a line in the log; a test wants to see it."""

    @kopf.on.create("v1", "configmaps", registry=REGISTRY)
    async def parent(**_):
        @kopf.subhandler(id="bad")
        async def bad(**_):
            raise kopf.PermanentError("never")

        @kopf.subhandler(id="worse")
        def worse(**_):
            raise ValueError("a bug")

    with pytest.raises(kopf.PermanentError, match="never"):
        await call_handler(parent, config_map())


async def test_a_field_handler_gets_the_field() -> None:
    """What the field was, what it is, and how it changed; the body as a whole."""

    @kopf.on.field("v1", "configmaps", field="data.step", registry=REGISTRY)
    @kopf.on.field("v1", "configmaps", field="data.other", registry=REGISTRY)
    def moved(old, new, diff, body, **_):
        return old, new, [tuple(item) for item in diff], body["data"]

    before, after = config_map(step="1", other="a"), config_map(step="2", other="a")
    outcome = await call_handler(moved, after, old=before, registry=REGISTRY)
    assert outcome.result == ("1", "2", [("change", (), "1", "2")], {"step": "2", "other": "a"})
    outcome = await call_handler(moved, config_map(step="1", other="b"), old=before, registry=REGISTRY)
    assert outcome.result[:2] == ("a", "b")
    outcome = await call_handler(moved, config_map(step="3"), registry=REGISTRY)
    assert outcome.result[:3] == (None, "3", [("add", (), None, "3")])


@pytest.fixture
def own_registry() -> Iterator[None]:
    """A default registry of the test."""
    before = kopf.get_default_registry()
    kopf.set_default_registry(kopf.OperatorRegistry())
    yield
    kopf.set_default_registry(before)


@pytest.mark.usefixtures("own_registry")
async def test_the_default_registry_is_known() -> None:
    """Plain decorators fill it. `param` is the decorator's; an update handler may have a field, too."""

    @kopf.on.update("v1", "configmaps", field=("data", "step"), param=7)
    def changed(old, new, param, **_):
        return old, new, param

    @kopf.daemon("v1", "configmaps", field="data.step", param="d")
    async def watcher(body, param, **_):
        return body["data"]["step"], param

    outcome = await call_handler(changed, config_map(step="2"), old=config_map(step="1"))
    assert outcome.result == ("1", "2", 7)
    assert (await call_handler(watcher, config_map(step="2"))).result == ("2", "d")


async def test_results_of_sub_handlers_are_stored_under_their_ids() -> None:
    """As kopf writes them into the status: the id of the parent, a slash, that of the child; the name without an id."""

    @kopf.on.field("v1", "configmaps", id="parent", field="data.step", registry=REGISTRY)
    async def whatever(**_):
        @kopf.subhandler(id="child")
        async def other_name(old, new, **_):
            @kopf.subhandler(id="grandchild")
            def deep(**_):
                return 1

            return [old, new]

        await kopf.execute(fns={"now": lambda **_: {"a": 2}})

    outcome = await call_handler(whatever, config_map(step="2"), old=config_map(step="1"), registry=REGISTRY)
    assert outcome.patch["status"] == {
        "parent/data.step/child": ["1", "2"],
        "parent/data.step/child/grandchild": 1,
        "parent/data.step/now": {"a": 2},
    }
