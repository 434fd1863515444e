"""Requests to the webhooks of a pod, at a steady rate, as the API server sends them for objects of users."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pykb.api.object import Unstructured
from pykb.runtime import ApiError, Client

RATE = 20
"""Requests a second. Each calls two webhooks: one sets a default, the other validates."""

MACHINE: dict[str, Any] = {
    "apiVersion": "infra.sealyun.com/v1",
    "kind": "VirtulMachine",
    "metadata": {"name": "asked", "namespace": "default"},
    "spec": {"cpu": "2"},
}


@dataclass
class Load:
    """What became of the requests.

    Attributes:
        answered: How many the webhooks answered.
        failed: What the API server said of the others.
    """

    answered: int = 0
    failed: list[str] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    async def _run(self) -> None:
        async with Client.from_kubeconfig(Path(os.environ["KUBECONFIG"])) as client, asyncio.TaskGroup() as group:
            while not self._over.is_set():
                group.create_task(self._ask(client))
                await asyncio.sleep(1 / RATE)

    async def _ask(self, client: Client) -> None:
        try:
            made = await client.create(Unstructured.from_wire(MACHINE), dry_run=True)
        except ApiError as error:
            self.failed.append(str(error))
            return
        if made.to_wire()["spec"].get("memory") == "4Gi":
            self.answered += 1
        else:
            self.failed.append("the webhook that sets defaults was not called")


@contextmanager
def load() -> Iterator[Load]:
    """Send requests for the length of a block."""
    running = Load()
    thread = threading.Thread(target=lambda: asyncio.run(running._run()))
    thread.start()
    try:
        yield running
    finally:
        running._over.set()
        thread.join()
