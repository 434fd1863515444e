"""kopf's handlers in a history: one process of them, what they do, and which writes are only kopf's notes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import orjson

from pykb.client.connection import Call, ExecResult, parse_path
from pykb.client.guard import is_end
from pykb.client.listwatch import ClientListWatch
from pykb.explore._gate import Gate, Worked, kopf_sends, waker, whence, works_on
from pykb.explore._history import Manifest
from pykb.explore._outcome import Outcome, failure_of
from pykb.explore._time import tasks_of_process
from pykb.explore._webhooks import place_of
from pykb.runtime import Client
from pykb.webhook.server import WebhookServer

if TYPE_CHECKING:
    from pykb.explore._kopf import HandlerRun, OfflineHandlers
    from pykb.runtime._kopf import OperatorRegistry

_FEW = 3
"""Errors of a handler in a row during which a next try may still help."""


@dataclass(eq=False)
class Handlers:
    """The handlers of one process.

    Attributes:
        gate: Its connection.
        client: Its client, for lists and watches.
        registries: The registries with the handlers.
        webhooks: The server at whose paths admission handlers answer.
        configured: Called with their webhook configurations.
        is_plain: Whether kopf runs them without a manager of pykb.
        namespaces: The namespaces that they are restricted to; empty for all.
        root: The folder of the user's code.
        outcome: Where to note.
    """

    gate: Gate
    client: Client
    registries: Sequence[OperatorRegistry]
    webhooks: WebhookServer
    configured: Callable[[Sequence[Manifest]], None]
    is_plain: bool
    namespaces: tuple[str, ...]
    root: Path | None
    outcome: Outcome
    _running: list[HandlerRun] = field(default_factory=list)
    _failing: dict[tuple[str, str], _Failing] = field(default_factory=dict)
    _engine: OfflineHandlers | None = None
    _task: asyncio.Task[None] | None = None
    _left: BaseException | None = None
    """What ended a handler in which somebody left the debugger. kopf takes that for an error of the handler."""

    async def run(self) -> None:
        """Run them until cancelled."""
        from pykb.explore._kopf import OfflineHandlers

        tasks: WeakSet[asyncio.Task[Any]] = WeakSet()
        tasks_of_process.set(tasks)
        connection = _KopfConnection(self.gate, self)
        list_watch = ClientListWatch(Client(connection, mapper=self.client.mapper))
        self._engine = OfflineHandlers(
            connection=connection,
            list_watch=list_watch,
            registries=self.registries,
            namespaces=self.namespaces,
            webhooks=self.webhooks,
            configured=self.configured,
            knows_deletions=not self.is_plain,
            observer=self,
            tasks=tasks,
        )
        self._task = asyncio.current_task()
        try:
            await self._engine.run()
        finally:
            if self._left is not None:
                raise self._left

    @property
    def is_working(self) -> bool:
        """Whether a handler runs that is to end."""
        return any(not run.lasts for run in self._running)

    @property
    def is_retrying(self) -> bool:
        """Whether a handler that failed is tried again soon, and may still succeed."""
        now = asyncio.get_running_loop().time()
        return any(each.count <= _FEW and now < each.due for each in self._failing.values())

    def fail(self, uids: Collection[str]) -> bool:
        """Whether the last call of a handler for one of these objects failed."""
        return any(uid in uids for _, uid in self._failing)

    def without_notes(self, obj: Mapping[str, Any]) -> Mapping[str, Any]:
        """An object without what kopf notes in it."""
        return obj if self._engine is None else self._engine.bookkeeping.without(obj)

    def is_note(self, patch: Any) -> bool:
        """Whether a patch has nothing but kopf's notes."""
        return self._engine is not None and isinstance(patch, dict) and self._engine.bookkeeping.is_all(patch)

    def began(self, run: HandlerRun) -> None:
        """Note the call of a handler."""
        self._running.append(run)
        waker.set(f"kopf called `{run.handler}` ({run.what})")
        works_on.set(frozenset({run.uid}))
        whence.set(place_of(run.function, self.root))

    def ended(self, run: HandlerRun, error: BaseException | None) -> None:
        """Note how it ended."""
        self._running.remove(run)
        if error is not None and is_end(error) and self._task is not None:
            self._left = error
            self._task.cancel()
        at = asyncio.get_running_loop().time()
        if error is None:
            self._failing.pop((run.handler, run.uid), None)
        else:
            self.outcome.failures.append(failure_of(error, self.root, at))
            if run.is_repeated:
                self.note_failure((run.handler, run.uid), error, at)
        if run.uid:
            self.outcome.reconciles.append(Worked(at, frozenset({run.uid})))

    def note_failure(self, key: tuple[str, str], error: BaseException, at: float) -> None:
        """Note a failure, and when the next try is over."""
        from pykb.explore._kopf import delay_of

        delay = delay_of(error)
        count = self._failing[key].count + 1 if key in self._failing else 1
        self._failing[key] = _Failing(count, at if delay is None else at + delay + _CALL_SECONDS)


@dataclass(frozen=True, slots=True)
class _Failing:
    """A handler that failed: how often in a row, and when the next try is over."""

    count: int
    due: float


_CALL_SECONDS = 10.0
"""In which a handler ends that is called again."""


@dataclass(eq=False)
class _KopfConnection:
    """kopf's own requests: they carry the line of the handler for which they are sent."""

    gate: Gate
    handlers: Handlers

    async def request(self, call: Call) -> bytes:
        """Pass a request on, and note whether it only carries kopf's notes."""
        if parse_path(call.path) is None:
            return await self.gate.pass_aside(call)
        is_note = call.method == "PATCH" and self.handlers.is_note(orjson.loads(call.body or b"null"))
        token = kopf_sends.set(is_note)
        try:
            return await self.gate.request(call)
        finally:
            kopf_sends.reset(token)

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[AsyncIterator[bytes]]:
        """Pass a watch on."""
        kopf_sends.set(False)  # what watches is a task of kopf's own
        async with self.gate.stream(call) as lines:
            yield lines

    async def execute(self, call: Call, stdin: bytes | None, limit: int) -> ExecResult:
        """Run a command."""
        return await self.gate.execute(call, stdin, limit)

    async def close(self) -> None:
        """Do nothing: there are no connections."""
