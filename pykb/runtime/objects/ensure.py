"""Server-side apply of what is wanted, with the fewest writes, and never to an object that is somebody else's.

An apply creates what is not there and changes what is, whosever it is. So an object that is to have a controller is
created by a request that fails when the name is taken. From then on it is applied, each time to the very version whose
controller was looked at.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pykb.api.meta.v1 import OwnerReference
from pykb.api.object import Object
from pykb.api.unstructured import Unstructured
from pykb.runtime.client.apply_configuration import to_configuration
from pykb.runtime.client.client import Client
from pykb.runtime.client.codec import (
    AnyObject,
    AnyObjectT,
    replace_content,
    resource_version_of,
    uid_of,
)
from pykb.runtime.client.patches import JsonPatch
from pykb.runtime.errors import AlreadyExists, Conflict, NotFound
from pykb.runtime.objects._apply_memory import contains, memory_of
from pykb.runtime.objects._controlled import ATTEMPTS, check_controlled
from pykb.runtime.objects._create_or_update import OperationResult, find_stored, result_of
from pykb.runtime.objects.fieldset import holds_exactly, own_entry
from pykb.runtime.objects.owner import controller_of, set_controller_reference
from pykb.runtime.objects.structure import UNKNOWN, structure_of_class


async def ensure_applied(
    client: Client,
    obj: AnyObjectT,
    *,
    owner: AnyObject | None = None,
    adopt: bool = False,
    field_manager: str | None = None,
    force: bool = True,
) -> tuple[AnyObjectT, OperationResult]:
    """Apply an object (server-side) unless the cluster already holds what it wants; afterwards it is what is stored.

    What is there is read first, from the cache where the kind is watched. Nothing is sent when every field that ``obj``
    sets has this value already and this manager owns those fields and no others; what the server or other managers
    added does not count. A cache knows of no owners of fields: there, each process looks once, and then on drift. (A
    quantity that the server spells otherwise, ``1000m`` for ``1``, is applied each time; the server then finds that
    nothing changes.)

    Args:
        client: The client.
        obj: What is wanted, and nothing else; also a :func:`~pykb.runtime.partial` object.
        owner: Who controls it. An object of this name that the owner does not control is refused, as the server has
            it at that moment. The same holds where ``obj`` has a controller already
            (``set_controller_reference``). An object without a controller is applied whosever it is.
        adopt: Whether to take an object that nobody controls.
        field_manager: Who wants it; the client's own manager when ``None``.
        force: Whether fields that other managers own are taken over, as a controller does.

    Raises:
        AlreadyOwned: Another object controls it.
        NotControlled: It exists already, and nobody controls it.
        Conflict: Another manager owns a field, and ``force`` is not set; or the object changed again and again while
            it was looked at.
        ApiError: The server refused.
        ValueError: An element of a list has no key.
    """
    if owner is not None:
        set_controller_reference(owner, obj)
    applying = _Applying(client, obj, to_configuration(obj), field_manager or client.options.field_manager, force=force)
    found = await find_stored(client, obj)
    if found is not None and applying.is_done(found):
        replace_content(obj, found)
        return obj, OperationResult.UNCHANGED
    controller = controller_of(obj)
    if controller is None:
        return obj, await applying.apply(found)
    return obj, await applying.apply_controlled(controller, adopt=adopt, known=found is not None)


@dataclass(frozen=True, slots=True)
class _Applying:
    """One object that a manager wants, and how it gets there."""

    client: Client
    obj: AnyObject
    desired: dict[str, Any]
    manager: str
    force: bool

    def is_done(self, found: dict[str, Any]) -> bool:
        """Whether ``found`` holds what is wanted, and its fields have the owners that applying would give them."""
        if found["metadata"].get("managedFields"):
            if own_entry(found, self.manager, "Apply"):
                return holds_exactly(found, self.desired, self.manager)
            if not own_entry(found, self.manager, "Update"):
                return False
        if not memory_of(self.client).is_last(uid_of(found), self.manager, self.desired):
            return False
        structure = structure_of_class(type(self.obj)) if isinstance(self.obj, Object) else UNKNOWN
        return contains(found, self.desired, structure)

    async def apply(self, found: dict[str, Any] | None) -> OperationResult:
        """Apply, whosever the object is."""
        await self.client.apply(self.obj, field_manager=self.manager, force=self.force)
        # What was created a moment ago may not have reached the cache yet.
        unseen = found is None and memory_of(self.client).is_last(uid_of(self.obj), self.manager, self.desired)
        self._remember()
        if found is None:
            return OperationResult.UNCHANGED if unseen else OperationResult.CREATED
        return result_of(found, self.obj)

    async def apply_controlled(self, controller: OwnerReference, *, adopt: bool, known: bool) -> OperationResult:
        """Create the object, or apply to the one that is there if it is the owner's."""
        for _ in range(ATTEMPTS - 1):
            try:
                return await self._try(controller, adopt=adopt, known=known)
            except (AlreadyExists, Conflict) as error:
                if any(cause.reason == "FieldManagerConflict" for cause in error.causes):
                    raise
            known = True
        return await self._try(controller, adopt=adopt, known=known)

    async def _try(self, controller: OwnerReference, *, adopt: bool, known: bool) -> OperationResult:
        found = await find_stored(self.client.live, self.obj) if known else None
        if found is None:
            return await self._create()
        await check_controlled(self.client, found, controller, adopt=adopt)
        return await self._bring(found)

    async def _create(self) -> OperationResult:
        await self.client.create(self.obj, field_manager=self.manager)
        self._remember()
        return OperationResult.CREATED

    async def _bring(self, found: dict[str, Any]) -> OperationResult:
        if self.is_done(found):
            replace_content(self.obj, found)
            self._remember()
            return OperationResult.UNCHANGED
        found = await self._claim(found)
        wanted = Unstructured({**self.desired, "metadata": {**self.desired["metadata"], "uid": uid_of(found)}})
        version = resource_version_of(found)
        await self.client.apply(wanted, field_manager=self.manager, force=self.force, resource_version=version)
        replace_content(self.obj, wanted.data)
        self._remember()
        return result_of(found, self.obj)

    async def _claim(self, found: dict[str, Any]) -> dict[str, Any]:
        """Own by applying what this manager owns by having created it: it could drop no field otherwise."""
        created = own_entry(found, self.manager, "Update")
        if created is None or own_entry(found, self.manager, "Apply") is not None:
            return found
        entries = [
            {**entry, "operation": "Apply"} if entry is created else entry
            for entry in found["metadata"]["managedFields"]
        ]
        metadata = {"managedFields": entries, "resourceVersion": resource_version_of(found)}
        claimed = Unstructured(found)
        patch = JsonPatch(
            [{"op": "replace", "path": f"/metadata/{name}", "value": value} for name, value in metadata.items()]
        )
        try:
            return (await self.client.patch(claimed, patch, field_manager=self.manager)).data
        except NotFound as error:
            raise Conflict(409, "Conflict", error.message) from error

    def _remember(self) -> None:
        if not self.client.options.dry_run:
            memory_of(self.client).remember(uid_of(self.obj), self.manager, self.desired)
