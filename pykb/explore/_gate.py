"""The operator's way to the API server: it counts requests, notes who wrote them, and lets them fail."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import os
import re
import sys
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, Self

import orjson

from pykb.client.bridge import waiting_thread
from pykb.client.connection import Call, ExecResult, parse_path
from pykb.client.ending import until_cancelled
from pykb.client.errors import Invalid, ServerUnreachable, error_from_status
from pykb.diagnostics import Span
from pykb.diagnostics.codes.environment import CLUSTER_UNREACHABLE
from pykb.explore import _time
from pykb.explore._history import Fault, FaultKind
from pykb.explore._state import UID
from pykb.explore._time import VirtualLoop
from pykb.explore._watch import STEP
from pykb.fake import FakeApiServer

LATENCY = 0.001
"""Virtual seconds that a request takes. Without it, a hot loop would stop the time."""

MOST_RECONCILES = 3600
"""Reconciles without a change after which a history is given up. In two hours, one for every two seconds."""

MOST_REQUESTS = 400
"""Requests without a rest after which a history is given up."""

_REASONS = {409: "Conflict", 500: "InternalError"}
_RECORDS = ("", "events", "leases", "selfsubjectaccessreviews", "subjectaccessreviews", "tokenreviews")


def place_in(root: Path | None, stack: Iterable[tuple[str, int]]) -> Span | None:
    """The first line of a stack that is in a folder of the user's code. Either may be behind a symbolic link."""
    if root is None:
        return None
    folder = str(root)
    for file, line in stack:
        if path := path_in(folder, file):
            return Span(path, line, 1)
    return None


def _place_here(root: Path | None) -> Span | None:
    """The first line of the user's code among the callers of a caller. This runs at each request."""
    if root is None:
        return None
    folder = str(root)
    if place := _place_above(folder, sys._getframe(2)):  # noqa: SLF001
        return place
    thread = waiting_thread.get()  # of a plain function, for which the request is sent
    return _place_above(folder, sys._current_frames().get(thread)) if thread is not None else None  # noqa: SLF001


def naming(root: Path | None) -> Callable[..., asyncio.Task[Any]]:
    """Make a factory of tasks. A task that the user's code starts sends its requests from the line that starts it.

    That is where ``asyncio.gather`` is called with coroutines of the client: these have no line of the user's.
    """
    folder = str(root)

    def begin(
        loop: asyncio.AbstractEventLoop, coroutine: Any, context: contextvars.Context | None = None, **options: Any
    ) -> asyncio.Task[Any]:
        starter: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the caller
        while starter is not None and starter.f_code.co_filename.startswith(_STARTERS):
            starter = starter.f_back
        if root is not None and starter is not None and (path := path_in(folder, starter.f_code.co_filename)):
            context = context or contextvars.copy_context()
            context.run(whence.set, Span(path, starter.f_lineno, 1))
        return asyncio.Task(coroutine, loop=loop, context=context, **options)

    return begin


_STARTERS = (str(Path(asyncio.__file__).parent), _time.__file__)
"""Where tasks are started for others."""


def _place_above(folder: str, frame: FrameType | None) -> Span | None:
    while frame is not None and frame.f_code is not STEP:
        if path := path_in(folder, frame.f_code.co_filename):
            return Span(path, frame.f_lineno, 1)  # looking up a line is slow
        frame = frame.f_back
    return None


_real = functools.cache(os.path.realpath)  # each folder asks for all files of the process


@functools.cache
def path_in(folder: str, file: str) -> str:
    """The path of a file of the user's code in a folder; empty for other files."""
    if file.startswith("<"):
        return ""  # not from a file
    prefix, path = f"{_real(folder)}/", _real(file)
    is_own = path.startswith(prefix) and "/.venv/" not in path and "/site-packages/" not in path
    return path.removeprefix(prefix) if is_own else ""


