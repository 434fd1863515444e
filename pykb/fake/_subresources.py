"""The subresources that are not a part of their object: the scale, and a pod's eviction and logs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from pykb.client.connection import Route
from pykb.client.errors import ApiError
from pykb.client.writer import APPLY_CONTENT_TYPE
from pykb.fake._http import CHANGED, Parameters, bad_request, cause, conflict, invalid
from pykb.fake._merge import json_patch, merge_patch
from pykb.fake._resources import Resource
from pykb.fake._writing import Writing
from pykb.meta.gvk import GroupVersionKind, NamespacedName

POD = GroupVersionKind("", "v1", "Pod")


class Logs:
    """What the containers of pods have printed, as a test says."""

    def __init__(self) -> None:
        self.texts: dict[tuple[NamespacedName, str, bool], str] = {}
        """By the pod, the name of the container (empty for the only one), and whether it is the one before."""

    async def read(self, pod: Mapping[str, Any], parameters: Parameters) -> AsyncGenerator[bytes]:
        """Yield what a container has printed."""
        metadata = pod["metadata"]
        container = container_of(pod, parameters.get("container"))
        key = NamespacedName(metadata.get("namespace", ""), metadata["name"])
        previous = parameters.get("previous") == "true"
        text = self.texts.get((key, container, previous)) or self.texts.get((key, "", previous)) or ""
        if tail := parameters.get("tailLines"):
            lines = text.splitlines(keepends=True)
            text = "".join(lines[max(0, len(lines) - int(tail)) :])
        content = text.encode()
        if limit := parameters.get("limitBytes"):
            content = content[: int(limit)]
        yield content


def container_of(pod: Mapping[str, Any], wanted: str) -> str:
    """The name of a container. Empty if the pod says nothing about its containers.

    Raises:
        BadRequest: There is none of this name, or there are several and none is named.
    """
    spec = pod.get("spec") or {}
    names = [each["name"] for each in spec.get("containers") or ()]
    others = [each["name"] for part in ("initContainers", "ephemeralContainers") for each in spec.get(part) or ()]
    if not wanted and len(names) > 1:
        raise bad_request(
            f"a container name must be specified for pod {pod['metadata']['name']}, choose one of: [{' '.join(names)}]"
        )
    if wanted and names and wanted not in (*names, *others):
        raise bad_request(f"container {wanted} is not valid for pod {pod['metadata']['name']}")
    return wanted or (names[0] if names else "")


def read_scale(resource: Resource, parent: Mapping[str, Any]) -> dict[str, Any]:
    """The scale of an object."""
    metadata = parent["metadata"]
    shown = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: dict[str, Any] = {"replicas": _at(parent, resource.scale.status_replicas) or 0}
    selector = _at(parent, resource.scale.selector) if resource.scale.selector else None
    if isinstance(selector, Mapping):
        labels = selector.get("matchLabels", selector) or {}
        selector = ",".join(f"{name}={value}" for name, value in sorted(labels.items()))
    if selector:
        status["selector"] = selector
    replicas = _at(parent, resource.scale.replicas)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in shown if name in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


async def write_scale(
    writing: Writing,
    resource: Resource,
    parent: dict[str, Any],
    parameters: Parameters,
    body: Any,
    content_type: str | None,
) -> dict[str, Any]:
    """Replace the scale (without a content type), patch or apply it."""
    scale = read_scale(resource, parent)
    if content_type in (None, APPLY_CONTENT_TYPE):
        scale = body
    elif isinstance(body, list):
        scale = json_patch(scale, body)
    else:
        scale = merge_patch(scale, body)
    metadata = parent["metadata"]
    version = scale["metadata"].get("resourceVersion")
    if version and version != metadata["resourceVersion"]:
        raise conflict(resource.plural, resource.gvk.group, metadata["name"], CHANGED)
    replicas: Any = (scale.get("spec") or {}).get("replicas", 0)
    if replicas < 0:
        raise _negative(resource, metadata["name"], replicas)
    change: Any = replicas
    for step in reversed(resource.scale.replicas):
        change = {step: change}
    route = Route(resource.gvk.group_version, resource.plural, metadata.get("namespace", ""), metadata["name"])
    how = "application/merge-patch+json"
    if content_type == APPLY_CONTENT_TYPE:
        how = APPLY_CONTENT_TYPE
        change |= {"apiVersion": resource.gvk.api_version, "kind": resource.gvk.kind, "metadata": {}}
    written = await writing.patch(resource, route, parameters, change, how, via="scale")
    return read_scale(resource, written)


async def evict(writing: Writing, resource: Resource, route: Route) -> dict[str, Any]:
    """Delete a pod. Disruption budgets are not supported."""
    where = Route(route.group_version, route.plural, route.namespace, route.name)
    await writing.delete(resource, where, {})
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def _negative(resource: Resource, name: str, replicas: int) -> ApiError:
    if resource.custom:
        path = "." + ".".join(resource.scale.replicas)
        causes = [cause(path, "FieldValueInvalid", f"Invalid value: {replicas}: should be a non-negative integer")]
        return invalid(resource.gvk.kind, resource.gvk.group, name, causes)
    message = f"Invalid value: {replicas}: must be greater than or equal to 0"
    return invalid("Scale", "autoscaling", name, [cause("spec.replicas", "FieldValueInvalid", message)])


def _at(obj: Mapping[str, Any], path: Sequence[str]) -> Any:
    value: Any = obj
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value
