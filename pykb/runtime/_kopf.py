"""The engine: the only module that imports kopf.

From kopf come authentication with renewal on 401, retries of requests, the list and the watch with bookmarks,
resumption and detection of silent streams, and, when the user has any, kopf's own handlers. Of kopf's internals it
uses those in :data:`INTERNALS`; a contract test holds their shape for every supported minor.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import weakref
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import aiohttp.web
import kopf
from kopf._cogs.clients import auth, watching
from kopf._cogs.clients import errors as kopf_errors
from kopf._cogs.structs import credentials as kopf_credentials
from kopf._cogs.structs import diffs, references
from kopf._core.intents import causes

from pykb.diagnostics import EnvironmentProblem
from pykb.meta.plural import pluralize
from pykb.runtime.certificates import self_signed
from pykb.runtime.client.codec import gvk_of
from pykb.runtime.client.session import new_session
from pykb.runtime.login import Credentials, CredentialSource
from pykb.runtime.metrics import Metrics
from pykb.runtime.reflector import LISTED, Listed, RawEvent, WatchFailed, WatchTarget

if TYPE_CHECKING:
    from pykb.runtime.options import CertificateOptions

logger = logging.getLogger(__name__)

OperatorRegistry = kopf.OperatorRegistry

_continuous_watch = watching.continuous_watch

INTERNALS = {
    "continuous_watch": _continuous_watch,
    "Bookmark.LISTED": watching.Bookmark.LISTED,
    "WatchingError": watching.WatchingError,
    "vault_var": auth.vault_var,
    "Vault": kopf_credentials.Vault,
    "LoginError": kopf_credentials.LoginError,
    "APIError": kopf_errors.APIError,
    "Resource": references.Resource,
    "diff": diffs.diff,
    "ChangingCause": causes.ChangingCause,
}
"""What is used of kopf beyond its public names."""

RETRIES = (0.2, 0.5, 1.0, 1.0, 2.0, 2.0, 3.0, 5.0)
"""Pauses in seconds between kopf's tries of one request; short, since reflectors have pauses of their own."""

LIST_CHUNK = 500
"""Objects in one page of a list, as in client-go."""

SILENCE = timedelta(seconds=70)
"""A stream without a bookmark for so long is dead: the apiserver sends one every minute."""


class Engine:
    """Lists and watches through kopf; :meth:`run` must be running for any stream to get anywhere."""

    def __init__(self, source: CredentialSource, *, silence: timedelta = SILENCE) -> None:
        self._source = source
        self._logins: dict[bool, _Login] = {}
        self._silence = silence
        self._tasks: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Provide credentials to all streams, until cancelled; closes its sessions at the end."""
        async with asyncio.TaskGroup() as self._tasks:
            for login in self._logins.values():
                self._tasks.create_task(login.run())
            await asyncio.get_running_loop().create_future()

    def _login(self, *, metadata_only: bool) -> _Login:
        """The login for a form of objects: kopf knows no headers by request, so each form has sessions of its own."""
        login = self._logins.get(metadata_only)
        if login is None:
            login = self._logins[metadata_only] = _Login(self._source, metadata_only=metadata_only)
            if self._tasks is not None:
                self._tasks.create_task(login.run())
        return login

    async def stream(self, target: WatchTarget) -> AsyncGenerator[RawEvent | Listed, None]:
        """One list and the watch that follows it.

        Raises:
            WatchFailed: See :class:`~pykb.runtime.reflector.ListWatch`.
        """
        # kopf finds credentials by a context variable: each reflector's task has its own context to set it in.
        auth.vault_var.set(self._login(metadata_only=target.metadata_only).vault)
        never: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        events = _continuous_watch(
            settings=self._settings(target),
            resource=_resource(target),
            namespace=references.NamespaceName(target.namespace) if target.namespace is not None else None,
            operator_pause_waiter=never,
        )
        try:
            async for event in events:
                if event is watching.Bookmark.LISTED:
                    yield LISTED
                else:
                    yield event  # type: ignore[misc] # kopf's RawEvent has the same two keys
        except kopf_errors.APIError as error:
            raise WatchFailed(error.message or f"HTTP {error.status}", status=error.status) from error
        except watching.WatchingError as error:
            raise WatchFailed(str(error)) from error
        except (kopf_credentials.LoginError, aiohttp.ClientError, TimeoutError) as error:
            raise WatchFailed(f"{type(error).__name__}: {error}") from error
        finally:
            await events.aclose()  # type: ignore[attr-defined] # declared as AsyncIterator, is a generator
            never.cancel()

    def _settings(self, target: WatchTarget) -> kopf.OperatorSettings:
        settings = kopf.OperatorSettings()
        settings.networking.error_backoffs = RETRIES
        settings.networking.connect_timeout = 10.0
        settings.watching.chunk_size = LIST_CHUNK
        settings.watching.inactivity_timeout = self._silence.total_seconds()
        # The settings serve this one stream, so its selectors may stand for every resource.
        if target.labels:
            settings.watching.label_selectors[kopf.EVERYTHING] = target.labels
        if target.fields:
            settings.watching.field_selectors[kopf.EVERYTHING] = target.fields
        return settings


class _Login:
    """Fills a kopf vault with sessions, first and after each 401."""

    def __init__(self, source: CredentialSource, *, metadata_only: bool) -> None:
        self.vault = kopf_credentials.Vault()
        self._source = source
        self._metadata_only = metadata_only
        self._session: aiohttp.ClientSession | None = None

    async def run(self) -> None:
        try:
            await self._keep_logged_in()
        finally:
            await self.vault.close()
            if self._session is not None:
                await self._session.close()  # kopf closes only what it has used

    async def _keep_logged_in(self) -> None:
        rejected = 0
        credentials: Credentials | None = None
        while True:
            try:
                credentials = await (self._source.current() if credentials is None else self._source.refresh())
            except EnvironmentProblem as problem:
                logger.warning("cannot log in", extra={"error": problem.diagnostic.message})
            else:
                self._session = new_session(credentials, metadata_only=self._metadata_only)
                # A session is new at every login, so kopf never takes it for one of those it saw fail.
                await self.vault.populate({"pykb": _kopf_session(credentials, self._session)})
                populated = asyncio.get_running_loop().time()
                await self.vault.wait_for_emptiness()
                lasted = asyncio.get_running_loop().time() - populated
                rejected = 0 if lasted > 60.0 else rejected + 1
                if rejected <= 1:
                    continue
            await asyncio.sleep(min(0.2 * 2 ** min(rejected, 10), 30.0))


class Part(Enum):
    """What of a registry's handlers one operator runs."""

    ALL = auto()
    ADMISSION = auto()
    """Admission handlers (and indexes, which they may read): every replica must answer the API server."""
    REACTION = auto()
    """All others, which only the leader may run."""


