"""Runs kopf's handlers in a manager."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import kopf

from pykb.client.login import CredentialSource
from pykb.reading import read_json
from pykb.runtime._kopf.internals import AmbiguousResourceError, UnknownResourceError, WebhookError
from pykb.runtime._kopf.watch import HandlerWatches, begin_login, give_login, request_observer
from pykb.serving import HttpError, HttpRequest, HttpResponse

if TYPE_CHECKING:
    from pykb.client.listwatch import ListWatch
    from pykb.client.transport import RequestObserver
    from pykb.runtime.options import ManagerOptions
    from pykb.webhook.server import WebhookServer
    from pykb.webhook.steps import Steps


class Part(Enum):
    """Which handlers of a registry one operator runs."""

    ALL = auto()
    ADMISSION = auto()
    """Admission handlers, and indexes, which they may read. Every replica must answer the API server."""
    REACTION = auto()
    """All other handlers, which only the leader may run."""


@dataclass(eq=False)
class HandlerOperator:
    """Runs kopf handlers of the user (``@kopf.on.create`` and its like) in the manager, as kopf itself would.

    It logs in as the manager does, watches through pykb, and does not use peering. A kind may have
    both handlers and a reconciler. Each has its own watch, and they are independent. Unlike in
    plain kopf, handlers also get deletions that happened while the watch was disconnected.
    Admission handlers are served at the manager's webhook port, with its certificate, unless an
    ``@kopf.on.startup`` handler chooses another server.

    Attributes:
        source: How to log in.
        list_watch: Lists and watches for the handlers.
        registry: The handlers; those of its part, once it is made.
        part: Which of the handlers to run.
        namespaces: The namespaces to watch; empty for all.
        webhooks: Returns the server of admission handlers. Without it, they must bring their own server.
        started: Called once kopf has started. At its start, kopf takes over the signals of the process.
        observer: Called for each request.
    """

    source: CredentialSource
    list_watch: ListWatch
    registry: kopf.OperatorRegistry
    part: Part
    namespaces: tuple[str, ...]
    webhooks: Callable[[], WebhookServer] | None
    started: Callable[[], None]
    observer: RequestObserver | None

    def __post_init__(self) -> None:
        self.registry = _part_of(self.registry, self.part)
        self.needs_leader_election = self.part is not Part.ADMISSION
        self.name = "kopf handlers" if self.needs_leader_election else "kopf admission handlers"

    @property
    def has_handlers(self) -> bool:
        """Whether there are handlers to run."""
        registry = self.registry
        if self.part is Part.ADMISSION:
            return self.has_admission
        groups = (registry._webhooks, registry._indexing, registry._watching, registry._spawning, registry._changing)  # noqa: SLF001
        return any(group.get_all_handlers() for group in groups)

    @property
    def has_admission(self) -> bool:
        """Whether there are admission handlers."""
        return bool(self.registry._webhooks.get_all_handlers())  # noqa: SLF001

    async def run(self) -> None:
        """Run until cancelled."""
        give_login(self.registry)
        begin_login(self.source)
        request_observer.set(self.observer)
        with HandlerWatches(self.list_watch).in_use():
            await self._run()

    async def _run(self) -> None:
        stop = asyncio.Event()
        # A task of its own: after a cancellation inside, nobody would hold the tasks that kopf had made by then.
        spawning = asyncio.create_task(self._spawn(stop))
        # Not kopf.run_tasks: at its end, it would cancel every task of the event loop, including
        # the manager's.
        try:
            done, _ = await asyncio.wait(await asyncio.shield(spawning), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            stop.set()  # otherwise kopf would treat the end as a crash and kill the process later
            tasks = await spawning
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _spawn(self, stop: asyncio.Event) -> Collection[asyncio.Task[None]]:
        # Each task of kopf inherits this context, and with it the login.
        tasks = await kopf.spawn_tasks(
            registry=self.registry,
            settings=self._settings(),
            standalone=True,
            clusterwide=not self.namespaces,
            namespaces=self.namespaces,
            stop_flag=stop,
        )
        self.started()
        return tasks

    def _settings(self) -> kopf.OperatorSettings:
        settings = kopf.OperatorSettings()
        # A manager restricted to namespaces may not list namespaces or CRDs. kopf would retry for a
        # minute.
        settings.scanning.disabled = bool(self.namespaces)
        if self.part is Part.REACTION:
            # A startup handler configures admission in both parts. This part would report that
            # there are no handlers.
            settings.admission = _NoAdmission()
        elif self.has_admission and self.webhooks is not None:
            handlers = {str(each.id): type_of(each) for each in self.registry._webhooks.get_all_handlers()}  # noqa: SLF001
            settings.admission.server = AdmissionServer(self.webhooks(), handlers)  # type: ignore[assignment]
        return settings


def operators(
    source: CredentialSource,
    list_watch: ListWatch,
    registries: Iterable[kopf.OperatorRegistry | None],
    options: ManagerOptions,
    *,
    webhooks: Callable[[], WebhookServer],
    started: Callable[[], None],
    observer: RequestObserver | None = None,
) -> list[HandlerOperator]:
    """Make the operators for the handlers of these registries. A registry without handlers gets none.

    Args:
        source: How to log in.
        list_watch: Lists and watches for the handlers.
        registries: The registries with the handlers.
        options: The options of the manager.
        webhooks: Returns the server of admission handlers.
        started: Called when an operator has started.
        observer: Called for each of their requests.
    """
    # The API server may call any replica for admission, but only one replica may react to objects.
    parts = (Part.ADMISSION, Part.REACTION) if options.elects else (Part.ALL,)
    if not options.webhooks:
        parts = (Part.REACTION,)
    made = (
        HandlerOperator(
            source,
            list_watch,
            registry=registry if registry is not None else kopf.get_default_registry(),
            part=part,
            namespaces=options.namespaces,
            webhooks=webhooks,
            started=started,
            observer=observer,
        )
        for registry in dict.fromkeys(registries)
        for part in parts
    )
    return [operator for operator in made if operator.has_handlers]


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
    """Settings that stay empty, even if somebody sets them."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, None)


