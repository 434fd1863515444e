"""Applies a JSON patch (RFC 6902) to a value. Its paths are JSON pointers (RFC 6901)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def copied(value: Any) -> Any:
    """A copy of a JSON value. `copy.deepcopy` does the same for all values, and takes longer."""
    if type(value) is dict:
        return {name: copied(each) for name, each in value.items()}
    return [copied(each) for each in value] if type(value) is list else value


class PatchRefused(ValueError):  # noqa: N818
    """A test of a JSON patch failed, or a path does not exist."""


def patched(target: Any, operations: Sequence[Mapping[str, Any]]) -> Any:
    """A copy of a JSON value, changed by operations in order.

    Raises:
        PatchRefused: A test fails, or a path does not exist.
        KeyError: An operation lacks a part.
        RecursionError: The value is nested too deeply.
    """
    root = {"": copied(target)}  # a pointer begins with an empty step: "/a" leads to root[""]["a"]
    for operation in operations:
        path = _pointer(operation["path"])
        match operation["op"]:
            case "add":
                _add(root, path, copied(operation["value"]))
            case "remove":
                _remove(root, path)
            case "replace":
                _replace(root, path, copied(operation["value"]))
            case "move":
                _add(root, path, _remove(root, _pointer(operation["from"])))
            case "copy":
                _add(root, path, copied(_resolve(root, _pointer(operation["from"]))))
            case "test":
                if _resolve(root, path) != operation.get("value"):
                    raise PatchRefused(f"testing path {operation['path']} value failed")
            case other:
                raise PatchRefused(f"unknown operation {other}")
    return root.get("")


def _pointer(text: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in text.split("/")]


def _resolve(value: Any, path: Sequence[str]) -> Any:
    for step in path:
        try:
            value = value[int(step)] if isinstance(value, list) else value[step]
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise PatchRefused(f"path {'/'.join(path)} does not exist") from error
    return value


def _add(root: Any, path: Sequence[str], value: Any) -> None:
    parent = _resolve(root, path[:-1])
    if isinstance(parent, list):
        index = len(parent) if path[-1] == "-" else int(path[-1])
        if index > len(parent):
            raise PatchRefused(f"index {index} is out of bounds")
        parent.insert(index, value)
    elif isinstance(parent, dict):
        parent[path[-1]] = value
    else:
        raise PatchRefused(f"path {'/'.join(path)} does not exist")


def _replace(root: Any, path: Sequence[str], value: Any) -> None:
    parent = _resolve(root, path[:-1])
    if isinstance(parent, list):
        _resolve(parent, path[-1:])
        parent[int(path[-1])] = value
    else:  # RFC 6902 requires the entry to exist. The API server does not.
        _add(root, path, value)


def _remove(root: Any, path: Sequence[str]) -> Any:
    value, parent = _resolve(root, path), _resolve(root, path[:-1])
    del parent[int(path[-1]) if isinstance(parent, list) else path[-1]]
    return value