@dataclass(slots=True)
class Sent:
    """A request of the operator.

    Attributes:
        number: Its number in the history, from 1; 0 if it is not counted.
        write: Its number among the writes, from 1; 0 for a read.
        verb: The verb of access control.
        group: The API group.
        resource: The plural, with the subresource after a slash.
        name: The name of the object, if the path or the body has one.
        place: The line of the user's code that sent it.
        status: The status of the answer; 0 without one.
        at: The virtual time.
        because: What woke the reconcile that sent it, if that was noted.
        works_on: The objects that the reconcile or handler is for: keys as :attr:`Identity.key`, or uids.
        is_of_kopf: Whether kopf itself sends it.
        is_note: Whether kopf only notes in an object how far its handlers are.
        is_beat: Whether it has changed only fields of a status that may differ.
        process: The number of the operator's process, from 1.
        refusal: The field and the rule for which the API server calls the object invalid; empty if it does not.
    """

    number: int
    write: int
    verb: str
    group: str
    resource: str
    name: str
    place: Span | None
    status: int = 0
    at: float = 0.0
    because: str = ""
    works_on: frozenset[str] = frozenset()
    is_of_kopf: bool = False
    is_note: bool = False
    is_beat: bool = False
    process: int = 1
    refusal: str = ""

    @property
    def is_work(self) -> bool:
        """Whether it is a write with which an operator is not at rest."""
        return self.write > 0 and not (self.is_note or self.is_beat)

    @property
    def is_needless(self) -> bool:
        """Whether there was nothing to do: the object is there already, or has gone."""
        return (self.verb, self.status) in (("create", HTTPStatus.CONFLICT), ("delete", HTTPStatus.NOT_FOUND))

    @property
    def what(self) -> str:
        """What it does, as a text. With other random values, other uids are in the names of objects."""
        return UID.sub("*", str(self))

    def __str__(self) -> str:
        """What the operator does: ``updates the status of sites/home``."""
        resource, _, subresource = self.resource.partition("/")
        what = f"the {subresource} of {resource}" if subresource else resource
        if self.verb == "create" and not self.name:  # the API server generates it
            what = f"one of {what}"
        where = f"{what}/{self.name}" if self.name else what
        return f"{_DONE.get(self.verb, self.verb)} {where}"


_LONGEST_REFUSAL = 160
_QUOTED = re.compile(r"^Invalid value: .*: (?=\S)", re.DOTALL)


def _refusal(error: Invalid) -> str:
    """The first field that is invalid, and why. Its value may be long, and may be a whole object."""
    cause = next(iter(error.causes), None)
    text = f"`{cause.field}`: {_QUOTED.sub('', cause.message)}" if cause is not None else error.message
    line = text.replace("\n", " ")
    return line if len(line) <= _LONGEST_REFUSAL else f"{line[: _LONGEST_REFUSAL - 3]}..."


_DONE = {"create": "creates", "update": "updates", "patch": "patches", "delete": "deletes"}
_DONE |= {"get": "reads", "list": "lists", "watch": "watches", "deletecollection": "deletes all"}


waker: contextvars.ContextVar[str] = contextvars.ContextVar("waker", default="")
"""What woke the present reconcile."""


class Worked(NamedTuple):
    """A reconcile, or a read of one from the cache.

    Attributes:
        at: When, in the world's time.
        works_on: For what the reconcile is, see :attr:`Sent.works_on`.
        looks_at: What it reads: the key of an object, or the beginning of the keys of several.
    """

    at: float
    works_on: frozenset[str]
    looks_at: str = ""

    @classmethod
    def now(cls, looks_at: str = "") -> Self:
        """What runs at this moment."""
        return cls(asyncio.get_running_loop().time(), works_on.get(), looks_at)


works_on: contextvars.ContextVar[frozenset[str]] = contextvars.ContextVar("works_on", default=frozenset())
"""The objects that the present reconcile or handler is for."""

whence: contextvars.ContextVar[Span | None] = contextvars.ContextVar("whence", default=None)
"""The line of the user's code for which somebody else sends a request."""

kopf_sends: contextvars.ContextVar[bool | None] = contextvars.ContextVar("kopf_sends", default=None)
"""Whether the present request only has notes of kopf. ``None`` if kopf does not send it."""

_blocks: contextvars.ContextVar[bool] = contextvars.ContextVar("blocks", default=False)
"""Whether the event loop stands until the present request is answered."""

