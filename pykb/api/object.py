"""`Object`: the base of every kind, and `CustomResource`: that of the user's own."""

# Annotations are objects here, not text: Pydantic evaluates those of each base for every kind.

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeVar, Unpack, overload

from pydantic import ConfigDict, Field

from pykb.api.meta.v1 import ObjectMeta
from pykb.api.resource_info import ResourceInfo
from pykb.api.struct import Struct
from pykb.api.unreadable import UnreadableObject
from pykb.meta.gvk import GroupVersion, GroupVersionKind, NamespacedName


class Object(Struct):
    """A top-level object of the API: it has a kind, and metadata with its name.

    A subclass says its group and version: ``class Pod(Object, group_version=GroupVersion("", "v1"))``. The kind is the
    name of the class unless ``kind=`` is given; a subclass without ``group_version=`` stays the kind it extends.
    """

    gvk: ClassVar[GroupVersionKind]
    resource: ClassVar[ResourceInfo | None] = None

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)

    __wire_always__ = frozenset({"api_version", "kind"})

    def __init_subclass__(
        cls,
        *,
        group_version: GroupVersion | None = None,
        kind: str | None = None,
        resource: ResourceInfo | None = None,
        **config: Unpack[ConfigDict],
    ) -> None:
        super().__init_subclass__(**config)
        if group_version is not None:
            cls.gvk = group_version.with_kind(kind or cls.__name__)
            cls.resource = resource

    @classmethod
    def __pydantic_init_subclass__(cls, *, group_version: GroupVersion | None = None, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__()
        if group_version is not None:
            # Both are constants of the class; reading an object of another kind is a mistake to be told.
            for name, value in (("api_version", cls.gvk.api_version), ("kind", cls.gvk.kind)):
                info = cls.__pydantic_fields__[name]
                info.annotation = Literal[value]  # type: ignore[assignment]
                info.default = value


class CustomResource(Object):
    """A kind of one's own: ``class VirtulMachine(CustomResource, group_version=GROUP_VERSION)``.

    The kind is the class's name. Plural, scope and the rest are said by markers; at run time discovery knows them.
    """


ObjectT = TypeVar("ObjectT")


@dataclass(frozen=True, slots=True)
class ObjectList(Sequence[ObjectT]):
    """What a list request returns.

    Args:
        items: The objects.
        resource_version: The version of the collection, to watch from.
        continue_token: Where the next page starts; None on the last one.
        remaining_item_count: How many objects come after this page, when the server says so.
        unreadable: The objects that are not among the items because they do not fit the class: which, and why.
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


def object_key(obj: Object) -> NamespacedName:
    """Where an object is: its namespace (empty for cluster-scoped kinds) and its name."""
    metadata = obj.metadata.__dict__  # a partial object need not have both as attributes
    return NamespacedName(metadata.get("namespace") or "", metadata.get("name") or "")
