"""Defaulters, which fill in missing fields of objects."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable

import orjson

from pykb.meta.gvk import GroupVersionKind
from pykb.runtime.client.codec import is_deleted
from pykb.runtime.errors import Invalid
from pykb.runtime.webhook._admission import AdmissionRequest, AdmissionResponse, Operation
from pykb.runtime.webhook._jsonpatch import carried, operations
from pykb.runtime.webhook._response import allowed
from pykb.runtime.webhook._typed import T, TypedWebhook, is_as_stored, read
from pykb.runtime.webhook.steps import call


class Defaulter(TypedWebhook[T]):
    """Sets defaults on objects before they are validated and stored.

    ::

        class VirtulMachineDefaulter(Defaulter[VirtulMachine]):
            async def default(self, obj: VirtulMachine) -> None:
                if obj.spec.cpu is None:
                    obj.spec.cpu = 1

    It is called for CREATE and UPDATE. It may be called twice for one object, so it must be
    idempotent. A plain method works too; it runs in a thread. To refuse a request, raise
    :class:`~pykb.runtime.webhook._response.Denied` or an error of the API.
    """

    @abstractmethod
    def default(self, obj: T, /) -> Awaitable[None] | None:
        """Change the object. Only the changes are sent back, as a patch.

        Raises:
            Denied: The request is refused.
            Invalid: The request is refused because of invalid fields.
        """


class DefaulterHandler:
    """Answers admission requests with a defaulter."""

    def __init__(self, gvk: GroupVersionKind, defaulter: Defaulter[T]) -> None:
        self._gvk = gvk
        self._defaulter = defaulter

    async def __call__(self, request: AdmissionRequest) -> AdmissionResponse:
        """Return the patch. DELETE has no object to change, and CONNECT has no object of the kind."""
        original = request.object
        if request.operation not in (Operation.CREATE, Operation.UPDATE) or original is None:
            return allowed()
        if is_deleted(original) and is_as_stored(request):
            return allowed()  # a change of its spec would be validated by current rules, and could block its deletion
        try:
            # A copy: untyped values of the object are shared with the original, which the patch
            # applies to.
            obj = read(self._defaulter.kind, self._gvk, request, orjson.loads(orjson.dumps(original)))
        except Invalid as error:
            if not is_as_stored(request):
                raise
            return allowed(f"not defaulted: {error.message}")
        before = obj.to_wire()
        await call(self._defaulter.default, obj)
        changed = carried(original, before, obj.to_wire())
        return AdmissionResponse(allowed=True, patch=operations(original, changed))
