"""Prepares an object for storage: metadata, pruning, defaults, validation, versions, deletion.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/ and the pages on labels, annotations,
finalizers and owners next to it.
"""

from __future__ import annotations

import base64
import secrets
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import orjson

from pykb.api.time import format_time
from pykb.client.errors import ApiError
from pykb.client.structure import Shape, Structure, prune
from pykb.client.writer import APPLY_CONTENT_TYPE
from pykb.fake import _kinds as kinds
from pykb.fake._http import bad_request, cause, invalid, refuse
from pykb.fake._names import Causes, bad, key_mistakes, label_mistakes, subdomain_mistakes
from pykb.fake._resources import Request, Resource
from pykb.fake._schema import fill_defaults, find_mistakes, untyped
from pykb.meta.gvk import GroupVersionKind

_RANDOM = 5
"""Letters of a generated name behind its prefix."""

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # without vowels, so that no words appear
# Metadata that the server manages and clients cannot set.
_KEPT = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink")
_TEXTS = ("labels", "annotations")
_METADATA: Mapping[str, tuple[type, type | None]] = {
    **dict.fromkeys(_TEXTS, (dict, str)),
    "finalizers": (list, str),
    "ownerReferences": (list, dict),
    **dict.fromkeys(("name", "namespace", "generateName", "resourceVersion", "uid"), (str, None)),
}
"""The types of fields, and of what is in them."""
_NAMES: Mapping[type, str] = {dict: "map", list: "list", str: "string"}
_FREE_NAMES = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
_STANDARD_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")

# The finalizer that each policy adds.
_POLICIES = {"Foreground": "foregroundDeletion", "Background": None, "Orphan": "orphan"}

# Deleted without a policy, objects of these kinds leave their dependents behind.
_LEAVING = {GroupVersionKind("batch", "v1", "Job"), GroupVersionKind("", "v1", "ReplicationController")}


_ANSWERED_WITH_THE_OBJECT = frozenset(
    {
        *("CSIDriver", "CSINode", "CustomResourceDefinition", "PersistentVolume", "PersistentVolumeClaim", "Pod"),
        *("PodTemplate", "ResourceQuota", "Service", "ServiceAccount", "StorageClass", "VolumeAttachment"),
        "VolumeAttributesClass",
    }
)
"""The kinds whose deletion is answered with the object. Others answer with a Status."""


def now() -> str:
    """The present time, in the format of metadata."""
    return format_time(datetime.now(UTC))


def read_body(request: Request, *, is_patched: bool = False) -> dict[str, Any]:
    """Check the identity of an object against the path of the request. Return the object with its namespace.

    Args:
        request: The request. Its body is the object.
        is_patched: Whether a patch or an apply made the object.
    """
    resource, body, (namespace, name) = request.resource, request.body, request.key
    if not isinstance(body, dict):
        raise bad_request("the object provided is unrecognized (must be of type Object)")
    if not resource.custom:  # the path says what they are
        body = {"apiVersion": resource.gvk.api_version, "kind": resource.gvk.kind, **body}
    api_version, kind = body.get("apiVersion"), body.get("kind")
    if (api_version, kind) != (resource.gvk.api_version, resource.gvk.kind):
        raise bad_request(
            f"the API version and kind in the data ({api_version}, {kind}) do not match the expected "
            f"({resource.gvk.api_version}, {resource.gvk.kind})"
        )
    metadata = _read_metadata(resource, body, request.content_type if is_patched else "")
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


def _read_metadata(resource: Resource, body: Mapping[str, Any], content_type: str) -> dict[str, Any]:
    """A copy of the metadata, of which the values have their types."""
    metadata: Any = body.get("metadata") or {}
    why = _misfit(metadata)
    if why and content_type == APPLY_CONTENT_TYPE:
        raise untyped(resource, body, why)
    if why and content_type:
        raise refuse(422, "Invalid", f' "" is invalid: patch: Invalid value: {why}')
    if why:
        raise bad_request(f"{_undecodable(resource)}: {why}")
    if content_type == APPLY_CONTENT_TYPE:
        return dict(metadata)
    texts = {name: {key: text or "" for key, text in metadata[name].items()} for name in _TEXTS if metadata.get(name)}
    return {**metadata, **texts}


def _misfit(metadata: Any) -> str:
    """The first field of the metadata that does not have its type."""
    if not isinstance(metadata, dict):
        return ".metadata: expected map"
    for name, value in metadata.items():
        kind, inner = _METADATA.get(name, (object, None))
        if value is not None and not isinstance(value, kind):
            return f".metadata.{name}: expected {_NAMES[kind]}"
        texts = value.values() if isinstance(value, dict) else ()
        parts = value if isinstance(value, list) else [text for text in texts if text is not None]
        if inner is not None and not all(isinstance(part, inner) for part in parts):
            return f".metadata.{name}: expected {_NAMES[inner]} in it"
    return ""


