"""The template of one object."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from pykb.deployment.manifests import CRD, WEBHOOK_KINDS, Object
from pykb.plugins.helm_v1._deployment import with_values
from pykb.plugins.helm_v1._parts import Parts, place
from pykb.plugins.helm_v1._template import Names, Template
from pykb.plugins.rendered import is_manager

_INJECT = "cert-manager.io/inject-ca-from"
_NAME = "app.kubernetes.io/name"
_OURS = frozenset({_NAME, "app.kubernetes.io/managed-by", "app.kubernetes.io/instance", "app.kubernetes.io/version"})

_SELECTORS = frozenset({"matchLabels", "selector", "labels"})


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes the templates of a chart.

    Attributes:
        names: The names of the project's objects.
        parts: What the project has.
        account: The manager's ServiceAccount.
    """

    names: Names
    parts: Parts
    account: str

    def template(self, obj: Object) -> str:
        """The template of an object, with the conditions of its place."""
        text = self._crd(obj) if obj["kind"] == CRD else self._text(obj)
        conditions = place(obj, self.parts, self.names.prefix).conditions
        if not conditions:
            return text
        joined = conditions[0] if len(conditions) == 1 else f"and {' '.join(conditions)}"
        return f"{{{{- if {joined} }}}}\n{text}{{{{- end }}}}\n"

    def _text(self, obj: Object) -> str:
        template = Template()
        out = self.names.replaced(deepcopy(obj), template)
        self._selectors(out, template)
        self._metadata(out["metadata"], template)
        if out["kind"] in WEBHOOK_KINDS:
            for webhook in out["webhooks"]:
                self._authority(webhook["clientConfig"], template)
        if obj["kind"] == "ServiceMonitor":
            self._verification(out, template)
        if obj["kind"] == "Deployment" and is_manager(obj):
            with_values(out, self.names.chart, self.parts, template)
        self._service_account(obj, out, template)
        return template.text(out)

    def _crd(self, obj: Object) -> str:
        """A CRD. Only what refers to the webhooks depends on the release."""
        template = Template()
        out = {**obj, "metadata": self.names.replaced(obj["metadata"], template), "spec": dict(obj["spec"])}
        annotations = out["metadata"].setdefault("annotations", {})
        annotations["helm.sh/resource-policy"] = template.block(
            "{{- if .Values.crd.keep }}", "helm.sh/resource-policy: keep", "{{- end }}"
        )
        self._metadata(out["metadata"], template)
        conversion = out["spec"].get("conversion")
        if conversion and conversion.get("strategy") == "Webhook":
            inner = self.names.replaced(deepcopy(conversion), template)
            self._authority(inner["webhook"]["clientConfig"], template)
            lines = template.nested("conversion", inner)
            out["spec"]["conversion"] = template.block("{{- if .Values.webhook.enabled }}", *lines, "{{- end }}")
        return template.text(out)

    def _metadata(self, metadata: dict[str, Any], template: Template) -> None:
        kept = {key: value for key, value in (metadata.get("labels") or {}).items() if key not in _OURS}
        include = f'{{{{- include "{self.names.chart}.labels" $ | nindent <indent+0> }}}}'
        metadata["labels"] = {**kept, _NAME: template.block(include)}
        annotations = metadata.get("annotations") or {}
        if _INJECT in annotations and self.parts.certificates:
            line = template.nested(_INJECT, annotations[_INJECT])
            annotations[_INJECT] = template.block("{{- if .Values.certManager.enabled }}", *line, "{{- end }}")

    def _selectors(self, value: Any, template: Template) -> None:
        """Select the objects of this release only."""
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if key in _SELECTORS and isinstance(inner, dict) and _NAME in inner:
                include = f'{{{{- include "{self.names.chart}.selectorLabels" $ | nindent <indent+0> }}}}'
                inner[_NAME] = template.block(include)
            elif isinstance(inner, dict | list):
                self._selectors(inner, template)

    def _authority(self, client: dict[str, Any], template: Template) -> None:
        """Whom the API server trusts, without cert-manager."""
        if self.parts.certificates:
            include = f'caBundle: {{{{ include "{self.names.chart}.webhookAuthority" $ }}}}'
            client["caBundle"] = template.block("{{- if not .Values.certManager.enabled }}", include, "{{- end }}")

    def _verification(self, monitor: Object, template: Template) -> None:
        """Verify the metrics server by the certificate of cert-manager only if there is one."""
        for endpoint in monitor["spec"]["endpoints"]:
            tls = endpoint.get("tlsConfig") or {}
            if self.parts.certificates and "ca" in tls:
                other = template.nested("tlsConfig", {"insecureSkipVerify": True})
                start = "{{- if .Values.certManager.enabled }}"
                lines = (*template.nested("tlsConfig", tls), "{{- else }}", *other, "{{- end }}")
                endpoint["tlsConfig"] = template.block(start, *lines)

    def _service_account(self, obj: Object, out: Object, template: Template) -> None:
        """Refer to the manager's ServiceAccount by its value."""
        name = template.inline(self.names.helper("serviceAccountName"))
        for subject, written in zip(obj.get("subjects") or (), out.get("subjects") or (), strict=True):
            if subject["kind"] == "ServiceAccount" and subject["name"] == self.account:
                written["name"] = name
        if obj["kind"] == "Deployment" and obj["spec"]["template"]["spec"].get("serviceAccountName") == self.account:
            out["spec"]["template"]["spec"]["serviceAccountName"] = name
        if obj["kind"] == "ServiceAccount" and obj["metadata"]["name"] == self.account:
            out["metadata"]["name"] = name
            out["metadata"].setdefault(
                "annotations",
                template.block(
                    "{{- with .Values.serviceAccount.annotations }}",
                    "annotations:",
                    "  {{- toYaml . | nindent <indent+2> }}",
                    "{{- end }}",
                ),
            )
