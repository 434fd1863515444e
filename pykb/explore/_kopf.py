"""Runs kopf's handlers as the explorer needs it: over a connection in memory, and ending as abruptly as a process dies.

kopf itself is the same as in production. It gets a session without HTTP, credentials without a login, and no
signals.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, Self
from urllib.parse import parse_qsl, urlsplit
from weakref import WeakSet

import aiohttp
import kopf
import orjson

from pykb.client.bridge import await_in_thread
from pykb.client.connection import Call, Connection
from pykb.client.errors import ApiError, ServerUnreachable, status_of
from pykb.client.listwatch import ListWatch
from pykb.runtime._awaiting import close_unbegun
from pykb.runtime._kopf.handlers import AdmissionEndpoint, type_of
from pykb.runtime._kopf.internals import (
    ResourceMemories,
    Scheduler,
    SyncFlagWaiter,
    Vault,
    build_webhooks,
    causes,
    execution,
    references,
)
from pykb.runtime._kopf.watch import HandlerWatches, around_calls
from pykb.webhook.server import WebhookServer

_SERVER = "https://kubernetes.explorer.invalid"
_MOST_CANCELLATIONS = 50
_GROUPS = ("_indexing", "_watching", "_spawning", "_changing", "_webhooks")


@dataclass(frozen=True, slots=True)
class HandlerRun:
    """One call of a handler.

    Attributes:
        handler: The id of the handler.
        what: Its decorator or its reason: ``create``, ``timer``.
        function: Its function.
        uid: The object; empty for none.
        lasts: Whether it runs as long as the object exists.
        is_repeated: Whether kopf calls it again after an error.
    """

    handler: str
    what: str
    function: Callable[..., Any]
    uid: str
    lasts: bool
    is_repeated: bool


class HandlerObserver(Protocol):
    """Learns of each call of a handler."""

    def began(self, run: HandlerRun) -> None:
        """A handler is called, in the task that will send kopf's own requests for it."""

    def ended(self, run: HandlerRun, error: BaseException | None) -> None:
        """It has ended. The error is ``None`` if it is no failure."""


@dataclass(frozen=True, slots=True)
class Bookkeeping:
    """Where kopf keeps its own notes in objects.

    Attributes:
        prefixes: Of annotations, with the slash.
        annotations: Whole names of annotations.
        fields: Paths of fields.
    """

    prefixes: tuple[str, ...]
    annotations: frozenset[str]
    fields: tuple[tuple[str, ...], ...]

    def without(self, obj: Mapping[str, Any]) -> dict[str, Any]:
        """An object, or a merge patch, without these notes. What only held them goes with them."""
        found = dict(obj)
        metadata = found.get("metadata") or {}
        annotations = metadata.get("annotations") or {}
        if kept := [name for name in annotations if self._is_own(name)]:
            left = {name: value for name, value in annotations.items() if name not in kept}
            found["metadata"] = {name: value for name, value in metadata.items() if name != "annotations"}
            if left:
                found["metadata"]["annotations"] = left
        for path in self.fields:
            found = _without(found, path)
        return found

    def is_all(self, patch: Mapping[str, Any]) -> bool:
        """Whether a merge patch changes nothing else."""
        left = self.without(patch)
        return not left.get("metadata") and not (left.keys() - {"metadata"})

    def _is_own(self, name: str) -> bool:
        return name in self.annotations or name.startswith(self.prefixes)


