"""The manager: everything that the controllers of a process share. It starts and stops in order."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from pykb.client.client import Client
from pykb.client.clock import Clock, SystemClock
from pykb.client.errors import NoKindMatch
from pykb.client.listwatch import ClientListWatch
from pykb.client.login import CredentialSource, DiscoveredCredentials
from pykb.client.options import TransportOptions
from pykb.client.transport import Transport
from pykb.diagnostics.codes.runtime import CONTROLLER_NAME
from pykb.runtime._awaiting import watch_for_not_awaited
from pykb.runtime._logging import LogFormat, configure_logging
from pykb.runtime._metrics import Metrics
from pykb.runtime._watchdog import MARGIN, Ending, StallWatch
from pykb.runtime.cache.informer_cache import CacheOptions, InformerCache
from pykb.runtime.controller.clusters import Cluster, Clusters
from pykb.runtime.manager._program import StopSignals, run_program
from pykb.runtime.manager._runnables import Leases, RunFunction, Runnable, RunnableGroup, function_of, unless
from pykb.runtime.manager._servers import Check, Checks, Servers, ping
from pykb.runtime.options import ManagerOptions
from pykb.runtime.records.context import current_reconcile
from pykb.runtime.records.recording import Recorders

if TYPE_CHECKING:
    from pykb.runtime._kopf import OperatorRegistry
    from pykb.runtime.controller.controller import Controller
    from pykb.runtime.records.causes import ReconcileListener, WebhookListener
    from pykb.runtime.sharding.sharding import Sharding
    from pykb.webhook.server import WebhookServer

logger = logging.getLogger(__name__)

RECORDS = "PYKB_RECORDS"
"""The environment variable with the Unix socket of who reads the records of reconciles, such as `pykb dev`."""


class Manager:
    """Runs controllers and other runnables until it is stopped.

    Groups start in this order and stop in reverse: HTTP servers, webhooks, caches, runnables of
    every replica, runnables of the leader. By default, controllers run on the leader.

    ::

        manager = Manager(ManagerOptions.from_args(leader_election_id="sealvm.example.com"))
        VirtulMachineReconciler(manager.client).setup(manager)
        manager.run()
    """

    _cache_type: ClassVar[type[InformerCache]] = InformerCache

    def __init__(
        self,
        options: ManagerOptions | None = None,
        *,
        credentials: CredentialSource | None = None,
        client: Client | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Make a manager. It reads and connects to nothing before it starts.

        Args:
            options: Its options.
            credentials: How to log in. Defaults to the credentials that the options select.
            client: The client for all requests, including lists and watches. It is not closed at
                the end. It is meant for tests with :func:`pykb.runtime.fake.fake_client`. Such a
                manager does not run kopf handlers.
            clock: The clock of the controllers.
        """
        self.options = options or ManagerOptions()
        self.clock: Clock = clock or SystemClock()
        self.metrics = Metrics()
        self.healthz = Checks("/healthz")
        self.readyz = Checks("/readyz")
        self._credentials: CredentialSource = credentials or DiscoveredCredentials(
            kubeconfig=self.options.kubeconfig, context=self.options.context, master=self.options.master
        )
        self._given = client
        self.api_reader = client.live if client is not None else self._client_with(self.options.transport_options())
        """The same client without the cache: every read is a request."""
        self.api_reader.unreadable.observers.append(self.metrics.observe_unreadable)
        self._controllers: dict[str, Controller[Any]] = {}
        self._removals: dict[RunFunction, asyncio.Task[None]] = {}
        self.clusters = Clusters()
        """The clusters that were added by :meth:`add_cluster`."""
        self._recorders = Recorders()
        self.servers = Servers(
            self.options,
            self.api_reader,
            counts=self.metrics,
            checks=(self.healthz, self.readyz),
            controllers=lambda: self.controllers,
            listening=(self.listen, self._leave),
            namespace=self._own_namespace,
            converted=self._converted,
            clock=self.clock,
        )
        """Probes, metrics, records and the debug server."""
        self._webhook_server: WebhookServer | None = None
        self._list_watch = ClientListWatch(self.api_reader, clock=self.clock)
        self.cache = self._cache_type(
            self._list_watch,
            self.api_reader.mapper,
            self.options.cache_options(),
            clock=self.clock,
            unreadable=self.api_reader.unreadable,
        )
        """The informers, shared by the controllers and the client."""
        self.metrics.add_watches(lambda: self.cache.informers)
        self.client = self.api_reader.with_cache(self.cache)
        """The client. It reads watched kinds from the cache. Other reads and all writes are requests."""
        self._servers, self._webhooks, self._caches, self._others, self._election, self._elected, self._sharded = (
            RunnableGroup(name, self._fail)
            for name in ("servers", "webhooks", "caches", "others", "election", "leader", "sharded")
        )
        self._kopf_registries: list[OperatorRegistry | None] = [None]
        self._stopping = asyncio.Event()
        self._started = False
        self._failure: BaseException | None = None
        self._ending = Ending()
        self._leases = Leases(
            self.options,
            clock=self.clock,
            metrics=self.metrics,
            ending=self._ending,
            client=self._lease_client,
            own_namespace=self._own_namespace,
        )
        self._signals = StopSignals(self._stopping, self._ending, self._leases.grace, dump=self._dump)
        self.elected = asyncio.Event()
        """Set when this replica becomes the leader (at once without leader election)."""
        self.healthz.add("ping", ping)
        self.readyz.add("ping", ping)
        self.readyz.add("caches", self._caches_ready)
        self.sharding: Sharding | None = None
        """This replica's share of the objects, if the options have ``shards``."""
        if self.options.shards:
            from pykb.runtime.sharding.sharding import Sharding

            self.sharding = Sharding(self.options, clock=self.clock, metrics=self.metrics)
            self.readyz.add("shards", self.sharding.check_ready)

    # -- setting up

    def add(self, runnable: Runnable | Callable[[], Awaitable[object]], *, name: str | None = None) -> None:
        """Add a runnable: an object with ``run``, or a coroutine function.

        Only the leader runs it, unless its attribute ``needs_leader_election`` is false. It may be added at any time.

        Raises:
            TypeError: It is neither of them.
        """
        function = function_of(runnable)
        group = self._elected if getattr(runnable, "needs_leader_election", True) else self._others
        if getattr(runnable, "sharded", False):
            group = self._sharded
        group.add(function, name=name or getattr(runnable, "name", None) or type(runnable).__name__)

    def add_controller(self, controller: Controller[Any]) -> None:
        """Add a controller. The builder calls this.

        Raises:
            EnvironmentProblem: A controller of this name exists already.
        """
        self.check_name(controller.name)
        self._controllers[controller.name] = controller
        self._recorders.add(controller.recorder)
        self.add(controller)

    def check_name(self, name: str) -> None:
        """Check that a new controller may have this name.

        Raises:
            EnvironmentProblem: A controller of this name exists already.
        """
        if name in self._controllers:
            raise CONTROLLER_NAME.problem(
                f"there is already a controller `{name}`",
                'give this one another name: `.named("...")`',
                notes="the name is a label in metrics and logs, so it must be unique",
            )

    async def remove(self, runnable: Controller[Any] | Runnable | Callable[[], Awaitable[object]]) -> None:
        """Stop a controller or another runnable, forget it, and return when it has ended.

        ::

            controller = ControllerBuilder(manager).for_(VirtulMachine).complete(reconciler)
            await manager.remove(controller)

        Running reconciles end, and waiting requests are dropped. The controller's metrics go. Its
        informers go if no other controller uses them, and the program has not asked for them by
        itself (``manager.cache.informer``, ``lister``, ``add_index``). Then its name is free again.
        If the caller is cancelled, the removal continues.

        Raises:
            ValueError: The manager does not have it.
            RuntimeError: A reconcile of this controller asks for it, and would wait for itself; or
                the controller is sharded.
        """
        function = function_of(runnable)
        removal = self._removals.get(function)
        if removal is None:
            controller = next((each for each in self.controllers if each is runnable), None)
            groups = (self._others, self._elected, self._sharded)
            if controller is None and not any(function in group for group in groups):
                called = getattr(runnable, "name", None) or getattr(runnable, "__name__", type(runnable).__name__)
                raise ValueError(f"this manager does not run `{called}`")
            if controller is not None and controller.sharded:
                raise RuntimeError(f"`{controller.name}` is sharded: the replicas share it until the manager stops")
            context = current_reconcile.get()
            if controller is not None and context is not None and context.controller == controller.name:
                raise RuntimeError(
                    f"a reconcile of `{controller.name}` cannot remove its own controller: it would wait for its own"
                    " end; let another controller or a runnable do it"
                )
            removal = self._removing(function, self._remove(function, controller))
        await asyncio.shield(removal)

    def _removing(self, function: RunFunction, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        removal = self._removals[function] = asyncio.create_task(work, name="removal")
        removal.add_done_callback(lambda _: self._removals.pop(function, None))
        return removal

    async def _remove(self, function: RunFunction, controller: Controller[Any] | None) -> None:
        for group in (self._others, self._elected, self._sharded):
            await group.remove(function)
        if controller is None:
            return
        await controller.release()
        self._recorders.remove(controller.recorder)
        self.metrics.remove_controller(controller.name)
        del self._controllers[controller.name]

    def add_cluster(self, name: str, client: Client, *, options: CacheOptions | None = None) -> Cluster:
        """Add another cluster, also while the manager runs. Controllers with a ``ClusterSource`` engage it.

        ::

            member = manager.add_cluster("north", Client.from_kubeconfig("north.yaml"))
            machines = await member.client.list(VirtulMachine)
            await manager.remove_cluster("north")

        Args:
            name: Its name, in requests and in ``manager.clusters``.
            client: Its client. Whoever has made it closes it, after :meth:`remove_cluster`.
            options: The options of its cache.

        Raises:
            ValueError: There is a cluster of this name.
        """
        cache = InformerCache.of(client, options, clock=self.clock)
        cluster = Cluster(name, client.with_cache(cache), cache)
        self.clusters.add(cluster)
        self.add(cache, name=f"informers of cluster {name}")
        return cluster

    async def remove_cluster(self, name: str) -> None:
        """Remove a cluster. Its waiting requests are dropped. Returns when the running ones and its watches have ended.

        Raises:
            KeyError: There is no cluster of this name.
            RuntimeError: A reconcile for this cluster asks for it, and would wait for itself.
        """
        cluster = self.clusters[name]
        context = current_reconcile.get()
        if context is not None and getattr(context.request, "cluster", None) == name:
            raise RuntimeError(f"a reconcile for cluster `{name}` cannot remove it: it would wait for its own end")
        function = cluster.cache.run
        removal = self._removals.get(function) or self._removing(function, self._remove_cluster(cluster))
        await asyncio.shield(removal)

    async def _remove_cluster(self, cluster: Cluster) -> None:
        await self.clusters.remove(cluster)
        await self._others.remove(cluster.cache.run)

    def listen(self, listener: ReconcileListener | WebhookListener) -> None:
        """Tell a listener of each reconcile or of each call of a webhook. Costs time for each of them."""
        self._recorders.listen(listener)
        self._record_webhooks()

    def _leave(self, listener: ReconcileListener | WebhookListener) -> None:
        self._recorders.leave(listener)
        self._record_webhooks()

    @property
    def controllers(self) -> Sequence[Controller[Any]]:
        """The controllers, in the order in which they were added."""
        return tuple(self._controllers.values())

    def add_kopf_handlers(self, registry: OperatorRegistry | None = None) -> None:
        """Run kopf handlers on the leader, next to the controllers.

        Handlers registered by plain ``@kopf.on...`` decorators always run.

        Raises:
            ValueError: The manager was made with a client, but kopf needs credentials.
        """
        if self._given is not None:
            raise ValueError("kopf handlers log in by themselves: they cannot run in a manager that was given a client")
        self._kopf_registries.append(registry)

    def add_healthz_check(self, name: str, check: Check) -> None:
        """Add a liveness check. Kubernetes restarts the container if it fails."""
        self.healthz.add(name, check)

    def add_readyz_check(self, name: str, check: Check) -> None:
        """Add a readiness check. Kubernetes removes the pod from its Service if it fails."""
        self.readyz.add(name, check)

    @property
    def webhook_server(self) -> WebhookServer:
        """The webhook server at ``webhook_port``. It runs on every replica as soon as a webhook is registered."""
        if self._webhook_server is None:
            from pykb.webhook.server import WebhookServer

            self._webhook_server = WebhookServer(
                self.options,
                metrics=self.metrics,
                clock=self.clock,
                needed=self._serve_webhooks,
                managed=self.servers.managed,
            )
            self._record_webhooks()
        return self._webhook_server

    def _record_webhooks(self) -> None:
        if self._webhook_server is not None:
            self._webhook_server.recorder = self._recorders.of_webhooks()

    def _serve_webhooks(self) -> None:
        if not self.options.webhooks:
            logger.info("webhooks are switched off")
            return
        self._webhooks.add(self.webhook_server.run, name="webhook server")
        self.readyz.add("webhooks", self.webhook_server.check)

    # -- running

    def run(self) -> None:
        """Run the program: configure logging, start, stop at SIGTERM or Ctrl-C.

        The process is ended with exit code 1 if it hangs after the graceful time or after the loss
        of its lease.

        Raises:
            SystemExit: With 1 after an error, or if a runnable did not stop in time. A normal stop
                returns.
        """
        if self.options.log_format is LogFormat.RECONCILES:
            from pykb.runtime.records.lines import ReconcileLines

            self.listen(ReconcileLines(self.clock))
        configure_logging(level=self.options.log_level.upper(), style=self.options.log_format)
        if path := os.environ.get(RECORDS):
            from pykb.runtime._stream import RecordStream

            if (stream := RecordStream.connected(path)) is not None:
                stream.watch_logs()
                self.listen(stream)
        run_program(self._main, self._ending, logger)
        if self._leases.late:
            raise SystemExit(1)

    async def start(self) -> None:
        """Run until :meth:`stop` is called or the caller is cancelled, then stop gracefully.

        Raises:
            EnvironmentProblem: The cluster cannot be reached, an address cannot be bound, or
                leadership was lost.
            RuntimeError: It was started before. A manager runs only once; make another one.
            Exception: The error of a runnable.
        """
        if self._started:
            raise RuntimeError("a manager runs only once, and this one was already started: create another")
        self._started = True
        watch_for_not_awaited()
        self._recorders.trace()
        try:
            if self._given is None:
                # Errors of the configuration come at once. A hanging plugin does not delay a stop.
                await unless(self._stopping, self._credentials.current())
            if not self._stopping.is_set():
                self._start_groups()
            await self._stopping.wait()
        finally:
            await self._shut_down()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Make :meth:`start` stop everything and return."""
        self._stopping.set()

    async def _main(self) -> None:
        self._signals.install()
        try:
            await self.start()
        finally:
            self._signals.release()

    def _start_groups(self) -> None:
        if isinstance(self.clock, SystemClock):  # a block has no length in virtual time
            self._servers.add(StallWatch(observer=self.metrics.observe_stall).run, name="stall watch")
        self.servers.add_to(self._servers)
        if self._given is None:
            self._add_kopf_handlers()
        self._caches.add(self.cache.run, name="cache")
        if self.sharding is not None:
            self.sharding.prepare(self.client)
            self._election.add(partial(self._leases.share, self._sharded, self.sharding), name="shards")
        for group in (self._servers, self._webhooks, self._caches, self._others):
            group.start()
        if self.options.elects:
            lead = partial(self._leases.elect, self._elected, self._lead, self.sharding)
            self._election.add(lead, name="leader election")
            self._election.start()
        else:
            self._lead()

    def _dump(self, loop: asyncio.AbstractEventLoop) -> None:
        from pykb.runtime._debug import dump_to_log

        dump_to_log(loop, lambda: list(self._controllers.values()))

    def _lead(self) -> None:
        self.elected.set()
        self._elected.start()

    async def _shut_down(self) -> None:
        logger.info("stopping")
        grace = self._leases.grace
        self._ending.within(grace + MARGIN, "not stopped in time")
        deadline = asyncio.get_running_loop().time() + grace.total_seconds()
        if self._webhook_server is not None:
            self._webhook_server.leave()
        if self.sharding is not None:
            self.sharding.retire()
        # The lease is released only when no work depends on it any more.
        working = (self._elected, self._sharded, self._election)
        for group in (*working, self._others, self._caches, self._webhooks, self._servers):
            await self._leases.stop(group, deadline)
        if self._given is None:
            await self.api_reader.close()
        logger.info("stopped")

    def _fail(self, error: BaseException) -> None:
        if self._failure is None:
            self._failure = error
        self._stopping.set()

    async def _own_namespace(self) -> str:
        return "" if self._given is not None else (await self._credentials.current()).namespace

    async def _converted(self) -> list[str]:
        """The names of the CRDs whose objects the webhook server converts."""
        hubs = self._webhook_server.hubs if self._webhook_server is not None and self.options.webhooks else ()
        names = []
        for hub in sorted(hubs, key=str):
            with contextlib.suppress(NoKindMatch):  # not installed yet
                names.append(f"{(await self.api_reader.mapper.mapping(hub)).plural}.{hub.group}")
        return names

    def _add_kopf_handlers(self) -> None:
        if "kopf" not in sys.modules:  # there are no handlers: such a program does not load kopf
            return
        from pykb.runtime._kopf import operators

        for operator in operators(
            self._credentials,
            self._list_watch,
            self._kopf_registries,
            self.options,
            webhooks=lambda: self.webhook_server,
            started=self._signals.reinstall,
            observer=self.metrics.observe_request,
        ):
            self.add(operator)

    def _lease_client(self) -> contextlib.AbstractAsyncContextManager[Client]:
        """Renewals must not wait for the limit of requests per second, nor for connections used by controllers."""
        given = self._given is not None
        return contextlib.nullcontext(self.api_reader) if given else self._client_with(TransportOptions())

    def _client_with(self, limits: TransportOptions) -> Client:
        transport = Transport(self._credentials, limits, observer=self.metrics.observe_request)
        return Client(transport, options=self.options.client_options())

    def _caches_ready(self) -> None:
        unsynced = self.cache.unsynced
        if unsynced:
            raise RuntimeError(f"no list yet of {', '.join(map(str, unsynced))}")
