"""Replaces kopf's login, its HTTP sessions, and its list and watch by pykb's own; also for other client libraries.

kopf drops its knowledge of objects when it lists again. Handlers would miss deletions that happened
meanwhile.
"""

from __future__ import annotations

import asyncio
import base64
import contextvars
import importlib
import inspect
import logging
import os
import socket
import weakref
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractContextManager, aclosing, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from importlib.util import find_spec
from typing import Any, NoReturn
from urllib.parse import urlsplit

import aiohttp
import kopf

from pykb.api.safe_text import ValuesLeftOut, error_text, without_values
from pykb.api.unreadable import UnreadableObject
from pykb.client._pool import SocketSet
from pykb.client.clock import Clock, SystemClock
from pykb.client.connection import Call
from pykb.client.guard import call_for_future, ends_task, is_end, keeping_its_task, outside_task
from pykb.client.json_text import CUT, writable
from pykb.client.listwatch import Listed, ListWatch, RawEvent, WatchFailed, WatchTarget
from pykb.client.login import (
    Credentials,
    CredentialSource,
    DiscoveredCredentials,
    InClusterSource,
    KubeconfigSource,
)
from pykb.client.login._kubeconfig import cluster_entry
from pykb.client.server import environment_proxy, host_of, request_headers, tls_context
from pykb.client.task import check_fence, reset
from pykb.client.transport import RequestObserver, RequestRecord
from pykb.meta.gvk import GroupVersionKind, GroupVersionResource
from pykb.runtime._kopf.internals import (
    APIForbiddenError,
    continuous_watch,
    invocation,
    invoke,
    match,
    prematch,
    references,
    registries,
    watching,
)
from pykb.runtime._lasting import Lasting
from pykb.runtime.records.context import current_webhook

# Configures the client libraries that handlers use, for the manager's cluster.
#
# kopf's own login does so on its way, and handlers rely on it: `kubernetes.client.CoreV1Api()` has no other hint of a
# server. Each new client of a library copies its default configuration.


logger = logging.getLogger(__name__)

LIBRARIES = ("kubernetes", "kubernetes_asyncio")
"""The installed ones are configured. Of pykube, kopf keeps no configuration that handlers could use."""


async def configure_libraries(source: CredentialSource, credentials: Credentials) -> None:
    """Configure the installed libraries. A failure is logged, as most handlers do not need them.

    Args:
        source: How the manager logs in. The libraries read the same files, and renew what they read.
        credentials: Its present credentials.
    """
    for library in LIBRARIES:
        if find_spec(library) is not None:
            try:
                await _configure(library, source, credentials)
            except Exception as error:  # noqa: BLE001 - whatever a library raises
                shown = {"library": library, "error": error_text(error)}
                logger.warning("a client library is not configured: handlers cannot use it", extra=shown)


async def _configure(library: str, source: CredentialSource, credentials: Credentials) -> None:
    # The import takes seconds, and a kubeconfig may name a program to run.
    config: Any = await asyncio.to_thread(importlib.import_module, f"{library}.config")
    found = source.found if isinstance(source, DiscoveredCredentials) else source
    if isinstance(found, KubeconfigSource):
        files = os.pathsep.join(map(str, found.files))
        await _take_over(config.load_kube_config, files, found.context, persist_config=False)
        if found.server is not None:
            configuration = importlib.import_module(f"{library}.client").Configuration
            chosen = configuration.get_default_copy()
            chosen.host = found.server
            configuration.set_default(chosen)
    elif isinstance(found, InClusterSource):
        loader = importlib.import_module(f"{library}.config.incluster_config").InClusterConfigLoader
        token, authority = (str(found.directory / name) for name in ("token", "ca.crt"))
        await _take_over(loader(token, authority, environ=_variables(credentials.server)).load_and_set)
    else:
        await _take_over(config.load_kube_config_from_dict, _as_kubeconfig(credentials))


