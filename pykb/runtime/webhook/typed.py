"""What defaulters and validators have in common: the kind they are for, and what is at hand while they run."""

from __future__ import annotations

import logging
from abc import ABC
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from pykb.api.object import Object
from pykb.api.type_arguments import type_arguments
from pykb.api.unreadable import UnreadableObject
from pykb.api.unstructured import Unstructured
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime.client.codec import from_wire
from pykb.runtime.errors import BadRequest
from pykb.runtime.webhook.admission import AdmissionRequest, current_admission_request
from pykb.runtime.webhook.failure import unfit

if TYPE_CHECKING:
    from pykb.runtime.client import Client

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=Object | Unstructured)
Wire: TypeAlias = dict[str, Any]

MENDED = 8
"""Times that a stored object is read again without what did not fit; each may bring the next field to light."""


class TypedWebhook(ABC, Generic[T]):
    """The base of defaulters and validators: ``class VirtulMachineDefaulter(Defaulter[VirtulMachine])``."""

    kind: ClassVar[type[Object | Unstructured]]
    """The class of the objects, known from the type argument."""

    _client: Client | None = None

    def __init__(self, client: Client | None = None) -> None:
        """Remember the client, for webhooks that look at other objects."""
        self._client = client

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        found = type_arguments(cls, TypedWebhook, (Object, Unstructured), example="Pod")
        if found is not None:
            (cls.kind,) = found

    @property
    def client(self) -> Client:
        """The client that was given.

        Raises:
            RuntimeError: None was.
        """
        if self._client is None:
            called = type(self).__name__
            raise RuntimeError(f"`{called}` was made without a client: `{called}(manager.client)`")
        return self._client

    @property
    def request(self) -> AdmissionRequest:
        """The question at hand: who asks, for what operation, whether it is a dry run.

        Raises:
            LookupError: There is none; a test makes one: ``with answering(AdmissionRequest(...)):``.
        """
        request = current_admission_request()
        if request is None:
            raise LookupError("no admission request is at hand: `with answering(AdmissionRequest(...)):` makes one")
        return request

    @property
    def logger(self) -> logging.Logger:
        """Of the module that defines the webhook."""
        return logging.getLogger(type(self).__module__)


def read(kind: type[Object | Unstructured], gvk: GroupVersionKind, request: AdmissionRequest, wire: Wire) -> Any:
    """The object of a request. Constraints are the API server's to judge, and it does so after defaulting.

    Raises:
        BadRequest: The request is about another kind.
        Invalid: A value is of another type than its field.
    """
    _check_kind(gvk, request)
    try:
        return _parsed(kind, gvk, wire)
    except UnreadableObject as error:
        raise unfit(error, request.object_name) from None


def read_old(kind: type[Object | Unstructured], gvk: GroupVersionKind, request: AdmissionRequest, wire: Wire) -> Any:
    """The stored object of a request. What does not fit is left out of it: it must be possible to mend or delete it.

    Raises:
        BadRequest: The request is about another kind.
        Invalid: The object has nothing in place of a field that its class requires.
    """
    _check_kind(gvk, request)
    refused: UnreadableObject | None = None
    for _ in range(MENDED):
        try:
            return _parsed(kind, gvk, wire)
        except UnreadableObject as error:
            refused = error
        told = ", ".join(problem.path for problem in refused.problems)
        logger.warning("stored object does not fit its type, fields are left out", extra={"fields": told})
        before = wire
        for problem in reversed(refused.problems):  # from the back: what lies before keeps its place in lists
            wire = _without(wire, problem.location)
        if wire == before:
            break
    assert refused is not None  # noqa: S101 - the loop ran
    raise unfit(refused, request.object_name)


def _parsed(kind: type[Object | Unstructured], gvk: GroupVersionKind, wire: Wire) -> Any:
    if issubclass(kind, Unstructured):
        return Unstructured.from_wire(wire)
    return from_wire(kind, {"apiVersion": gvk.api_version, "kind": gvk.kind, **wire})


def _check_kind(gvk: GroupVersionKind, request: AdmissionRequest) -> None:
    if request.kind != gvk:
        message = f"this webhook is for {gvk}, and was asked about {request.kind}"
        raise BadRequest(400, "BadRequest", message)


def _without(value: Any, location: tuple[int | str, ...]) -> Any:
    """The value without what lies there; a location may go on below the wire, into the parts of a union."""
    if not location:
        return value
    key, rest = location[0], location[1:]
    if isinstance(value, dict) and key in value:
        inner = value[key]
        deeper = _without(inner, rest) if isinstance(inner, (dict, list)) else inner
        if deeper is not inner and deeper != inner:
            return {**value, key: deeper}
        return {name: item for name, item in value.items() if name != key}
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        inner = value[key]
        deeper = _without(inner, rest) if isinstance(inner, (dict, list)) else inner
        if deeper is not inner and deeper != inner:
            return [*value[:key], deeper, *value[key + 1 :]]
        return [*value[:key], *value[key + 1 :]]
    return value
