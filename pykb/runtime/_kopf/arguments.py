"""What kopf calls a handler with."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import kopf

from pykb.meta.plural import pluralize
from pykb.runtime._kopf.internals import causes, diff, references
from pykb.runtime.client.codec import gvk_of


def handler_arguments(
    obj: dict[str, Any], *, old: dict[str, Any] | None = None, extra: Mapping[str, Any], logger: logging.Logger
) -> dict[str, Any]:
    """What kopf would call a handler with, made by kopf's own classes; ``patch`` is among it.

    Args:
        obj: The object as it is now.
        old: As it was before; ``None`` when it was just created.
        extra: Arguments by name that replace the usual ones, or that only some handlers have.
        logger: The handler's logger.
    """
    body = kopf.Body(obj)  # type: ignore[arg-type] # its type is a TypedDict of a few keys
    essence = kopf.AnnotationsDiffBaseStorage()
    before = None if old is None else essence.build(body=kopf.Body(old))  # type: ignore[arg-type]
    after = essence.build(body=body)
    gvk = gvk_of(obj)
    deleted = bool(body.metadata.get("deletionTimestamp"))
    cause = causes.ChangingCause(
        logger=logger,
        indices={},
        memo=kopf.Memo(),  # type: ignore[arg-type] # a NewType that has no public name
        resource=references.Resource(gvk.group, gvk.version, pluralize(gvk.kind), kind=gvk.kind),
        patch=kopf.Patch(body=body),
        body=body,
        initial=False,
        reason=causes.Reason.DELETE if deleted else causes.Reason.CREATE if old is None else causes.Reason.UPDATE,
        diff=diff(before, after),
        old=before,
        new=after,
    )
    call = {"param": None, "retry": 0, "started": datetime.now(UTC), "runtime": timedelta()}
    return {**cause.async_kwargs, **call, **extra}
