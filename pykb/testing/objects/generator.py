"""From a type to a random value of it, in the form of the wire."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError
from pydantic.fields import FieldInfo

from pykb.api.annotations import Format, PreserveUnknown, annotations_of
from pykb.api.meta.v1 import ObjectMeta
from pykb.api.struct import Struct
from pykb.api.wire import encode, wire_name
from pykb.testing.objects.annotation import LISTS, MAPS, UNIONS, bare
from pykb.testing.objects.density import DEEPEST, Density
from pykb.testing.objects.limits import Limits, NoValueError
from pykb.testing.objects.metadata import random_metadata
from pykb.testing.objects.numbers import random_integer
from pykb.testing.objects.paths import check_paths
from pykb.testing.objects.scalars import random_scalar
from pykb.testing.objects.texts import dns_label, random_text

Override = Callable[[Random], Any]
"""Makes the value of a field: of the wire or of Python; ``None`` leaves the field out."""

StructT = TypeVar("StructT", bound=Struct)

TRIES = 100
_NONE = type(None)
_ABSENT = object()
_SETS = (set, frozenset)


class UnsatisfiableFieldError(ValueError):
    """No value of a field was found that its type accepts.

    Attributes:
        path: The field, in names of the wire: ``spec.ports[].name``.
    """

    def __init__(self, path: str, kind: type, reason: str) -> None:
        self.path = path
        super().__init__(
            f"no random value of `{path}` of {kind.__name__} was found: {reason}\n"
            f'say how to make one: overrides={{"{path}": lambda random: ...}}'
        )


def random_object(
    kind: type[StructT],
    seed: int = 0,
    *,
    overrides: Mapping[str, Override] | None = None,
    unknown_fields: bool = False,
) -> StructT:
    """Make an object of a kind (or of any struct) at random; the same seed makes the same object.

    Types and their constraints are kept to: bounds, lengths, patterns, formats, unique items. Optional fields are
    there or not, containers are empty or not, numbers and texts are often at the edges of what is allowed. Of ten
    seeds in a row one gives a bare object and one a full one. Markers and CEL rules are not known to a type, and so
    not kept to: use ``overrides`` where they matter.

    Args:
        kind: The type.
        seed: Which object.
        overrides: How to make the fields that need more than their type says, by their path in names of the wire:
            ``{"spec.cpu": lambda random: str(random.randint(1, 8))}``. ``[]`` stands for the items of a list, ``*`` for
            the values of a map: ``spec.ports[].name``, ``spec.limits.*``.
        unknown_fields: Whether structs sometimes have a field that their type does not know; those whose schema is open
            (``PreserveUnknown``) do anyway.

    Raises:
        UnsatisfiableFieldError: A field accepts nothing that was tried.
        ValueError: An override leads to no field.
    """
    check_paths(overrides or (), [kind])
    return make_object(kind, seed, overrides=overrides, unknown_fields=unknown_fields)


def make_object(
    kind: type[StructT], seed: int, *, overrides: Mapping[str, Override] | None = None, unknown_fields: bool = False
) -> StructT:
    """The same, where the overrides are for other types too."""
    random = Random(f"{kind.__qualname__}:{seed}")  # noqa: S311 - tests, no secrets
    maker = _Maker(kind, Density.of_seed(seed, random), random, dict(overrides or {}), unknown_fields)
    try:
        return kind.from_wire(maker.struct(kind, "", 0))
    except ValidationError as error:
        raise UnsatisfiableFieldError(_place(error), kind, error.errors()[0]["msg"]) from error


class _Maker:
    """Makes the values of one object."""

    def __init__(
        self,
        kind: type,
        density: Density,
        random: Random,
        overrides: dict[str, Override],
        unknown_fields: bool,
    ) -> None:
        self._kind = kind
        self._density = density
        self._random = random
        self._overrides = overrides
        self._unknown_fields = unknown_fields

    def struct(self, cls: type[BaseModel], path: str, depth: int) -> dict[str, Any]:
        """The fields of a struct; those that its own validators refuse are made again."""
        if not cls.__pydantic_complete__:
            cls.model_rebuild()
        if issubclass(cls, ObjectMeta):
            return random_metadata(self._random, named=depth == 1)
        fields = {wire_name(name, field): field for name, field in cls.__pydantic_fields__.items()}
        self._density.left -= len(fields) // 4 + 1
        # Decided in random order, since what is left for the last ones is little.
        made = {name: self._field(fields[name], _join(path, name), depth) for name in self._shuffled(fields)}
        made = {name: made[name] for name in fields if made[name] is not _ABSENT}
        own = cls.__module__.startswith("pykb.api.")
        # Kubernetes' own types have no validators, and building each one's takes long.
        for _ in range(0 if own else TRIES):
            wrong = self._refused(cls, made)
            if not wrong:
                break
            again = wrong & fields.keys() or fields.keys()
            for name in [name for name in fields if name in again]:
                made.pop(name, None)
                value = self._field(fields[name], _join(path, name), depth)
                if value is not _ABSENT:
                    made[name] = value
        if (self._unknown_fields or _is_open(cls)) and self._random.random() < 0.2:
            made["unknownToThisVersion"] = self.json(depth + 1)
        return made

    def _refused(self, cls: type[BaseModel], made: dict[str, Any]) -> set[str]:
        try:
            cls.model_validate(made, by_alias=True, by_name=False)
        except ValidationError as error:
            return {str(found["loc"][0]) if found["loc"] else "" for found in error.errors()}
        return set()

    def _shuffled(self, names: Iterable[str]) -> list[str]:
        shuffled = list(names)
        self._random.shuffle(shuffled)
        return shuffled

    def _field(self, field: FieldInfo, path: str, depth: int) -> Any:
        override = self._overrides.get(path)
        if override is not None:
            given = override(self._random)
            return _ABSENT if given is None else encode(given)
        metadata = tuple(field.metadata)
        constant = depth == 0 and path in ("apiVersion", "kind", "metadata")
        if not (field.is_required() or constant or self._density.wants(depth)):
            return _ABSENT
        if Limits.of(metadata).nullable and self._random.random() < 0.3:
            return None
        if depth > DEEPEST and _is_struct(field.annotation):
            raise UnsatisfiableFieldError(path, self._kind, "it needs a struct within a struct without end")
        return self.value(field.annotation, metadata, path, depth + 1)

    def value(self, annotation: Any, metadata: tuple[object, ...], path: str, depth: int) -> Any:
        """A value of an annotation, whose constraints are in ``metadata`` as well as in it."""
        override = self._overrides.get(path)
        if override is not None:
            return encode(override(self._random))
        annotation, metadata = bare(annotation, metadata)
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin in UNIONS:
            return self._union(arguments, metadata, path, depth)
        if origin is typing.Literal:
            return encode(self._random.choice(arguments))
        limits = Limits.of(metadata)
        container = origin or annotation
        if container in LISTS:
            return self._list(container, arguments, limits, path, depth)
        if container in MAPS:
            return self._map(arguments or (str, Any), limits, path, depth)
        if _is_struct(annotation):
            return self.struct(annotation, path, depth)
        return self._scalar(annotation, limits, path, depth)

    def _union(self, members: tuple[Any, ...], metadata: tuple[object, ...], path: str, depth: int) -> Any:
        member = self._random.choice([member for member in members if member is not _NONE] or [_NONE])
        if member is int and str in members:  # what a server takes for an integer there has 32 bits
            metadata = (*metadata, Format("int32"))
        return self.value(member, metadata, path, depth)

    def _scalar(self, annotation: Any, limits: Limits, path: str, depth: int) -> Any:
        if annotation in (Any, object, JsonValue):
            return self.json(depth)
        try:
            return random_scalar(annotation, limits, self._random)
        except NoValueError as error:
            raise UnsatisfiableFieldError(path, self._kind, str(error)) from error

    def _list(self, container: Any, arguments: tuple[Any, ...], limits: Limits, path: str, depth: int) -> list[Any]:
        inner = f"{path}[]"
        if container is tuple and arguments and arguments[-1] is not ...:
            return [self.value(each, (), inner, depth + 1) for each in arguments]
        item = arguments[0] if arguments else Any
        unique = limits.unique or container in _SETS
        wanted = self._density.count(limits.min_length, limits.max_length, depth)
        found: list[Any] = []
        for _ in range(wanted + TRIES):
            if len(found) >= wanted:
                break
            made = self.value(item, (), inner, depth + 1)
            if unique and made in found:
                continue
            if limits.keys and any(_same_keys(made, other, limits.keys) for other in found):
                continue
            found.append(made)
        if len(found) < limits.min_length:
            raise UnsatisfiableFieldError(path, self._kind, f"{limits.min_length} different items were not found")
        return found

    def _map(self, arguments: tuple[Any, ...], limits: Limits, path: str, depth: int) -> dict[str, Any]:
        if limits.embedded:
            return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": dns_label(self._random)}}
        wanted = self._density.count(limits.min_length, limits.max_length, depth)
        found: dict[str, Any] = {}
        for _ in range(wanted + TRIES):
            if len(found) >= wanted:
                break
            key = self.value(arguments[0], (), f"{path}.key()", depth + 1)
            if key not in ("", None):
                found[str(key)] = self.value(arguments[1], (), f"{path}.*", depth + 1)
        if len(found) < limits.min_length:
            raise UnsatisfiableFieldError(path, self._kind, f"{limits.min_length} different keys were not found")
        return found

    def json(self, depth: int) -> Any:
        """Any JSON value, not deep."""
        self._density.left -= 1
        choices: list[Callable[[], Any]] = [
            lambda: self._random.choice((True, False)),
            lambda: random_integer(Limits(), self._random),
            lambda: 0.5,
            lambda: random_text(Limits(), self._random),
        ]
        if self._density.left > 0 and self._random.random() < 0.5 and depth < DEEPEST:
            choices = [
                lambda: [self.json(depth + 4) for _ in range(self._random.randint(0, 2))],
                lambda: {dns_label(self._random): self.json(depth + 4) for _ in range(self._random.randint(0, 2))},
            ]
        return self._random.choice(choices)()


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _place(error: ValidationError) -> str:
    path = ""
    for part in error.errors()[0]["loc"]:
        path = f"{path}[]" if isinstance(part, int) else _join(path, part)
    return path or "metadata"


def _is_open(cls: type) -> bool:
    """Whether a server keeps fields that the schema of a struct does not know."""
    return any(isinstance(said, PreserveUnknown) for said in annotations_of(cls))


def _is_struct(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _same_keys(item: Any, other: Any, keys: tuple[str, ...]) -> bool:
    """Whether two items may be one for a server: a key that is absent may be any, since it may have a default."""
    return all(item.get(key, other.get(key)) == other.get(key, item.get(key)) for key in keys)
