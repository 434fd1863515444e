"""The events that the page gets, and their shapes. What comes from a manager or from a file must fit them.

The page's own types are in ``static/store.js``. It relies on these shapes, and nobody else checks them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

LONGEST_LINE = 1024 * 1024
DROPPED = b'{"event":"dropped","records":1}\n'
"""In place of a line that is too long."""

_LARGEST_NUMBER = 1e10
"""As a time, it is in the year 2286. The page counts from one time to another in steps."""


@dataclass(frozen=True, slots=True)
class _Optional:
    """A value of a shape, or null."""

    shape: Any


_ANYTHING = object()
_MISSING = object()
_PLACE = _Optional({"path": str, "line": float})
_OBJECT = {"apiVersion": str, "kind": str, "namespace": str, "name": str}
_CHANGE = {"path": str, "before": _ANYTHING, "after": _ANYTHING}
_RECONCILE = {"id": str, "controller": str, "request": str}
_CAUSE = {
    "kind": str,
    "event": _Optional(str),
    "object": _Optional(_OBJECT),
    "changes": [_CHANGE],
    "fieldManager": str,
    "writtenBy": _Optional(_RECONCILE),
}
_SENT = {
    "method": str,
    "object": _OBJECT,
    "subresource": str,
    "changes": [_CHANGE],
    "dryRun": bool,
    "error": str,
    "seconds": float,
    "place": _PLACE,
}
_ERROR = {"type": str, "message": str, "place": _PLACE, "traceback": str}
_LOGGED = {"logs": [{"at": float, "level": str, "message": str}], "moreLogs": float}
_STARTED = {
    **_RECONCILE,
    "object": _Optional(_OBJECT),
    "at": float,
    "causes": [_CAUSE],
    "moreCauses": float,
    "queued": float,
}
_ENDED = {
    **_STARTED,
    "seconds": float,
    "outcome": str,
    "requeueAfter": _Optional(float),
    "error": _Optional(_ERROR),
    "failures": float,
    "nextTry": _Optional(float),
    "sent": [_SENT],
    "moreSent": float,
    **_LOGGED,
}
_WEBHOOK = {
    "id": str,
    "type": str,
    "path": str,
    "at": float,
    "seconds": float,
    "object": _Optional(_OBJECT),
    "objects": float,
    "operation": str,
    "subresource": str,
    "user": str,
    "dryRun": bool,
    "sentBy": _Optional(_RECONCILE),
    "before": _ANYTHING,
    "after": _ANYTHING,
    "changes": [_CHANGE],
    "allowed": _Optional(bool),
    "message": str,
    "fields": [{"field": str, "message": str}],
    "warnings": [str],
    "error": _Optional(_ERROR),
    **_LOGGED,
}
FROM_MANAGER = {"started": _STARTED, "ended": _ENDED, "webhook": _WEBHOOK, "dropped": {"records": float}}
"""The shapes of events that a manager sends, by name."""

_CONDITION = {"type": str, "status": str, "reason": str, "message": str, "since": _Optional(str)}
EVENTS = {
    **FROM_MANAGER,
    "about": {"project": str, "cluster": str, "source": str},
    "manager": {"at": float, "took": float, "state": str, "reason": str, "files": [str], "crds": [str], "log": [str]},
    "findings": {
        "at": float,
        "state": str,
        "message": str,
        "histories": float,
        "unfinished": [str],
        "findings": [{"code": str, "message": str, "replay": str}],
        "html": str,
    },
    "object": {
        **_OBJECT,
        "uid": str,
        "createdAt": _Optional(str),
        "deletingSince": _Optional(str),
        "finalizers": [str],
        "owners": [str],
        "generation": _Optional(float),
        "observedGeneration": _Optional(float),
        "conditions": [_CONDITION],
        "phase": str,
        "ready": _Optional(bool),
        "resourceVersion": str,
    },
    "gone": {"uid": str},
}
"""The shapes of all events of a history, by name."""


def read_event(line: bytes, shapes: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Read a line as an event: its name, and what it tells.

    Raises:
        ValueError: It is none of these events. The message says what is wrong.
    """
    try:
        told = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {error.msg}") from None
    name = told.pop("event", None) if isinstance(told, dict) else None
    if not isinstance(name, str) or name not in shapes:
        raise ValueError("it is not an event that this version of pykb knows")
    if (misfit := _misfit(told, shapes[name])) is not None:
        raise ValueError(f"`{misfit.lstrip('.')}` has a wrong value")
    return name, told


def _misfit(value: Any, shape: Any) -> str | None:
    """The path of the first value that does not have its shape. Further keys of a mapping are left alone."""
    if isinstance(shape, _Optional):
        return None if value is None else _misfit(value, shape.shape)
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return ""
        parts = ((f".{key}", value.get(key, _MISSING), inner) for key, inner in shape.items())
    elif isinstance(shape, list):
        if not isinstance(value, list):
            return ""
        parts = ((f"[{number}]", each, shape[0]) for number, each in enumerate(value))
    else:
        return None if _fits(value, shape) else ""
    for step, each, inner in parts:
        found = "" if each is _MISSING else _misfit(each, inner)
        if found is not None:
            return f"{step}{found}"
    return None


def _fits(value: Any, shape: Any) -> bool:
    if shape is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST_NUMBER
    return shape is _ANYTHING or isinstance(value, shape)