author: contextvars.ContextVar[Sent | None] = contextvars.ContextVar("author", default=None)
"""The request that makes the present change."""


unavoidable: contextvars.ContextVar[bool] = contextvars.ContextVar("unavoidable", default=False)
"""Whether the operator cannot hold back the present change: somebody makes it, or a former leader."""


class Tape:
    """The requests of all the operator's processes in one history.

    Args:
        root: The folder of the user's code.
        faults: What goes wrong.
        on_write: Called after each write that succeeded, with its number.
    """

    def __init__(self, root: Path | None, faults: Sequence[Fault], on_write: Callable[[int], None]) -> None:
        self.sent: list[Sent] = []
        self.count = 0
        self.writes = 0
        self.processes = 0
        self.struck: dict[Fault, Sent] = {}
        self.late: list[asyncio.Task[None]] = []
        self.overrun = False
        self.is_hot = False
        self._since_change = 0
        self._faults = faults
        self._step = 0
        self._in_step: Counter[str] = Counter()
        self._since_rest = 0
        self._beats: set[str] = set()
        self._on_write = on_write
        self._root = root

    def note(self, call: Call, process: int) -> Sent:
        """Note a request of a process at the moment when it is sent."""
        route = parse_path(call.path)
        group, name = (route.group_version.group, route.name) if route is not None else ("", "")
        resource = f"{route.plural}/{route.subresource}".rstrip("/") if route is not None else ""
        verb = _verb(call, name)
        counted = resource.partition("/")[0] not in _RECORDS and verb != "watch"
        counted = counted and not (verb == "list" and "limit" in dict(call.query))  # of an informer
        self.count += counted
        is_write = verb not in ("get", "list", "watch")
        self.writes += counted and is_write
        if not name and call.body and verb == "create":
            name = (orjson.loads(call.body).get("metadata") or {}).get("name", "")
        sent = Sent(
            self.count if counted else 0,
            self.writes if counted and is_write else 0,
            verb,
            group,
            resource,
            name,
            _place_here(self._root) or whence.get(),
            at=asyncio.get_running_loop().time(),
            because=waker.get(),
            works_on=works_on.get(),
            is_of_kopf=kopf_sends.get() is not None,
            is_note=kopf_sends.get() or False,
            process=process,
        )
        self.sent.append(sent)
        self._since_rest += not sent.is_note
        if self._since_rest > MOST_REQUESTS:
            self.overrun = True
        return sent

    def begin_step(self) -> None:
        """Somebody takes the next step."""
        self._step += 1
        self._in_step.clear()

    def rest(self) -> None:
        """Everything is at rest."""
        self._since_rest = 0
        self._since_change = 0

    def change(self) -> None:
        """Something has changed."""
        self._since_change = 0

    def beat(self, sent: Sent, version: int) -> None:
        """Note that a request has changed only fields of a status that may differ, and the version of that change."""
        sent.is_beat = True
        self._since_rest -= 1
        self._beats.add(str(version))

    def is_beat(self, line: bytes) -> bool:
        """Whether an event of a watch tells of such a change."""
        if not self._beats:
            return False
        return (orjson.loads(line).get("object", {}).get("metadata") or {}).get("resourceVersion") in self._beats

    def reconciled(self) -> None:
        """A reconcile has ended."""
        self._since_change += 1
        if self._since_change > MOST_RECONCILES:
            self.overrun = self.is_hot = True

    @property
    def is_almost_hot(self) -> bool:
        """Whether a few more reconciles are too many."""
        return self._since_change > MOST_RECONCILES - 5

    def fault_of(self, sent: Sent) -> Fault | None:
        """The fault that this request meets."""
        if not sent.number or not self._faults:
            return None
        what = sent.what
        self._in_step[what] += 1
        at = [(0, "", sent.number), (self._step, what, self._in_step[what])]
        for fault in self._faults:
            if (fault.step, fault.what, fault.request) in at:
                self.struck[fault] = sent
                return fault
        return None

    def written(self, sent: Sent) -> None:
        """Tell that a write succeeded."""
        if sent.write:
            self._on_write(sent.write)


