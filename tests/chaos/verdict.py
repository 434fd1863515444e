"""What came of a fault: whether every object is right at the end, and what it took."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from pykb.api.core.v1 import ConfigMap
from pykb.runtime import ApiError, Client, NoKindMatch, ServerUnreachable
from pykb.testing import eventually
from tests.chaos.kinds import LABEL, Gadget, child_name

COLUMNS = ("fault", "objects", "writes", "errors", "lost", "left over", "duplicated", "unreported", "recovery, s")


@dataclass
class Verdict:
    """The outcome of one fault.

    Attributes:
        fault: What was done.
        objects: How many names the load used.
        writes: How many writes the load made.
        errors: How many reconciles raised, which is no fault: each was tried again.
        lost: Gadgets that were not right in the end.
        left_over: Children without a gadget.
        duplicated: Reconciles of one object at once, or writes of a replica that led no more.
        unreported: Errors missing in the log or in the metrics.
        recovery: Seconds from the end of the fault until everything was right.
        problems: What else went wrong, in words.
    """

    fault: str
    objects: int
    writes: int = 0
    errors: int = 0
    lost: list[str] = field(default_factory=list)
    left_over: list[str] = field(default_factory=list)
    duplicated: int = 0
    unreported: int = 0
    recovery: float | None = None
    problems: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether nothing is amiss."""
        amiss = (self.lost, self.left_over, self.duplicated, self.unreported, self.problems)
        return self.recovery is not None and not any(amiss)

    def row(self) -> tuple[str, ...]:
        """The cells of its row, in the order of :data:`COLUMNS`."""
        recovery = "never" if self.recovery is None else f"{self.recovery:.1f}"
        numbers = (self.objects, self.writes, self.errors, len(self.lost), len(self.left_over), self.duplicated)
        return (self.fault, *map(str, numbers), str(self.unreported), recovery)


def table(verdicts: Iterable[Verdict]) -> str:
    """A Markdown table."""
    rows = [COLUMNS, *(verdict.row() for verdict in verdicts)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    return "\n".join([lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]])


@dataclass(frozen=True)
class Found:
    """What is not right at a moment."""

    wrong: dict[str, str]
    left_over: list[str]

    def __str__(self) -> str:
        wrong = [f"{name} {why}" for name, why in sorted(self.wrong.items())]
        return ", ".join([*wrong, *(f"{name} left over" for name in self.left_over)][:8]) or "nothing"


async def look(client: Client, namespace: str) -> Found:
    """Compare the gadgets of a namespace with their children. What there is, is the truth; nobody remembers it."""
    gadgets = {each.metadata.name: each for each in await client.list(Gadget, namespace=namespace)}
    labelled = await client.list(ConfigMap, namespace=namespace, labels=LABEL)
    children = {each.metadata.name: each for each in labelled}
    wrong: dict[str, str] = {}
    for name, gadget in gadgets.items():
        child = children.pop(child_name(name), None)
        status = gadget.status
        if gadget.metadata.deletion_timestamp is not None:
            wrong[name] = "is not let go"
        elif (status.observed_generation, status.size) != (gadget.metadata.generation, gadget.spec.size):
            wrong[name] = f"reports generation {status.observed_generation} of {gadget.metadata.generation}"
        elif child is None:
            wrong[name] = "has no child"
        elif (child.data or {}).get("size") != str(gadget.spec.size):
            wrong[name] = "has an old child"
        elif [owner.uid for owner in child.metadata.owner_references or ()] != [gadget.metadata.uid]:
            wrong[name] = "has the child of another"
    return Found(wrong, sorted(children))


async def until_right(client: Client, namespace: str, patience: timedelta) -> tuple[float | None, Found]:
    """Wait until everything is right; gives the moment when it was seen so (monotonic), or ``None`` and what is wrong."""
    last = Found({}, [])

    async def is_right() -> bool:
        nonlocal last
        try:
            last = await look(client, namespace)
        except (ApiError, NoKindMatch, ServerUnreachable) as error:
            raise AssertionError(str(error)) from error
        return not last.wrong and not last.left_over

    try:
        await eventually(is_right, timeout=patience, interval=timedelta(milliseconds=100))
    except AssertionError:
        return None, last
    return time.monotonic(), last
