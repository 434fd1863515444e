"""The load: one client that creates, updates and deletes gadgets all the while."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Collection

from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import ApiError, Client, MergePatch, NoKindMatch, NotFound, ServerUnreachable
from tests.chaos.kinds import Gadget, GadgetSpec

DRIVERS = 4
QUICK, CALM = 0.04, 0.3  # seconds between two writes of a driver
AFTER_ERROR = 0.2


class Load:
    """Drivers that share the names among them, so that none disturbs another.

    Args:
        client: As administrator, past every proxy.
        namespace: Where.
        objects: How many names.
        pause: Seconds between two writes of a driver. While a fault waits for a lease to end, they are the most work.
    """

    def __init__(self, client: Client, namespace: str, objects: int, pause: float = CALM) -> None:
        self._client = client
        self._namespace = namespace
        self._pause = pause
        self._names = [f"g{number:04}" for number in range(objects)]
        self._random = random.Random(11)
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = False
        self._troubles: dict[str, str] = {}
        # A driver whose creation is under way would bring back a trouble that was just ended.
        self._taken = {name: asyncio.Lock() for name in self._names}
        self.done: Counter[str] = Counter()
        """What succeeded, by verb."""
        self.failed: Counter[str] = Counter()
        """What did not, by exception."""

    @property
    def names(self) -> list[str]:
        """The names of the gadgets, there or not."""
        return list(self._names)

    async def create_all(self) -> None:
        """Create every gadget, and update those that are there."""

        async def create(driver: int) -> None:
            for name in self._names[driver::DRIVERS]:
                done = False
                while not done:
                    done = await self._try("update" if await self._exists(name) else "create", name)
                    await asyncio.sleep(0 if done else AFTER_ERROR)

        await asyncio.gather(*(create(driver) for driver in range(DRIVERS)))

    def start(self, without: Collection[str] = ()) -> None:
        """Begin, leaving some names alone."""
        self._stopping = False
        self._left_alone = frozenset(without)
        self._tasks = [asyncio.create_task(self._drive(driver)) for driver in range(DRIVERS)]

    async def progress(self, writes: int) -> None:
        """Wait until so many more writes have succeeded."""
        wanted = self.done.total() + writes
        while self.done.total() < wanted:
            for task in self._tasks:
                if task.done():
                    task.result()
            await asyncio.sleep(0.01)

    async def stop(self) -> None:
        """Let each driver finish what it is at, and write nothing more."""
        self._stopping = True
        await asyncio.gather(*self._tasks)
        self._tasks = []

    async def abort(self) -> None:
        """End at once."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def force_delete(self, name: str) -> None:
        """Have a gadget vanish without anybody's leave, and without a chance to clean up."""
        with contextlib.suppress(NotFound):
            await self._do("force-delete", name)

    async def trouble(self, what: str | None, names: list[str]) -> None:
        """Have these gadgets make trouble, or (``None``) none any more; those that are created anew meanwhile, too."""
        for name in names:
            async with self._taken[name]:
                if what is None:
                    self._troubles.pop(name, None)
                else:
                    self._troubles[name] = what
                patch = MergePatch({"spec": {"trouble": what}})
                done = False
                while not done:  # the operator may let go of it at this moment
                    try:
                        await self._client.patch(self._gadget(name), patch)
                        done = True
                    except NotFound:
                        done = what is None or await self._try("create", name)

    async def _drive(self, driver: int) -> None:
        names = [name for name in self._names[driver::DRIVERS] if name not in self._left_alone]
        while not self._stopping:
            name = self._random.choice(names)
            verb = self._random.choices(("update", "delete", "force-delete"), (8, 3, 1))[0]
            async with self._taken[name]:
                known = await self._exists(name)
                done = await self._try(verb if known else "create", name)
            await asyncio.sleep(self._pause if done else AFTER_ERROR)

    async def _exists(self, name: str) -> bool:
        try:
            return await self._client.find(Gadget, name, namespace=self._namespace) is not None
        except (ApiError, NoKindMatch, ServerUnreachable):
            return False

    async def _try(self, verb: str, name: str) -> bool:
        try:
            await self._do(verb, name)
        except (ApiError, NoKindMatch, ServerUnreachable) as error:
            self.failed[type(error).__name__] += 1
            return False
        self.done[verb] += 1
        return True

    async def _do(self, verb: str, name: str) -> None:
        gadget = self._gadget(name)
        match verb:
            case "create":
                await self._client.create(gadget)
            case "update":
                await self._client.patch(gadget, MergePatch({"spec": {"size": gadget.spec.size}}))
            case "delete":
                await self._client.delete(gadget)
            case "force-delete":
                await self._client.patch(gadget, MergePatch({"metadata": {"finalizers": None}}))
                await self._client.delete(gadget, missing_ok=True)

    def _gadget(self, name: str) -> Gadget:
        size = self._random.randrange(1_000_000)
        metadata = ObjectMeta(name=name, namespace=self._namespace)
        return Gadget(metadata=metadata, spec=GadgetSpec(size=size, trouble=self._troubles.get(name)))