@dataclass(frozen=True, slots=True)
class Behind:
    """How far the caches of a process are behind.

    Attributes:
        lag: Virtual seconds between two events of a watch.
        resource: The only resource whose watch lags. Empty for all.
        version: The version of the API server that the first lists show; 0 for the present one.
        until: The virtual time at which the caches begin to catch up.
    """

    lag: float = 0.0
    resource: str = ""
    version: int = 0
    until: float = 0.0


class Gate:
    """The connection of one process of the operator. After :meth:`die`, nothing passes it."""

    def __init__(self, server: FakeApiServer, tape: Tape, behind: Behind) -> None:
        self._server = server
        self._tape = tape
        tape.processes += 1
        self._process = tape.processes
        self._behind = behind
        self._dead = False
        self._late = 0
        self._blind = asyncio.Event()
        self._blind.set()
        self._broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.died = asyncio.Event()
        """Set when a fault has ended the process."""
        self.meanwhile: dict[FaultKind, Callable[[], None]] = {}
        """What happens while the answer to a request is on its way, for faults of these kinds."""

    @property
    def is_dead(self) -> bool:
        """Whether the process has ended."""
        return self._dead

    @property
    def is_late(self) -> bool:
        """Whether an event is still to come because the caches lag."""
        return self._late > 0 and not self._dead

    def die(self) -> None:
        """Let no request and no answer pass from now on."""
        self._dead = True
        self.died.set()

    def _overtake(self, call: Call, sent: Sent, seconds: float) -> None:
        """Let another process lead before a request arrives. A leader without a lease sends no further one."""

        async def arrive() -> None:
            unavoidable.set(True)
            await asyncio.sleep(seconds)
            with contextlib.suppress(Exception):  # nobody waits for the answer
                await self._pass(call, sent)

        self._tape.late.append(asyncio.create_task(arrive()))
        self.die()

    def blind(self) -> None:
        """Break all watches. New ones wait for :meth:`see`."""
        self._blind.clear()
        self._broken.set_result(None)
        self._broken = asyncio.get_running_loop().create_future()

    def see(self) -> None:
        """Let watches begin again."""
        self._blind.set()

    async def pass_aside(self, call: Call) -> bytes:
        """Pass a request on that no history is about: it asks for kinds, or is about the Leases of replicas."""
        await self._alive()
        return await self._server.request(call)

    async def request(self, call: Call) -> bytes:
        """Pass a request on, unless a fault strikes; see :class:`~pykb.client.connection.Connection`."""
        await self._alive()
        sent = self._tape.note(call, self._process)
        if self._tape.overrun:
            self.die()
        if sent.verb == "list" and not sent.number:
            await self._blind.wait()
            call = call if sent.is_of_kopf else self._as_of_then(call)
        if _blocks.get():
            self._pass_time(LATENCY)
        else:
            await asyncio.sleep(LATENCY)
        await self._alive()
        fault = self._tape.fault_of(sent)
        if fault is not None and fault.kind is FaultKind.CRASH_BEFORE:
            self.die()
        if fault is not None and fault.kind is FaultKind.OVERTAKEN:
            self._overtake(call, sent, fault.seconds)
        if fault is not None and fault.kind is FaultKind.REFUSE:
            sent.status = fault.status
            raise _failure(fault.status)
        await self._alive()
        answer = await self._pass(call, sent)
        if fault is not None and fault.kind is FaultKind.CRASH_AFTER:
            self.die()
        if fault is not None and fault.kind is FaultKind.LOSE_ANSWER:
            raise _failure(0)
        if fault is not None and fault.kind in self.meanwhile and not _blocks.get():  # or nothing else could happen
            self.meanwhile[fault.kind]()
            await asyncio.sleep(fault.seconds)
        await self._alive()
        return answer

    def request_now(self, call: Call) -> bytes:
        """Pass a request on while the event loop stands, as a plain function in a coroutine does.

        Raises:
            RuntimeError: The answer needs the event loop.
        """
        token = _blocks.set(True)
        answering = self.request(call)
        try:
            while True:
                if answering.send(None) is not None:  # `asyncio.sleep(0)` gives nothing to wait for
                    answering.close()
                    message = (
                        f"{call.method} {call.path} blocks the event loop, and a webhook of this operator needs it"
                    )
                    raise RuntimeError(message)
        except StopIteration as end:
            answer: bytes = end.value
            return answer
        finally:
            _blocks.reset(token)

    def _pass_time(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        if isinstance(loop, VirtualLoop):
            loop.pass_time(seconds)

    @contextlib.asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[AsyncIterator[bytes]]:
        """Pass a watch on; see :class:`~pykb.client.connection.Connection`."""
        await self._alive()
        await self._blind.wait()
        sent = self._tape.note(call, self._process)
        await asyncio.sleep(LATENCY)
        async with self._server.stream(call) as lines:
            # kopf begins with the present state: it has no caches that others have filled before.
            behind = replace(self._behind, until=0.0) if sent.is_of_kopf else self._behind
            passed = self._lines(lines, sent.resource, behind)
            try:
                yield passed
            finally:
                await passed.aclose()

    async def execute(self, call: Call, stdin: bytes | None, limit: int) -> ExecResult:
        """Run a command; see :class:`~pykb.client.connection.Connection`."""
        await self._alive()
        self._tape.note(call, self._process)
        await asyncio.sleep(LATENCY)
        return await self._server.execute(call, stdin, limit)

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    async def _pass(self, call: Call, sent: Sent) -> bytes:
        token = author.set(sent)
        try:
            answer = await self._server.request(call)
        except Exception as error:
            sent.status = getattr(error, "status", 0)
            if isinstance(error, Invalid):
                sent.refusal = _refusal(error)
            raise
        finally:
            author.reset(token)
        sent.status = 200
        self._tape.written(sent)
        return answer

    def _as_of_then(self, call: Call) -> Call:
        """The list of an informer, as long as the caches are behind."""
        behind = self._behind
        if asyncio.get_running_loop().time() >= behind.until or "continue" in dict(call.query):
            return call
        exact = (("resourceVersion", str(behind.version)), ("resourceVersionMatch", "Exact"))
        return replace(call, query=(*call.query, *exact))

    async def _lines(self, lines: AsyncIterator[bytes], resource: str, behind: Behind) -> AsyncGenerator[bytes]:
        broken = self._broken
        while True:
            following = asyncio.ensure_future(next_line(lines))
            try:
                both: set[asyncio.Future[Any]] = {following, broken}
                await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                if broken.done():
                    raise _failure(0)
                line = following.result()
            finally:
                if following.cancel():
                    await asyncio.wait({following})  # its generator can be closed only then
            if line is None:
                return
            self._late += 1
            try:
                # If each beat was late by as much, the caches of an operator with a pulse would never catch up.
                if behind.lag and behind.resource in ("", resource) and not self._tape.is_beat(line):
                    await asyncio.sleep(behind.lag)
                await asyncio.sleep(max(0.0, behind.until - asyncio.get_running_loop().time()))
                await self._alive()
            finally:
                self._late -= 1
            yield line

    async def _alive(self) -> None:
        """Return only while the process lives."""
        if self._dead and _blocks.get():
            raise asyncio.CancelledError
        if self._dead:
            await until_cancelled()


async def next_line(lines: AsyncIterator[bytes]) -> bytes | None:
    """The next line of a watch; ``None`` at its end."""
    return await anext(lines, None)


def _verb(call: Call, name: str) -> str:
    if call.method == "GET" and dict(call.query).get("watch") in ("1", "true"):
        return "watch"
    of_object, of_collection = _VERBS[call.method]
    return of_object if name else of_collection


_VERBS = {
    "GET": ("get", "list"),
    "POST": ("create", "create"),
    "PUT": ("update", "update"),
    "PATCH": ("patch", "patch"),
    "DELETE": ("delete", "deletecollection"),
}
"""The verbs of access control, for an object and for a collection."""


def _failure(status: int) -> Exception:
    if status:
        reason = _REASONS[status]
        body: dict[str, Any] = {"kind": "Status", "status": "Failure", "reason": reason, "code": status}
        return error_from_status(status, {**body, "message": f"the explorer answered {status}"}, retry_after=None)
    found = CLUSTER_UNREACHABLE.at(None, "the explorer lost the answer")
    return ServerUnreachable(found, connected=True)
