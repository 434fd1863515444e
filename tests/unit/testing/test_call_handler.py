"""kopf handlers, called one by one without kopf running."""

from __future__ import annotations

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
