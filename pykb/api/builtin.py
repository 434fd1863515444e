"""Finds the class of a built-in kind. Imports only the API group that is needed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from pykb.api.builtin_table import OTHER_MODULES, TABLE
from pykb.meta.gvk import GroupVersionKind

if TYPE_CHECKING:
    from pykb.api.object import Object
    from pykb.api.struct import Struct


def find_class(gvk: GroupVersionKind) -> type[Object] | None:
    """Return the class of a built-in kind, or None for any other kind."""
    module, kinds = TABLE.get((gvk.group, gvk.version), ("", ()))
    if gvk.kind not in kinds:
        return None
    found: type[Object] = getattr(import_module(module), gvk.kind)
    return found


def kinds() -> Iterator[GroupVersionKind]:
    """Yield all built-in kinds in the order of the table. Imports no API group."""
    for (group, version), (_, names) in TABLE.items():
        for name in names:
            yield GroupVersionKind(group, version, name)


def structs() -> Iterator[type[Struct]]:
    """Yield every built-in type, top-level or nested.

    Imports all API groups, which only tools should do.
    """
    from pykb.api.struct import Struct

    for name in sorted([*OTHER_MODULES, *(module for module, _ in TABLE.values())]):
        for value in vars(import_module(name)).values():
            if isinstance(value, type) and issubclass(value, Struct) and value.__module__ == name:
                yield value
