"""The template of the manager's Deployment, and the values that it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pykb.deployment.manifests import Object
from pykb.plugins.helm_v1._parts import Parts
from pykb.plugins.helm_v1._template import Template
from pykb.plugins.rendered import container_of, pod_of

SCHEDULING: dict[str, Any] = {
    "imagePullSecrets": [],
    "nodeSelector": {},
    "tolerations": [],
    "affinity": {},
    "topologySpreadConstraints": [],
    "priorityClassName": "",
}
"""Fields of a pod that are values, with the values that mean nothing."""

_END = "{{- end }}"


@dataclass(frozen=True, slots=True)
class Image:
    """The image of the manager."""

    repository: str
    tag: str
    policy: str

    @classmethod
    def of(cls, container: Object) -> Image:
        """The image of a container. A digest takes the place of the tag."""
        text = str(container.get("image") or "controller:latest")
        name, _, digest = text.partition("@")
        repository, colon, tag = name.rpartition(":")
        if not colon or "/" in tag:  # a port of the registry
            repository, tag = name, ""
        return cls(repository, digest or tag or "latest", container.get("imagePullPolicy") or "IfNotPresent")


def with_values(deployment: Object, chart: str, parts: Parts, template: Template) -> None:
    """Replace what the values decide by expressions."""
    container, pod = container_of(deployment), pod_of(deployment)
    deployment["spec"]["replicas"] = template.inline("{{ .Values.manager.replicas }}")
    container["image"] = template.block(f'image: {{{{ include "{chart}.image" $ | quote }}}}')
    container["imagePullPolicy"] = template.inline("{{ .Values.manager.image.pullPolicy }}")
    container["resources"] = template.block(
        "{{- with .Values.manager.resources }}", "resources:", "  {{- toYaml . | nindent <indent+2> }}", "{{- end }}"
    )
    container["args"] = _arguments(container.get("args") or [], parts, template)
    container["env"] = _variables(container.get("env") or [], parts, template)
    for holder, key in ((pod, "volumes"), (container, "volumeMounts"), (container, "ports")):
        _condition(holder, key, parts, template)
    for key in SCHEDULING:
        pod[key] = template.block(
            f"{{{{- with .Values.manager.{key} }}}}", f"{key}:", "  {{- toYaml . | nindent <indent+2> }}", "{{- end }}"
        )
    metadata = deployment["spec"]["template"].setdefault("metadata", {})
    for key, value in (("annotations", "podAnnotations"), ("labels", "podLabels")):
        more = template.block(
            f"{{{{- with .Values.manager.{value} }}}}", "{{- toYaml . | nindent <indent+0> }}", "{{- end }}"
        )
        metadata.setdefault(key, {})["~"] = more  # sorts last


def _arguments(args: Sequence[Any], parts: Parts, template: Template) -> str:
    """The arguments, and those of the values. The container's first key: its line stays a plain one."""
    lines = ["args:"]
    for arg in args:
        item = template.nested("args", [arg])[1:]
        if (start := _start(str(arg).removeprefix("--"), parts)) is not None:
            lines += [start, *item, _END]
        elif parts.metrics and str(arg).startswith("--metrics-bind-address"):
            off = ["{{- else }}", "- --metrics-bind-address=0", "{{- end }}"]
            lines += ["{{- if .Values.metrics.enabled }}", *item, *off]
        else:
            lines += item
    lines += ["{{- range .Values.manager.extraArgs }}", "- {{ . | quote }}", "{{- end }}"]
    return template.block(*lines)


def _variables(env: Sequence[Any], parts: Parts, template: Template) -> str:
    lines = ["env:", *(template.nested("env", list(env))[1:] if env else [])]
    if parts.webhooks:
        off = ["- name: ENABLE_WEBHOOKS", '  value: "false"']
        lines += ["{{- if not .Values.webhook.enabled }}", *off, "{{- end }}"]
    lines += ["{{- with .Values.manager.env }}", "{{- toYaml . | nindent <indent+0> }}", "{{- end }}"]
    return template.block(*lines)


def _start(name: str, parts: Parts) -> str | None:
    """The condition of what has this name: for webhooks only, or for the metrics' certificate of cert-manager."""
    if parts.webhooks and "webhook" in name:
        return "{{- if .Values.webhook.enabled }}"
    if parts.certificates and parts.metrics and name.startswith("metrics-cert"):
        return "{{- if and .Values.certManager.enabled .Values.metrics.enabled }}"
    return None


def _condition(holder: dict[str, Any], key: str, parts: Parts, template: Template) -> None:
    """Put the conditions around those items of a list that have one."""
    items = holder.get(key) or []
    starts = [_start(str(each.get("name")), parts) for each in items]
    if not any(starts):
        return
    lines = [f"{key}:"]
    for item, start in zip(items, starts, strict=True):
        written = template.nested(key, [item])[1:]
        lines += [start, *written, _END] if start is not None else written
    holder[key] = template.block(*lines)
