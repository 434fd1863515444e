"""Validators, for rules that a schema cannot express."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Any

from pykb.diagnostics import PykbError
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime.errors import Invalid
from pykb.runtime.webhook._admission import AdmissionRequest, AdmissionResponse, Operation, Warnings
from pykb.runtime.webhook._failure import alone, without_values
from pykb.runtime.webhook._response import allowed
from pykb.runtime.webhook._typed import T, TypedWebhook, is_as_stored, read, read_old
from pykb.runtime.webhook.steps import call

logger = logging.getLogger(__name__)


class Validator(TypedWebhook[T]):
    """Validates objects before they are stored or deleted. A method that is not overridden allows the request.

    ::

        class VirtulMachineValidator(Validator[VirtulMachine]):
            async def validate_create(self, obj: VirtulMachine) -> Warnings:
                if obj.spec.cpu % 2:
                    raise Invalid.of(obj, [FieldError("spec.cpu", "must be even", value=obj.spec.cpu)])
                return None

    A method returns warnings for the client, or ``None``. To refuse a request, raise
    :class:`~pykb.runtime.webhook._response.Denied` or an error of the API. Plain methods work too;
    they run in threads.
    """

    def validate_create(self, obj: T, /) -> Awaitable[Warnings] | Warnings:  # noqa: ARG002 - for those who override it
        """Validate a new object.

        Raises:
            Denied: The request is refused.
            Invalid: The request is refused because of invalid fields.
        """
        return None

    def validate_update(self, old: T, new: T, /) -> Awaitable[Warnings] | Warnings:  # noqa: ARG002
        """Validate a change.

        ``old`` may have been stored before the current rules, so it need not satisfy them. If it
        does not fit its type, the parts that do not fit are left out, and required fields are empty
        (``0``, ``""``). The same applies to ``new`` if only metadata is changed. Removing
        finalizers from a deleted object is also an update. If it is refused, the object is never
        deleted.

        Raises:
            Denied: The request is refused.
            Invalid: The request is refused because of invalid fields.
        """
        return None

    def validate_delete(self, obj: T, /) -> Awaitable[Warnings] | Warnings:  # noqa: ARG002
        """Validate a deletion. Called only if the webhook is registered for DELETE.

        Raises:
            Denied: The request is refused.
        """
        return None


class ValidatorHandler:
    """Answers admission requests with a validator."""

    def __init__(self, gvk: GroupVersionKind, validator: Validator[T]) -> None:
        self._gvk = gvk
        self._validator = validator
        cls = type(validator)
        # A method that is not overridden allows the request, and need not be called in a thread.
        self._asks = {
            Operation.CREATE: cls.validate_create is not Validator.validate_create,
            Operation.UPDATE: cls.validate_update is not Validator.validate_update,
            Operation.DELETE: cls.validate_delete is not Validator.validate_delete,
        }

    async def __call__(self, request: AdmissionRequest) -> AdmissionResponse:
        """Return the response. CONNECT has no object of the kind and is allowed."""
        try:
            found = await self._judged(request)
        except Exception as error:
            if isinstance(alone(error), (PykbError, ExceptionGroup)) or not self._is_unfit_and_to_go(request):
                raise
            told = "not validated: the stored object does not fit its type"
            logger.warning(told, exc_info=without_values(error))
            return allowed(told)
        return allowed(*_checked(found))

    async def _judged(self, request: AdmissionRequest) -> object:
        validator = self._validator
        match request.operation:
            case Operation.CREATE:
                obj = self._read(request)
                if self._asks[Operation.CREATE]:
                    return await call(validator.validate_create, obj)
            case Operation.UPDATE:
                obj = self._read(request)
                if self._asks[Operation.UPDATE]:
                    return await call(validator.validate_update, self._read_old(request), obj)
            case Operation.DELETE if self._asks[Operation.DELETE]:
                return await call(validator.validate_delete, self._read_old(request))
            case _:
                pass
        return None

    def _is_unfit_and_to_go(self, request: AdmissionRequest) -> bool:
        """Whether it deletes an object, or changes only its metadata, and the object does not fit its class."""
        if request.operation is not Operation.DELETE and not is_as_stored(request):
            return False
        try:
            read(self._validator.kind, self._gvk, request, request.old_object or {})
        except Invalid:
            return True
        return False

    def _read(self, request: AdmissionRequest) -> Any:
        kind, wire = self._validator.kind, request.object or {}
        try:
            return read(kind, self._gvk, request, wire)
        except Invalid:
            if not is_as_stored(request):
                raise
            return read_old(kind, self._gvk, request, wire)

    def _read_old(self, request: AdmissionRequest) -> Any:
        return read_old(self._validator.kind, self._gvk, request, request.old_object or {})


def _checked(found: object) -> tuple[str, ...]:
    if found is None:
        return ()
    if isinstance(found, str):
        return (found,)
    if isinstance(found, (list, tuple)) and all(isinstance(warning, str) for warning in found):
        return tuple(found)
    raise TypeError(f"a validator gives warnings as a list of strings, or None; got {type(found).__name__}")
