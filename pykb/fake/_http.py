"""Bodies of requests, and the ``Status`` of a failure with the API server's messages."""

from __future__ import annotations

from typing import Any

import orjson

from pykb.client.errors import ApiError, error_from_status
from pykb.client.json_text import is_deeper

LEVELS = 240
"""How many levels of objects and arrays a body or an object may have. Kubernetes allows 10,000.

The writer of JSON takes 254. ``managedFields`` are some levels deeper than their object, and lists,
events and reviews are around objects.
"""

CHANGED = "the object has been modified; please apply your changes to the latest version and try again"


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


def no_resource() -> ApiError:
    """The resource does not exist."""
    return refuse(404, "NotFound", "the server could not find the requested resource")


def invalid(kind: str, group: str, name: str, causes: list[dict[str, str]]) -> ApiError:
    """The object violates its schema or a rule."""
    texts = [f"{cause['field']}: {cause['message']}" for cause in causes]
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return about(422, "Invalid", kind, group, name, after=f" is invalid: {joined}", causes=causes)


def about(
    code: int, reason: str, what: str, group: str, name: str, *, before: str = "", after: str, **details: Any
) -> ApiError:
    """The failure of a request for an object. ``what`` is its resource or its kind."""
    full = f"{what}.{group}" if group else what
    message = f'{before}{full} "{name}"{after}'
    return refuse(code, reason, message, {"name": name, "group": group, "kind": what, **details})


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
