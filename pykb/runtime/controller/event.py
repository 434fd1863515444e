"""Events of objects, as informers report them: with the object before and after.

Objects come in two forms: raw (the dict from the wire) and typed (validated on first use). All
handlers share both forms, so do not change them.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import cached_property
from typing import Any, Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


class EventType(StrEnum):
    """Kinds of events."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    GENERIC = "generic"


class Event(Generic[T_co]):
    """A change of an object.

    Attributes:
        type: The type of the event.
        raw: The object as it is now. If deleted, its last known state. Read only.
        initial: Whether the object is part of the first list: it existed before the informer or
            this handler started.
    """

    def __init__(
        self,
        event_type: EventType,
        raw: dict[str, Any],
        *,
        parse: Callable[[dict[str, Any]], T_co],
        load_old: Callable[[], dict[str, Any]] | None = None,
        old_resource_version: str = "",
        initial: bool = False,
    ) -> None:
        self.type = event_type
        self.raw = raw
        self.initial = initial
        self._parse = parse
        self._load_old = load_old
        self._old_resource_version = old_resource_version

    @cached_property
    def object(self) -> T_co:
        """The object as it is now. If deleted, its last known state."""
        return self._parse(self.raw)

    @cached_property
    def raw_old(self) -> dict[str, Any]:
        """The object before an update, in wire form. For all other events, the object itself."""
        return self.raw if self._load_old is None else self._load_old()

    @cached_property
    def old(self) -> T_co:
        """The object before an update. For all other events, the object itself."""
        return self.object if self._load_old is None else self._parse(self.raw_old)

    @property
    def namespace(self) -> str:
        """The object's namespace; empty for cluster-scoped kinds."""
        namespace: str = self.raw["metadata"].get("namespace", "")
        return namespace

    @property
    def name(self) -> str:
        """The object's name."""
        name: str = self.raw["metadata"]["name"]
        return name

    @property
    def unchanged(self) -> bool:
        """Whether it is an update without a change: a resync, or the object listed again."""
        if self.type is not EventType.UPDATE:
            return False
        version: str = self.raw["metadata"].get("resourceVersion", "")
        return self._old_resource_version == version

    def __repr__(self) -> str:
        return f"<{self.type} of {self.raw.get('kind', 'object')} {self.namespace}/{self.name}>"
