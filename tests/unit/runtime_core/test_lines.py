"""A reconcile in one line, and how lines that repeat are folded."""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import Iterator
from datetime import timedelta

import pytest

from pykb.api.core.v1 import ConfigMap, Secret
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import (
    CauseKind,
    ControllerBuilder,
    EventType,
    FieldChange,
    LogFormat,
    Manager,
    ObjectId,
    ReconcileCause,
    ReconcileId,
    Reconciler,
    ReconcileRecord,
    Request,
    Result,
    SentRequest,
    TerminalError,
    VirtualClock,
    configure_logging,
)
from pykb.runtime.fake import fake_client
from pykb.runtime.records.lines import ReconcileLines, because, line_of
from pykb.testing import eventually, running

OWN = ReconcileId("web", Request("default", "home"), "1")
SERVICE = ObjectId("v1", "Service", "default", "home")
PORT, TYPE = FieldChange("spec.ports", 80, 81), FieldChange("spec.type", None, "NodePort")
AGE = FieldChange("metadata.deletionGracePeriodSeconds", None, 0)
DELETION = FieldChange("metadata.deletionTimestamp", None, "2026-01-01T00:00:00Z")


def changed(*changes: FieldChange, by: ReconcileId | None = None) -> ReconcileCause:
    """A change of the Service."""
    return ReconcileCause(CauseKind.EVENT, EventType.UPDATE, SERVICE, changes, written_by=by)


@pytest.mark.parametrize(
    ("causes", "said"),
    [
        ([], ""),
        ([ReconcileCause(CauseKind.RETRY)], "the last reconcile failed"),
        ([ReconcileCause(CauseKind.REQUEUE_AFTER)], "it asked to come back"),
        ([ReconcileCause(CauseKind.PROGRAM)], "the program asked for it"),
        ([ReconcileCause(CauseKind.INITIAL, EventType.CREATE, SERVICE)], "it found Service home when it started"),
        ([ReconcileCause(CauseKind.RESYNC, EventType.UPDATE, SERVICE)], "Service home was looked at again"),
        ([ReconcileCause(CauseKind.EVENT, EventType.CREATE, SERVICE)], "Service home was created"),
        ([ReconcileCause(CauseKind.EVENT, EventType.DELETE, SERVICE)], "Service home was deleted"),
        ([changed(PORT)], "somebody else changed `spec.ports` of Service home"),
        ([changed(PORT, TYPE)], "somebody else changed `spec.ports` and 1 more field of Service home"),
        ([changed(AGE, DELETION)], "somebody else asked to delete Service home"),
        ([changed(DELETION, by=OWN)], "it asked to delete Service home itself"),
        ([changed(PORT, by=OWN)], "it changed `spec.ports` of Service home itself"),
        ([changed(PORT, by=OWN._replace(request="b"))], "it changed `spec.ports` of Service home itself, for b"),
        ([changed(PORT, by=OWN._replace(controller="b"))], "the controller b changed `spec.ports` of Service home"),
        ([changed(), ReconcileCause(CauseKind.RETRY)], "Service home was written, without a change"),
        ([ReconcileCause(CauseKind.EVENT, EventType.GENERIC, SERVICE)], "of an event of Service home"),
    ],
)
def test_the_last_event_is_told_or_else_the_last_cause(causes, said):
    """With at most one field."""
    assert because(ReconcileRecord(OWN, tuple(causes))) == said


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What is logged, in the format of `pykb dev`."""
    root = logging.getLogger()
    before, level, stream = root.handlers[:], root.level, io.StringIO()
    configure_logging(style=LogFormat.RECONCILES, stream=stream)
    yield stream
    root.handlers[:] = before
    root.setLevel(level)


def told(log: io.StringIO) -> list[str]:
    """The lines about reconciles, without their times."""
    lines = [line[len("00:00:00 ") :] for line in log.getvalue().splitlines() if line[2:3] == ":"]
    return [line for line in lines if line.startswith(("shop ", "plain "))]


def listening(*, clock: VirtualClock | None = None) -> Manager:
    """A manager in memory that logs a line for each reconcile."""
    manager = Manager(client=fake_client(), clock=clock)
    manager.listen(ReconcileLines(manager.clock))
    return manager


def config_map(name: str, **data: str) -> ConfigMap:
    """An object."""
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default"), data=data)


class Shop(Reconciler):
    """Makes a Secret, and writes its own object."""

    async def reconcile(self, request: Request) -> Result:
        """Do it once."""
        found = await self.client.find(ConfigMap, request)
        if found is None or "seen" in found.data:
            return Result()
        hidden = Secret(metadata=ObjectMeta(name="key", namespace="default"), string_data={"a": "hunter2"})
        await self.client.create(hidden)
        found.data["seen"] = "yes"
        await self.client.update(found)
        return Result(requeue_after=timedelta(seconds=30))


class Plain(Reconciler):
    """Writes its own object from a thread."""

    def reconcile(self, request: Request) -> None:
        """Do it once."""
        found = self.client.sync.find(ConfigMap, request)
        if found is not None and "seen" not in found.data:
            found.data["seen"] = "yes"
            self.client.sync.update(found)


class Failing(Reconciler):
    """Fails."""

    error: type[Exception] = KeyError
    message: str = "size"

    async def reconcile(self, request: Request) -> None:
        """Fail."""
        raise self.error(self.message)


async def test_a_line_says_why_what_and_how(log):
    """With the line of the program. A Secret's values are not in it, nor are Events."""
    manager = listening(clock=VirtualClock())
    ControllerBuilder(manager).for_(ConfigMap).named("shop").complete(Shop(manager.client))
    async with running(manager):
        await manager.client.create(config_map("a", x="1"))
        await eventually(lambda: len(told(log)) == 2)
    create, update = (line_number(Shop, text) for text in ("client.create(", "client.update("))
    assert told(log) == [
        (
            f"shop default/a, because ConfigMap a was created: creates Secret key (test_lines.py:{create}), "
            f'updates ConfigMap a [data.seen: unset -> "yes"] (test_lines.py:{update}); done in under 1 ms, again in 30 s'
        ),
        "shop default/a, because it changed `data.seen` of ConfigMap a itself: writes nothing; done in under 1 ms",
    ]
    assert "hunter2" not in log.getvalue()


