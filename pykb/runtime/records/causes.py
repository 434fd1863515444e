"""Why a reconcile ran, what it sent and how it ended, and what webhooks were asked and answered, as values.

A :class:`ReconcileListener` or a :class:`WebhookListener` gets them (``manager.listen``). They never hold a value of a
Secret, nor of a field whose name is that of a secret.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any, NamedTuple, Self

import orjson

from pykb.api.safe_text import SECRET_WORDS, error_text, without_values
from pykb.client.guard import is_end, outside_task
from pykb.meta.json_diff import MISSING, Change, Parts, Path, parts_of, sorted_changes
from pykb.runtime.cache.event import EventType
from pykb.runtime.requests.reconcile import Result

logger = logging.getLogger(__name__)

HIDDEN = "***"
"""Stands in place of a secret value."""

_LONGEST_VALUE = 80
_SERVERS_OWN = ("resourceVersion", "managedFields", "generation")
"""Metadata that the server changes with every write. It says nothing about the change."""


_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class CauseKind(StrEnum):
    """What can wake a reconciler."""

    EVENT = "event"
    """An object changed."""
    INITIAL = "initial"
    """The object was in the first list."""
    RESYNC = "resync"
    """An object was reported again without a change."""
    RETRY = "retry"
    """The last reconcile failed."""
    REQUEUE_AFTER = "requeue_after"
    """A reconcile asked for it, or the program added the request with a delay."""
    PROGRAM = "program"
    """The program added the request."""


class ObjectId(NamedTuple):
    """Names an object. The name is empty for a collection, and the kind for an object of a channel."""

    api_version: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Self:
        """The identity of an object in wire form."""
        metadata = raw["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata.get("name", "")
        return cls(raw.get("apiVersion", ""), raw.get("kind", ""), namespace, name)

    @property
    def is_secret(self) -> bool:
        """Whether it is a Secret."""
        return self.kind == "Secret" and self.api_version == "v1"

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind or 'object'} {name}".rstrip("/ ")


class ReconcileId(NamedTuple):
    """Names one reconcile of this process. The ``id`` is the ``reconcileID`` of its log records."""

    controller: str
    request: Hashable
    id: str


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field that changed.

    Attributes:
        path: The field, such as ``spec.containers[0].image``.
        before: Its value; ``None`` if it was not set. Secret values are replaced by :data:`HIDDEN`.
        after: Its value now.
    """

    path: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.path}: {shown(self.before)} -> {shown(self.after)}"


