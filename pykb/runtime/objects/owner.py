"""Owner references: a dependent is deleted with its owner and triggers the owner's reconcile.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/owners-dependents/
"""

from __future__ import annotations

from typing import Any

from pykb.api.meta.v1 import OwnerReference
from pykb.api.object import Object
from pykb.api.unstructured import Unstructured
from pykb.diagnostics import PykbError
from pykb.meta.gvk import GroupVersion, NamespacedName
from pykb.runtime.client.codec import AnyObject, gvk_of, key_of, namespace_of, uid_of, untyped_metadata


class NotControlled(PykbError):  # noqa: N818 - as its kin
    """An object of the desired name exists, and the owner does not control it.

    Attributes:
        kind: The kind of the object.
        obj: Its namespace and name.
        owner: The object that was to control it.
    """

    def __init__(self, kind: str, obj: NamespacedName, owner: OwnerReference) -> None:
        super().__init__(f"{kind} `{obj}` already exists and is not controlled by {owner.kind} `{owner.name}`")
        self.kind = kind
        self.obj = obj
        self.owner = owner

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.kind, self.obj, self.owner))


class AlreadyOwned(NotControlled):
    """Another object controls this one. An object has at most one controller.

    Attributes:
        controller: The object that controls it.
    """

    def __init__(self, kind: str, obj: NamespacedName, owner: OwnerReference, controller: OwnerReference) -> None:
        super().__init__(kind, obj, owner)
        self.controller = controller

    def __str__(self) -> str:
        former = same_owner(self.controller, self.owner)
        who = f"{self.controller.kind} `{self.controller.name}`"
        return f"{self.kind} `{self.obj}` is already controlled by {f'a former {who}' if former else who}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.kind, self.obj, self.owner, self.controller))


class CrossNamespaceOwner(PykbError):  # noqa: N818
    """An owner must be in the namespace of its dependent: otherwise the garbage collector would delete that object."""


def set_controller_reference(owner: AnyObject, obj: AnyObject, *, block_owner_deletion: bool = True) -> None:
    """Make ``owner`` the controller of ``obj``, in memory only.

    Args:
        owner: An object that was read from the server, and so has a ``uid``.
        obj: The object to be owned.
        block_owner_deletion: Whether a foreground deletion of the owner waits until ``obj`` is
            gone. If the OwnerReferencesPermissionEnforcement admission plugin is on, this requires
            ``update`` on the owner's ``finalizers``.

    Raises:
        AlreadyOwned: Another object controls it.
        CrossNamespaceOwner: The owner is in another namespace.
        ValueError: The owner has no ``uid``, because it was never stored.
    """
    reference = _reference(owner, obj, controller=True, block=block_owner_deletion)
    current = controller_of(obj)
    if current is not None and current.uid != reference.uid and not same_owner(current, reference):
        raise AlreadyOwned(gvk_of(obj).kind, key_of(obj), reference, current)
    _upsert(obj, reference)


def set_owner_reference(owner: AnyObject, obj: AnyObject, *, block_owner_deletion: bool = False) -> None:
    """Make ``owner`` an owner of ``obj``, but not its controller, in memory only.

    Raises:
        CrossNamespaceOwner: The owner is in another namespace.
        ValueError: The owner has no ``uid``, because it was never stored.
    """
    _upsert(obj, _reference(owner, obj, controller=None, block=block_owner_deletion or None))


def remove_owner_reference(owner: AnyObject, obj: AnyObject) -> bool:
    """Remove ``owner`` from the owners of ``obj``, in memory only. Return whether it was one."""
    uid = uid_of(owner)
    references = owner_references(obj)
    kept = [reference for reference in references if reference.uid != uid]
    if len(kept) == len(references):
        return False
    _store(obj, kept)
    return True


def controller_of(obj: AnyObject) -> OwnerReference | None:
    """Return the reference to the object that controls ``obj``, or ``None``."""
    return next((reference for reference in owner_references(obj) if reference.controller), None)


def is_controlled_by(obj: AnyObject, owner: AnyObject) -> bool:
    """Whether ``owner`` controls ``obj``. A former owner of the same name does not count."""
    controller = controller_of(obj)
    return controller is not None and controller.uid == uid_of(owner)


def owner_references(obj: AnyObject) -> list[OwnerReference]:
    """Return a copy of the owner references of ``obj``."""
    if isinstance(obj, Object):
        return list(getattr(obj.metadata, "owner_references", None) or ())
    references = untyped_metadata(obj).get("ownerReferences") or ()
    return [OwnerReference.from_wire(reference) for reference in references]


def _reference(owner: AnyObject, obj: AnyObject, *, controller: bool | None, block: bool | None) -> OwnerReference:
    gvk, where, uid = gvk_of(owner), key_of(owner), uid_of(owner)
    if not uid:
        raise ValueError(f"{gvk.kind} `{where}` has no `uid`: only an object that exists can own another")
    namespace = namespace_of(obj)
    if where.namespace and where.namespace != namespace:
        place = f"namespace `{namespace}`" if namespace else "no namespace"
        raise CrossNamespaceOwner(f"{gvk.kind} `{where}` cannot own a {gvk_of(obj).kind} in {place}")
    return OwnerReference(
        api_version=gvk.api_version,
        kind=gvk.kind,
        name=where.name,
        uid=uid,
        controller=controller,
        block_owner_deletion=block,
    )


def _upsert(obj: AnyObject, reference: OwnerReference) -> None:
    references = owner_references(obj)
    for index, existing in enumerate(references):
        if existing.uid == reference.uid or same_owner(existing, reference):
            references[index] = reference
            break
    else:
        references.append(reference)
    _store(obj, references)


def same_owner(left: OwnerReference, right: OwnerReference) -> bool:
    """Whether both name the same owner, even if it was deleted and created again.

    The versions may differ: the owner's kind may have been upgraded since.
    """
    groups = [GroupVersion.parse(reference.api_version).group for reference in (left, right)]
    return groups[0] == groups[1] and (left.kind, left.name) == (right.kind, right.name)


def _store(obj: AnyObject, references: list[OwnerReference]) -> None:
    if isinstance(obj, Object):
        obj.metadata.owner_references = references or None
        return
    metadata = obj.metadata if isinstance(obj, Unstructured) else obj.setdefault("metadata", {})
    if references:
        metadata["ownerReferences"] = [reference.to_wire() for reference in references]
    else:
        metadata.pop("ownerReferences", None)
