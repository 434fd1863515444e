"""What the handlers' operators need beside kopf: a login, and a watch that reports lost deletions."""

from __future__ import annotations

import contextvars
import weakref
from collections.abc import AsyncGenerator
from typing import Any

import kopf

from pykb.runtime._kopf.internals import continuous_watch, references, watching
from pykb.runtime._kopf.session import kopf_session
from pykb.runtime.client.session import new_session
from pykb.runtime.client.transport import RequestObserver
from pykb.runtime.login import CredentialSource

login_source: contextvars.ContextVar[CredentialSource] = contextvars.ContextVar("login_source")
request_observer: contextvars.ContextVar[RequestObserver | None] = contextvars.ContextVar("request_observer")
_with_login: weakref.WeakSet[Any] = weakref.WeakSet()
known_objects: dict[tuple[int, references.Resource, str | None], dict[str, Any]] = {}
"""What the handlers' watches have seen, by operator (its settings), resource and namespace; by uid."""


def give_login(registry: kopf.OperatorRegistry) -> None:
    activities = registry._activities  # noqa: SLF001 - the parts of a registry share them
    if activities in _with_login:
        return
    _with_login.add(activities)

    @kopf.on.login(registry=registry, id="pykb", errors=kopf.ErrorsMode.TEMPORARY, backoff=1.0)
    async def login(**_: Any) -> kopf.AiohttpSession:
        source = login_source.get()
        credentials = await (source.refresh() if _logged_in.get(source) else source.current())
        _logged_in[source] = True
        return kopf_session(credentials, new_session(credentials, observer=request_observer.get(None)))


_logged_in: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()


async def replacing_watch(
    *, settings: kopf.OperatorSettings, resource: references.Resource, namespace: Any, operator_pause_waiter: Any
) -> AsyncGenerator[Any, None]:
    """Kopf's list and watch, with a deletion for everything that was known and is not listed any more."""
    known = known_objects.setdefault((id(settings), resource, namespace), {})
    listed: set[str] | None = set()
    async for event in continuous_watch(
        settings=settings, resource=resource, namespace=namespace, operator_pause_waiter=operator_pause_waiter
    ):
        if event is watching.Bookmark.LISTED:
            for uid in [] if listed is None else [uid for uid in known if uid not in listed]:
                yield {"type": "DELETED", "object": known.pop(uid)}
            listed = None
            yield event
            continue
        kind, obj = event["type"], event["object"]
        uid = obj.get("metadata", {}).get("uid", "")
        if kind == "DELETED":
            known.pop(uid, None)
        elif uid and kind != "BOOKMARK":
            known[uid] = obj
            if listed is not None:
                listed.add(uid)
        yield event


def forget(settings: kopf.OperatorSettings) -> None:
    """Drop what an operator's watches have seen."""
    for key in [key for key in known_objects if key[0] == id(settings)]:
        del known_objects[key]
