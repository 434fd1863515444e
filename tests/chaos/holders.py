"""Who held which objects: the history of the Leases, by which each write of a replica with shards is judged.

Versions of one API server are in one order, those of Leases and those of other objects. So no clock is needed.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence

from pykb.api.coordination.v1 import Lease
from pykb.client._reader import EventType
from pykb.client.ranges import Ranges
from pykb.runtime import Client, Gone
from tests.chaos.proxy import Change
from tests.chaos.subject import Subject

GROUP = "chaos"


class Holders:
    """Follows the Leases of a namespace."""

    def __init__(self, client: Client, namespace: str, shards: int) -> None:
        self._client = client
        self._namespace = namespace
        self._ranges = Ranges(shards)
        self._history: dict[str, list[tuple[int, str]]] = defaultdict(list)
        self._gaps: list[tuple[int, int]] = []
        self._version = 0

    async def follow(self) -> None:
        """Note each change until cancelled."""
        while True:
            try:
                async with self._client.watch(Lease, namespace=self._namespace) as watch:
                    async for event in watch:
                        self._note(event.object, gone=event.type is EventType.DELETED)
            except Gone:  # the store has forgotten what came last
                await self._resume()

    async def _resume(self) -> None:
        found = await self._client.list(Lease, namespace=self._namespace)
        self._gaps.append((self._version, int(found.resource_version)))
        names = {lease.metadata.name for lease in found.items}
        for name, history in self._history.items():
            if name not in names:
                history.append((int(found.resource_version), ""))

    def _note(self, lease: Lease, *, gone: bool) -> None:
        version = int(lease.metadata.resource_version or 0)
        self._version = max(self._version, version)
        holder = "" if gone or lease.spec is None else lease.spec.holder_identity or ""
        history = self._history[lease.metadata.name or ""]
        if not history or version > history[-1][0]:
            history.append((version, holder))

    def at(self, name: str, version: int) -> str:
        """The holder of a Lease at a version; empty if there was none."""
        history = self._history.get(name, [])
        place = bisect_right(history, version, key=lambda entry: entry[0])
        return history[place - 1][1] if place else ""

    def allows(self, member: str, change: Change) -> bool:
        """Whether a member held the range of the object that it has changed."""
        if any(first < change.version <= last for first, last in self._gaps):
            return True  # nobody knows
        number = self._ranges.of(change.uid)
        own = f"{GROUP}-member-{member.rpartition('_')[2]}"
        return self.at(f"{GROUP}-shard-{number}", change.version) == member == self.at(own, change.version)


async def unheld_writes(holders: Holders, subjects: Sequence[Subject], changes: Sequence[list[Change]]) -> list[str]:
    """The writes by replicas that did not hold the object; those of one subject are in one list."""
    await asyncio.sleep(0.5)  # the last changes of Leases may be on their way
    found = []
    for subject, its in zip(subjects, changes, strict=True):
        members = [line for line in subject.lines if line.do == "member"]
        for change in its:
            member = max((line for line in members if line.at <= change.at), key=lambda line: line.at).about
            if not holders.allows(member, change):
                found.append(f"{subject.name} wrote {change.path} at {change.version}")
    return found
