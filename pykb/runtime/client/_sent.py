"""Records the requests of a reconcile while somebody listens."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from pykb.meta.gvk import GroupVersionKind
from pykb.runtime._own_writes import Recording
from pykb.runtime.client._endpoint import is_dry_run
from pykb.runtime.client.connection import Call, Route, parse_path
from pykb.runtime.client.json_text import writable
from pykb.runtime.controller.causes import FieldChange, ObjectId, SentRequest, changes_between

if TYPE_CHECKING:
    from pykb.runtime.client.connection import CacheReader


async def recorded(
    recording: Recording,
    call: Call,
    cache: CacheReader | None,
    gvk: GroupVersionKind,
    sending: Awaitable[dict[str, Any]],
) -> dict[str, Any]:
    """Send a request, and add it to the record."""
    route = parse_path(call.path) or Route(gvk.group_version, "")
    loop = asyncio.get_running_loop()
    began, name, error = loop.time(), route.name, ""
    changes: tuple[FieldChange, ...] = ()
    try:
        answer = await sending
        if answer.get("kind") == gvk.kind and "metadata" in answer:
            name = answer["metadata"].get("name", "")
            changes = await _changes(recording, call, cache, gvk, answer)
    except BaseException as raised:
        error = f"{type(raised).__name__}: {raised}"
        raise
    else:
        return answer
    finally:
        target = ObjectId(gvk.api_version, gvk.kind, route.namespace, name)
        sent = SentRequest(
            call.method, target, route.subresource, changes, is_dry_run(call), error, loop.time() - began
        )
        if recording.record is not None:
            recording.record.sent.append(sent)


async def _changes(
    recording: Recording, call: Call, cache: CacheReader | None, gvk: GroupVersionKind, answer: dict[str, Any]
) -> tuple[FieldChange, ...]:
    """What a write changed in the object that the reconcile knew: from an answer, or from the cache."""
    answer = writable(answer)  # not nested too deeply to be compared
    namespace, name = answer["metadata"].get("namespace", ""), answer["metadata"].get("name", "")
    before = recording.known.get((gvk.kind, namespace, name))
    if not is_dry_run(call):
        recording.known[gvk.kind, namespace, name] = answer
    if call.method not in ("PUT", "PATCH"):
        return ()
    if before is None and cache is not None and cache.has(gvk, namespace):
        # A reconcile does not wait for its record, if the first list is not here yet.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0):
                before = await cache.get(gvk, namespace, name)
    return changes_between(before, answer) if before is not None else ()
