"""Conversion between the versions of a kind: each version (a spoke) into one of them (the hub), and back.

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
    """Raised by a converter: the object has no form in the other version. The message is shown to the client."""


class Converter(ABC, Generic[SpokeT, HubT]):
    """Converts objects of one version into the hub and back.

    ::

        class CronJobConverter(Converter[v1.CronJob, v2.CronJob]):
            def to_hub(self, spoke: v1.CronJob) -> v2.CronJob:
                hub = carry_over(spoke, v2.CronJob)
                hub.spec.schedule = parse(spoke.spec.schedule)
                return hub

    Both functions are plain, do no I/O, and leave their argument alone. What one of them loses is lost: the API server
    stores objects in one version only, so going there and back has to give the same object.

    An object may lack what its type requires: it was stored before, or is what a server-side apply leaves of it while
    it finds out what is not applied any more. Such a field is empty (``0``, ``""``, a struct of empty fields).

    The metadata of the result is the source's, whatever the function gives, except for labels and annotations: where
    the function sets one of these, it is taken as the whole of it.
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
        """The same object as the hub has it.

        Raises:
            Unconvertible: It has no form there.
        """

    @abstractmethod
    def from_hub(self, hub: HubT, /) -> SpokeT:
        """The same object as the spoke has it.

        Raises:
            Unconvertible: It has no form there.
        """


class _Unknown:
    """A value that the source has no field for."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class _CarriedMaker(PartialMaker):
    """Makes an object that misses what is required until the converter sets it."""

    @staticmethod
    def opened(value: Any) -> Any:
        return value.value if isinstance(value, _Unknown) else value

    def value(self, value: Any) -> Any:
        return _unmarked(value)

    def miss(self, name: str, annotation: Any, fields: dict[str, Any]) -> None:
        """Reading the attribute is an error, which says what to do."""

    def unknown(self, extra: dict[str, Any]) -> dict[str, Any]:
        return {name: value.value for name, value in extra.items() if isinstance(value, _Unknown)}


def carry_over(source: Struct, target: type[StructT]) -> StructT:
    """An object of another type with the fields that both have by the same name on the wire.

    What both types know is taken where the value fits, at every depth, and metadata and status too. What only the
    source knows, and what has another type in the target, is left out: the converter sets it. A field that the target
    requires may thus be missing; it can be set, and reading it before is an error. Fields that the source does not know
    either (the object has more than its class) are kept where they are, so that they go the whole way. Nothing is
    shared with the source.
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
