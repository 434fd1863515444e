"""Conversion between the versions of a kind: each version (a spoke) into one of them (the hub), and back.

Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from pykb.api._carry import carry_over
from pykb.api.object import Object
from pykb.api.type_arguments import type_arguments
from pykb.diagnostics import PykbError

__all__ = ["Converter", "Unconvertible", "carry_over"]

SpokeT = TypeVar("SpokeT", bound=Object)
HubT = TypeVar("HubT", bound=Object)


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