class HandlerOperator:
    """Runs kopf handlers of the user (``@kopf.on.create`` and its like) inside the manager, as kopf itself would.

    It logs in as the manager does and joins no peering. A kind may have handlers and a
    reconciler: each has a watch of its own, and neither knows of the other. Unlike plain kopf, handlers also hear of
    deletions that happened while the watch was disconnected. Admission handlers are served at the manager's webhook
    port, with its certificate, unless an ``@kopf.on.startup`` handler chooses another server.
    """

    def __init__(
        self,
        source: CredentialSource,
        *,
        registry: kopf.OperatorRegistry | None = None,
        part: Part = Part.ALL,
        namespaces: Sequence[str] = (),
        webhook_port: int = 9443,
        certificate: CertificateOptions | None = None,
        metrics: Metrics | None = None,
        started: Callable[[], None] = lambda: None,
    ) -> None:
        """Remember what to run.

        Args:
            source: How to log in.
            registry: The handlers; kopf's default registry, which plain decorators fill, when ``None``.
            part: Which of them.
            namespaces: Where; everywhere when empty.
            webhook_port: Where admission is served; 0 for any port.
            certificate: With what; a self-signed one when it has no directory.
            metrics: Count admission requests.
            started: Called once kopf has started, which takes over the signals of the process.
        """
        self._source = source
        self._registry = _part_of(registry if registry is not None else kopf.get_default_registry(), part)
        self._part = part
        self._namespaces = tuple(namespaces)
        self._port = webhook_port
        self._certificate = certificate
        self._metrics = metrics or Metrics()
        self._started = started
        self.needs_leader_election = part is not Part.ADMISSION
        self.name = "kopf admission handlers" if part is Part.ADMISSION else "kopf handlers"

    @property
    def has_handlers(self) -> bool:
        """Whether there is anything to run."""
        registry = self._registry
        if self._part is Part.ADMISSION:
            return self.has_admission
        groups = (registry._webhooks, registry._indexing, registry._watching, registry._spawning, registry._changing)  # noqa: SLF001
        return any(group.get_all_handlers() for group in groups)

    @property
    def has_admission(self) -> bool:
        """Whether there are admission handlers."""
        return bool(self._registry._webhooks.get_all_handlers())  # noqa: SLF001

    async def run(self) -> None:
        """Run until cancelled."""
        _give_login(self._registry)
        _login_source.set(self._source)
        watching.continuous_watch = _replacing_watch
        settings = self._settings()
        stop = asyncio.Event()
        # Each task of kopf inherits this context, and with it the login.
        tasks = await kopf.spawn_tasks(
            registry=self._registry,
            settings=settings,
            standalone=True,
            clusterwide=not self._namespaces,
            namespaces=self._namespaces,
            stop_flag=stop,
        )
        self._started()
        # Not kopf.run_tasks: at its end it would cancel every task of the event loop, the manager's too.
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            stop.set()  # or kopf would take the end for a crash, and kill the process after a while
            await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            for key in [key for key in _known if key[0] == id(settings)]:
                del _known[key]

    def _settings(self) -> kopf.OperatorSettings:
        settings = kopf.OperatorSettings()
        # Bound to namespaces, a manager may list neither namespaces nor CRDs; kopf would try for a minute.
        settings.scanning.disabled = bool(self._namespaces)
        if self._part is Part.REACTION:
            # A startup handler configures admission in both parts; this one would declare that there is none.
            settings.admission = _NoAdmission()
        elif self.has_admission:
            settings.admission.server = self._admission_server()
        return settings

    def _admission_server(self) -> kopf.WebhookServer:
        files: dict[str, Any] = {}
        if self._certificate is not None and self._certificate.directory is not None:
            folder = self._certificate.directory
            files = {"certfile": folder / self._certificate.name, "pkeyfile": folder / self._certificate.key}
            if (folder / "ca.crt").is_file():
                files["cafile"] = folder / "ca.crt"
        webhooks = [handler.id for handler in self._registry._webhooks.get_all_handlers()]  # noqa: SLF001
        return _AdmissionServer(self._metrics, webhooks, port=self._port or None, **files)


