"""Requests and errors of an API server: the query, and the ``Status`` of a failure with its messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from pykb.client.connection import Call
from pykb.client.errors import ApiError, error_from_status
from pykb.client.json_text import is_deeper

LEVELS = 240
"""How many levels of objects and arrays a body or an object may have. Kubernetes allows 10,000.

The writer of JSON takes 254. ``managedFields`` are some levels deeper than their object, and lists,
events and reviews are around objects.
"""

CHANGED = "the object has been modified; please apply your changes to the latest version and try again"


@dataclass(frozen=True, slots=True)
class Parameters:
    """The query of a request."""

    values: dict[str, str]

    @classmethod
    def of(cls, call: Call) -> Parameters:
        """Parse the query of a call."""
        return cls(dict(call.query))

    def get(self, name: str) -> str:
        """Return a parameter. Empty if it is missing."""
        return self.values.get(name, "")

    @property
    def dry_run(self) -> bool:
        """Whether the request must not store anything."""
        return self.get("dryRun") == "All"


def status_body(code: int, reason: str, message: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
    """Make the ``Status`` of a failure."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "details": details or {},
        "code": code,
    }


def refuse(code: int, reason: str, message: str, details: dict[str, Any] | None = None) -> ApiError:
    """Make the exception for a failure."""
    return error_from_status(code, status_body(code, reason, message, details))


def not_found(resource: str, group: str, name: str) -> ApiError:
    """The object does not exist."""
    full = f"{resource}.{group}" if group else resource
    details = {"name": name, "group": group, "kind": resource}
    return refuse(404, "NotFound", f'{full} "{name}" not found', details)


def no_resource() -> ApiError:
    """The resource does not exist."""
    return refuse(404, "NotFound", "the server could not find the requested resource")


def already_exists(resource: str, group: str, name: str) -> ApiError:
    """An object of this name exists already."""
    full = f"{resource}.{group}" if group else resource
    details = {"name": name, "group": group, "kind": resource}
    return refuse(409, "AlreadyExists", f'{full} "{name}" already exists', details)


def conflict(resource: str, group: str, name: str, why: str) -> ApiError:
    """The object is not in the state that the request expects."""
    full = f"{resource}.{group}" if group else resource
    details = {"name": name, "group": group, "kind": resource}
    return refuse(409, "Conflict", f'Operation cannot be fulfilled on {full} "{name}": {why}', details)


def invalid(kind: str, group: str, name: str, causes: list[dict[str, str]]) -> ApiError:
    """The object violates its schema or a rule."""
    full = f"{kind}.{group}" if group else kind
    texts = [f"{cause['field']}: {cause['message']}" for cause in causes]
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details = {"name": name, "group": group, "kind": kind, "causes": causes}
    return refuse(422, "Invalid", f'{full} "{name}" is invalid: {joined}', details)


def cause(field: str, reason: str, message: str) -> dict[str, str]:
    """One cause of :func:`invalid`."""
    return {"reason": reason, "message": message, "field": field}


def read_json(text: bytes) -> Any:
    """Read the body of a request.

    Raises:
        BadRequest: It is not JSON, or it is nested deeper than :data:`LEVELS`.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        why = f"exceeded max depth of {LEVELS}" if "depth" in error.msg else error
        raise bad_request(f"error decoding the request: {why}") from error
    if text.count(b"{") + text.count(b"[") > LEVELS and is_deeper(value, LEVELS):
        raise bad_request(f"error decoding the request: exceeded max depth of {LEVELS}")
    return value


def bad_request(message: str) -> ApiError:
    """The request itself is wrong."""
    return refuse(400, "BadRequest", message)