def line_number(of: type, text: str) -> int:
    """The line of a class's source that has a text."""
    import inspect

    lines, first = inspect.getsourcelines(of)
    return first + next(number for number, line in enumerate(lines) if text in line)


async def test_a_line_of_a_plain_reconciler_names_its_place_too(log):
    """It runs in a thread, and its requests run in the event loop."""
    manager = listening()
    ControllerBuilder(manager).for_(ConfigMap).named("plain").complete(Plain(manager.client))
    async with running(manager):
        await manager.client.create(config_map("a", x="1"))
        await eventually(lambda: len(told(log)) == 2)
    assert f"(test_lines.py:{line_number(Plain, 'sync.update(')})" in told(log)[0]


async def test_an_error_has_its_own_frames_once_and_its_repetitions_are_folded(log):
    """Instead of a traceback for each try. The controller itself logs nothing."""
    clock = VirtualClock()
    manager = listening(clock=clock)
    ControllerBuilder(manager).for_(ConfigMap).named("shop").complete(Failing(manager.client))
    async with running(manager):
        await manager.client.create(config_map("a", x="1"))
        await manager.client.create(config_map("b", x="1"))
        await eventually(lambda: len(told(log)) == 2)
        queue = manager.controllers[0].queue
        for failures in range(2, 14):
            clock.advance(timedelta(seconds=0.005 * 2 ** (failures - 2)))
            await eventually(lambda failures=failures: queue.failures(Request("default", "b")) == failures)
    place = line_number(Failing, "raise self.error(")
    assert told(log)[0] == (
        "shop default/a, because ConfigMap a was created: writes nothing; fails with KeyError: 'size' "
        f"(test_lines.py:{place}), failure 1, next try in 5 ms"
    )
    assert [line for line in told(log) if "default/b: " in line] == [
        "shop default/b: same error, failure 9, next try in 1.28 s",
        "shop default/b: same error, failure 10, next try in 2.56 s",
        "shop default/b: same error, failure 11, next try in 5.12 s",
        "shop default/b: same error, failure 12, next try in 10.2 s",
        "shop default/b: same error, failure 13, next try in 20.5 s",
    ]
    assert log.getvalue().count("Traceback") == 1
    frames = [line for line in log.getvalue().splitlines() if line.startswith("  File ")]
    assert frames == [f'  File "{__file__}", line {place}, in reconcile']
    assert "reconcile failed" not in log.getvalue()


async def test_an_error_that_is_not_tried_again_says_so(log):
    """Whoever waits for the next try would wait for ever."""
    manager = listening()
    failing = Failing(manager.client)
    failing.error = TerminalError
    ControllerBuilder(manager).for_(ConfigMap).named("shop").complete(failing)
    async with running(manager):
        await manager.client.create(config_map("a", x="1"))
        await eventually(lambda: len(told(log)) == 1)
        await asyncio.sleep(0)
    assert told(log)[0].endswith("), not tried again")


@pytest.mark.parametrize(("seconds", "told_as"), [(0.04, "40 ms"), (30, "30 s"), (300, "5 min"), (5400, "90 min")])
def test_times_are_short(seconds, told_as):
    """As people say them."""
    record = ReconcileRecord(OWN, result=Result(requeue_after=timedelta(seconds=seconds)))
    assert line_of(record).endswith(f"done in under 1 ms, again in {told_as}")


def test_a_change_of_the_spec_is_told_before_annotations():
    """`kubectl apply` writes an annotation with each change."""
    annotation = FieldChange("metadata.annotations['kubectl.kubernetes.io/last-applied-configuration']", "a", "b")
    record = ReconcileRecord(OWN, (changed(annotation, PORT),))
    assert because(record) == "somebody else changed `spec.ports` and 1 more field of Service home"


def test_hostile_names_and_messages_stay_on_one_short_line():
    """They come from whoever may create objects."""
    record = ReconcileRecord(ReconcileId("web", Request("default", "a\x1b[2J\nb"), "1"))
    record.sent = [
        SentRequest("POST", ObjectId("v1", "Service", "default", f"x\r{number}"), error=f"Conflict: {'x' * 5000}\n")
        for number in range(100)
    ]
    record.error = ValueError(f"\x1b]0;title\x07 {'y' * 5000}")
    line = line_of(record)
    assert line.isprintable()
    assert len(line) <= 1000
    assert "96 more writes" in line
    assert line.endswith("not tried again")