def _part_of(registry: kopf.OperatorRegistry, part: Part) -> kopf.OperatorRegistry:
    if part is Part.ALL:
        return registry
    view = kopf.OperatorRegistry()
    groups = {
        Part.ADMISSION: ("_activities", "_indexing", "_webhooks"),
        Part.REACTION: ("_activities", "_indexing", "_watching", "_spawning", "_changing"),
    }
    for group in groups[part]:
        setattr(view, group, getattr(registry, group))
    return view


class _NoAdmission(type(kopf.OperatorSettings().admission)):  # type: ignore[misc] # the class has no public name
    """Settings that stay empty, whoever sets them."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, None)


class _AdmissionServer(kopf.WebhookServer):
    """Makes its own certificate as the manager does, without the packages that kopf would need for it, and counts."""

    def __init__(self, metrics: Metrics, webhooks: Collection[str], **options: Any) -> None:
        super().__init__(**options)
        self._metrics = metrics
        self._webhooks = frozenset(webhooks)

    @staticmethod
    def build_certificate(hostnames: Collection[str], password: str | None = None) -> tuple[bytes, bytes]:
        """A self-signed certificate and its key."""
        del password  # only for keys that lie in files
        return self_signed(tuple(dict.fromkeys(hostnames)))

    async def _serve(self, fn: Any, request: aiohttp.web.Request) -> aiohttp.web.Response:  # type: ignore[override]
        asked = request.match_info.get("id", "")
        # Anybody may ask for any path; metrics know those that exist.
        webhook = f"/{asked}" if asked in self._webhooks else "other"
        code = 500
        with (
            self._metrics.webhook_in_flight.labels(webhook).track_inprogress(),
            self._metrics.webhook_seconds.labels(webhook).time(),
        ):
            try:
                response = await super()._serve(fn, request)
                code = response.status
            except aiohttp.web.HTTPException as error:
                code = error.status
                raise
            finally:
                self._metrics.webhook_requests.labels(webhook, str(code)).inc()
        return response


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
        diff=diffs.diff(before, after),
        old=before,
        new=after,
    )
    call = {"param": None, "retry": 0, "started": datetime.now(UTC), "runtime": timedelta()}
    return {**cause.async_kwargs, **call, **extra}


_login_source: contextvars.ContextVar[CredentialSource] = contextvars.ContextVar("_login_source")
_with_login: weakref.WeakSet[Any] = weakref.WeakSet()
_known: dict[tuple[int, references.Resource, str | None], dict[str, Any]] = {}
"""What the handlers' watches have seen, by operator (its settings), resource and namespace; by uid."""


def _give_login(registry: kopf.OperatorRegistry) -> None:
    activities = registry._activities  # noqa: SLF001 - the parts of a registry share them
    if activities in _with_login:
        return
    _with_login.add(activities)

    @kopf.on.login(registry=registry, id="pykb", errors=kopf.ErrorsMode.TEMPORARY, backoff=1.0)
    async def login(**_: Any) -> kopf.AiohttpSession:
        source = _login_source.get()
        credentials = await (source.refresh() if _logged_in.get(source) else source.current())
        _logged_in[source] = True
        return _kopf_session(credentials, new_session(credentials))


_logged_in: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()


async def _replacing_watch(
    *, settings: kopf.OperatorSettings, resource: references.Resource, namespace: Any, operator_pause_waiter: Any
) -> AsyncGenerator[Any, None]:
    """Kopf's list and watch, with a deletion for everything that was known and is not listed any more."""
    known = _known.setdefault((id(settings), resource, namespace), {})
    listed: set[str] | None = set()
    async for event in _continuous_watch(
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


def _kopf_session(credentials: Credentials, session: aiohttp.ClientSession) -> kopf.AiohttpSession:
    return kopf.AiohttpSession(
        server=credentials.server,
        aiohttp_session=session,
        expiration=credentials.expiration,
        default_namespace=credentials.namespace or None,
    )


def _resource(target: WatchTarget) -> references.Resource:
    return references.Resource(
        group=target.resource.group,
        version=target.resource.version,
        plural=target.resource.resource,
        kind=target.gvk.kind,
        namespaced=target.namespaced,
    )
