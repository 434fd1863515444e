"""The records that a manager sends to `pykb dev`."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from pykb.runtime import Result, _stream
from pykb.runtime._stream import RecordFeed, RecordStream
from pykb.runtime.cache.event import EventType
from pykb.runtime.records.causes import (
    CauseKind,
    FieldChange,
    ObjectId,
    ReconcileCause,
    ReconcileId,
    ReconcileRecord,
    SentRequest,
    WebhookRecord,
    WebhookType,
)
from pykb.runtime.records.context import ReconcileContext, current_reconcile, current_webhook

OBJECT = ObjectId("v1", "Pod", "default", "a")


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def record(number: int = 1, **rest: Any) -> ReconcileRecord:
    """A reconcile that has sent one request."""
    change = FieldChange("spec.replicas", 1, 2)
    writer = ReconcileId("pods", "default/b", "r0")
    cause = ReconcileCause(CauseKind.EVENT, EventType.UPDATE, OBJECT, (change,), "kubectl", writer)
    sent = SentRequest("PUT", OBJECT, "status", (change,), place="a.py:7", path="/shop/a.py")
    made = ReconcileRecord(ReconcileId("pods", "default/a", f"r{number}"), (cause,), sent=[sent], seconds=0.5)
    for key, value in {"result": Result(), **rest}.items():
        setattr(made, key, value)
    return made


def received(end: socket.socket) -> list[Any]:
    """The lines that are there."""
    end.setblocking(False)
    text = b""
    try:
        while part := end.recv(2**20):
            text += part
    except BlockingIOError:
        pass
    return [json.loads(line) for line in text.splitlines()]


def test_a_record_has_all_that_is_known(ends: tuple[socket.socket, socket.socket]) -> None:
    """With whole paths: an editor opens them."""
    ours, theirs = ends
    RecordStream(ours).ended(record(result=Result(requeue_after=timedelta(seconds=20))))
    [told] = received(theirs)
    assert (told["event"], told["id"], told["outcome"], told["requeueAfter"]) == ("ended", "r1", "ok", 20)
    assert told["causes"][0]["writtenBy"] == {"controller": "pods", "request": "default/b", "id": "r0"}
    assert told["causes"][0]["changes"] == [{"path": "spec.replicas", "before": 1, "after": 2}]
    assert told["sent"][0]["place"] == {"path": "/shop/a.py", "line": 7}
    assert told["sent"][0]["object"] == {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "a"}


def test_an_error_has_its_line_and_its_traceback(ends: tuple[socket.socket, socket.socket]) -> None:
    """Of the program's own code."""
    ours, theirs = ends
    try:
        int("hole")
    except ValueError as error:
        RecordStream(ours).ended(record(result=None, error=error, failures=3, next_try=timedelta(seconds=4)))
    [told] = received(theirs)
    assert (told["outcome"], told["failures"], told["nextTry"]) == ("error", 3, 4)
    assert told["error"]["type"] == "ValueError"
    assert told["error"]["place"]["path"] == __file__
    assert "hole" in told["error"]["traceback"]


