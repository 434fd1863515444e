"""Brings objects to their desired state with the fewest writes, and never one that another owner controls.

An apply creates or changes an object, whoever controls it. Therefore, an object with a controller
is first sent as a create, which fails if the name is taken. Later applies name the version whose
controller was checked.

Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#transferring-ownership
"""

from __future__ import annotations

import base64
import hashlib
import inspect
import weakref
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import NoneType
from typing import Any

from pykb.api.meta.v1 import OwnerReference
from pykb.api.object import Object, Unstructured
from pykb.api.struct import Struct
from pykb.client._apply_configuration import check_keys, holds_exactly, own_entry
from pykb.client.client import Client
from pykb.client.codec import (
    AnyObject,
    AnyObjectT,
    gvk_of,
    key_of,
    member_to_wire,
    replace_content,
    resource_version_of,
    snapshot,
    to_wire,
    uid_of,
)
from pykb.client.connection import Connection
from pykb.client.errors import AlreadyExists, Conflict, NotFound
from pykb.client.json_text import encode
from pykb.client.owner import ATTEMPTS, check_controlled, controller_of, set_controller_reference
from pykb.client.patches import JsonPatch, MergeFrom, MergePatch, merge_diff
from pykb.client.structure import UNKNOWN, Shape, Structure, structure_of_class
from pykb.meta.gvk import GroupVersionKind

# Brings an object to its desired state with the fewest writes: create or update, create or patch, status.


_REMEMBERED = 50_000
_PLAIN = (str, int, float, NoneType)
_MEMORIES: weakref.WeakKeyDictionary[Connection, AppliedMemory] = weakref.WeakKeyDictionary()

Mutate = Callable[[], None] | Callable[[], Awaitable[None]]
"""Sets the desired state on the object. Called once, after the object was read."""

_WITHOUT_EFFECT = "(without effect)"
"""The name under which writes without an effect are remembered. No field manager has this name."""

_SECRET = GroupVersionKind("", "v1", "Secret")
_BOOKKEEPING = ("resourceVersion", "managedFields")


class OperationResult(StrEnum):
    """The result of an operation.

    ::

        deployment, result = await ensure_applied(client, deployment_of(machine), owner=machine)
        if result is OperationResult.CREATED:
            self.recorder.event(machine, "Normal", "Created", f"Deployment {deployment.metadata.name} created")
    """

    UNCHANGED = "unchanged"
    CREATED = "created"
    UPDATED = "updated"


async def create_or_update(
    client: Client, obj: AnyObjectT, mutate: Mutate, *, owner: AnyObject | None = None, adopt: bool = False
) -> tuple[AnyObjectT, OperationResult]:
    """Create an object, or update the existing one to the desired state.

    ::

        config = ConfigMap(metadata=ObjectMeta(name=machine.metadata.name, namespace=machine.metadata.namespace))

        def want() -> None:
            config.data = {"disk": machine.spec.disk}

        _, result = await create_or_update(client, config, want, owner=machine)
        assert result is OperationResult.CREATED

    ``obj`` only needs a name. It is updated with the existing object before ``mutate`` is called.
    If ``mutate`` changes nothing, nothing is sent. If ``mutate`` drops defaults that the server
    fills in, the first write has no effect. It is reported as unchanged, and not sent again until
    either side changes.

    Args:
        client: The client.
        obj: The object, with its name.
        mutate: Sets the desired state on it.
        owner: The controller of the object. An existing object that the owner does not control is
            refused. The same applies if ``mutate`` calls ``set_controller_reference``.
        adopt: Whether to take over an object without a controller.

    Raises:
        AlreadyOwned: Another object controls it.
        NotControlled: It exists already and has no controller.
        AlreadyExists: Another client has just created it, and the cache may not have it yet.
        Conflict: It changed between reading and writing.
        ValueError: ``mutate`` changed its name or namespace.
        ApiError: The server refused.
    """
    before = await _read(client, obj, mutate, owner, adopt=adopt)
    if before is None:
        return await client.create(obj), OperationResult.CREATED
    if to_wire(obj) == before:
        return obj, OperationResult.UNCHANGED
    return obj, await _bring(client, obj, before, lambda: client.update(obj))


