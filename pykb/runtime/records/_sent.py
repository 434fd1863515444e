"""Adds requests to the record of a reconcile. Loaded when somebody listens."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable
from typing import Any

from pykb.api.safe_text import error_text
from pykb.client.bridge import waiting_thread
from pykb.client.connection import CacheReader, Call, Route, is_dry_run, parse_path
from pykb.client.json_text import writable
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime.records.causes import FieldChange, ObjectId, ReconcileRecord, SentRequest, changes_between
from pykb.runtime.records.lines import place_here

Known = dict[tuple[str, str, str], dict[str, Any]]
"""The objects of the answers, by kind, namespace and name."""


async def recorded(
    answering: Awaitable[dict[str, Any]],
    call: Call,
    gvk: GroupVersionKind,
    cache: CacheReader | None,
    record: ReconcileRecord,
    known: Known,
) -> dict[str, Any]:
    """Await the answer to a request, and add the request to the record."""
    place = place_here(sys._getframe(1), waiting_thread.get())  # noqa: SLF001
    route = parse_path(call.path) or Route(gvk.group_version, "")
    loop = asyncio.get_running_loop()
    began, name, error = loop.time(), route.name, ""
    changes: tuple[FieldChange, ...] = ()
    try:
        answer = await answering
        if answer.get("kind") == gvk.kind and "metadata" in answer:
            name = answer["metadata"].get("name", "")
            changes = await _changes(known, call, cache, gvk, answer)
    except BaseException as raised:
        error = error_text(raised)
        raise
    else:
        return answer
    finally:
        target = ObjectId(gvk.api_version, gvk.kind, route.namespace, name)
        sent = SentRequest(
            call.method, target, route.subresource, changes, is_dry_run(call), error, loop.time() - began, place
        )
        record.sent.append(sent)


async def _changes(
    known: Known, call: Call, cache: CacheReader | None, gvk: GroupVersionKind, answer: dict[str, Any]
) -> tuple[FieldChange, ...]:
    """What a write changed in the object that the reconcile knew: from an answer, or from the cache."""
    answer = writable(answer)  # not nested too deeply to be compared
    namespace, name = answer["metadata"].get("namespace", ""), answer["metadata"].get("name", "")
    before = known.get((gvk.kind, namespace, name))
    if not is_dry_run(call):
        known[gvk.kind, namespace, name] = answer
    if call.method not in ("PUT", "PATCH"):
        return ()
    if before is None and cache is not None and cache.has(gvk, namespace):
        # A reconcile does not wait for its record, if the first list is not here yet.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0):
                before = await cache.get(gvk, namespace, name)
    return changes_between(before, answer) if before is not None else ()
