"""`ObjectList`, the result of a list request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, overload

from pykb.api.unreadable import UnreadableObject

ObjectT = TypeVar("ObjectT")


@dataclass(frozen=True, slots=True)
class ObjectList(Sequence[ObjectT]):
    """The result of a list request.

    ::

        machines = await client.list(VirtulMachine, namespace="default")
        for machine in machines:
            print(machine.metadata.name)
        for error in machines.unreadable:
            print(error)

    Args:
        items: The objects.
        resource_version: The resourceVersion of the list, to start a watch from.
        continue_token: The token for the next page. None on the last page.
        remaining_item_count: The number of objects after this page, if the server reports it.
        unreadable: The objects left out of the items because they do not fit the class, with the
            reasons.
    """

    items: list[ObjectT] = field(default_factory=list)
    resource_version: str = ""
    continue_token: str | None = None
    remaining_item_count: int | None = None
    unreadable: list[UnreadableObject] = field(default_factory=list)

    def __iter__(self) -> Iterator[ObjectT]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> ObjectT: ...
    @overload
    def __getitem__(self, index: slice) -> list[ObjectT]: ...
    def __getitem__(self, index: int | slice) -> ObjectT | list[ObjectT]:
        return self.items[index]
