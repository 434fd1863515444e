"""The common base of defaulters and validators: their kind, client, request and logger."""

from __future__ import annotations

import logging
from abc import ABC
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from pykb.api.object import Object
from pykb.api.partial import fitting
from pykb.api.type_arguments import type_arguments
from pykb.api.unreadable import UnreadableObject
from pykb.api.unstructured import Unstructured
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime.client.codec import from_wire
from pykb.runtime.errors import BadRequest
from pykb.runtime.webhook._admission import AdmissionRequest, Operation, current_admission_request
from pykb.runtime.webhook._failure import unfit
from pykb.runtime.webhook._jsonpatch import same

if TYPE_CHECKING:
    from pykb.runtime.client import Client

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=Object | Unstructured)
Wire: TypeAlias = dict[str, Any]


class TypedWebhook(ABC, Generic[T]):
    """The base of defaulters and validators: ``class VirtulMachineDefaulter(Defaulter[VirtulMachine])``."""

    kind: ClassVar[type[Object | Unstructured]]
    """The class of the objects, from the type argument."""

    _client: Client | None = None

    def __init__(self, client: Client | None = None) -> None:
        """Make a webhook. Pass a client if it reads other objects."""
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
            RuntimeError: No client was given.
        """
        if self._client is None:
            called = type(self).__name__
            raise RuntimeError(f"`{called}` was made without a client: `{called}(manager.client)`")
        return self._client

    @property
    def request(self) -> AdmissionRequest:
        """The current admission request: its user, its operation, whether it is a dry run.

        Raises:
            LookupError: There is no current request. A test sets one by ``with
                answering(AdmissionRequest(...)):``.
        """
        request = current_admission_request()
        if request is None:
            raise LookupError("there is no admission request here: use `with answering(AdmissionRequest(...)):`")
        return request

    @property
    def logger(self) -> logging.Logger:
        """The logger of the module that defines the webhook."""
        return logging.getLogger(type(self).__module__)


def read(kind: type[Object | Unstructured], gvk: GroupVersionKind, request: AdmissionRequest, wire: Wire) -> Any:
    """Read the object of a request. The API server checks constraints itself, after defaulting.

    Raises:
        BadRequest: The request is for another kind.
        Invalid: A value does not have the type of its field.
    """
    _check_kind(gvk, request)
    try:
        return _parsed(kind, gvk, wire)
    except UnreadableObject as error:
        raise unfit(error, request.object_name) from None


def read_old(kind: type[Object | Unstructured], gvk: GroupVersionKind, request: AdmissionRequest, wire: Wire) -> Any:
    """Read the stored object of a request. Parts that do not fit are left out, so that it can be fixed or deleted.

    Raises:
        BadRequest: The request is for another kind.
    """
    _check_kind(gvk, request)
    try:
        return _parsed(kind, gvk, wire)
    except UnreadableObject as error:
        return _fitting(kind, gvk, wire, error)


def is_as_stored(request: AdmissionRequest) -> bool:
    """Whether only metadata is changed, for example to remove a finalizer.

    The API server accepts other invalid fields in such a change.
    """
    new, old = request.object or {}, request.old_object
    if request.operation is not Operation.UPDATE or old is None:
        return False
    return all(same(new.get(key), old.get(key)) for key in {*new, *old} - {"metadata"})


def _fitting(
    kind: type[Object | Unstructured], gvk: GroupVersionKind, wire: Wire, error: UnreadableObject
) -> Object | Unstructured:
    told = ", ".join(problem.path for problem in error.problems)
    logger.warning("stored object does not fit its type, fields are left out", extra={"fields": told})
    assert issubclass(kind, Object)  # noqa: S101 - whatever came, an untyped one holds it
    return fitting(kind, _identified(gvk, wire))


def _parsed(kind: type[Object | Unstructured], gvk: GroupVersionKind, wire: Wire) -> Any:
    if issubclass(kind, Unstructured):
        return Unstructured.from_wire(_identified(gvk, wire))
    return from_wire(kind, _identified(gvk, wire))


def _identified(gvk: GroupVersionKind, wire: Wire) -> Wire:
    return {"apiVersion": gvk.api_version, "kind": gvk.kind, **wire}


def _check_kind(gvk: GroupVersionKind, request: AdmissionRequest) -> None:
    if request.kind != gvk:
        message = f"this webhook is for {gvk}, but the request is about {request.kind}"
        raise BadRequest(400, "BadRequest", message)
