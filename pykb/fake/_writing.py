"""Create, update, patch, apply and delete, with their rules."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import orjson

from pykb.client.writer import APPLY_CONTENT_TYPE
from pykb.fake import _http as refusal
from pykb.fake import _ownership as ownership
from pykb.fake._admission import (
    admit,
    answer_to_deletion,
    carry_over,
    complete,
    count_generation,
    finalizers_left,
    is_released,
    marked,
    now,
    policy_of,
    prepare,
    read_body,
    refuse_new_finalizers,
    start_life,
)
from pykb.fake._kinds import change_mistakes, value_mistakes
from pykb.fake._merge import json_patch, merge_patch, strategic_merge
from pykb.fake._resources import CRD, Request, Resource, Resources
from pykb.fake._schema import check_applied, without_nulls
from pykb.fake._storage import Storage
from pykb.fake._versions import Versions
from pykb.fake._webhooks import Asked, Webhooks
from pykb.meta.gvk import GroupVersionKind
from pykb.meta.json_patch import PatchRefused

_NAMESPACE = ("", "namespaces")
_PODS = ("", "pods")
_QUOTAS = ("", "resourcequotas")
_PRECONDITION_FAILED = {
    "Namespace": "Precondition failed",
    "CustomResourceDefinition": "precondition failed",
}
"""How the message begins for kinds that the API server deletes in a way of their own."""

RuleCheck = Callable[[GroupVersionKind, Mapping[str, Any], Mapping[str, Any] | None], Iterable[tuple[str, str]]]
"""Returns the path and the mistake of each rule that an object breaks. The last argument is what it was before."""


class Writing:
    """Changes objects.

    Each method is a transaction: it does not await between reading and storing an object. If it awaited webhooks and
    the object has changed meanwhile, it begins again.
    """

    def __init__(self, resources: Resources, storage: Storage, versions: Versions, webhooks: Webhooks) -> None:
        self._resources = resources
        self._storage = storage
        self._versions = versions
        self._webhooks = webhooks
        self.accepted: AcceptedWrites | None = None
        """Earlier writes, once the server has been copied."""
        self.rules: RuleCheck | None = None

    async def seed(self, wire: dict[str, Any]) -> None:
        """Store an object as given, including its status. Missing metadata is added."""
        from pykb.client.codec import gvk_of

        resource = self._resources.of_kind(gvk_of(wire))
        if resource is None:
            raise refusal.no_resource()
        obj = {**wire, "metadata": dict(wire["metadata"])}
        own = dict(obj["metadata"])
        status = obj.get("status")
        obj["metadata"].pop("resourceVersion", None)
        start_life(resource, obj)
        kept = ("uid", "creationTimestamp", "deletionTimestamp", "generation")
        obj["metadata"].update({name: own[name] for name in kept if own.get(name)})
        if status is not None:
            obj["status"] = status
        complete(resource, obj)
        if resource.gvk.kind == "Namespace":
            obj.setdefault("status", {"phase": "Active"})
        await self._storage.put(resource.storage_key, self._versions.write(resource, obj))

    async def create(self, request: Request) -> dict[str, Any]:
        """Store a new object."""
        obj = read_body(request)
        self._check_namespace(request)
        obj["metadata"].pop("managedFields", None)
        obj = await self._begun(request, obj, _owner(request, "Update"))
        name = obj["metadata"]["name"]
        if self._storage.get(request.resource.storage_key, (request.route.namespace, name)) is not None:
            raise request.resource.already_exists(name)
        self._check_quotas(request, name)
        return await self._store(request, obj, old=None)

    async def update(self, request: Request) -> dict[str, Any]:
        """Replace an object, or its status."""
        return await _repeated(lambda: self._update(request))

    async def _update(self, request: Request) -> dict[str, Any]:
        obj = read_body(request)
        old = self._existing(request)
        if not obj["metadata"].get("resourceVersion") and request.resource.conditional:
            message = "Invalid value: 0: must be specified for an update"
            causes = [refusal.cause("metadata.resourceVersion", "FieldValueInvalid", message)]
            raise request.resource.invalid(request.route.name, causes)
        return await self._change(request, old, obj, _owner(request, "Update"))

    async def patch(self, request: Request) -> dict[str, Any]:
        """Change an object by a patch or an apply."""
        if request.content_type == APPLY_CONTENT_TYPE:
            return await _repeated(lambda: self._apply(request))
        return await _repeated(lambda: self._patch(request))

    async def _patch(self, request: Request) -> dict[str, Any]:
        resource, patch = request.resource, request.body
        old = self._existing(request)
        match request.content_type:
            case "application/merge-patch+json":
                new = merge_patch(old, patch)
            case "application/json-patch+json":
                try:
                    new = json_patch(old, patch)
                except PatchRefused as error:
                    message = f"the server rejected our request due to an error in our request: {error}"
                    raise refusal.refuse(422, "Invalid", message) from error
            case "application/strategic-merge-patch+json" if not resource.custom:
                new = strategic_merge(old, patch, resource.structure)
            case _:
                known = f"application/json-patch+json, application/merge-patch+json, {APPLY_CONTENT_TYPE}"
                message = f"the body of the request was in an unknown format - accepted media types include: {known}"
                raise refusal.refuse(415, "UnsupportedMediaType", message)
        obj = read_body(replace(request, body=new), is_patched=True)
        _check_uid(resource, old, obj)
        return await self._change(request, old, obj, _owner(request, "Update"))

    async def _apply(self, request: Request) -> dict[str, Any]:
        resource, name = request.resource, request.route.name
        config = read_body(request, is_patched=True)
        if not request.parameters.get("fieldManager"):
            raise refusal.bad_request("PatchOptions.meta.k8s.io is invalid: fieldManager: Required value")
        if config["metadata"].get("managedFields"):
            raise refusal.bad_request("metadata.managedFields must be nil")
        found = self._storage.get(resource.storage_key, request.key)
        old = None if found is None else self._versions.read(resource, found)
        if old is None and request.route.subresource:
            raise resource.not_found(name)
        read_at = config["metadata"].pop("resourceVersion", None)
        if read_at and (old is None or read_at != old["metadata"]["resourceVersion"]):
            raise resource.conflict(name, refusal.CHANGED)
        if old is not None:
            _check_uid(resource, old, config)
        elif uid := config["metadata"].get("uid"):
            why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise resource.conflict(name, why)
        config = without_nulls(config)
        check_applied(resource, config)
        wanted = _part_for(resource, config, request.route.subresource)
        force, is_scale = request.parameters.get("force") == "true", request.via == "scale"
        version = "autoscaling/v1" if is_scale else ""
        owner = _owner(request, "Apply")
        applied = ownership.apply(old, wanted, owner, resource.structure, now(), force=force, version=version)
        if is_scale and resource.custom:
            what = f"({request.route.namespace}/{name}; autoscaling/v1, Kind=Scale)"
            why = "request to convert CR to an invalid group/version: autoscaling/v1"
            raise refusal.refuse(500, "", f"failed to convert new object {what} to proper version: {why}")
        if old is not None:
            return await self._change(request, old, applied, None)
        self._check_namespace(request)
        obj = await self._begun(request, applied, None)
        if self._storage.get(resource.storage_key, request.key) is not None:
            raise _Moved
        return await self._store(request, obj, old=None)

    async def _begun(self, request: Request, obj: dict[str, Any], owner: ownership.Owner | None) -> dict[str, Any]:
        """A new object, accepted by everybody."""
        resource = request.resource
        asked = Asked("CREATE", request, obj, None)
        called = self._webhooks.concern(asked)
        if called:
            prepare(resource, obj, strict=request.is_strict)
            obj = await self._webhooks.mutate(asked) or obj
        start_life(resource, obj)
        obj = self._accepted(resource, None, obj, owner, strict=request.is_strict and not called)
        if called:
            await self._webhooks.validate(replace(asked, new=copy.deepcopy(obj)))
        return obj

    async def _change(
        self, request: Request, old: dict[str, Any], obj: dict[str, Any], owner: ownership.Owner | None
    ) -> dict[str, Any]:
        resource, subresource = request.resource, request.route.subresource
        _check_unchanged(request, old, obj)
        new = carry_over(resource, old, obj, subresource)
        if owner is not None:
            ownership.settle(old, new, subresource=bool(subresource))
        asked = Asked("UPDATE", request, new, old)
        called = self._webhooks.concern(asked)
        if called:
            prepare(resource, new, strict=request.is_strict)
            changed = await self._webhooks.mutate(asked) or new
            new = carry_over(resource, old, changed, subresource)
        new = self._accepted(resource, old, new, owner, strict=request.is_strict and not called)
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        if called:
            await self._webhooks.validate(replace(asked, new=copy.deepcopy(new)))
            found = self._storage.get(resource.storage_key, request.key)
            if found is None or found["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"]:
                raise _Moved
        return old if _same(old, new, resource) else await self._store(request, new, old=old)

    def _accepted(
        self,
        resource: Resource,
        old: dict[str, Any] | None,
        new: dict[str, Any],
        owner: ownership.Owner | None,
        *,
        strict: bool,
    ) -> dict[str, Any]:
        """An object as it is stored, if it may be so. Needs no webhook."""
        time = now()

        def accept() -> dict[str, Any]:
            admit(resource, new, strict=strict)
            self._check_rules(resource, new, old)
            _check_change(resource, old, new)
            if old is not None:
                count_generation(resource, old, new)
            elif resource.gvk.kind == "Namespace":
                new.update(status={"phase": "Active"}, spec={"finalizers": ["kubernetes"]})
            if owner is not None:
                ownership.record_update(old, new, owner, resource.structure, time)
            return new

        if self.accepted is None:
            return accept()
        return self.accepted.result(resource, old, new, (owner, strict, time), accept)

    def _check_rules(self, resource: Resource, new: dict[str, Any], old: dict[str, Any] | None) -> None:
        if self.rules is None or not resource.custom:
            return
        broken = self.rules(resource.gvk, new, old)
        causes = [refusal.cause(path, "FieldValueInvalid", f"Invalid value: {message}") for path, message in broken]
        if causes:
            raise resource.invalid(new["metadata"].get("name", ""), causes)

    async def delete(self, request: Request) -> dict[str, Any]:
        """Delete an object, or mark it as deleted if it has finalizers."""
        resource, options = request.resource, request.body
        old = self._existing(request)
        _check_preconditions(resource, old, options.get("preconditions") or {})
        asked = Asked("DELETE", replace(request, parameters={}), None, old)
        if self._webhooks.concern(asked):
            await self._webhooks.mutate(asked)
            await self._webhooks.validate(asked)
            old = self._existing(request)
        finalizers = finalizers_left(resource, old, policy_of(options))
        is_held = finalizers or resource.gvk.kind == "Namespace"
        if "dryRun" in options:
            return old if is_held else answer_to_deletion(resource, old)
        if not is_held:
            removed = await self._storage.remove(resource.storage_key, self._versions.write(resource, old))
            return answer_to_deletion(resource, self._versions.read(resource, removed))
        if old["metadata"].get("deletionTimestamp") and finalizers == old["metadata"].get("finalizers"):
            return old
        found = self._versions.write(resource, marked(resource, old, finalizers))
        return self._versions.read(resource, await self._storage.put(resource.storage_key, found))

    async def _store(self, request: Request, obj: dict[str, Any], *, old: dict[str, Any] | None) -> dict[str, Any]:
        resource = request.resource
        stored = self._versions.write(resource, obj)
        if request.is_dry_run:
            return self._versions.read(resource, stored)
        if old is not None and is_released(resource, obj):
            await self._storage.remove(resource.storage_key, stored)
            return self._versions.read(resource, stored)
        if resource.gvk == CRD:
            stored["status"] = {**(obj.get("status") or {}), "conditions": [{"type": "Established", "status": "True"}]}
        await self._storage.put(resource.storage_key, stored)
        if resource.gvk == CRD:
            self._resources.add_definition(stored)
        return self._versions.read(resource, stored)

    def _existing(self, request: Request) -> dict[str, Any]:
        found = self._storage.get(request.resource.storage_key, request.key)
        if found is None:
            raise request.resource.not_found(request.route.name)
        return self._versions.read(request.resource, found)

    def _check_quotas(self, request: Request, name: str) -> None:
        """Refuse a pod that is one too many. Other resources that quotas limit are not counted."""
        resource, namespace = request.resource, request.route.namespace
        if resource.storage_key != _PODS:
            return
        for quota in self._storage.all(_QUOTAS, namespace):
            limit = ((quota.get("spec") or {}).get("hard") or {}).get("pods")
            used = sum(1 for _ in self._storage.all(_PODS, namespace)) if limit is not None else 0
            if limit is not None and used >= int(limit):
                counted = f"requested: pods=1, used: pods={used}, limited: pods={limit}"
                why = f" is forbidden: exceeded quota: {quota['metadata']['name']}, {counted}"
                raise refusal.about(403, "Forbidden", "pods", "", name, after=why)

    def _check_namespace(self, request: Request) -> None:
        resource, namespace = request.resource, request.route.namespace
        if not resource.namespaced:
            return
        found = self._storage.get(_NAMESPACE, ("", namespace))
        if found is None:
            raise refusal.about(404, "NotFound", "namespaces", "", namespace, after=" not found")
        if found["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            words = f"namespace {namespace} is being terminated"
            causes = [refusal.cause("metadata.namespace", "NamespaceTerminating", words)]
            message = f"{resource.plural} is forbidden: {why}"
            raise refusal.refuse(403, "Forbidden", message, {"kind": resource.plural, "causes": causes})


class AcceptedWrites:
    """The last writes of servers that are copies of each other, so that the same write is not judged again.

    The histories of the explorer do the same writes again and again: a fifth of its CPU time went into them.
    """

    _MOST = 2048

    def __init__(self) -> None:
        # With the resource: the identity of a lost one may be used again.
        self._results: dict[tuple[Any, ...], tuple[Resource, bytes]] = {}

    def result(
        self,
        resource: Resource,
        old: Mapping[str, Any] | None,
        new: dict[str, Any],
        others: tuple[Any, ...],
        accept: Callable[[], dict[str, Any]],
    ) -> dict[str, Any]:
        """What ``accept`` makes of an object: from memory, if it accepted the same before.

        Args:
            resource: The kind.
            old: The stored object.
            new: The object to store. ``accept`` may change it.
            others: What else the result depends on.
            accept: Its result keeps the version and the uid of ``new``, and does not depend on them otherwise.
        """
        key = (id(resource), others, b"" if old is None else _without_identity(old), _without_identity(new))
        identity = {name: new["metadata"][name] for name in _IDENTITY if name in new["metadata"]}
        result = self._results.pop(key, None)
        if result is None:
            result = (resource, _without_identity(accept()))
            if len(self._results) >= self._MOST:
                del self._results[next(iter(self._results))]
        self._results[key] = result
        accepted: dict[str, Any] = orjson.loads(result[1])
        accepted["metadata"].update(identity)
        return accepted


_IDENTITY = ("resourceVersion", "uid")


def _without_identity(obj: Mapping[str, Any]) -> bytes:
    metadata = obj["metadata"]
    return orjson.dumps({**obj, "metadata": {**metadata, **{name: "" for name in _IDENTITY if name in metadata}}})


class _Moved(Exception):  # noqa: N818 - says what happened to the object
    """Somebody changed the object while webhooks were called."""


async def _repeated(attempt: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
    while True:
        with contextlib.suppress(_Moved):
            return await attempt()


def _check_unchanged(request: Request, old: Mapping[str, Any], obj: Mapping[str, Any]) -> None:
    """Refuse an update of another version, or of another object of this name."""
    resource, name = request.resource, request.route.name
    wanted, found = obj["metadata"], old["metadata"]
    if wanted.get("resourceVersion") not in (None, "", found["resourceVersion"]):
        raise resource.conflict(name, refusal.CHANGED)
    if wanted.get("uid") not in (None, "", found["uid"]):
        group = resource.gvk.group if resource.custom else ""
        key = "/".join(filter(None, ("/registry", group, resource.plural, *request.key)))
        why = f"Precondition failed: UID in precondition: {wanted['uid']}, UID in object meta: {found['uid']}"
        error = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
        raise resource.conflict(name, error)


def _check_preconditions(resource: Resource, old: Mapping[str, Any], preconditions: Mapping[str, str]) -> None:
    kind, name = resource.gvk.kind, old["metadata"]["name"]
    reasons = {"uid": ("UID", "deleted and then recreated"), "resourceVersion": ("ResourceVersion", "modified")}
    for field, (words, reason) in reasons.items():
        wanted, found = preconditions.get(field), old["metadata"][field]
        if not wanted or wanted == found:
            continue
        if begin := _PRECONDITION_FAILED.get(kind):
            why = f"{begin}: {words} in precondition: {wanted}, {words} in object meta: {found}"
            raise resource.conflict(name, why)
        why = f"the {words} in the precondition ({wanted}) does not match the {words} in record ({found})"
        raise resource.conflict(name, f"{why}. The object might have been {reason}", of=kind)


def _check_change(resource: Resource, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> None:
    if old is not None and (error := refuse_new_finalizers(resource, old, new)):
        raise error
    if resource.custom:
        return
    kind = resource.gvk.kind
    changes = change_mistakes(kind, old, new) if old is not None else []
    if causes := [*value_mistakes(kind, new), *changes]:
        raise resource.invalid(new["metadata"]["name"], causes)


def _check_uid(resource: Resource, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    uid = new["metadata"].get("uid")
    if uid and uid != old["metadata"]["uid"]:
        causes = [refusal.cause("metadata.uid", "FieldValueInvalid", f'Invalid value: "{uid}": field is immutable')]
        raise resource.invalid(old["metadata"]["name"], causes)


def _owner(request: Request, operation: str) -> ownership.Owner:
    manager = request.parameters.get("fieldManager") or "unknown"
    subresource = request.route.subresource or request.via
    return ownership.Owner(manager, operation, request.resource.gvk.api_version, subresource)


def _part_for(resource: Resource, config: dict[str, Any], subresource: str) -> dict[str, Any]:
    """The part of an applied configuration to use: the status for its subresource, otherwise all but the status."""
    if subresource == "status":
        identity = {name: config["metadata"][name] for name in ("name", "namespace") if name in config["metadata"]}
        part = {"apiVersion": config["apiVersion"], "kind": config["kind"], "metadata": identity}
        return {**part, "status": config["status"]} if "status" in config else part
    if resource.has_status:
        return {name: value for name, value in config.items() if name != "status"}
    return config


def _same(old: Mapping[str, Any], new: Mapping[str, Any], resource: Resource) -> bool:
    def comparable(obj: Mapping[str, Any]) -> dict[str, Any]:
        metadata = dict(obj["metadata"])
        entries = metadata.pop("managedFields", None) or []
        owned = [{name: value for name, value in entry.items() if name != "time"} for entry in entries]
        metadata = {name: value for name, value in metadata.items() if value not in ({}, [], None)}
        return {**obj, "apiVersion": resource.gvk.api_version, "metadata": metadata, "managedFields": owned}

    return comparable(old) == comparable(new)
