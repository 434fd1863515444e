"""Conversion between the versions of a kind: from each version (a spoke) to one hub, and back.

Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar, cast

from pykb.api.object import Object
from pykb.api.partial import PartialMaker, partial_validator
from pykb.api.struct import Struct
from pykb.api.type_arguments import type_arguments
from pykb.api.wire import encode_struct
from pykb.diagnostics import PykbError

__all__ = ["Converter", "Unconvertible", "carry_over"]

SpokeT = TypeVar("SpokeT", bound=Object)
HubT = TypeVar("HubT", bound=Object)
StructT = TypeVar("StructT", bound=Struct)


class Unconvertible(PykbError):  # noqa: N818 - says what the object is
    """Raised by a converter when the other version cannot represent the object.

    ::

        def to_hub(self, spoke: v1.CronJob) -> v2.CronJob:
            if len(spoke.spec.schedule.split()) != 5:
                raise Unconvertible(f"`{spoke.spec.schedule}` is not a schedule")
            return carry_over(spoke, v2.CronJob)

    The message is shown to the client.
    """


class Converter(ABC, Generic[SpokeT, HubT]):
    """Converts the objects of one version to the hub and back.

    ::

        class CronJobConverter(Converter[v1.CronJob, v2.CronJob]):
            def to_hub(self, spoke: v1.CronJob) -> v2.CronJob:
                hub = carry_over(spoke, v2.CronJob)
                hub.spec.schedule = parse(spoke.spec.schedule)
                return hub

    Both methods are synchronous, do no I/O, and do not change their argument. The API server stores
    each object in one version only. A conversion to the hub and back must therefore return an equal
    object: what one method drops is lost.

    An object may lack required fields. It may have been stored under an older schema, or it may be
    the remainder that a server-side apply converts to find the fields that are no longer applied.
    Such a field has an empty value (``0``, ``""``, a struct of empty fields).

    The result keeps the metadata of the source object, except for labels and annotations. If a
    method sets labels or annotations, they replace those of the source.
    """

    spoke: ClassVar[type[Object]]
    hub: ClassVar[type[Object]]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        found = type_arguments(cls, Converter, (Object,), example="v1.CronJob, v2.CronJob")
        if found is not None:
            cls.spoke, cls.hub = found

    @abstractmethod
    def to_hub(self, spoke: SpokeT, /) -> HubT:
        """Return the object in the hub's version.

        Raises:
            Unconvertible: The hub's version cannot represent the object.
        """

    @abstractmethod
    def from_hub(self, hub: HubT, /) -> SpokeT:
        """Return the object in the spoke's version.

        Raises:
            Unconvertible: The spoke's version cannot represent the object.
        """


class _Unknown:
    """A value of a field that the class of the source does not have."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class _CarriedMaker(PartialMaker):
    """Builds an object in which required fields may be missing until the converter sets them."""

    @staticmethod
    def opened(value: Any) -> Any:
        return value.value if isinstance(value, _Unknown) else value

    def value(self, value: Any) -> Any:
        return _unmarked(value)

    def miss(self, name: str, annotation: Any, fields: dict[str, Any]) -> None:
        """Leave the attribute unset. Reading it raises an error that says to set it first."""

    def unknown(self, extra: dict[str, Any]) -> dict[str, Any]:
        return {name: value.value for name, value in extra.items() if isinstance(value, _Unknown)}


def carry_over(source: Struct, target: type[StructT]) -> StructT:
    """Create an object of another type with the fields that both types share by wire name.

    ::

        spoke = v1.CronJob(metadata=ObjectMeta(name="backup"), spec=Spec(schedule="@daily"))
        assert carry_over(spoke, v2.CronJob).spec.schedule == "@daily"

    Metadata, spec and status are copied at every depth, as far as each value fits the target's
    field. Left out are fields that the target does not have, and values that do not fit. The
    converter sets those. A required field of the target may therefore be missing. Reading it raises
    an error until it is set.

    The object may have fields that its own class does not know. They are copied to the same place
    in the result, and so survive the conversion. The result shares nothing with the source.
    """
    wire = _marked(source) if _has_unknown(source) else source.to_wire()
    if issubclass(target, Object):
        wire |= {"apiVersion": target.gvk.api_version, "kind": target.gvk.kind}
    made: StructT = partial_validator(target, _CarriedMaker).validate_python(wire, by_alias=True, by_name=False)
    return made


def _has_unknown(value: object) -> bool:
    if isinstance(value, Struct):
        return bool(value.__pydantic_extra__) or any(map(_has_unknown, value.__dict__.values()))
    if isinstance(value, Mapping):
        return any(map(_has_unknown, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_has_unknown, value))


def _marked(source: Struct) -> dict[str, Any]:
    wire = encode_struct(source)
    plan = type(source).__wire_plan__ or ()
    known = {field.wire_name: field for field in plan}
    for name in wire:
        if name not in known:
            wire[name] = _Unknown(wire[name])
        elif not known[name].custom:
            wire[name] = _marked_within(source.__dict__.get(known[name].attribute), wire[name])
    return wire


def _marked_within(value: object, wire: Any) -> Any:
    if not _has_unknown(value):
        return wire
    if isinstance(value, Struct):
        return _marked(value)
    if isinstance(value, Mapping):
        return {key: _marked_within(item, wire[key]) for key, item in value.items() if key in wire}
    return [_marked_within(item, encoded) for item, encoded in zip(cast("list[Any]", value), wire, strict=True)]


def _unmarked(value: Any) -> Any:
    if isinstance(value, _Unknown):
        return value.value
    if type(value) is dict:
        return {key: _unmarked(item) for key, item in value.items()}
    if type(value) is list:
        return [_unmarked(item) for item in value]
    return value