@dataclass(frozen=True, slots=True)
class ReconcileCause:
    """One reason for a reconcile.

    Attributes:
        kind: Its kind.
        event: The type of the event, if there was one.
        object: The object of the event.
        changes: The fields that changed, of an update.
        field_manager: Who wrote the object, by its ``managedFields``. Empty if unknown.
        written_by: The reconcile of this process that wrote the object, if one did.
    """

    kind: CauseKind
    event: EventType | None = None
    object: ObjectId | None = None
    changes: tuple[FieldChange, ...] = ()
    field_manager: str = ""
    written_by: ReconcileId | None = None

    def __str__(self) -> str:
        if self.event is None or self.object is None:
            return str(self.kind)
        what = self.event if self.kind is CauseKind.EVENT else self.kind
        writer = self.written_by
        by = f"reconcile {writer.id} of {writer.controller} {writer.request}" if writer else self.field_manager
        fields = "; ".join(map(str, self.changes))
        return f"{what} of {self.object}" + (f" by {by}" if by else "") + (f" ({fields})" if fields else "")


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request that a reconcile sent to the API server.

    Attributes:
        method: The HTTP method.
        object: The object, or the collection.
        subresource: The subresource, such as ``status``.
        changes: What a write changed, compared with the object that the reconcile knew. Empty for
            creations and deletions, and if the object was unknown.
        dry_run: Whether nothing was stored.
        error: The class and the message of the error. Empty after a success.
        seconds: How long it took.
        place: The line of the program that sent it, such as ``vm_controller.py:31``. Empty if it is unknown.
        path: The file of this line, with its folder.
    """

    method: str
    object: ObjectId
    subresource: str = ""
    changes: tuple[FieldChange, ...] = ()
    dry_run: bool = False
    error: str = ""
    seconds: float = 0.0
    place: str = ""
    path: str = ""

    def __str__(self) -> str:
        part = f" ({self.subresource})" if self.subresource else ""
        fields = ", ".join(map(str, self.changes))
        return f"{self.method} {self.object}{part}" + (f": {self.error or fields}" if self.error or fields else "")


@dataclass(slots=True)
class ReconcileRecord:
    """One reconcile. Its requests and its end are filled in while it runs.

    ::

        class Writes(ReconcileListener):
            def ended(self, record: ReconcileRecord) -> None:
                for request in record.sent:
                    if request.method != "GET":
                        print(record.id.request, request)

        manager.listen(Writes())

    Attributes:
        id: Its identity.
        causes: Why it ran, oldest first. Empty if nobody listened yet when its request was added.
        more_causes: How many further causes were left out.
        sent: What it sent.
        result: What it returned, if it returned.
        error: What it raised. Neither result nor error if the manager cancelled it.
        seconds: How long it took.
        failures: How many reconciles of this request failed in a row, with this one.
        next_try: When it is tried again after an error, from then on. ``None`` if it is not.
        object: The object of its request, if the controller is ``for_`` a kind.
        queued: About how many requests waited for a worker when it started, and then when it ended.
    """

    id: ReconcileId
    causes: tuple[ReconcileCause, ...] = ()
    more_causes: int = 0
    sent: list[SentRequest] = field(default_factory=list)
    result: Result | None = None
    error: BaseException | None = None
    seconds: float = 0.0
    failures: int = 0
    next_try: timedelta | None = None
    object: ObjectId | None = None
    queued: int = 0


class ReconcileListener:
    """Gets a record of each reconcile. Override what you need.

    The methods are called in the event loop. They must not block. An error is logged.

    ::

        class Printer(ReconcileListener):
            def ended(self, record: ReconcileRecord) -> None:
                print(record.id, "because of", *record.causes)

        manager.listen(Printer())

    Attributes:
        needs_details: Whether the records have causes and requests. They cost about a tenth of a short reconcile.
        logs_errors: Whether it logs the errors of reconciles. The controllers do not, then.
    """

    needs_details: bool = True
    logs_errors: bool = False

    def started(self, record: ReconcileRecord) -> None:
        """A reconcile starts. Only its identity and its causes are known."""

    def ended(self, record: ReconcileRecord) -> None:
        """A reconcile ended."""


class WebhookType(StrEnum):
    """What a webhook does."""

    MUTATING = "mutating"
    """It sets defaults."""
    VALIDATING = "validating"
    """It allows or denies."""
    ADMISSION = "admission"
    """A handler of the program that may do both."""
    CONVERSION = "conversion"
    """It converts objects to another version."""


@dataclass(slots=True)
class WebhookRecord:
    """One call of a webhook by the API server, when it has ended.

    ::

        class Denials(WebhookListener):
            def answered(self, record: WebhookRecord) -> None:
                if record.allowed is False:
                    print(record.user, record.operation, record.object, record.message, record.fields)

        manager.listen(Denials())

    Attributes:
        id: Its identity.
        type: What the webhook does.
        path: The path of the webhook.
        object: The object. The first one if a conversion has several.
        objects: How many objects a conversion has; 1 for all other calls.
        operation: What the client does. Empty for a conversion.
        subresource: The subresource, such as ``status``.
        user: The name of the client's user. Empty for a conversion.
        dry_run: Whether nothing will be stored.
        sent_by: The reconcile of this process for whose request the API server called, if that is known. It never is
            for conversions.
        before: The object as it was: stored before an update or a deletion, or sent to a defaulter or a converter.
        after: The object as it becomes by the request, by the defaulter or by the converter.
        changes: The fields in which they differ, if both are there.
        allowed: Whether the request is allowed, or the objects are converted. ``None`` without an answer.
        message: Why not.
        fields: The fields that are refused, each with the reason.
        warnings: Warnings for the client.
        error: What the function of the program raised, a denial for one.
        seconds: How long it took.
    """

    id: str
    type: WebhookType
    path: str
    object: ObjectId | None = None
    objects: int = 1
    operation: str = ""
    subresource: str = ""
    user: str = ""
    dry_run: bool = False
    sent_by: ReconcileId | None = None
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    changes: tuple[FieldChange, ...] = ()
    allowed: bool | None = None
    message: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    error: BaseException | None = None
    seconds: float = 0.0


class WebhookListener:
    """Gets a record of each call of a webhook. Override what you need.

    The methods are called in the event loop. They must not block. An error is logged. While somebody listens, each
    review is read twice.

    ::

        class Slow(WebhookListener):
            def answered(self, record: WebhookRecord) -> None:
                if record.seconds > 1:
                    print(record.path, record.object, record.seconds)

        manager.listen(Slow())
    """

    def called(self, record: WebhookRecord) -> None:
        """A webhook is called. Only its identity, its type and its path are known."""

    def answered(self, record: WebhookRecord) -> None:
        """A call has ended."""


def tell(listeners: Iterable[ReconcileListener | WebhookListener], method: str, record: object) -> None:
    """Call a method of each listener. Its failures are logged."""
    for listener in listeners:
        try:
            outside_task(getattr(listener, method), record)
        except BaseException as error:
            if is_end(error):
                raise
            shown = {"listener": type(listener).__qualname__, "error": error_text(error)}
            logger.error("listener failed", extra=shown, exc_info=without_values(error))  # noqa: TRY400 - no values


def shown(value: Any) -> str:
    """A value as short text."""
    if value is None:
        return "unset"
    text = orjson.dumps(value, default=str).decode()
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """The fields in which two states of an object differ, without those that the server sets with every write."""
    is_secret = ObjectId.of(after).is_secret
    found = sorted_changes(_content(before), _content(after), _parts)
    return tuple(_field_change(each, hide=is_secret) for each in found)


def field_manager_of(managed: Sequence[Mapping[str, Any]], changes: Sequence[FieldChange]) -> str:
    """The manager that wrote last, by ``managedFields``. Their times have whole seconds, so changed fields come first.

    The closest owner of a field counts. Who once made a mapping keeps owning it, but not what others changed in it.

    Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management
    """
    if not managed:
        return ""
    owners = [owner for each in changes for owner in _closest(managed, each.path)]
    last = max(owners or managed, key=lambda entry: str(entry.get("time") or ""))
    return str(last.get("manager") or "")


def _closest(managed: Sequence[Mapping[str, Any]], path: str) -> list[Mapping[str, Any]]:
    steps = [_steps_owned(entry.get("fieldsV1") or {}, path) for entry in managed]
    most = max(steps, default=0)
    return [entry for entry, owned in zip(managed, steps, strict=True) if owned == most > 0]


def _content(raw: Mapping[str, Any]) -> dict[str, Any]:
    metadata = {name: value for name, value in raw["metadata"].items() if name not in _SERVERS_OWN}
    return {**raw, "metadata": metadata}


def _parts(path: Path, before: Any, after: Any) -> Parts | None:
    """Compare an unset value with an object field by field. A list in another order differs as a whole."""
    if before is None or before is MISSING:
        before = {} if after else None
    elif after is None or after is MISSING:
        after = {} if before else None
    differing = parts_of(path, before, after)
    is_order = isinstance(before, list) and differing is not None and _sorted(before) == _sorted(after)
    return None if is_order else differing


def _spelled(path: Path) -> str:
    """A path for people: ``spec.list[0]['a.b/c']``."""
    text = ""
    for step in path:
        is_plain = isinstance(step, str) and step.replace("_", "").isalnum()
        text += f".{step}" if is_plain else f"[{step!r}]"
    return text.lstrip(".")


def _sorted(values: list[Any]) -> list[bytes]:
    return sorted(orjson.dumps(value, option=orjson.OPT_SORT_KEYS) for value in values)


def _field_change(change: Change, *, hide: bool) -> FieldChange:
    path = _spelled(change.path)
    if hide or _is_secret(path):
        return FieldChange(path, *(None if value is None else HIDDEN for value in (change.before, change.after)))
    return FieldChange(path, _without_secrets(change.before), _without_secrets(change.after))


def without_secrets(raw: Mapping[str, Any]) -> dict[str, Any]:
    """An object without secret values, and without what the server and kubectl note of its fields."""
    shown: dict[str, Any] = _without_secrets(raw)
    if ObjectId.of(raw).is_secret:
        for name in ("data", "stringData"):
            if isinstance(values := raw.get(name), Mapping):
                shown[name] = dict.fromkeys(values, HIDDEN)
    shown["metadata"].pop("managedFields", None)
    if isinstance(annotations := shown["metadata"].get("annotations"), dict):
        annotations.pop(_APPLIED, None)
    return shown


def _without_secrets(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: HIDDEN if _is_secret(name) else _without_secrets(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_secrets(each) for each in value]
    return value


def _is_secret(name: str) -> bool:
    plain = name.lower().replace("_", "")
    return any(word.replace("_", "") in plain for word in SECRET_WORDS)


def _steps_owned(fields: Mapping[str, Any], path: str) -> int:
    """How many steps of a path a set of fields has, up to the first list; 0 if it does not own the field."""
    steps = path.partition("[")[0].split(".")
    for number, name in enumerate(steps):
        found = fields.get(f"f:{name}")
        if not found:  # a leaf, which may be a whole mapping
            return 0 if found is None else number + 1
        fields = found
    return len(steps)
