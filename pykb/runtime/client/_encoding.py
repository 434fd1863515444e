"""Encodes the bodies of requests as JSON, and names the field that has no JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson


def encode(body: Mapping[str, Any]) -> bytes:
    """Encode an object as JSON.

    Raises:
        ValueError: A value has no JSON form, such as a set or a string that is not valid Unicode.
            The message names its field.
    """
    try:
        return orjson.dumps(body)
    except TypeError as error:
        path, value = _culprit(body, "")
        found = f"a `{type(value).__name__}`" if not isinstance(value, str) else "a string that is not valid Unicode"
        raise ValueError(f"`{path.removeprefix('.')}` cannot be sent: it has {found}, which is no JSON") from error


def _culprit(value: object, path: str) -> tuple[str, object]:
    """The innermost value that has no JSON form, and its path."""
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str) or not _has_json(key):
                return path, key
    parts = (
        ((f"{path}.{key}", part) for key, part in value.items())
        if isinstance(value, Mapping)
        else ((f"{path}[{index}]", part) for index, part in enumerate(value))
        if isinstance(value, (list, tuple))
        else ()
    )
    for inner, part in parts:
        if not _has_json(part):
            return _culprit(part, inner)
    return path, value


def _has_json(value: object) -> bool:
    try:
        orjson.dumps(value)
    except TypeError:
        return False
    return True