def _variables(server: str) -> dict[str, str]:
    """The variables of a pod with this server."""
    parts = urlsplit(server)
    return {"KUBERNETES_SERVICE_HOST": parts.hostname or "", "KUBERNETES_SERVICE_PORT": str(parts.port or 443)}


async def _take_over(load: Any, *arguments: Any, **options: Any) -> None:
    if inspect.iscoroutinefunction(load):
        await load(*arguments, **options)
    else:
        await asyncio.to_thread(load, *arguments, **options)


def _as_kubeconfig(credentials: Credentials) -> dict[str, Any]:
    """Credentials of another source in the one form that both libraries read."""
    user = {
        "client-certificate-data": base64.b64encode(credentials.client_certificate or b"").decode(),
        "client-key-data": base64.b64encode(credentials.client_key or b"").decode(),
        "token": credentials.token,
        "username": credentials.username,
        "password": credentials.password,
    }
    return {
        "current-context": "pykb",
        "contexts": [{"name": "pykb", "context": {"cluster": "pykb", "user": "pykb"}}],
        "clusters": [{"name": "pykb", "cluster": cluster_entry(credentials)}],
        "users": [{"name": "pykb", "user": {key: value for key, value in user.items() if value}}],
    }


PAUSE = timedelta(seconds=5)
"""The pause between tries of a failing list."""

_login: contextvars.ContextVar[_Login] = contextvars.ContextVar("login")
request_observer: contextvars.ContextVar[RequestObserver | None] = contextvars.ContextVar("request_observer")
around_calls: contextvars.ContextVar[Callable[[], AbstractContextManager[None]]] = contextvars.ContextVar(
    "around_calls", default=nullcontext
)
"""What surrounds each call of a handler. It sees the handler's error."""
_watches: contextvars.ContextVar[HandlerWatches] = contextvars.ContextVar("handler_watches")
_with_login: weakref.WeakSet[Any] = weakref.WeakSet()
_operators = 0


@dataclass(slots=True)
class _Login:
    """How the handlers of one operator log in."""

    source: CredentialSource
    is_renewal: bool = False


def begin_login(source: CredentialSource) -> None:
    """Let the handlers of this context log in by these credentials."""
    _login.set(_Login(source))


def give_login(registry: kopf.OperatorRegistry) -> None:
    activities = registry._activities  # noqa: SLF001 - the parts of a registry share them
    if activities in _with_login:
        return
    _with_login.add(activities)

    @kopf.on.login(registry=registry, id="pykb", errors=kopf.ErrorsMode.TEMPORARY, backoff=1.0)
    async def log_in(**_: Any) -> kopf.AiohttpSession:
        login = _login.get()
        credentials = await (login.source.refresh() if login.is_renewal else login.source.current())
        login.is_renewal = True
        await configure_libraries(login.source, credentials)
        return _kopf_session(credentials, new_session(credentials, observer=request_observer.get(None)))


async def guarded_invoke(fn: Callable[..., Any], **options: Any) -> Any:
    """Call a handler as kopf does. kopf gets an ``Exception`` with a text, for all that it raises.

    kopf logs it, writes its text into the object, and tries again. Anything else would end kopf, or let the object
    wait for ever.
    """
    with around_calls.get()():
        return await _guarded(fn, **options)


async def _guarded(fn: Callable[..., Any], **options: Any) -> Any:
    task = asyncio.current_task()
    try:
        return await invoke(partial(_awaited if invocation.is_async_fn(fn) else _called, fn), **options)
    except BaseException as error:
        # It is cancelled when kopf stops a daemon, or the manager stops.
        if ends_task(error, task, is_cancelled=bool(task and task.cancelling())):
            raise
        if (record := current_webhook.get()) is not None:
            record.error = error
        _raise_for_kopf(error, "a handler")


def _filtering(matches: Callable[..., bool]) -> Callable[..., bool]:
    """What asks the filters of a handler, which are functions of the program, too."""

    def guarded(**arguments: Any) -> bool:
        try:
            return call_for_future(partial(outside_task, matches, **arguments))
        except BaseException as error:
            if is_end(error):
                raise
            _raise_for_kopf(error, "a filter of a handler")

    return guarded


