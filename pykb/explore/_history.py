"""What happens to an operator in one run, as values that can be stored and replayed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from pykb.client.ranges import MOST as MOST_RANGES
from pykb.runtime.records.causes import ObjectId

_STRICT = ConfigDict(extra="forbid")
Manifest = dict[str, Any]


SECOND_NAMESPACE = "second"
"""Where histories have another object with the name of the first one."""


class Identity(ObjectId):
    """Names an object in a history. Hardly any are in another namespace than the others."""

    __slots__ = ()

    def __str__(self) -> str:
        where = f"{SECOND_NAMESPACE}/" if self.namespace == SECOND_NAMESPACE else ""
        return f"{self.kind} {where}{self.name}"

    @property
    def key(self) -> str:
        """Names it in all versions."""
        return f"{self.api_version.rpartition('/')[0]}/{self.kind}/{self.namespace}/{self.name}"

    @property
    def manifest(self) -> Manifest:
        """The least manifest with this identity."""
        metadata = {"name": self.name, **({"namespace": self.namespace} if self.namespace else {})}
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata}

    @property
    def is_record(self) -> bool:
        """Whether it is an event or a lease: a record about the work, not its result."""
        return self.kind in ("Event", "Lease")


MOST_MEMBERS = 8
"""Replicas that share the objects in a history."""


class Verb(StrEnum):
    """What somebody does to an object."""

    CREATE = "create"
    REPLACE = "replace"
    """Change it as `kubectl apply` does: only what somebody has set goes. Create it if it is missing."""
    PATCH = "patch"
    REWRITE = "rewrite"
    """Read the object in the manifest's version, and write it back."""
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Step:
    """One act of somebody other than the operator.

    Attributes:
        verb: What is done.
        manifest: The object. Its identity is enough for a deletion. A merge patch for ``PATCH``.
        after_write: Act right after this write of the operator, counted from 1. Defaults to the
            moment when everything is at rest.
        unseen: The operator's watches are broken meanwhile. It sees only the result. Of several such
            steps in a row, it sees the result of the last one.
        soon: The next step follows after some seconds, whether or not everything is at rest.
        together: The next step is taken at the same moment.
        members: So many replicas share the objects when the step is taken, of those that have shards. Those that came
            last leave. Defaults to those that are there.
        note: What is special about the object, for people.
    """

    __pydantic_config__ = _STRICT

    verb: Verb
    manifest: Manifest
    after_write: int | None = None
    unseen: bool = False
    soon: bool = False
    together: bool = False
    members: Annotated[int, Field(ge=0, le=MOST_MEMBERS)] = 0
    note: str = ""


class FaultKind(StrEnum):
    """What goes wrong."""

    CRASH_BEFORE = "crash before"
    CRASH_AFTER = "crash after"
    REFUSE = "refuse"
    LOSE_ANSWER = "lose the answer"
    LAG = "lag"
    BACK = "back"
    """In the end, another process takes over, whose caches are behind those of the first one."""
    OVERTAKEN = "overtaken"
    """The process is paused while a request is on its way. Another one leads when the request arrives."""
    JOIN = "join"
    """A replica comes while the answer to a request is on its way."""
    LEAVE = "leave"
    """The replica that has sent a request is stopped while the answer is on its way."""
    LATE = "late"
    """Workloads and volume claims do not become ready for a while."""
    FAIL = "fail"
    """Workloads fail, and volume claims stay pending."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    Attributes:
        kind: What goes wrong.
        request: At which request of the operator, counted from 1.
        step: Count the requests of this step only. The first step is 1. Defaults to the whole history.
        what: Of a step, count only requests that do this: ``updates the status of sites/home``. A `*` stands for a uid.
        status: The answer of ``REFUSE``; 0 for no answer.
        seconds: For how long the caches lag, workloads are not ready, or a request or its answer is on its way.
        resource: The plural of the only resource whose cache lags. Defaults to all.
        version: The ``resourceVersion`` whose state its caches show at first: that of the last write that they have.
    """

    __pydantic_config__ = _STRICT

    kind: FaultKind
    request: int = 0
    status: int = 0
    seconds: float = 0.0
    resource: str = ""
    version: int = 0
    step: int = 0
    what: str = ""


@dataclass(frozen=True, slots=True)
class Takeover:
    """An earlier version of the operator worked before. What it made is there.

    Attributes:
        name: Its revision.
        sample: The name of the sample for which it worked.
        write: It stopped right after this write, counted from 1; 0 if everything was at rest.
        what: The write, for people.
        is_recorded: Whether a cluster has recorded what is there; ``name`` says where.
        smaller: The sample, if it was made smaller.
    """

    __pydantic_config__ = _STRICT

    name: str
    sample: str
    write: int = 0
    what: str = ""
    is_recorded: bool = False
    smaller: Manifest | None = None


@dataclass(frozen=True, slots=True)
class History:
    """Steps and a fault, or none. After each step without ``after_write``, the world comes to rest."""

    __pydantic_config__ = _STRICT

    steps: tuple[Step, ...]
    fault: Fault | None = None
    idle: float = 0.0
    """Virtual seconds to stay at rest in the end."""
    further: tuple[Fault, ...] = ()
    """More faults, in their order. They may strike in one reconcile, or, as those of several histories in one run, with
    the world at rest between them."""
    chance: int = 0
    """Selects other random values."""
    after: Takeover | None = None
    """What was before."""
    is_kept: bool = False
    """Whether to keep what is there after each write: see :attr:`Outcome.moments`."""
    background: tuple[Manifest, ...] = ()
    """Objects that somebody created long before. The operator has done its work for them."""
    shards: Annotated[int, Field(ge=0, le=MOST_RANGES)] = 0
    """Into how many ranges the objects are divided among replicas that run at the same time; 0 for one process."""

    @property
    def faults(self) -> tuple[Fault, ...]:
        """All faults, in order."""
        return () if self.fault is None else (self.fault, *self.further)

    @property
    def is_plain(self) -> bool:
        """Whether no step is unseen or comes while the operator works."""
        return not any(step.unseen or step.after_write is not None for step in self.steps)

    @property
    def is_undisturbed(self) -> bool:
        """Whether nothing but plain steps happens."""
        return (
            self.is_plain
            and self.fault is None
            and self.after is None
            and not (self.idle or self.chance or self.is_kept or self.shards)
            and not any(step.soon or step.together for step in self.steps)
        )

    def first(self, steps: int | None) -> History:
        """The history up to a step, if what follows cannot change what was before."""
        is_early = self.fault is None or self.fault.kind is not FaultKind.BACK
        return replace(self, steps=self.steps[:steps]) if self.is_plain and is_early else self

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> History:
        """The opposite of :meth:`to_json`.

        Raises:
            ValueError: The values are not those of a history.
        """
        try:
            history = TypeAdapter(cls).validate_python(values)
            every = (*(step.manifest for step in history.steps), *history.background)
            named = [Identity.of(manifest) for manifest in every]
        except ValidationError as error:
            first = error.errors()[0]
            raise ValueError(f"not a history: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a history: {error}") from error
        if not all(each.kind and each.name and all(isinstance(part, str) for part in each) for each in named):
            raise ValueError("not a history: an object has no kind or no name")
        return history
