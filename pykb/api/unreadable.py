"""`UnreadableObject`: an object of a server that is not what its type says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pykb.diagnostics import PykbError
from pykb.meta.gvk import GroupVersionKind, NamespacedName

if TYPE_CHECKING:
    from pydantic import ValidationError

    from pykb.api.object import Object

_SHOWN = 3
_MISSING = "is missing"
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
    """One value that does not fit.

    Attributes:
        path: The field, as on the wire: ``spec.parts[2].weight``.
        problem: What is expected and what kind of value was found; never the value, which may be a secret.
        location: The same as ``path``, in parts; within a union it goes on to the alternative.
    """

    path: str
    problem: str
    location: tuple[int | str, ...] = ()

    @property
    def is_missing(self) -> bool:
        """Whether there is no value where one is required."""
        return self.problem == _MISSING

    def __str__(self) -> str:
        return f"`{self.path}` {self.problem}"


class UnreadableObject(PykbError, ValueError):  # noqa: N818 - says what it is about
    """An object of the server does not fit the class that is to hold it: a value is of another type than its field.

    Definitions change while objects stay, and a definition may be looser than the class. Reading such an object raises
    this; where many are read, it is left out and reported, so that it does not hide the others.

    Attributes:
        gvk: The kind.
        key: Where the object is.
        resource_version: Which version of it.
        problems: The fields.
        partial: What fits of an object that is being deleted, so that its finalizers can be worked off; ``None`` of one
            that lives.
    """

    def __init__(
        self,
        gvk: GroupVersionKind,
        key: NamespacedName,
        resource_version: str,
        problems: tuple[FieldProblem, ...],
        partial: Object | None = None,
    ) -> None:
        shown = "; ".join(map(str, problems[:_SHOWN]))
        more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        super().__init__(f"`{gvk.kind}` {str(key) or '(without a name)'} does not fit its type: {shown}{more}")
        self.gvk = gvk
        self.key = key
        self.resource_version = resource_version
        self.problems = problems
        self.partial = partial

    @property
    def remedy(self) -> str:
        """What to do so that the object fits."""
        if all(problem.is_missing for problem in self.problems):
            return "make the field optional in the type, give it a default, or set it in the object"
        return "let the type accept what is stored (`int | str`), convert it in a new version, or correct the object"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.gvk, self.key, self.resource_version, self.problems))

    @classmethod
    def of(
        cls, gvk: GroupVersionKind, wire: Mapping[str, Any], error: ValidationError, partial: Object | None = None
    ) -> UnreadableObject:
        """What is wrong with an object that validation refused."""
        metadata = wire.get("metadata")
        known = metadata if isinstance(metadata, Mapping) else {}
        key = NamespacedName(str(known.get("namespace") or ""), str(known.get("name") or ""))
        return cls(gvk, key, str(known.get("resourceVersion") or ""), problems_of(error), partial)


def problems_of(error: ValidationError) -> tuple[FieldProblem, ...]:
    """What validation found, without the values."""
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