class AdmissionServer:
    """The admission server for kopf. It gives kopf the address of the handlers, each at the path of its id."""

    def __init__(self, server: WebhookServer, handlers: Mapping[str, str]) -> None:
        """Make a server for handlers: their ids, each with what it does, as ``WebhookType`` spells it."""
        self._server = server
        self._handlers = handlers

    async def __call__(self, ask: Any) -> AsyncIterator[dict[str, str]]:
        """Serve until cancelled. Yield the webhooks' client configuration to kopf, again after each renewal.

        Raises:
            EnvironmentProblem: One of the paths is registered already.
        """
        mounted: list[str] = []
        try:
            for handler, kind in self._handlers.items():
                path = f"/{handler}"
                self._server.mount(path, AdmissionEndpoint(ask, handler, kind, self._server.steps(path)))
                mounted.append(path)
            await self._server.listening()
            certificate = self._server.certificate
            while True:
                authority = base64.b64encode(certificate.authority).decode("ascii")
                yield {"url": self._server.url, "caBundle": authority}
                async with certificate.renewed:
                    await certificate.renewed.wait()
        finally:
            self._server.unmount(mounted)


def type_of(handler: Any) -> str:
    """What an admission handler does, as ``WebhookType`` spells it. kopf has the same words."""
    return getattr(handler.reason, "value", "admission")


@dataclass(slots=True, eq=False)
class AdmissionEndpoint:
    """Calls one handler through kopf."""

    ask: Any
    handler: str
    type: str
    """What it does, as ``WebhookType`` spells it."""
    steps: Steps
    author: Callable[..., Any] | None = None
    """The function of the handler."""

    async def answer(self, request: HttpRequest) -> HttpResponse:
        """Return kopf's answer."""
        peer = request.peer_certificate or None
        headers = {name.title(): value for name, value in request.headers.items()}
        try:
            asking = self.ask(read_json(request.body), webhook=self.handler, sslpeer=peer, headers=headers)
            answer = await self.steps.follow(asking, self.handler)
        except AmbiguousResourceError as error:
            raise HttpError(409, f"{error}\n") from None
        except UnknownResourceError as error:
            raise HttpError(404, f"{error}\n") from None
        except (WebhookError, ValueError) as error:
            raise HttpError(400, f"{error}\n") from None
        return HttpResponse.json(answer)