def _raise_for_kopf(error: BaseException, what: str) -> NoReturn:
    """Raise an error as it is if kopf can take it, else one with its text."""
    shown = without_values(error)
    if isinstance(shown, Exception) and not isinstance(shown, ValuesLeftOut) and _has_text(shown):
        raise error
    raise RuntimeError(f"{what} ended by {error_text(error)}") from shown


async def _awaited(fn: Callable[..., Any], /, **arguments: Any) -> Any:
    async def handler() -> Any:
        return await fn(**arguments)

    return await keeping_its_task(handler())


def _called(fn: Callable[..., Any], /, **arguments: Any) -> Any:
    return call_for_future(partial(fn, **arguments))


def _has_text(error: Exception) -> bool:
    try:
        return bool(str(error) or repr(error))
    except BaseException:  # noqa: BLE001 - kopf would end by it
        return False


class HandlerWatches:
    """The watches of one operator's handlers.

    Args:
        list_watch: Lists and watches.
        clock: Says when a warning is due again.
        knows_deletions: Whether handlers learn of what was deleted while a watch was broken. In kopf, they do not.
    """

    def __init__(self, list_watch: ListWatch, *, clock: Clock | None = None, knows_deletions: bool = True) -> None:
        self._list_watch = list_watch
        self._knows_deletions = knows_deletions
        self._lasting = Lasting(clock or SystemClock())
        self._known: dict[WatchTarget, dict[str, dict[str, Any]]] = {}
        """The objects that each watch has seen, by uid."""

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Make kopf watch through these in every task that is created in the block."""
        global _operators  # noqa: PLW0603 - kopf's module is as global as this
        token = _watches.set(self)
        _operators += 1
        watching.continuous_watch = _continuous_watch
        invocation.invoke = guarded_invoke
        registries.match, registries.prematch = _filtering(match), _filtering(prematch)
        try:
            yield
        finally:
            _operators -= 1
            if not _operators:
                watching.continuous_watch = continuous_watch
                invocation.invoke = invoke
                registries.match, registries.prematch = match, prematch
            reset(_watches, token)

    async def watch(self, target: WatchTarget) -> AsyncGenerator[Any, None]:
        """Yield one list and the watch that follows, as kopf does, with a deletion for each object that has vanished.

        Raises:
            APIForbiddenError: A watch of kopf's own is forbidden. kopf then continues without it.
        """
        known = self._known.setdefault(target, {})
        listed: set[str] | None = set()
        try:
            async with aclosing(self._list_watch.stream(target)) as stream:
                async for item in stream:
                    if isinstance(item, WatchFailed):
                        _report(target, item)
                    elif isinstance(item, Listed):
                        for uid in known.keys() - (listed or ()) if self._knows_deletions else ():
                            yield {"type": "DELETED", "object": known.pop(uid)}
                        listed = None
                        yield watching.Bookmark.LISTED
                    elif (event := self._noted(target, item, listed)) is not None:
                        yield event
        except WatchFailed as error:
            if error.status == 403 and target.resource.resource in ("namespaces", "customresourcedefinitions"):
                raise APIForbiddenError(str(error), status=403, headers={}) from error
            _report(target, error)
            await asyncio.sleep(PAUSE.total_seconds())

    def _noted(self, target: WatchTarget, event: RawEvent, listed: set[str] | None) -> RawEvent | None:
        """Note an event, and return it as handlers get it. They get none of an object that cannot be read."""
        obj, known = writable(event["object"]), self._known[target]
        uid = obj.get("metadata", {}).get("uid", "")
        is_readable = CUT not in obj
        if not is_readable:
            self._report_unreadable(target, obj)
        if event["type"] == "DELETED":
            last = known.pop(uid, None)
            if is_readable:
                return event
            return None if last is None else {"type": "DELETED", "object": last}
        if uid and event["type"] != "BOOKMARK":
            if is_readable:
                known[uid] = event["object"]
            if listed is not None:
                listed.add(uid)
        return event if is_readable else None

    def _report_unreadable(self, target: WatchTarget, obj: dict[str, Any]) -> None:
        error = UnreadableObject.too_deep(target.gvk, obj, obj[CUT])
        if self._lasting.is_due((target, error.key)):
            shown = {"resource": str(target), "object": str(error.key), "error": str(error), "help": error.remedy}
            logger.warning("handlers get no events of an object", extra=shown)


def _report(target: WatchTarget, error: WatchFailed) -> None:
    logger.warning("cannot watch", extra={"resource": str(target), "error": str(error), "status": error.status})


async def _continuous_watch(
    *, settings: kopf.OperatorSettings, resource: references.Resource, namespace: Any, operator_pause_waiter: Any
) -> AsyncGenerator[Any, None]:
    """Replaces kopf's function of this name. Other operators in this process still get kopf's own."""
    watches = _watches.get(None)
    if watches is None or settings.watching.shard_selectors.collect(resource):
        own = continuous_watch(
            settings=settings, resource=resource, namespace=namespace, operator_pause_waiter=operator_pause_waiter
        )
    else:
        own = watches.watch(_target(settings, resource, namespace))
    async with aclosing(own) as events:  # type: ignore[type-var] # declared as AsyncIterator, is a generator
        async for event in events:
            yield event


def _target(settings: kopf.OperatorSettings, resource: references.Resource, namespace: str | None) -> WatchTarget:
    return WatchTarget(
        gvk=GroupVersionKind(resource.group, resource.version, resource.kind or resource.plural),
        resource=GroupVersionResource(resource.group, resource.version, resource.plural),
        namespaced=bool(resource.namespaced),
        namespace=namespace,
        labels=",".join(sorted(set(settings.watching.label_selectors.collect(resource)))),
        fields=",".join(sorted(set(settings.watching.field_selectors.collect(resource)))),
    )


def new_session(credentials: Credentials, *, observer: RequestObserver | None = None) -> aiohttp.ClientSession:
    """Make a session that is authenticated at the API server.

    Args:
        credentials: The server's URL, and how to log in.
        observer: Called for each request, like the observer of a transport.
    """

    async def complete(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        if request.method != "GET":
            check_fence()
        if credentials.tls_server_name:
            request.server_hostname = credentials.tls_server_name
        return await observed(request, handler)

    async def observed(request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
        if observer is None:
            return await handler(request)
        loop = asyncio.get_running_loop()
        started, code = loop.time(), 0
        try:
            response = await handler(request)
            code = response.status
        finally:
            observer(RequestRecord(request.method, host, code, loop.time() - started))
        return response

    host = host_of(credentials.server)
    plain = credentials.server.startswith("http://")
    return aiohttp.ClientSession(
        connector=_Connector(ssl=True if plain else tls_context(credentials)),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers=request_headers(Call("GET", "/"), credentials),
        proxy=credentials.proxy_url or environment_proxy(credentials.server),
        middlewares=(complete,),
    )


def _kopf_session(credentials: Credentials, session: aiohttp.ClientSession) -> kopf.AiohttpSession:
    """Make a session for the vault."""
    return kopf.AiohttpSession(
        server=credentials.server,
        aiohttp_session=session,
        expiration=credentials.expiration,
        default_namespace=credentials.namespace or None,
    )


class _Connector(aiohttp.TCPConnector):
    """A connector whose close waits for its sockets."""

    def __init__(self, **options: Any) -> None:
        """Take the options of :class:`aiohttp.TCPConnector`. The number of connections is not limited."""
        self._sockets = SocketSet()
        super().__init__(limit=0, socket_factory=self._open, **options)

    async def close(self, *, abort_ssl: bool = False) -> None:
        """Close every connection and wait until the sockets are closed."""
        await super().close(abort_ssl=abort_ssl)
        await self._sockets.wait_closed()

    def _open(self, address: tuple[Any, ...]) -> socket.socket:
        family, kind, protocol, *_ = address
        return self._sockets.open(family, kind, protocol)