async def create_or_patch(
    client: Client, obj: AnyObjectT, mutate: Mutate, *, owner: AnyObject | None = None, adopt: bool = False
) -> tuple[AnyObjectT, OperationResult]:
    """Like :func:`create_or_update`, but sends only the changes, so that it does not conflict with other writers.

    ::

        config = ConfigMap(metadata=ObjectMeta(name=app.metadata.name, namespace=app.metadata.namespace))

        def want() -> None:
            config.data = {**(config.data or {}), "url": app.spec.url}

        _, result = await create_or_patch(client, config, want, owner=app)

    It does not write the status; use :func:`patch_status`. An object with a controller is patched
    only if it has not changed since it was read.

    Raises:
        AlreadyOwned: Another object controls it.
        NotControlled: It exists already and has no controller.
        AlreadyExists: Another client has just created it, and the cache may not have it yet.
        Conflict: It has a controller and changed between reading and writing.
        ValueError: ``mutate`` changed its name or namespace.
        ApiError: The server refused.
    """
    before = await _read(client, obj, mutate, owner, adopt=adopt)
    if before is None:
        return await client.create(obj), OperationResult.CREATED
    patch = MergeFrom(before, None, optimistic_lock=controller_of(obj) is not None)
    if patch.body_for(obj) is None:
        return obj, OperationResult.UNCHANGED
    return obj, await _bring(client, obj, before, lambda: client.patch(obj, patch))


async def patch_status(
    client: Client, obj: AnyObjectT, before: AnyObjectT | Struct | None, *, optimistic_lock: bool = False
) -> OperationResult:
    """Write the changes of the status since ``before`` as a merge patch. Without changes, send nothing.

    ::

        before = copy.deepcopy(machine.status)
        machine.status.phase = "Running"
        await patch_status(client, machine, before)

    Args:
        client: The client.
        obj: The object with its new status. It is updated with the stored object.
        before: The status of a typed object as it was read, or the object as it was read. A copy of
            the status costs less if the spec is large.
        optimistic_lock: Whether to refuse the write if the object has changed since. Use it if two
            writers share a list.

    Raises:
        NotFound: The object does not exist, or its kind has no status subresource.
        Conflict: The object has changed since and ``optimistic_lock`` is set.
        ApiError: The server refused.
    """
    read: AnyObject = obj
    old: dict[str, Any] = {}
    if isinstance(before, Struct) and not isinstance(before, Object):
        old = before.to_wire()
    elif before is not None:
        read, old = before, member_to_wire(before, "status") or {}
    change = merge_diff({"status": old}, {"status": member_to_wire(obj, "status") or {}})
    if not change:
        return OperationResult.UNCHANGED
    if optimistic_lock:
        change["metadata"] = {"resourceVersion": resource_version_of(read) or None}
    await client.status.patch(obj, MergePatch(change))
    return OperationResult.UPDATED


async def _read(
    client: Client, obj: AnyObject, mutate: Mutate, owner: AnyObject | None, *, adopt: bool
) -> dict[str, Any] | None:
    """Update ``obj`` with the existing object, mutate it, and return the existing object."""
    stored = await find_stored(client, obj)
    if stored is not None:
        replace_content(obj, stored)
    before = snapshot(obj)
    if owner is not None:
        set_controller_reference(owner, obj)
        await _check(client, obj, stored, adopt=adopt)
    await _mutate(obj, mutate)
    if owner is not None:
        set_controller_reference(owner, obj)
    else:
        await _check(client, obj, stored, adopt=adopt)
    return None if stored is None else before


async def _check(client: Client, obj: AnyObject, stored: dict[str, Any] | None, *, adopt: bool) -> None:
    """Refuse to become the controller of the existing object."""
    controller = controller_of(obj)
    if stored is not None and controller is not None:
        await check_controlled(client, stored, controller, adopt=adopt)


async def _mutate(obj: AnyObject, mutate: Mutate) -> None:
    key = key_of(obj)
    outcome = mutate()
    if inspect.isawaitable(outcome):
        await outcome
    if key_of(obj) != key:
        raise ValueError(f"`mutate` must not rename the object: it was `{key}`, and is `{key_of(obj)}`")


async def _bring(
    client: Client, obj: AnyObject, before: dict[str, Any], write: Callable[[], Awaitable[object]]
) -> OperationResult:
    """Write, unless the same change of the same object had no effect before, because it only dropped defaults."""
    memory, uid = memory_of(client), str(before["metadata"].get("uid"))
    change = _change(before, to_wire(obj))
    if memory.is_last(uid, _WITHOUT_EFFECT, change):
        replace_content(obj, before)
        return OperationResult.UNCHANGED
    await write()
    result = result_of(before, obj)
    if result is OperationResult.UNCHANGED and not client.options.dry_run:
        memory.remember(uid, _WITHOUT_EFFECT, change)
    return result