new_uid: ContextVar[Callable[[], str]] = ContextVar("new_uid", default=lambda: str(uuid.uuid4()))
"""Makes the uid of a new object."""


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
    metadata["uid"] = new_uid.get()()
    metadata["creationTimestamp"] = now()
    if resource.counted:
        metadata["generation"] = 1
    if resource.has_status:
        obj.pop("status", None)
    if not resource.custom:
        kinds.begin_status(resource.gvk.kind, obj)


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
    if not resource.custom:
        kinds.carry_over(resource.gvk.kind, old, result)
    return result


def count_generation(resource: Resource, old: Mapping[str, Any], new: dict[str, Any]) -> None:
    """Increment the generation if the desired state has changed."""
    if resource.counted and _wanted(resource, old) != _wanted(resource, new):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _wanted(resource: Resource, obj: Mapping[str, Any]) -> dict[str, Any]:
    apart = ("metadata", "status") if resource.has_status or not resource.custom else ("metadata",)
    wanted = {name: value for name, value in obj.items() if name not in apart}
    if resource.storage_key == ("apps", "deployments"):  # its controller copies them
        wanted["annotations"] = obj["metadata"].get("annotations") or {}
    return wanted


def admit(resource: Resource, obj: dict[str, Any], *, strict: bool) -> None:
    """Prune, fill in defaults and validate, in place.

    Raises:
        ApiError: A field is unknown (strict), or a value breaks the schema.
    """
    prepare(resource, obj, strict=strict)
    if resource.schema is None and resource.cls is not None:
        _check_class(resource, obj)
    mistakes = _metadata_mistakes(resource, obj["metadata"])
    if resource.schema is not None:
        rest = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind", "metadata")}
        mistakes += find_mistakes(rest, resource.schema, "")
    if mistakes:
        raise resource.invalid(obj["metadata"].get("name", ""), mistakes)


def prepare(resource: Resource, obj: dict[str, Any], *, strict: bool) -> None:
    """Prune and fill in defaults, in place.

    Raises:
        ApiError: A field is unknown (strict).
    """
    complete(resource, obj)
    unknown = prune(obj, resource.structure)
    if unknown and strict:
        fields = ", ".join(f'unknown field "{path}"' for path in unknown)
        raise bad_request(f"{_undecodable(resource)}: strict decoding error: {fields}")
    if resource.schema is not None:
        fill_defaults(obj, resource.schema)


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
            raise resource.invalid(obj["metadata"].get("name", ""), causes) from error
        if resource.custom:
            causes = [cause(where, "FieldValueInvalid", f"Invalid value: {first['msg']}")]
            raise resource.invalid(obj["metadata"].get("name", ""), causes) from error
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
    return resource.invalid(new["metadata"]["name"], causes)


def _metadata_mistakes(resource: Resource, metadata: Mapping[str, Any]) -> Causes:
    """Return how the metadata of an object violates the rules."""
    return [
        *_generate_name(resource, metadata.get("generateName")),
        *_name(resource, metadata.get("name", "")),
        *label_mistakes(metadata.get("labels") or {}, "metadata.labels"),
        *(
            mistake
            for key in metadata.get("annotations") or {}
            for mistake in key_mistakes(key.lower(), "metadata.annotations", key)
        ),
        *_owners(metadata.get("ownerReferences") or ()),
        *_finalizers(resource, metadata.get("finalizers") or ()),
    ]


def _name(resource: Resource, name: str) -> Causes:
    if not name:
        return [cause("metadata.name", "FieldValueRequired", "Required value: name or generateName is required")]
    return _subdomain(resource, name, "metadata.name")


def _generate_name(resource: Resource, prefix: str | None) -> Causes:
    # The generated suffix follows, so it may end in a hyphen or a dot.
    return _subdomain(resource, prefix, "metadata.generateName", shown=prefix.rstrip("-.") or "-") if prefix else []


def _subdomain(resource: Resource, name: str, field: str, *, shown: str = "") -> Causes:
    if resource.gvk.kind in _FREE_NAMES:
        return []
    if resource.gvk.kind == "Namespace" and "." in name:
        return [bad(field, name, "must not contain dots")]
    return subdomain_mistakes(name, field, shown=shown)


def _finalizers(resource: Resource, names: Iterable[str]) -> Causes:
    found: Causes = []
    for index, name in enumerate(names):
        found += key_mistakes(name, "metadata.finalizers", name)
        if "/" not in name and name not in _STANDARD_FINALIZERS and not resource.custom:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            found.append(bad(f"metadata.finalizers[{index}]", name, why))
    return found