def _without(found: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    first, *rest = path
    inner: Any = found.get(first)
    if first not in found or (rest and not isinstance(inner, dict)):
        return found
    left = _without(inner, tuple(rest)) if rest else None
    changed = {name: value for name, value in found.items() if name != first}
    return {**changed, first: left} if left else changed


@dataclass(eq=False)
class OfflineHandlers:
    """Runs all handlers of some registries, as one process.

    Attributes:
        connection: Where the requests of kopf go.
        list_watch: Lists and watches for the handlers.
        registries: The registries with the handlers.
        namespaces: The namespaces to watch; empty for all.
        webhooks: The server at whose paths admission handlers answer. It need not run.
        configured: Called with the webhook configurations of the admission handlers.
        knows_deletions: Whether handlers learn of what was deleted while a watch was broken, as in a manager of pykb.
        observer: Learns of the calls.
        tasks: All tasks of this process. Whoever makes tasks must add them.
    """

    connection: Connection
    list_watch: ListWatch
    registries: Collection[kopf.OperatorRegistry]
    namespaces: tuple[str, ...]
    webhooks: WebhookServer
    configured: Callable[[list[dict[str, Any]]], None]
    knows_deletions: bool
    observer: HandlerObserver
    tasks: WeakSet[asyncio.Task[Any]]
    _settings: list[kopf.OperatorSettings] = field(default_factory=list)
    _memories: list[ResourceMemories] = field(default_factory=list)
    _is_dead: bool = False

    async def run(self) -> None:
        """Run until cancelled. Then nothing of it runs any more, as if the process had been killed."""
        around_calls.set(self._calling)
        stop = asyncio.Event()
        with _closed_when_left():
            try:
                watches = HandlerWatches(self.list_watch, knows_deletions=self.knows_deletions)
                with watches.in_use(), _stoppable_threads(), _logs_become_events():
                    tasks = [task for registry in self.registries for task in await self._spawn(registry, stop)]
                    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        task.result()
            finally:
                stop.set()  # otherwise kopf would kill the process later
                await self._kill()

    async def _spawn(self, registry: kopf.OperatorRegistry, stop: asyncio.Event) -> Collection[asyncio.Task[Any]]:
        settings = kopf.OperatorSettings()
        settings.process = _NeverKilled()
        settings.scanning.disabled = bool(self.namespaces)
        memories = _Memories()
        self._settings.append(settings)
        self._memories.append(memories)
        insights = references.Insights()
        settings.admission = _InMemory(partial(self._admit, registry, insights))
        session: Any = _Session(self.connection)
        vault = Vault({"pykb": kopf.AiohttpSession(server=_SERVER, aiohttp_session=session)})
        return await kopf.spawn_tasks(
            registry=_without_logins(registry),
            settings=settings,
            memories=memories,
            insights=insights,
            standalone=True,
            clusterwide=not self.namespaces,
            namespaces=self.namespaces,
            stop_flag=stop,
            vault=vault,
        )

    async def _admit(
        self, registry: kopf.OperatorRegistry, insights: references.Insights, ask: Any
    ) -> AsyncIterator[dict[str, Any]]:
        """Let admission handlers answer at the webhook server, also when this process has ended: others would."""
        context = contextvars.copy_context()

        async def ask_here(*arguments: Any, **options: Any) -> Any:
            return await asyncio.get_running_loop().create_task(ask(*arguments, **options), context=context)

        every = registry._webhooks.get_all_handlers()  # noqa: SLF001
        for handler in every:
            path = f"/{handler.id}"
            steps = self.webhooks.steps(path)
            self.webhooks.mount(path, AdmissionEndpoint(ask_here, str(handler.id), type_of(handler), steps, handler.fn))
        config: Any = {"service": {"name": "kopf", "namespace": "default"}}
        configurations: list[dict[str, Any]] = []
        for kind, reason in _ADMISSIONS.items():
            chosen = [handler for handler in every if handler.reason == reason]
            hooks = build_webhooks(
                chosen, resources=insights.webhook_resources, name_suffix="kopf", client_config=config
            )
            configurations.append({"kind": kind, "metadata": {"name": "kopf"}, "webhooks": hooks})
        if every:
            self.configured(configurations)
        yield config
        await asyncio.Event().wait()

    @property
    def bookkeeping(self) -> Bookkeeping:
        """Where kopf keeps its notes. Handlers of its start may change that."""
        storages: list[Any] = [
            storage
            for settings in self._settings
            for each in (settings.persistence.progress_storage, settings.persistence.diffbase_storage)
            for storage in getattr(each, "storages", (each,))
        ]
        prefixes = {storage.prefix for storage in storages if getattr(storage, "prefix", None)}
        keys = {getattr(storage, name, None) for storage in storages for name in ("key", "touch_key")}
        fields = {getattr(storage, name, None) for storage in storages for name in ("field", "touch_field")}
        return Bookkeeping(
            tuple(sorted(f"{prefix}/" for prefix in prefixes)),
            frozenset(key for key in keys if key),
            tuple(sorted({tuple(path) for path in fields if path})),
        )

    async def _kill(self) -> None:
        """Cancel all tasks, again and again: kopf ends gracefully, and handlers may catch it."""
        self._is_dead = True
        for memories in self._memories:
            for memory in memories.iter_all_memories():
                for daemon in memory.daemons_memory.running_daemons.values():
                    daemon.stopper.set()  # or a thread would look for it as long as the world exists
        current = asyncio.current_task()
        for _ in range(_MOST_CANCELLATIONS):
            alive = [task for task in self.tasks if task is not current and not task.done()]
            if not alive:
                break
            for task in alive:
                close_unbegun(task)
                task.cancel()
            await asyncio.sleep(0)
        for settings in self._settings:
            settings.execution.executor.shutdown(wait=False, cancel_futures=True)

    @contextlib.contextmanager
    def _calling(self) -> Iterator[None]:
        cause = execution.cause_var.get(None)
        is_admission = isinstance(cause, causes.WebhookCause)
        if self._is_dead and not is_admission:
            raise asyncio.CancelledError
        run = _run_of(execution.handler_var.get(None), cause)
        if run is None:
            yield
            return
        self.observer.began(run)
        failure: BaseException | None = None
        try:
            yield
        except (execution.HandlerChildrenRetry, asyncio.CancelledError):
            raise
        except BaseException as error:
            is_refusal = is_admission and isinstance(error, kopf.PermanentError | kopf.TemporaryError)
            failure = None if is_refusal else error
            raise
        finally:
            self.observer.ended(run, failure)


def has_handlers(registry: kopf.OperatorRegistry) -> bool:
    """Whether it has handlers of objects."""
    return any(getattr(registry, group).get_all_handlers() for group in _GROUPS)


def registries_of(given: Iterable[kopf.OperatorRegistry | None]) -> list[kopf.OperatorRegistry]:
    """The registries that have handlers. ``None`` is kopf's default registry."""
    found = (each if each is not None else kopf.get_default_registry() for each in dict.fromkeys(given))
    return [registry for registry in found if has_handlers(registry)]


def resources_of(registries: Iterable[kopf.OperatorRegistry]) -> tuple[str, ...]:
    """The resources that handlers are for, as their decorators name them."""
    every = (
        handler
        for registry in registries
        for group in _GROUPS
        for handler in getattr(registry, group).get_all_handlers()
    )
    return tuple(dict.fromkeys(_resource_of(handler.selector) for handler in every))


def _resource_of(selector: Any) -> str:
    names = (selector.plural, selector.kind, selector.singular, selector.any_name, selector.category)
    name = next((each for each in names if isinstance(each, str)), "any kind")
    return f"{name}.{selector.group}" if selector.group else name


def delay_of(error: BaseException) -> float | None:
    """After how many seconds kopf tries again; ``None`` if it does not."""
    if isinstance(error, kopf.TemporaryError):
        return error.delay or 0.0
    return None if isinstance(error, kopf.PermanentError) else 60.0


def _run_of(handler: Any, cause: Any) -> HandlerRun | None:
    if isinstance(cause, causes.ActivityCause):
        return HandlerRun(str(handler.id), str(cause.activity.value), handler.fn, "", lasts=False, is_repeated=False)
    if not isinstance(cause, causes.ResourceCause):
        return None
    reason = getattr(cause, "reason", None)
    what = str(getattr(reason, "value", reason) or "") or _WHATS.get(type(cause).__name__, "")
    if isinstance(cause, causes.DaemonCause):
        what = type(handler).__name__.removesuffix("Handler").lower()
    is_repeated = isinstance(cause, causes.ChangingCause | causes.DaemonCause)
    uid = "" if isinstance(cause, causes.WebhookCause) else str(cause.body.get("metadata", {}).get("uid", ""))
    return HandlerRun(str(handler.id), what, handler.fn, uid, lasts=what == "daemon", is_repeated=is_repeated)


_ADMISSIONS = {
    "MutatingWebhookConfiguration": causes.WebhookType.MUTATING,
    "ValidatingWebhookConfiguration": causes.WebhookType.VALIDATING,
}
_WHATS = {"WatchingCause": "event", "IndexingCause": "index"}


def _without_logins(registry: kopf.OperatorRegistry) -> kopf.OperatorRegistry:
    """The same handlers, but for those of logins: they would find a real cluster."""
    view = kopf.OperatorRegistry()
    for group in _GROUPS:
        setattr(view, group, getattr(registry, group))
    for handler in registry._activities.get_all_handlers():  # noqa: SLF001
        if handler.activity != causes.Activity.AUTHENTICATION:
            view._activities.append(handler)  # noqa: SLF001
    return view


@contextlib.contextmanager
def _closed_when_left() -> Iterator[None]:
    """Close what kopf's schedulers have not begun in the end: Python would warn of it as of a forgotten ``await``."""
    spawn, given = Scheduler.spawn, WeakSet[Coroutine[Any, Any, Any]]()

    async def noted(scheduler: Scheduler, coro: Coroutine[Any, Any, Any], **options: Any) -> None:
        given.add(coro)
        await spawn(scheduler, coro, **options)

    Scheduler.spawn = noted  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        Scheduler.spawn = spawn  # type: ignore[method-assign]
        for coro in given:
            if inspect.getcoroutinestate(coro) == inspect.CORO_CREATED:
                coro.close()


@contextlib.contextmanager
def _stoppable_threads() -> Iterator[None]:
    """Let daemons in threads wait for their stop in the time of the loop."""
    before = SyncFlagWaiter.wait

    def wait(waiter: Any, timeout: float | None = None) -> Any:
        await_in_thread(_wait_for(waiter._setter.async_event, timeout))  # noqa: SLF001
        return waiter

    SyncFlagWaiter.wait = wait  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        SyncFlagWaiter.wait = before  # type: ignore[method-assign]


@contextlib.contextmanager
def _logs_become_events() -> Iterator[None]:
    """Let kopf post its logs about objects as events, though logs are switched off."""
    logger: Any = logging.getLogger("kopf.objects")
    before = {name: getattr(logger, name) for name in ("manager", "propagate", "level")}
    logger.manager, logger.propagate, logger.level = _Enabled(), False, logging.INFO
    logger._cache.clear()  # noqa: SLF001 - as `setLevel` does
    try:
        yield
    finally:
        vars(logger).update(before)
        logger._cache.clear()  # noqa: SLF001


class _InMemory(type(kopf.OperatorSettings().admission)):  # type: ignore[misc] # the class has no public name
    """Settings that keep their server, even if somebody sets another one, and manage nothing."""

    def __init__(self, server: Any) -> None:
        super().__init__()
        object.__setattr__(self, "server", server)

    def __setattr__(self, name: str, value: Any) -> None:
        """Change nothing."""


class _Memories(ResourceMemories):
    """kopf's memories. They hide daemons from kopf's end, which would stop each of them gracefully."""

    def iter_all_daemon_memories(self) -> Iterator[Any]:
        """Give none."""
        return iter(())


class _NeverKilled(type(kopf.OperatorSettings().process)):  # type: ignore[misc] # the class has no public name
    """Settings by which kopf never kills this process, even if somebody sets them."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, None if name == "ultimate_exiting_timeout" else value)


class _Enabled(logging.Manager):
    """Nothing is disabled."""

    def __init__(self) -> None:
        super().__init__(logging.root)


async def _wait_for(event: asyncio.Event, timeout: float | None) -> None:  # noqa: ASYNC109 - kopf's own argument
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), timeout)


class _Session:
    """What kopf uses of an aiohttp session."""

    def __init__(self, connection: Connection) -> None:
        self.headers = {"User-Agent": "kopf"}
        self.closed = False
        self._connection = connection

    async def request(
        self, *, method: str, url: str, json: Any = None, headers: Mapping[str, str] | None = None, **_: Any
    ) -> _Response:
        """Send a request.

        Raises:
            aiohttp.ClientConnectionError: There was no answer.
        """
        parts = urlsplit(url)
        call = Call(
            method.upper(),  # type: ignore[arg-type]
            parts.path,
            tuple(parse_qsl(parts.query)),
            body=None if json is None else orjson.dumps(json),
            content_type=(headers or {}).get("Content-Type", "application/json"),
        )
        try:
            if parts.path in _DISCOVERIES:
                return _Response(200, await _groups(self._connection, parts.path))
            return _Response(200, orjson.loads(await self._connection.request(call)))
        except ApiError as error:
            return _Response(error.status, status_of(error))
        except ServerUnreachable as error:
            raise aiohttp.ClientConnectionError(str(error)) from error

    async def close(self) -> None:
        """Do nothing more."""
        self.closed = True


class _Response:
    """What kopf uses of an answer."""

    def __init__(self, status: int, content: Any) -> None:
        self.status = status
        self.headers: dict[str, str] = {}
        self._content = content

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def json(self) -> Any:
        return self._content

    async def text(self) -> str:
        return orjson.dumps(self._content).decode()

    def raise_for_status(self) -> None:
        request: Any = None
        raise aiohttp.ClientResponseError(request, (), status=self.status)

    def close(self) -> None:
        pass


_DISCOVERIES = ("/api", "/apis")


async def _groups(connection: Connection, path: str) -> dict[str, Any]:
    """The groups or versions in the older form of discovery, the only one that kopf reads."""
    found = orjson.loads(await connection.request(Call("GET", path)))
    if path == "/api":
        versions = [each["version"] for item in found["items"] for each in item["versions"]]
        return {"kind": "APIVersions", "versions": versions}
    groups = []
    for item in found["items"]:
        name = item["metadata"]["name"]
        versions = [
            {"groupVersion": f"{name}/{each['version']}", "version": each["version"]} for each in item["versions"]
        ]
        groups.append({"name": name, "versions": versions, "preferredVersion": versions[0]})
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


@contextlib.contextmanager
def collecting() -> Iterator[kopf.OperatorRegistry]:
    """Let plain ``@kopf.on...`` decorators fill a registry of their own."""
    before = kopf.get_default_registry()
    registry = kopf.OperatorRegistry()
    kopf.set_default_registry(registry)
    try:
        yield registry
    finally:
        kopf.set_default_registry(before)