def _change(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The data that decides whether a write has an effect: both objects, without parts that others write often."""
    same_status = before.get("status") == after.get("status")

    def content(wire: dict[str, Any]) -> dict[str, Any]:
        kept = {name: value for name, value in wire.items() if not (same_status and name == "status")}
        kept["metadata"] = {name: value for name, value in wire["metadata"].items() if name not in _BOOKKEEPING}
        return kept

    return {"before": content(before), "after": content(after)}


async def find_stored(client: Client, obj: AnyObject) -> dict[str, Any] | None:
    """Return the existing object of this kind and name, in wire form."""
    kind = type(obj) if isinstance(obj, Object) else gvk_of(obj)
    try:
        # Mostly it is only compared: a typed object would be made for nothing.
        return await client._get_wire(kind, key_of(obj))  # noqa: SLF001 - a part of the client
    except NotFound as error:
        if not error.details.name:  # the kind is not served any more
            raise
        return None


def result_of(before: dict[str, Any], obj: AnyObject) -> OperationResult:
    """Return the result of a write.

    The server keeps the resource version if a write does not change the object.
    """
    same = resource_version_of(before) == resource_version_of(obj)
    return OperationResult.UNCHANGED if same else OperationResult.UPDATED


class AppliedMemory:
    """Fingerprints of the last applied fields, by object uid and manager. The oldest are dropped.

    Only ``managedFields`` say who owns a field. Caches drop them, because they are half of a small
    object. A manager that applied exactly this set of fields last owns no others. Any copy of the
    object shows whether their values are still the same.
    """

    def __init__(self) -> None:
        self._fingerprints: OrderedDict[tuple[str, str], bytes] = OrderedDict()

    def remember(self, uid: str, manager: str, desired: Mapping[str, Any]) -> None:
        """Record that the server accepted these fields."""
        self._fingerprints[uid, manager] = _fingerprint(desired)
        self._fingerprints.move_to_end((uid, manager))
        while len(self._fingerprints) > _REMEMBERED:
            self._fingerprints.popitem(last=False)

    def is_last(self, uid: str, manager: str, desired: Mapping[str, Any]) -> bool:
        """Whether these are the fields that the manager applied last to the object."""
        return self._fingerprints.get((uid, manager)) == _fingerprint(desired)


def memory_of(client: Client) -> AppliedMemory:
    """Return the memory that all variants of a client share."""
    return _MEMORIES.setdefault(client.connection, AppliedMemory())


def contains(found: Any, desired: Any, structure: Structure = UNKNOWN) -> bool:
    """Whether every desired value is present. Other values do not count.

    In a list with keys, elements of others do not count either. Elements of other lists are
    compared by position. A list in a different order counts as different, and is applied.
    """
    if isinstance(desired, _PLAIN):  # true for most values, and the cheapest check
        return bool(found == desired) and isinstance(found, bool) == isinstance(desired, bool)
    if type(desired) is dict or isinstance(desired, Mapping):
        if not (type(found) is dict or isinstance(found, Mapping)):
            return False
        for name, value in desired.items():  # not by `all`: this runs in each reconcile of each child
            if name not in found or not contains(found[name], value, structure.child(name)):
                return False
        return True
    if isinstance(desired, Sequence):
        if not isinstance(found, Sequence) or isinstance(found, str):
            return False
        return _contains_list(found, desired, structure)
    return bool(found == desired)


def _contains_list(found: Sequence[Any], desired: Sequence[Any], structure: Structure) -> bool:
    element = structure.element or UNKNOWN
    if structure.shape in (Shape.LIST_MAP, Shape.LIST_SET):
        rest = iter(found)
        return all(any(contains(present, wanted, element) for present in rest) for wanted in desired)
    return len(found) == len(desired) and all(
        contains(present, wanted, element) for present, wanted in zip(found, desired, strict=True)
    )


def _fingerprint(desired: Mapping[str, Any]) -> bytes:
    return hashlib.blake2b(encode(desired, sort_keys=True), digest_size=16).digest()


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
    _encode_string_data(obj)
    applying = _Applying(client, obj, to_wire(obj), field_manager or client.options.field_manager, force=force)
    stored = await find_stored(client, obj)
    if stored is not None and applying.is_done(stored):
        replace_content(obj, stored)
        return obj, OperationResult.UNCHANGED
    controller = controller_of(obj)
    if controller is None:
        return obj, await applying.apply(stored)
    return obj, await applying.apply_controlled(controller, adopt=adopt, known=stored is not None)


def _encode_string_data(obj: AnyObject) -> None:
    """Turn the ``stringData`` of a Secret into ``data``, as the API server stores it.

    Applied as ``stringData``, it would never compare equal, and the manager would not own the keys: one that it no
    longer sets would stay.
    """
    if gvk_of(obj) != _SECRET:
        return
    wire = dict(to_wire(obj))
    if texts := wire.pop("stringData", None):
        encoded = {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}
        replace_content(obj, {**wire, "data": {**(wire.get("data") or {}), **encoded}})


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
