"""`UnreadableObject`: an object does not fit its class; and `ObjectList`, which names those that it leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, overload

from pykb.diagnostics import PykbError
from pykb.meta.gvk import GroupVersionKind, NamespacedName

if TYPE_CHECKING:
    from pydantic import ValidationError

    from pykb.api.object import Object, Unstructured


DEEPEST = 250
"""How many levels of objects and arrays are read. The writer of JSON takes 254, also of a review around an object."""

_SHOWN = 3
_MISSING = "is missing"
_TOO_DEEP = f"is nested deeper than {DEEPEST} levels"
_JSON_TYPES: Mapping[type, str] = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    list: "an array",
    dict: "an object",
    type(None): "null",
}


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """A value that does not fit its field.

    Attributes:
        path: The field's path on the wire, such as ``spec.parts[2].weight``.
        problem: What was expected and the type of the value found. The value itself may be secret
            and is never included.
        location: The path in parts. For a union it also contains the member that was tried.
    """

    path: str
    problem: str
    location: tuple[int | str, ...] = ()

    @property
    def is_missing(self) -> bool:
        """Whether a required value is missing."""
        return self.problem == _MISSING

    @property
    def is_too_deep(self) -> bool:
        """Whether there are more levels of objects and arrays than pykb reads."""
        return self.problem == _TOO_DEEP

    def __str__(self) -> str:
        return f"`{self.path}` {self.problem}"


class UnreadableObject(PykbError, ValueError):  # noqa: N818 - says what it is about
    """An object from the server does not fit its class: a value has another type than its field.

    ::

        try:
            machine = await client.get(VirtulMachine, request)
        except UnreadableObject as error:
            raise TerminalError(str(error)) from error  # until somebody changes it

    A CRD can change after objects were stored, or be looser than the class. An object can also be
    nested too deeply. Reading such an object raises this error. Where many objects are read, the
    object is left out and reported, so that it does not hide the others.

    Attributes:
        gvk: The kind.
        key: The namespace and name of the object.
        resource_version: The resourceVersion of the object.
        problems: The fields that do not fit.
        partial: For an object that is being deleted: the values that fit, so that its finalizers
            can run. ``None`` for any other object.
    """

    def __init__(
        self,
        gvk: GroupVersionKind,
        key: NamespacedName,
        resource_version: str,
        problems: tuple[FieldProblem, ...],
        partial: Object | Unstructured | None = None,
    ) -> None:
        shown = "; ".join(map(str, problems[:_SHOWN]))
        more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        why = "cannot be read" if any(problem.is_too_deep for problem in problems) else "does not fit its type"
        super().__init__(f"`{gvk.kind}` {str(key) or '(without a name)'} {why}: {shown}{more}")
        self.gvk = gvk
        self.key = key
        self.resource_version = resource_version
        self.problems = problems
        self.partial = partial

    @property
    def remedy(self) -> str:
        """What the user can do about it."""
        if all(problem.is_missing for problem in self.problems):
            return "make the field optional in the type, give it a default, or set it in the object"
        if any(problem.is_too_deep for problem in self.problems):
            return "correct the object, or declare the fields in the schema instead of preserving unknown ones"
        return "let the type accept what is stored (`int | str`), convert it in a new version, or correct the object"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.gvk, self.key, self.resource_version, self.problems))

    @classmethod
    def too_deep(
        cls, gvk: GroupVersionKind, wire: Mapping[str, Any], path: str, partial: Object | Unstructured | None = None
    ) -> UnreadableObject:
        """Create the error for an object that is nested too deeply."""
        return cls(gvk, *_identity(wire), (FieldProblem(path, _TOO_DEEP),), partial)

    @classmethod
    def of(
        cls, gvk: GroupVersionKind, wire: Mapping[str, Any], error: ValidationError, partial: Object | None = None
    ) -> UnreadableObject:
        """Create the error for an object that failed validation."""
        return cls(gvk, *_identity(wire), problems_of(error), partial)


def _identity(wire: Mapping[str, Any]) -> tuple[NamespacedName, str]:
    """The key and the resourceVersion of an object."""
    metadata = wire.get("metadata")
    known = metadata if isinstance(metadata, Mapping) else {}
    key = NamespacedName(str(known.get("namespace") or ""), str(known.get("name") or ""))
    return key, str(known.get("resourceVersion") or "")


def problems_of(error: ValidationError) -> tuple[FieldProblem, ...]:
    """Return what validation found, without the values."""
    return tuple(
        FieldProblem(_path(item["loc"]), _problem(item["type"], item["msg"], item["input"]), item["loc"])
        for item in error.errors(include_url=False, include_context=False)
    )


def _path(location: tuple[int | str, ...]) -> str:
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return path.removeprefix(".")


def _problem(kind: str, message: str, value: object) -> str:
    if kind == "missing":
        return _MISSING
    text = message.removeprefix("Input ").removeprefix("Value error, ")
    return f"{text[:1].lower()}{text[1:]}, found {_JSON_TYPES.get(type(value), type(value).__name__)}"


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
