"""Filling in what the author of an object left out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Awaitable

import orjson

from pykb.meta.gvk import GroupVersionKind
from pykb.runtime.client.codec import is_deleted
from pykb.runtime.errors import Invalid
from pykb.runtime.webhook._admission import AdmissionRequest, AdmissionResponse, Operation
from pykb.runtime.webhook._call import call
from pykb.runtime.webhook._jsonpatch import carried, operations
from pykb.runtime.webhook._response import allowed
from pykb.runtime.webhook._typed import T, TypedWebhook, is_as_stored, read


class Defaulter(TypedWebhook[T]):
    """Completes objects before they are validated and stored.

    ::

        class VirtulMachineDefaulter(Defaulter[VirtulMachine]):
            async def default(self, obj: VirtulMachine) -> None:
                if obj.spec.cpu is None:
                    obj.spec.cpu = 1

    It is asked on CREATE and UPDATE, and may be asked twice about one object, so it must be idempotent. A plain method
    works too; it runs in a thread. :class:`~pykb.runtime.webhook._response.Denied` and errors of the API refuse.
    """

    @abstractmethod
    def default(self, obj: T, /) -> Awaitable[None] | None:
        """Change the object; what is changed is sent back as a patch, and nothing else of it.

        Raises:
            Denied: The request is refused.
            Invalid: It is refused because of fields.
        """


class DefaulterHandler:
    """Answers admission requests by a defaulter."""

    def __init__(self, gvk: GroupVersionKind, defaulter: Defaulter[T]) -> None:
        self._gvk = gvk
        self._defaulter = defaulter

    async def __call__(self, request: AdmissionRequest) -> AdmissionResponse:
        """The patch; DELETE has no object to change, and CONNECT none of the kind."""
        original = request.object
        if request.operation not in (Operation.CREATE, Operation.UPDATE) or original is None:
            return allowed()
        if is_deleted(original) and is_as_stored(request):
            return allowed()  # a change of its spec would be judged by today's rules, and might keep it for ever
        try:
            # A copy: values without a type of their own are the object's as they are, and the patch is on the original.
            obj = read(self._defaulter.kind, self._gvk, request, orjson.loads(orjson.dumps(original)))
        except Invalid as error:
            if not is_as_stored(request):
                raise
            return allowed(f"not defaulted: {error.message}")
        before = obj.to_wire()
        await call(self._defaulter.default, obj)
        changed = carried(original, before, obj.to_wire())
        return AdmissionResponse(allowed=True, patch=operations(original, changed))
