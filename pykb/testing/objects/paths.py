"""Paths of fields, in names of the wire: ``spec.ports[].name``, ``metadata.annotations[example.com/a]``."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, JsonValue

from pykb.api.wire import wire_name
from pykb.diagnostics.suggest import closest
from pykb.testing.objects.annotation import LISTS, MAPS, UNIONS, bare

Path = tuple[str | int, ...]
_PARTS = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")


def spelt(path: Path) -> str:
    """A path as people write it.

    >>> spelt(("spec", "ports", 0, "name")), spelt(("metadata", "labels", "example.com/a"))
    ('spec.ports[0].name', 'metadata.labels[example.com/a]')
    """
    text = ""
    for part in path:
        plain = isinstance(part, str) and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", part)
        text += (f".{part}" if text else part) if isinstance(part, str) and plain else f"[{part}]"
    return text or "the object"


def parse_path(text: str) -> Path:
    """What people write as a path; ``[]`` stands for any item of a list, ``*`` for any field or entry.

    >>> parse_path("spec.ports[].name")
    ('spec', 'ports', '', 'name')
    """
    return tuple(match[1] if match[2] is None else match[2] for match in _PARTS.finditer(text))


def check_paths(texts: Iterable[str], kinds: Iterable[type[BaseModel]]) -> None:
    """Refuse paths that lead nowhere: what they were meant for would silently not happen.

    Args:
        texts: The paths.
        kinds: A path has to lead to a field of one of them.

    Raises:
        ValueError: One leads nowhere; says where it ends, and what is near.
    """
    for text in texts:
        ends = [_end(kind, parse_path(text)) for kind in kinds]
        if "" not in ends:
            raise ValueError(f"`{text}` leads to no field: {' and '.join(dict.fromkeys(ends))}")


def _end(annotation: Any, path: Path) -> str:
    """Why a path ends before a field; empty where it does not."""
    annotation, _ = bare(annotation, ())
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if not path or annotation in (Any, object, JsonValue):
        return ""
    container, (part, *rest) = origin or annotation, path
    if origin in UNIONS:
        ends = [_end(member, path) for member in arguments if member is not type(None)]
        return "" if "" in ends else ends[0]
    if container in MAPS:
        return _end(arguments[-1] if arguments else Any, tuple(rest))
    if container in LISTS:
        items = [argument for argument in arguments if argument is not ...] or [Any]
        return _end(items[0], tuple(rest)) if part == "" or str(part).isdigit() else f"a list has no `{part}`, but `[]`"
    if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return f"`{getattr(annotation, '__name__', annotation)}` has no `{part}`"
    if not annotation.__pydantic_complete__:
        annotation.model_rebuild()
    fields = {wire_name(name, field): field.annotation for name, field in annotation.__pydantic_fields__.items()}
    found = list(fields.values()) if part == "*" else [fields[name] for name in fields if name == part]
    if found:
        ends = [_end(field, tuple(rest)) for field in found]
        return "" if "" in ends else ends[0]
    near = closest(str(part), fields)
    return f"{annotation.__name__} has no `{part}`" + (f"; did you mean `{near}`?" if near else "")
