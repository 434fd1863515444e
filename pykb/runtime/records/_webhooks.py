"""Records the calls of webhooks, for listeners. Each is read from its review and its answer, whoever answers it."""

from __future__ import annotations

import asyncio
import base64
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import orjson

from pykb.api.safe_text import safe_text
from pykb.client.json_text import read_around, writable
from pykb.client.task import reset
from pykb.meta.json_patch import patched
from pykb.reading import mapping
from pykb.runtime.records.causes import (
    FieldChange,
    ObjectId,
    WebhookListener,
    WebhookRecord,
    WebhookType,
    changes_between,
    tell,
    without_secrets,
)
from pykb.runtime.records.context import Ledger, current_webhook
from pykb.serving import HttpError, HttpRequest, HttpResponse
from pykb.webhook._admission import PLACES, read_request

_MOST = 20
"""Warnings, and fields that are refused."""

_LONGEST = 256
_LONGEST_MESSAGE = 1024
_TYPES = {str(each): each for each in WebhookType}
_UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError)
"""What reading JSON from outside may raise: these are not what was expected."""


class WebhookRecorder:
    """Records the calls of the webhooks of one manager.

    Args:
        listeners: Who gets the records.
        ledger: Knows the reconciles that send requests now.
    """

    def __init__(self, listeners: Sequence[WebhookListener], ledger: Ledger) -> None:
        self._listeners = listeners
        self._ledger = ledger

    async def recorded(
        self, kind: str, request: HttpRequest, answer: Callable[[HttpRequest], Awaitable[HttpResponse]]
    ) -> HttpResponse:
        """Answer a review, and record that."""
        record = WebhookRecord(str(uuid.uuid4()), _TYPES.get(kind, WebhookType.ADMISSION), request.path)
        record.sent_by = self._ledger.sending.get(request.headers.get("traceparent", ""))
        tell(self._listeners, "called", record)
        token = current_webhook.set(record)
        loop = asyncio.get_running_loop()
        began, body = loop.time(), b""
        try:
            response = await answer(request)
            body = response.body
        except BaseException as error:
            record.error = record.error or error
            record.message = _failure(error)
            raise
        else:
            return response
        finally:
            record.seconds = loop.time() - began
            reset(current_webhook, token)
            _read(record, request.body, body)
            tell(self._listeners, "answered", record)

    def failed(self, error: BaseException) -> None:
        """Note what a function of the program raised."""
        if (record := current_webhook.get()) is not None:
            record.error = error


def _failure(error: BaseException) -> str:
    if isinstance(error, HttpError):
        return safe_text(error)
    return "not answered in time" if isinstance(error, asyncio.CancelledError) else "internal error"


def _read(record: WebhookRecord, body: bytes, answer: bytes) -> None:
    """Fill in what the review and the answer say. What is not a review leaves the record as it is."""
    try:
        response = mapping(orjson.loads(answer).get("response")) if answer else {}
        read = _read_conversion if record.type is WebhookType.CONVERSION else _read_admission
        read(record, body, response)
    except _UNREADABLE:
        record.message = record.message or "not a review, or not an answer to one"


def _read_admission(record: WebhookRecord, body: bytes, response: Mapping[str, Any]) -> None:
    asked = read_request(read_around(body, *PLACES))
    named = ObjectId(asked.kind.api_version, asked.kind.kind, asked.namespace, asked.object_name)
    record.object, record.operation, record.dry_run = _shortened(named), str(asked.operation), asked.dry_run
    record.subresource = safe_text(asked.subresource, _LONGEST)
    record.user = safe_text(asked.user.username, _LONGEST)
    if response:
        record.allowed = response.get("allowed") is True
        status = mapping(response.get("status"))
        if not record.allowed:
            record.message = safe_text(status.get("message", ""))
        causes = mapping(status.get("details")).get("causes") or ()
        record.fields = tuple(
            (safe_text(each["field"], _LONGEST), safe_text(each["message"], _LONGEST_MESSAGE))
            for each in causes[:_MOST]
        )
        record.warnings = tuple(safe_text(each, _LONGEST_MESSAGE) for each in (response.get("warnings") or ())[:_MOST])
    patch = response.get("patch")
    if asked.object is not None and (patch or record.type is WebhookType.MUTATING):
        operations = orjson.loads(base64.b64decode(patch)) if patch else []
        _compare(record, asked.object, patched(asked.object, operations) if record.allowed else None)
    else:
        _compare(record, asked.old_object, asked.object)


def _read_conversion(record: WebhookRecord, body: bytes, response: Mapping[str, Any]) -> None:
    asked = orjson.loads(body)["request"]
    objects = asked["objects"]
    record.objects = len(objects)
    record.object = _shortened(ObjectId.of(objects[0]))
    if response:
        result = mapping(response.get("result"))
        record.allowed = result.get("status") == "Success"
        record.message = safe_text(result.get("message", ""))
    _compare(record, objects[0], (response.get("convertedObjects") or [None])[0])


def _compare(record: WebhookRecord, before: object, after: object) -> None:
    old, new = _object(before), _object(after)
    if old is not None and new is not None:
        record.changes = tuple(each for each in changes_between(old, new) if not _is_version(each))
    record.before = None if old is None else without_secrets(old)
    record.after = None if new is None else without_secrets(new)


def _is_version(change: FieldChange) -> bool:
    """Whether a change is what each conversion does."""
    return change.path == "apiVersion"


def _object(value: object) -> dict[str, Any] | None:
    """An object that can be compared; ``None`` for the options of a connection, which have no metadata."""
    if not isinstance(value, dict) or not isinstance(value.get("metadata"), dict):
        return None
    return writable(value)


def _shortened(identity: ObjectId) -> ObjectId:
    return ObjectId(*(safe_text(each, _LONGEST) for each in identity))