def test_the_log_lines_of_a_reconcile_are_its_own(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not those of another one, and only so many."""
    monkeypatch.setattr(_stream, "_MOST_LOGS", 2)
    ours, theirs = ends
    stream = RecordStream(ours)
    stream.watch_logs()
    try:
        stream.started(record(object=OBJECT))
        logging.getLogger("shop").warning("of nobody")
        for name in ("r1", "r2"):
            token = current_reconcile.set(ReconcileContext("pods", name, "default/a"))
            for number in range(3):
                logging.getLogger("shop").warning("%s says %s", name, number)
            current_reconcile.reset(token)
        stream.ended(record())
    finally:
        stream.close()
    started, told = received(theirs)
    assert started["object"] == {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "a"}
    assert [each["message"] for each in told["logs"]] == ["r1 says 0", "r1 says 1"]
    assert (told["logs"][0]["level"], told["moreLogs"]) == ("warning", 1)


def test_a_reader_that_does_not_read_delays_nothing(
    ends: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What does not fit is dropped. When it reads again, it gets how many that were, and whole lines."""
    monkeypatch.setattr(_stream, "_MOST_WAITING", 20_000)
    ours, theirs = ends
    stream = RecordStream(ours)
    for number in range(5000):
        stream.ended(record(number))
    first = received(theirs)
    while more := (stream.started(record(9999)), received(theirs))[1]:
        first += more
        if any(each.get("id") == "r9999" for each in more):
            break
    numbers = [int(each["id"][1:]) for each in first if each["event"] == "ended"]
    [dropped] = [each["records"] for each in first if each["event"] == "dropped"]
    assert numbers == [*range(len(numbers))]
    assert len(numbers) + dropped == 5000


async def test_what_waits_is_sent_when_the_reader_reads_on(ends: tuple[socket.socket, socket.socket]) -> None:
    """Also if no further reconcile comes."""
    ours, theirs = ends
    stream = RecordStream(ours)
    for number in range(2000):
        stream.ended(record(number))
    read: list[Any] = []
    text = b""
    loop = asyncio.get_running_loop()
    theirs.setblocking(False)
    while len(read) < 2000:
        text += await asyncio.wait_for(loop.sock_recv(theirs, 2**20), 25)
        *lines, text = text.split(b"\n")
        read += map(json.loads, lines)
    assert [each["id"] for each in read] == [f"r{number}" for number in range(2000)]
    stream.close()


def test_a_reader_that_is_gone_is_left_alone(ends: tuple[socket.socket, socket.socket]) -> None:
    """The manager works on."""
    ours, theirs = ends
    stream = RecordStream(ours)
    theirs.close()
    stream.ended(record())
    stream.ended(record())
    assert ours.fileno() == -1


def test_a_large_record_goes_without_its_changes(ends: tuple[socket.socket, socket.socket]) -> None:
    """It says so. Each value is cut in any case."""
    ours, theirs = ends
    stream = RecordStream(ours)
    values = tuple(FieldChange(f"spec.f{number}", "x" * 100_000, {"y": 1}) for number in range(90))
    sent = [SentRequest("PUT", OBJECT, changes=values)] * 3
    stream.ended(record(sent=sent))
    [told] = received(theirs)
    assert told["isReduced"]
    assert [each["changes"] for each in told["sent"]] == [[], [], []]
    stream.ended(record(sent=[SentRequest("PUT", OBJECT, changes=values[:1])]))
    [told] = received(theirs)
    assert len(told["sent"][0]["changes"][0]["before"]) < 3000
    assert told["sent"][0]["changes"][0]["after"] == {"y": 1}


def call(**rest: Any) -> WebhookRecord:
    """A call of a validator that is denied."""
    made = WebhookRecord("w1", WebhookType.VALIDATING, "/validate", OBJECT, operation="UPDATE", user="jane")
    made.allowed, made.message, made.fields, made.seconds = False, "too large", (("spec.replicas", "too many"),), 0.5
    made.sent_by = ReconcileId("pods", "default/b", "r0")
    for key, value in rest.items():
        setattr(made, key, value)
    return made


def test_a_call_has_its_answer_and_its_own_log_lines(ends: tuple[socket.socket, socket.socket]) -> None:
    """Also if a reconcile is what made the API server call, in this process."""
    ours, theirs = ends
    stream = RecordStream(ours)
    stream.watch_logs()
    try:
        stream.called(record := call(changes=(FieldChange("spec.replicas", 1, 2),), before={"a": 1}))
        tokens = current_reconcile.set(ReconcileContext("pods", "r1", "default/a")), current_webhook.set(record)
        logging.getLogger("shop").warning("looks at it")
        current_reconcile.reset(tokens[0])
        current_webhook.reset(tokens[1])
        logging.getLogger("shop").warning("of nobody")
        stream.answered(record)
    finally:
        stream.close()
    [told] = received(theirs)
    assert (told["event"], told["id"], told["type"], told["allowed"]) == ("webhook", "w1", "validating", False)
    assert told["object"] == {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "a"}
    assert (told["sentBy"]["id"], told["fields"]) == ("r0", [{"field": "spec.replicas", "message": "too many"}])
    assert [each["message"] for each in told["logs"]] == ["looks at it"]


def test_a_large_call_goes_without_its_objects(ends: tuple[socket.socket, socket.socket]) -> None:
    """It says so. Some of its changes stay."""
    ours, theirs = ends
    changes = tuple(FieldChange("f" * 1_000_000, "x" * 1_000_000, None) for _ in range(90))
    RecordStream(ours).answered(call(changes=changes, after={"x": "x" * 200_000}))
    [told] = received(theirs)
    assert told["isReduced"]
    assert (told["before"], told["after"], len(told["changes"])) == (None, None, 20)
    assert len(json.dumps(told)) < _stream.LARGEST


def test_without_a_listener_there_is_no_stream(tmp_path: Any) -> None:
    """The program that started this manager is gone, or its path is none."""
    assert RecordStream.connected(str(tmp_path / "nothing")) is None
    assert RecordStream.connected("x" * 200) is None
    assert RecordStream.connected("a\0b") is None


class Followed:
    """A feed, and whether it listens."""

    def __init__(self) -> None:
        self.listens = False
        self.feed = RecordFeed(lambda _: setattr(self, "listens", True), lambda _: setattr(self, "listens", False))


async def test_a_feed_listens_only_while_somebody_follows() -> None:
    """The first one begins it, the last one ends it."""
    followed = Followed()
    handlers = logging.getLogger().handlers
    before = [*handlers]
    first, second = followed.feed.follow(), followed.feed.follow()
    assert not followed.listens
    assert [await anext(first), await anext(second)] == [b"\n", b"\n"]
    assert (followed.listens, len(handlers)) == (True, len(before) + 1)
    followed.feed.started(record())
    for each in (first, second):
        assert json.loads(await anext(each))["event"] == "started"
    await first.aclose()
    assert followed.listens
    await second.aclose()
    assert (followed.listens, handlers) == (False, before)


async def test_a_follower_that_is_slow_loses_records_and_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets how many."""
    monkeypatch.setattr(_stream, "_MOST_WAITING", 5000)
    monkeypatch.setattr(_stream, "_BATCH", 2000)
    followed = Followed()
    slow, fast = followed.feed.follow(), followed.feed.follow()
    await anext(slow)
    await anext(fast)
    read: list[Any] = []
    for number in range(50):
        followed.feed.ended(record(number))
        read += map(json.loads, (await anext(fast)).splitlines())
    assert [each["id"] for each in read] == [f"r{number}" for number in range(50)]
    read.clear()
    while not any(each["event"] == "dropped" for each in read):
        followed.feed.started(record(99))
        read += map(json.loads, (await anext(slow)).splitlines())
    numbers = [int(each["id"][1:]) for each in read if each["event"] == "ended"]
    [dropped] = [each["records"] for each in read if each["event"] == "dropped"]
    assert numbers == [*range(len(numbers))]
    assert dropped >= 50 - len(numbers)
    await slow.aclose()
    await fast.aclose()


async def test_a_follower_has_to_come_again_after_some_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever may no longer read the records is refused then."""
    monkeypatch.setattr(_stream, "LASTS", timedelta(0))
    followed = Followed()
    assert [each async for each in followed.feed.follow()] == []
    assert not followed.listens
