"""Create, update, patch, apply and delete, with their rules."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from pykb.client.connection import Route
from pykb.client.writer import APPLY_CONTENT_TYPE
from pykb.fake import _builtin as builtin
from pykb.fake import _http as refusal
from pykb.fake import _ownership as ownership
from pykb.fake._admission import (
    admit,
    answer_to_deletion,
    carry_over,
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
from pykb.fake._http import Parameters
from pykb.fake._known import Known
from pykb.fake._merge import PatchRefused, json_patch, merge_patch, strategic_merge
from pykb.fake._resources import CRD, Resource, Resources, Versions
from pykb.fake._schema import check_applied, without_nulls
from pykb.fake._storage import Storage
from pykb.fake._webhooks import Asked, Webhooks
from pykb.meta.gvk import GroupVersionKind

_MERGE = "application/merge-patch+json"
_JSON = "application/json-patch+json"
_STRATEGIC = "application/strategic-merge-patch+json"
_NAMESPACE = ("", "namespaces")
_PRECONDITION_FAILED = {
    "Namespace": "Precondition failed",
    "CustomResourceDefinition": "precondition failed",
}
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
        self.rules: RuleCheck | None = None
        self.known: Known | None = None
        """What came of earlier writes, if :attr:`rules` depend on nothing but their arguments."""

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
        builtin.complete(resource, obj)
        if resource.gvk.kind == "Namespace":
            obj.setdefault("status", {"phase": "Active"})
        await self._storage.put(resource.storage_key, self._versions.write(resource, obj))

    async def create(self, resource: Resource, route: Route, parameters: Parameters, body: Any) -> dict[str, Any]:
        """Store a new object."""
        obj = read_body(resource, body, namespace=route.namespace)
        self._check_namespace(resource, route.namespace)
        obj["metadata"].pop("managedFields", None)
        obj = await self._begun(resource, obj, route, parameters, _owner(resource, parameters, "Update"))
        self._check_free(resource, obj)
        return await self._store(resource, obj, parameters, old=None)

    async def update(self, resource: Resource, route: Route, parameters: Parameters, body: Any) -> dict[str, Any]:
        """Replace an object, or its status."""
        return await _repeated(lambda: self._update(resource, route, parameters, body))

    async def _update(self, resource: Resource, route: Route, parameters: Parameters, body: Any) -> dict[str, Any]:
        obj = read_body(resource, body, namespace=route.namespace, name=route.name)
        old = self._existing(resource, route)
        if not obj["metadata"].get("resourceVersion") and resource.conditional:
            message = "Invalid value: 0: must be specified for an update"
            causes = [refusal.cause("metadata.resourceVersion", "FieldValueInvalid", message)]
            raise refusal.invalid(resource.gvk.kind, resource.gvk.group, route.name, causes)
        owner = _owner(resource, parameters, "Update", route.subresource)
        return await self._change(resource, old, obj, route, parameters, owner)

    async def patch(
        self, resource: Resource, route: Route, parameters: Parameters, body: Any, content_type: str, *, via: str = ""
    ) -> dict[str, Any]:
        """Change an object by a patch or an apply. ``via`` is a subresource that shows only a part of it."""
        if content_type == APPLY_CONTENT_TYPE:
            return await _repeated(lambda: self._apply(resource, route, parameters, body, via))
        return await _repeated(lambda: self._patch(resource, route, parameters, body, content_type, via))

    async def _patch(
        self, resource: Resource, route: Route, parameters: Parameters, body: Any, content_type: str, via: str
    ) -> dict[str, Any]:
        old = base = self._existing(resource, route)
        match content_type:
            case _ if content_type == _MERGE:
                new = merge_patch(base, body)
            case _ if content_type == _JSON:
                try:
                    new = json_patch(base, body)
                except PatchRefused as error:
                    message = f"the server rejected our request due to an error in our request: {error}"
                    raise refusal.refuse(422, "Invalid", message) from error
            case _ if content_type == _STRATEGIC and not resource.custom:
                new = strategic_merge(base, body, resource.structure)
            case _:
                known = f"{_JSON}, {_MERGE}, {APPLY_CONTENT_TYPE}"
                message = f"the body of the request was in an unknown format - accepted media types include: {known}"
                raise refusal.refuse(415, "UnsupportedMediaType", message)
        obj = read_body(resource, new, namespace=route.namespace, name=route.name, content_type=content_type)
        _check_uid(resource, old, obj)
        owner = _owner(resource, parameters, "Update", route.subresource or via)
        return await self._change(resource, old, obj, route, parameters, owner)

    async def _apply(
        self, resource: Resource, route: Route, parameters: Parameters, body: Any, via: str
    ) -> dict[str, Any]:
        applied = APPLY_CONTENT_TYPE
        config = read_body(resource, body, namespace=route.namespace, name=route.name, content_type=applied)
        if not parameters.get("fieldManager"):
            raise refusal.bad_request("PatchOptions.meta.k8s.io is invalid: fieldManager: Required value")
        if config["metadata"].get("managedFields"):
            raise refusal.bad_request("metadata.managedFields must be nil")
        found = self._storage.get(resource.storage_key, (route.namespace, route.name))
        old = None if found is None else self._versions.read(resource, found)
        if old is None and route.subresource:
            raise refusal.not_found(resource.plural, resource.gvk.group, route.name)
        version = config["metadata"].pop("resourceVersion", None)
        if version and (old is None or version != old["metadata"]["resourceVersion"]):
            raise refusal.conflict(resource.plural, resource.gvk.group, route.name, refusal.CHANGED)
        if old is not None:
            _check_uid(resource, old, config)
        elif uid := config["metadata"].get("uid"):
            why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            raise refusal.conflict(resource.plural, resource.gvk.group, route.name, why)
        config = without_nulls(config)
        check_applied(resource, config)
        owner = _owner(resource, parameters, "Apply", route.subresource or via)
        wanted = _part_for(resource, config, route.subresource)
        force = parameters.get("force") == "true"
        result = ownership.apply(old, wanted, owner, resource.structure, now(), force=force)
        if result.conflicts:
            raise ownership.conflict_error(result.conflicts, version="autoscaling/v1" if via == "scale" else "")
        if via == "scale" and resource.custom:
            what = f"({route.namespace}/{route.name}; autoscaling/v1, Kind=Scale)"
            why = "request to convert CR to an invalid group/version: autoscaling/v1"
            raise refusal.refuse(500, "", f"failed to convert new object {what} to proper version: {why}")
        if old is not None:
            return await self._change(resource, old, result.obj, route, parameters, None)
        self._check_namespace(resource, route.namespace)
        obj = await self._begun(resource, result.obj, route, parameters, None)
        if self._storage.get(resource.storage_key, (route.namespace, route.name)) is not None:
            raise _Moved
        return await self._store(resource, obj, parameters, old=None)

    async def _begun(
        self,
        resource: Resource,
        obj: dict[str, Any],
        route: Route,
        parameters: Parameters,
        owner: ownership.Owner | None,
    ) -> dict[str, Any]:
        """A new object, accepted by everybody."""
        strict = parameters.get("fieldValidation") == "Strict"
        asked = Asked("CREATE", resource, route, parameters, obj, None)
        called = self._webhooks.concern(asked)
        if called:
            prepare(resource, obj, strict=strict)
            obj = await self._webhooks.mutate(asked) or obj
        start_life(resource, obj)
        obj = self._accepted(resource, None, obj, owner, strict=strict and not called)
        if called:
            await self._webhooks.validate(replace(asked, new=copy.deepcopy(obj)))
        return obj

    async def _change(
        self,
        resource: Resource,
        old: dict[str, Any],
        obj: dict[str, Any],
        route: Route,
        parameters: Parameters,
        owner: ownership.Owner | None,
    ) -> dict[str, Any]:
        group, name = resource.gvk.group, route.name
        version = obj["metadata"].get("resourceVersion")
        if version and version != old["metadata"]["resourceVersion"]:
            raise refusal.conflict(resource.plural, group, name, refusal.CHANGED)
        uid = obj["metadata"].get("uid")
        if uid and uid != old["metadata"]["uid"]:
            place = [*([group] if resource.custom else []), resource.plural, route.namespace, name]
            key = "/".join(("", "registry", *filter(None, place)))
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {old['metadata']['uid']}"
            error = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
            raise refusal.conflict(resource.plural, group, name, error)
        new = carry_over(resource, old, obj, route.subresource)
        if owner is not None:
            ownership.settle(old, new, subresource=bool(route.subresource))
        strict = parameters.get("fieldValidation") == "Strict"
        asked = Asked("UPDATE", resource, route, parameters, new, old)
        called = self._webhooks.concern(asked)
        if called:
            prepare(resource, new, strict=strict)
            changed = await self._webhooks.mutate(asked) or new
            new = carry_over(resource, old, changed, route.subresource)
        new = self._accepted(resource, old, new, owner, strict=strict and not called)
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        if called:
            await self._webhooks.validate(replace(asked, new=copy.deepcopy(new)))
            self._check_unmoved(resource, route, old)
        if _same(old, new, resource):
            return old
        return await self._store(resource, new, parameters, old=old)

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

        def work() -> dict[str, Any]:
            admit(resource, new, strict=strict)
            self._check_rules(resource, new, old)
            if old is not None:
                _check_change(resource, old, new)
                count_generation(resource, old, new)
            elif resource.gvk.kind == "Namespace":
                new.update(status={"phase": "Active"}, spec={"finalizers": ["kubernetes"]})
            if owner is not None:
                ownership.record_update(old, new, owner, resource.structure, time)
            return new

        if self.known is None:
            return work()
        return self.known.made(resource, old, new, (owner, strict, time), work)

    def _check_rules(self, resource: Resource, new: dict[str, Any], old: dict[str, Any] | None) -> None:
        if self.rules is None or not resource.custom:
            return
        broken = self.rules(resource.gvk, new, old)
        causes = [refusal.cause(path, "FieldValueInvalid", f"Invalid value: {message}") for path, message in broken]
        if causes:
            raise refusal.invalid(resource.gvk.kind, resource.gvk.group, new["metadata"].get("name", ""), causes)

    async def delete(self, resource: Resource, route: Route, options: Mapping[str, Any]) -> dict[str, Any]:
        """Delete an object, or mark it as deleted if it has finalizers."""
        old = self._existing(resource, route)
        self._check_preconditions(resource, old, options.get("preconditions") or {})
        asked = Asked("DELETE", resource, route, Parameters({}), None, old)
        if self._webhooks.concern(asked):
            await self._webhooks.mutate(asked)
            await self._webhooks.validate(asked)
            old = self._existing(resource, route)
        finalizers = finalizers_left(old, policy_of(options))
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

    async def _store(
        self, resource: Resource, obj: dict[str, Any], parameters: Parameters, *, old: dict[str, Any] | None
    ) -> dict[str, Any]:
        stored = self._versions.write(resource, obj)
        if parameters.dry_run:
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

    def _existing(self, resource: Resource, route: Route) -> dict[str, Any]:
        found = self._storage.get(resource.storage_key, (route.namespace, route.name))
        if found is None:
            raise refusal.not_found(resource.plural, resource.gvk.group, route.name)
        return self._versions.read(resource, found)

    def _check_unmoved(self, resource: Resource, route: Route, old: Mapping[str, Any]) -> None:
        found = self._storage.get(resource.storage_key, (route.namespace, route.name))
        if found is None or found["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"]:
            raise _Moved

    def _check_free(self, resource: Resource, obj: Mapping[str, Any]) -> None:
        name = obj["metadata"]["name"]
        if self._storage.get(resource.storage_key, (obj["metadata"].get("namespace", ""), name)) is not None:
            raise refusal.already_exists(resource.plural, resource.gvk.group, name)

    def _check_namespace(self, resource: Resource, namespace: str) -> None:
        if not resource.namespaced:
            return
        found = self._storage.get(_NAMESPACE, ("", namespace))
        if found is None:
            raise refusal.not_found("namespaces", "", namespace)
        if found["metadata"].get("deletionTimestamp"):
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            words = f"namespace {namespace} is being terminated"
            causes = [refusal.cause("metadata.namespace", "NamespaceTerminating", words)]
            message = f"{resource.plural} is forbidden: {why}"
            raise refusal.refuse(403, "Forbidden", message, {"kind": resource.plural, "causes": causes})

    def _check_preconditions(
        self, resource: Resource, old: Mapping[str, Any], preconditions: Mapping[str, str]
    ) -> None:
        group, name = resource.gvk.group, old["metadata"]["name"]
        whys = {"uid": ("UID", "deleted and then recreated"), "resourceVersion": ("ResourceVersion", "modified")}
        for field, (words, why) in whys.items():
            wanted, found = preconditions.get(field), old["metadata"][field]
            if not wanted or wanted == found:
                continue
            if resource.gvk.kind in _PRECONDITION_FAILED:  # kinds that are deleted in a way of their own
                begin = _PRECONDITION_FAILED[resource.gvk.kind]
                mismatch = f"{begin}: {words} in precondition: {wanted}, {words} in object meta: {found}"
                raise refusal.conflict(resource.plural, group, name, mismatch)
            mismatch = f"the {words} in the precondition ({wanted}) does not match the {words} in record ({found})"
            raise refusal.conflict(resource.gvk.kind, group, name, f"{mismatch}. The object might have been {why}")


class _Moved(Exception):  # noqa: N818 - says what happened to the object
    """Somebody changed the object while webhooks were called."""


async def _repeated(attempt: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
    while True:
        with contextlib.suppress(_Moved):
            return await attempt()


def _check_change(resource: Resource, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    if error := refuse_new_finalizers(resource, old, new):
        raise error
    if causes := builtin.forbidden_changes(resource, old, new):
        raise refusal.invalid(resource.gvk.kind, resource.gvk.group, new["metadata"]["name"], causes)


def _check_uid(resource: Resource, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    uid = new["metadata"].get("uid")
    if uid and uid != old["metadata"]["uid"]:
        causes = [refusal.cause("metadata.uid", "FieldValueInvalid", f'Invalid value: "{uid}": field is immutable')]
        raise refusal.invalid(resource.gvk.kind, resource.gvk.group, old["metadata"]["name"], causes)


def _owner(resource: Resource, parameters: Parameters, operation: str, subresource: str = "") -> ownership.Owner:
    return (parameters.get("fieldManager") or "unknown", operation, resource.gvk.api_version, subresource)


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
