"""The operator under test, as a user would write and run it: ``python -m tests.chaos.program --journal FILE ...``."""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import (
    Client,
    ControllerBuilder,
    ControllerOptions,
    Manager,
    ManagerOptions,
    Reconciler,
    Request,
    add_flags,
    controller_of,
    create_or_update,
    ensure_finalizer,
    is_controlled_by,
    release_finalizer,
    set_controller_reference,
)
from tests.chaos.journal import Journal
from tests.chaos.kinds import FINALIZER, LABEL, Gadget, child_name

SLOW = 0.3


class StaleChildError(Exception):
    """The child has another owner: a gadget of the same name that is gone."""


class GadgetReconciler(Reconciler):
    """Gives each gadget one ConfigMap with its size, and reports it in the status."""

    def __init__(self, client: Client, journal: Journal) -> None:
        super().__init__(client)
        self._journal = journal

    async def reconcile(self, request: Request) -> None:
        """Note what becomes of each call, besides doing it."""
        key = str(request)
        self._journal.note("begin", key)
        try:
            await self._reconcile(request)
        except asyncio.CancelledError:
            self._journal.note("cancel", key)
            raise
        except BaseException as error:
            self._journal.note("raise", key, type(error).__name__)
            raise
        self._journal.note("end", key)

    async def _reconcile(self, request: Request) -> None:
        gadget = await self.client.find(Gadget, request)
        if gadget is None:
            await self._delete_child(request)  # someone took the finalizer away: nobody has cleaned up
            return
        self._journal.note("object", str(request), gadget.metadata.uid or "")
        match gadget.spec.trouble:
            case "raise":
                raise RuntimeError("this gadget makes trouble")
            case "bug":
                gadget.spec.no_such_field  # noqa: B018 - the AttributeError of a bug
            case "hang":
                self._journal.note("hang", str(request))
                await asyncio.get_running_loop().create_future()
        if gadget.metadata.deletion_timestamp is not None:
            await self._delete_child(request)
            await release_finalizer(self.client, gadget, FINALIZER)
            return
        await ensure_finalizer(self.client, gadget, FINALIZER)
        await self._keep_child(gadget)
        if gadget.spec.trouble == "slow":
            await asyncio.sleep(SLOW)
        generation = gadget.metadata.generation
        if (gadget.status.observed_generation, gadget.status.size) != (generation, gadget.spec.size):
            gadget.status.observed_generation = generation
            gadget.status.size = gadget.spec.size
            await self.client.status.update(gadget)

    async def _keep_child(self, gadget: Gadget) -> None:
        namespace, name = gadget.metadata.namespace, child_name(gadget.metadata.name)
        child = ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace))

        def want() -> None:
            owner = controller_of(child)
            if owner is not None and not is_controlled_by(child, gadget):
                raise StaleChildError(f"`{name}` is the child of a gadget that is gone")
            set_controller_reference(gadget, child)
            child.metadata.labels = {LABEL: gadget.metadata.name}
            child.data = {"size": str(gadget.spec.size)}

        try:
            await create_or_update(self.client, child, want)
        except StaleChildError:
            await self._delete_child(Request(namespace or "", gadget.metadata.name), uid=child.metadata.uid)
            raise

    async def _delete_child(self, request: Request, uid: str | None = None) -> None:
        # Without a look into the cache: it may not know yet of a child made a moment ago.
        name = f"{request.namespace}/{child_name(request.name)}"
        await self.client.delete(ConfigMap, name, uid=uid, missing_ok=True)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_flags(parser)
    parser.add_argument("--journal", type=Path, required=True)
    for name in ("lease", "silence", "grace", "reconcile-timeout"):
        parser.add_argument(f"--{name}", type=lambda text: timedelta(seconds=float(text)))
    flags = parser.parse_args()
    own = {name: vars(flags).pop(name) for name in ("journal", "lease", "silence", "grace", "reconcile_timeout")}
    overrides = {"leader_election_id": "chaos"}
    if own["lease"]:
        times = {"lease_duration": 1, "renew_deadline": 2 / 3, "retry_period": 2 / 15}
        overrides |= {name: own["lease"] * part for name, part in times.items()}
    if own["grace"]:
        overrides["graceful_shutdown_timeout"] = own["grace"]
    manager = Manager(ManagerOptions.from_namespace(flags, **overrides))
    if own["silence"]:
        transport = manager.api_reader._exchange.connection
        transport._options = replace(transport._options, idle_timeout=own["silence"])
    journal = Journal(own["journal"])
    if manager.sharding is not None:
        journal.note("member", manager.sharding.identity)
    options = ControllerOptions(max_concurrent_reconciles=4, timeout=own["reconcile_timeout"])
    builder = ControllerBuilder(manager).for_(Gadget).owns(ConfigMap).with_options(options)
    builder.complete(GadgetReconciler(manager.client, journal))
    manager.add(_Ready(manager, journal))
    manager.run()


class _Ready:
    """Notes the ports of the probes and of the metrics, and that the caches are warm."""

    needs_leader_election = False
    name = "ready"

    def __init__(self, manager: Manager, journal: Journal) -> None:
        self._manager = manager
        self._journal = journal

    async def run(self) -> None:
        probes, server = self._manager.servers.probes, self._manager.servers.metrics
        if probes is not None:
            await probes.listening()
            self._journal.note("probes", str(probes.port))
        assert server is not None
        await server.listening()
        await self._manager.cache.wait_for_sync()
        self._journal.note("ready", str(server.port))


if __name__ == "__main__":
    main()