def _owners(references: Iterable[Mapping[str, Any]]) -> Causes:
    found: Causes = []
    for index, reference in enumerate(references):
        path = f"metadata.ownerReferences[{index}]"
        found += [
            cause(f"{path}.{name}", "FieldValueRequired", "Required value: must not be empty")
            for name in ("apiVersion", "kind", "name", "uid")
            if not reference.get(name)
        ]
        version = reference.get("apiVersion")
        if version and (version.count("/") > 1 or version.endswith("/")):
            found.append(bad(f"{path}.apiVersion", version, "must be <group>/<version> or <version>"))
    controllers = [reference for reference in references if reference.get("controller")]
    if len(controllers) > 1:
        first, second = (f"{reference['kind']}/{reference['name']}" for reference in controllers[:2])
        why = f'Only one reference can have Controller set to true. Found "true" in references for {first} and {second}'
        message = f"Invalid value: {orjson.dumps(list(references)).decode()}: {why}"
        found.append(cause("metadata.ownerReferences", "FieldValueInvalid", message))
    return found


def policy_of(options: Mapping[str, Any]) -> str | None:
    """The policy of a deletion.

    Raises:
        ApiError: There is no such policy.
    """
    policy: str | None = options.get("propagationPolicy")
    if policy not in (None, *_POLICIES):
        known = ", ".join(f'"{name}"' for name in (*_POLICIES, "nil"))
        message = f'Unsupported value: "{policy}": supported values: {known}'
        causes = [cause("propagationPolicy", "FieldValueNotSupported", message)]
        raise invalid("DeleteOptions", "meta.k8s.io", "", causes)
    return policy


def finalizers_left(resource: Resource, old: Mapping[str, Any], policy: str | None) -> list[str]:
    """The finalizers of an object after its deletion with a policy."""
    present = list(old["metadata"].get("finalizers") or ())
    others = [name for name in present if name not in _POLICIES.values()]
    if policy is None and (others != present or resource.gvk not in _LEAVING):
        return present
    own = _POLICIES[policy or "Orphan"]
    return [*others, *([own] if own else [])]


def marked(resource: Resource, old: Mapping[str, Any], finalizers: list[str]) -> dict[str, Any]:
    """The object, marked as deleted."""
    metadata = dict(old["metadata"])
    found = {**old, "metadata": metadata}
    if finalizers:
        metadata["finalizers"] = finalizers
    metadata.setdefault("deletionTimestamp", now())
    metadata.setdefault("deletionGracePeriodSeconds", 0)
    if resource.counted:
        metadata["generation"] = metadata.get("generation", 0) + 1
    if resource.gvk.kind == "Namespace":
        found["status"] = {**(found.get("status") or {}), "phase": "Terminating"}
    return found


def answer_to_deletion(resource: Resource, obj: dict[str, Any]) -> dict[str, Any]:
    """The answer when an object is gone: the object for some built-in kinds, and a Status for all others."""
    if not resource.custom and resource.gvk.kind in _ANSWERED_WITH_THE_OBJECT:
        return obj
    metadata, group = obj["metadata"], resource.gvk.group
    details = {"name": metadata["name"], **({"group": group} if group else {})}
    details |= {"kind": resource.plural, "uid": metadata["uid"]}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def is_released(resource: Resource, obj: Mapping[str, Any]) -> bool:
    """Whether nothing holds an object any more that is being deleted."""
    metadata = obj["metadata"]
    held = metadata.get("finalizers") or resource.gvk.kind == "Namespace"
    return bool(metadata.get("deletionTimestamp")) and not held


def complete(resource: Resource, obj: dict[str, Any]) -> None:
    """Convert an object to its stored form, in place."""
    metadata = obj["metadata"]
    if resource.custom:
        _drop_empty(metadata, resource.structure.child("metadata"))
        return
    _drop_empty(obj, resource.structure)
    if resource.gvk.kind == "Secret":
        clear = obj.pop("stringData", None) or {}
        if clear:
            coded = {name: base64.b64encode(str(value).encode()).decode() for name, value in clear.items()}
            obj["data"] = {**(obj.get("data") or {}), **coded}
        obj.setdefault("type", "Opaque")
    elif resource.gvk.kind == "Namespace" and metadata.get("name"):
        metadata["labels"] = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}


def _drop_empty(value: Any, structure: Structure) -> None:
    """Remove empty maps and lists, which the server's types omit when they write an object."""
    if isinstance(value, dict) and structure.shape in (Shape.STRUCT, Shape.MAP):
        declared = structure.fields if structure.shape is Shape.STRUCT else {}
        for name, inner in list(value.items()):
            if inner is None or isinstance(inner, (dict, list)):
                below = structure.child(name)
                _drop_empty(inner, below)
                if name in declared and _is_empty(inner, below):
                    del value[name]
    elif isinstance(value, list) and structure.element is not None:
        for item in value:
            _drop_empty(item, structure.element)


def _is_empty(value: Any, structure: Structure) -> bool:
    # An empty struct has a meaning (`emptyDir: {}`, a selector of everything). An empty map or list
    # does not.
    return value == [] or (value == {} and structure.shape is Shape.MAP) or value is None
