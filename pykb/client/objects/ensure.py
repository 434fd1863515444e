"""Server-side apply with the fewest writes, and never to an object that another owner controls.

An apply creates or changes an object, whoever controls it. Therefore, an object with a controller
is first sent as a create, which fails if the name is taken. Later applies name the version whose
controller was checked.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pykb.api.meta.v1 import OwnerReference
from pykb.api.object import Object, Unstructured
from pykb.client._apply_configuration import check_keys, holds_exactly, own_entry
from pykb.client.client import Client
from pykb.client.codec import AnyObject, AnyObjectT, replace_content, resource_version_of, to_wire, uid_of
from pykb.client.errors import AlreadyExists, Conflict, NotFound
from pykb.client.objects._create_or_update import OperationResult, contains, find_stored, memory_of, result_of
from pykb.client.objects.owner import ATTEMPTS, check_controlled, controller_of, set_controller_reference
from pykb.client.patches import JsonPatch
from pykb.client.structure import UNKNOWN, structure_of_class


async def ensure_applied(
    client: Client,
    obj: AnyObjectT,
    *,
    owner: AnyObject | None = None,
    adopt: bool = False,
    field_manager: str | None = None,
    force: bool = True,
) -> tuple[AnyObjectT, OperationResult]:
    """Apply an object (server-side) unless the cluster already matches it. It is updated with the stored object.

    The existing object is read first, from the cache if the kind is watched. Nothing is sent if
    every field that ``obj`` sets has this value already, and this manager owns exactly those
    fields. Fields that the server or other managers added do not count. A cache does not hold the
    owners of fields. With a cache, each process checks them at the server once, and again on drift.
    (A quantity in another spelling, ``1000m`` for ``1``, is applied each time. The server then
    finds no change.)

    ::

        deployment, result = await ensure_applied(client, deployment_of(machine), owner=machine)

    Args:
        client: The client.
        obj: The desired fields and no others. It may be a :func:`~pykb.runtime.partial` object.
        owner: The controller of the object. An existing object that the owner does not control is
            refused; this is checked at the server. The same applies if ``obj`` has a controller
            already (``set_controller_reference``). An ``obj`` without a controller is applied
            whoever controls the existing object.
        adopt: Whether to take over an object without a controller.
        field_manager: The name of the manager. Defaults to the client's.
        force: Whether to take over fields that other managers own, as a controller does.

    Raises:
        AlreadyOwned: Another object controls it.
        NotControlled: It exists already and has no controller.
        Conflict: Another manager owns a field and ``force`` is not set, or the object kept changing
            while it was checked.
        ApiError: The server refused.
        ValueError: An element of a list lacks its key.
    """
    if owner is not None:
        set_controller_reference(owner, obj)
    applying = _Applying(client, obj, to_wire(obj), field_manager or client.options.field_manager, force=force)
    stored = await find_stored(client, obj)
    if stored is not None and applying.is_done(stored):
        replace_content(obj, stored)
        return obj, OperationResult.UNCHANGED
    controller = controller_of(obj)
    if controller is None:
        return obj, await applying.apply(stored)
    return obj, await applying.apply_controlled(controller, adopt=adopt, known=stored is not None)


@dataclass(frozen=True, slots=True)
class _Applying:
    """The application of one object."""

    client: Client
    obj: AnyObject
    desired: dict[str, Any]
    manager: str
    force: bool

    def is_done(self, stored: dict[str, Any]) -> bool:
        """Whether ``stored`` has the desired values, and its fields have the owners that an apply would set."""
        if stored["metadata"].get("managedFields"):
            if own_entry(stored, self.manager, "Apply"):
                return holds_exactly(stored, self.desired, self.manager)
            if not own_entry(stored, self.manager, "Update"):
                return False
        if not memory_of(self.client).is_last(uid_of(stored), self.manager, self.desired):
            return False
        structure = structure_of_class(type(self.obj)) if isinstance(self.obj, Object) else UNKNOWN
        return contains(stored, self.desired, structure)

    async def apply(self, stored: dict[str, Any] | None) -> OperationResult:
        """Apply, whoever controls the object."""
        await self.client.apply(self.obj, field_manager=self.manager, force=self.force)
        # An object created just now may not have reached the cache yet.
        unseen = stored is None and memory_of(self.client).is_last(uid_of(self.obj), self.manager, self.desired)
        self._remember()
        if stored is None:
            return OperationResult.UNCHANGED if unseen else OperationResult.CREATED
        return result_of(stored, self.obj)

    async def apply_controlled(self, controller: OwnerReference, *, adopt: bool, known: bool) -> OperationResult:
        """Create the object, or apply to the existing one if the owner controls it."""
        check_keys(self.obj, self.desired)
        for _ in range(ATTEMPTS - 1):
            try:
                return await self._try(controller, adopt=adopt, known=known)
            except (AlreadyExists, Conflict) as error:
                if any(cause.reason == "FieldManagerConflict" for cause in error.causes):
                    raise
            known = True
        return await self._try(controller, adopt=adopt, known=known)

    async def _try(self, controller: OwnerReference, *, adopt: bool, known: bool) -> OperationResult:
        stored = await find_stored(self.client.live, self.obj) if known else None
        if stored is None:
            return await self._create()
        await check_controlled(self.client, stored, controller, adopt=adopt)
        return await self._bring(stored)

    async def _create(self) -> OperationResult:
        await self.client.create(self.obj, field_manager=self.manager)
        self._remember()
        return OperationResult.CREATED

    async def _bring(self, stored: dict[str, Any]) -> OperationResult:
        if self.is_done(stored):
            replace_content(self.obj, stored)
            self._remember()
            return OperationResult.UNCHANGED
        stored = await self._claim(stored)
        wanted = Unstructured({**self.desired, "metadata": {**self.desired["metadata"], "uid": uid_of(stored)}})
        version = resource_version_of(stored)
        await self.client.apply(wanted, field_manager=self.manager, force=self.force, resource_version=version)
        replace_content(self.obj, wanted.data)
        self._remember()
        return result_of(stored, self.obj)

    async def _claim(self, stored: dict[str, Any]) -> dict[str, Any]:
        """Turn the ownership from the create into ownership by apply. Otherwise, an apply could not remove fields."""
        created = own_entry(stored, self.manager, "Update")
        if created is None or own_entry(stored, self.manager, "Apply") is not None:
            return stored
        entries = [
            {**entry, "operation": "Apply"} if entry is created else entry
            for entry in stored["metadata"]["managedFields"]
        ]
        metadata = {"managedFields": entries, "resourceVersion": resource_version_of(stored)}
        claimed = Unstructured(stored)
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
