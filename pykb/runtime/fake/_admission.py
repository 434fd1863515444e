"""Prepares an object for storage: metadata, pruning, defaults, validation, versions."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pykb.api.time import format_time
from pykb.runtime.errors import ApiError
from pykb.runtime.fake import _builtin as builtin
from pykb.runtime.fake._metadata import metadata_mistakes
from pykb.runtime.fake._refusal import bad_request, cause, invalid, refuse
from pykb.runtime.fake._resources import Resource
from pykb.runtime.fake._schema import fill_defaults, find_mistakes
from pykb.runtime.objects.structure import prune

# Metadata that the server manages and clients cannot set.
_RANDOM = 5
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # without vowels, so that no words appear
_KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink")


def now() -> str:
    """The present time, in the format of metadata."""
    return format_time(datetime.now(UTC))


def read_body(resource: Resource, body: Any, *, namespace: str, name: str = "") -> dict[str, Any]:
    """Check the identity of an object against the path of the request. Return the object with its namespace."""
    if not isinstance(body, dict):
        raise bad_request("the object provided is unrecognized (must be of type Object)")
    api_version, kind = body.get("apiVersion"), body.get("kind")
    if (api_version, kind) != (resource.gvk.api_version, resource.gvk.kind):
        raise bad_request(
            f"the API version and kind in the data ({api_version}, {kind}) do not match the expected "
            f"({resource.gvk.api_version}, {resource.gvk.kind})"
        )
    metadata = dict(body.get("metadata") or {})
    if resource.namespaced:
        given = metadata.get("namespace") or namespace
        if given != namespace:
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        metadata["namespace"] = namespace
    else:
        metadata.pop("namespace", None)  # the path has no namespace
    if name and metadata.get("name", name) != name:
        raise bad_request(f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})")
    if name:
        metadata["name"] = name
    return {**body, "metadata": {key: value for key, value in metadata.items() if value is not None}}


def start_life(resource: Resource, obj: dict[str, Any]) -> None:
    """Set the metadata of a new object, in place."""
    metadata = obj["metadata"]
    if metadata.get("resourceVersion"):
        # The server does not treat this as the client's mistake: it returns 500.
        raise refuse(500, "InternalError", "resourceVersion should not be set on objects to be created")
    for field in _KEPT:
        metadata.pop(field, None)
    if not metadata.get("name") and metadata.get("generateName"):
        prefix = metadata["generateName"][: 63 - _RANDOM]
        metadata["name"] = prefix + "".join(secrets.choice(_LETTERS) for _ in range(_RANDOM))
    metadata["uid"] = str(uuid.uuid4())
    metadata["creationTimestamp"] = now()
    if resource.counted:
        metadata["generation"] = 1
    if resource.has_status:
        obj.pop("status", None)
    builtin.begin(resource, obj)


def carry_over(resource: Resource, old: Mapping[str, Any], new: dict[str, Any], subresource: str) -> dict[str, Any]:
    """Merge an update: the parts that the client may write come from ``new``, the rest from ``old``."""
    if subresource == "status":
        result = {**old, "metadata": {**old["metadata"]}}
        result.pop("status", None)
        if "status" in new:
            result["status"] = new["status"]
        # The server's own metadata is kept either way.
        result["metadata"]["managedFields"] = new["metadata"].get("managedFields", old["metadata"].get("managedFields"))
        if result["metadata"]["managedFields"] is None:
            del result["metadata"]["managedFields"]
        return result
    result = {**new, "metadata": {**new["metadata"]}}
    for field in _KEPT:
        result["metadata"].pop(field, None)
        if field in old["metadata"]:
            result["metadata"][field] = old["metadata"][field]
    if resource.has_status:
        result.pop("status", None)
        if "status" in old:
            result["status"] = old["status"]
    return result


def count_generation(resource: Resource, old: Mapping[str, Any], new: dict[str, Any]) -> None:
    """Increment the generation if the desired state has changed."""
    if resource.counted and _wanted(resource, old) != _wanted(resource, new):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _wanted(resource: Resource, obj: Mapping[str, Any]) -> dict[str, Any]:
    apart = ("metadata", "status") if resource.has_status or not resource.custom else ("metadata",)
    return {name: value for name, value in obj.items() if name not in apart}


def admit(resource: Resource, obj: dict[str, Any], *, strict: bool) -> None:
    """Prune, fill in defaults and validate, in place.

    Raises:
        ApiError: A field is unknown (strict), or a value breaks the schema.
    """
    builtin.complete(resource, obj)
    unknown = prune(obj, resource.structure)
    if unknown and strict:
        fields = ", ".join(f'unknown field "{path}"' for path in unknown)
        raise bad_request(f"{_undecodable(resource)}: strict decoding error: {fields}")
    if resource.schema is not None:
        fill_defaults(obj, resource.schema)
    elif resource.cls is not None:
        _check_class(resource, obj)
    mistakes = metadata_mistakes(resource, obj["metadata"]) + builtin.mistakes(resource, obj)
    if resource.schema is not None:
        rest = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind", "metadata")}
        mistakes += find_mistakes(rest, resource.schema, "")
    if mistakes:
        raise invalid(resource.gvk.kind, resource.gvk.group, obj["metadata"].get("name", ""), mistakes)


def _check_class(resource: Resource, obj: dict[str, Any]) -> None:
    """Check the types of the class, since the server cannot read others. Missing fields are reported one by one."""
    import pydantic

    if resource.cls is None:
        return
    try:
        resource.cls.from_wire(obj)
    except pydantic.ValidationError as error:
        problems = sorted(error.errors(), key=lambda problem: problem["type"] == "missing")
        first = problems[0]
        where = _place(first["loc"])
        if first["type"] == "missing":
            causes = [cause(_place(each["loc"]), "FieldValueRequired", "Required value") for each in problems]
            raise invalid(resource.gvk.kind, resource.gvk.group, obj["metadata"].get("name", ""), causes) from error
        if resource.custom:
            causes = [cause(where, "FieldValueInvalid", f"Invalid value: {first['msg']}")]
            raise invalid(resource.gvk.kind, resource.gvk.group, obj["metadata"].get("name", ""), causes) from error
        raise bad_request(f"{_undecodable(resource)}: {where}: {first['msg']}") from error


def _place(location: tuple[int | str, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).removeprefix(".")


def _undecodable(resource: Resource) -> str:
    kind, version = resource.gvk.kind, resource.gvk.version
    return f'{kind} in version "{version}" cannot be handled as a {kind}'


def refuse_new_finalizers(resource: Resource, old: Mapping[str, Any], new: Mapping[str, Any]) -> ApiError | None:
    """Refuse new finalizers on an object that is being deleted."""
    before, after = (set(obj["metadata"].get("finalizers") or ()) for obj in (old, new))
    if not old["metadata"].get("deletionTimestamp") or after <= before:
        return None
    added = ", ".join(f'"{name}"' for name in sorted(after - before))
    rule = "no new finalizers can be added if the object is being deleted"
    message = f"Forbidden: {rule}, found new finalizers [{added}]"
    causes = [cause("metadata.finalizers", "FieldValueForbidden", message)]
    return invalid(resource.gvk.kind, resource.gvk.group, new["metadata"]["name"], causes)
