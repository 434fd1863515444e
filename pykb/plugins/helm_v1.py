"""A Helm chart of the project, from what kustomize renders of config/default."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from io import StringIO
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from pykb.deployment.manifests import (
    CRD,
    INJECTED_CA,
    POLICY_KINDS,
    WEBHOOK_KINDS,
    Object,
    is_converted,
    is_of_cert_manager,
)
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import TOOL_MISSING
from pykb.diagnostics.codes.project import CHART_LATER
from pykb.files.plan import digest
from pykb.gen.emit.yaml import dump_document
from pykb.plugins import PluginKey
from pykb.plugins.rendered import AUTOSCALER, Rendered, WrittenFiles, container_of, is_manager, pod_of, render
from pykb.plugins.request import ApiRequest, EditRequest, InitRequest
from pykb.project.file import Project
from pykb.reading import yaml_text
from pykb.scaffold.plan import PlanBuilder
from pykb.scaffold.template import render_file

# Objects as Helm templates: YAML with expressions of Go's templates in it, and names that depend on the release.
#
# An expression is not YAML. So objects hold a plain word in its place, and the word is replaced in the written text.


_INDENT = re.compile(r"<indent\+(\d)>")
_ELSE = "{{- else }}"
_END = "{{- end }}"
_WORD = re.compile(r"helm-expression-\d+-")
_LINE = re.compile(r"(?P<blanks> *)(?P<dash>- )?(?P<key>[^ ]+: )?(?P<word>helm-expression-\d+-)")


def _when(condition: str, *lines: str) -> list[str]:
    """Lines that are part of a chart if a condition holds."""
    return [f"{{{{- if {condition} }}}}", *lines, _END]


def _given(value: str, key: str = "") -> list[str]:
    """The lines of a value, alone or below its key, if it is not empty."""
    columns = 2 if key else 0
    content = f"{' ' * columns}{{{{- toYaml . | nindent <indent+{columns}> }}}}"
    return [f"{{{{- with .Values.{value} }}}}", *([f"{key}:"] if key else []), content, _END]


class Template:
    """Makes one file of a chart."""

    def __init__(self) -> None:
        self._inline: dict[str, str] = {}
        self._blocks: dict[str, tuple[str, ...]] = {}

    def inline(self, expression: str) -> str:
        """A word that becomes an expression, alone or inside of a text."""
        word = self._word()
        self._inline[word] = expression
        return word

    def block(self, *lines: str) -> str:
        """A word that becomes several lines. It stands alone for a value, whose key it replaces, or for an item.

        In a line, ``<indent+2>`` is the number of columns to the left of the block, and two more.
        """
        word = self._word()
        self._blocks[word] = lines
        return word

    def text(self, obj: Mapping[str, object]) -> str:
        """The template of an object. What looks like an expression in the object stays text."""
        lines = (written for line in _literal(obj) for written in self._written(line))
        return "".join(f"{line}\n" for line in lines)

    @staticmethod
    def nested(key: str, value: object) -> list[str]:
        """The lines of a key and its value, for a block."""
        return _literal({key: value})

    def _word(self) -> str:
        return f"helm-expression-{len(self._inline) + len(self._blocks)}-"

    def _written(self, line: str) -> Sequence[str]:
        match = _LINE.fullmatch(line)
        if match is None or match["word"] not in self._blocks:
            return [_WORD.sub(lambda word: self._inline[word[0]], line)]
        dash = (match["dash"] or "") if match["key"] else ""  # an item that is a block has its own dashes
        column = len(match["blanks"]) + len(dash)
        lines = [each for block in self._blocks[match["word"]] for each in self._written(block)]
        first, *rest = (_INDENT.sub(lambda match: str(column + int(match[1])), each) for each in lines)
        return [f"{match['blanks']}{dash}{first}", *(f"{' ' * column}{each}" for each in rest)]


def _literal(obj: Mapping[str, object]) -> list[str]:
    return dump_document(obj).replace("{{", "{{ `{{` }}").splitlines()


LONGEST = 63


@dataclass(frozen=True, slots=True)
class Names:
    """Replaces the names of a project's objects, and their namespace, in every text of an object.

    Attributes:
        chart: The name of the chart.
        namespace: The namespace of config/default.
        prefix: The prefix of the names.
        own: The names of the objects, and of the Secrets that their certificates are kept in.
    """

    chart: str
    namespace: str
    prefix: str
    own: frozenset[str]

    @classmethod
    def of(cls, chart: str, namespace: str, prefix: str, objects: Iterable[Object]) -> Names:
        """The names of these objects."""
        named = [each for each in objects if each["kind"] not in {"CustomResourceDefinition", "Namespace"}]
        secrets = [each["spec"]["secretName"] for each in named if each["kind"] == "Certificate"]
        return cls(chart, namespace, prefix, frozenset({*(each["metadata"]["name"] for each in named), *secrets}))

    @property
    def room(self) -> int:
        """How long the prefix of a release may be, so that every name is a DNS label."""
        return LONGEST - max((len(self.rest(name)) + 1 for name in self.own), default=0)

    def rest(self, name: str) -> str:
        """A name without the prefix of the project."""
        return name.removeprefix(self.prefix)

    def helper(self, name: str) -> str:
        """The expression of a helper of the chart."""
        return f'{{{{ include "{self.chart}.{name}" $ }}}}'

    def replaced(self, value: Any, template: Template) -> Any:
        """A value whose texts have expressions for names and namespace."""
        if isinstance(value, dict):
            return {key: self.replaced(each, template) for key, each in value.items()}
        if isinstance(value, list):
            return [self.replaced(each, template) for each in value]
        if not isinstance(value, str):
            return value
        known = sorted({*self.own, self.namespace} - {""}, key=len, reverse=True)
        whole = rf"(?<![A-Za-z0-9-])(?:{'|'.join(map(re.escape, known))})(?![A-Za-z0-9-])"
        return re.sub(whole, lambda found: self._written(found[0], template), value) if known else value

    def _written(self, name: str, template: Template) -> str:
        """A name with an expression. What follows the prefix stays text, which tells what the object is for."""
        if name not in self.own:
            return template.inline("{{ $.Release.Namespace }}")
        return f"{template.inline(self.helper('fullname'))}-{self.rest(name)}"


# The templates of single objects: where they go, and the values that the one of the manager's Deployment gives.


_RBAC_OF_CLUSTERS = frozenset({"ClusterRole", "ClusterRoleBinding"})
_RBAC = _RBAC_OF_CLUSTERS | {"Role", "RoleBinding"}
_CERTIFICATES = "certificates-"
"""The prefix of the permissions for the manager's certificate. Those of the cluster are only for the webhooks'."""
_POLICY = '(ne (toString .Values.webhook.policy) "false")'
"""Whatever else the value is: `helm upgrade --reuse-values` has only the values of an earlier chart."""
_PORT_KEYS = frozenset({"containerPort", "port", "targetPort"})
_ADDRESS = re.compile(r"--(?P<server>metrics|health-probe)-bind-address=.*:(?P<port>\d+)")
_PROMETHEUS = frozenset({"ServiceMonitor", "PrometheusRule"})
_BUDGET = "PodDisruptionBudget"
_METRICS = re.compile(r"(^|-)metrics(-|$)")
_WEBHOOK = re.compile(r"(^|-)webhooks?(-|$)")
_HELPER = re.compile(r"-(admin|editor|viewer)-role$")


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of an object's template, and the values that must be true for it."""

    folder: str
    conditions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parts:
    """What a project has. A chart has values only for these."""

    crds: bool
    helpers: bool
    webhooks: bool
    policy: bool
    certificates: bool
    metrics: bool
    prometheus: bool
    policies: bool
    budget: bool
    autoscaler: bool
    account: str
    """The manager's ServiceAccount."""

    @classmethod
    def of(cls, rendered: Rendered) -> Parts:
        """The parts of a project."""
        objects, prefix = (*rendered.objects, *rendered.optional), rendered.prefix
        kinds = {each["kind"] for each in objects}
        return cls(
            crds=CRD in kinds,
            helpers=any(is_helper(each) for each in objects),
            webhooks=bool(kinds & WEBHOOK_KINDS) or any(each["kind"] == CRD and is_converted(each) for each in objects),
            policy=bool(kinds & POLICY_KINDS),
            certificates="Certificate" in kinds,
            metrics=any(each["kind"] == "Service" and _METRICS.search(_rest(each, prefix)) for each in objects),
            prometheus=bool(kinds & _PROMETHEUS),
            policies="NetworkPolicy" in kinds,
            budget=_BUDGET in kinds,
            autoscaler=AUTOSCALER in kinds,
            account=pod_of(rendered.manager).get("serviceAccountName") or "",
        )


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports on which the manager listens, by the value that chooses each, and the labels of its pods."""

    values: Mapping[str, int]
    labels: Mapping[str, str]

    @classmethod
    def of(cls, manager: Object, parts: Parts) -> Ports:
        """The ports of a Deployment: those of its arguments, and the one that is named for webhooks."""
        container = container_of(manager)
        matches = (_ADDRESS.fullmatch(str(each)) for each in container.get("args") or ())
        bound = {each["server"]: int(each["port"]) for each in matches if each is not None}
        names = {"health-probe": "manager.healthPort"} | ({"metrics": "metrics.port"} if parts.metrics else {})
        ports = {names[server]: port for server, port in bound.items() if server in names and port}
        for each in container.get("ports") or () if parts.webhooks else ():
            if _WEBHOOK.search(str(each.get("name"))):
                ports["webhook.port"] = each["containerPort"]
        return cls(ports, (manager["spec"]["template"].get("metadata") or {}).get("labels") or {})

    def selects(self, obj: Object) -> bool:
        """Whether a Service or a network policy is about the manager's pods."""
        spec = obj["spec"]
        chosen = (
            spec.get("selector") if obj["kind"] == "Service" else (spec.get("podSelector") or {}).get("matchLabels")
        )
        return chosen is not None and len(chosen) > 0 and chosen.items() <= self.labels.items()

    def replace(self, value: Any, template: Template) -> None:
        """Replace the ports in a value by expressions."""
        names = {port: name for name, port in self.values.items()}
        for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
            if key in _PORT_KEYS and isinstance(inner, int) and inner in names:
                value[key] = template.inline(_port(names[inner], inner))
            elif isinstance(inner, dict | list):
                self.replace(inner, template)


def _port(value: str, port: int) -> str:
    """The expression of a port. `helm upgrade --reuse-values` has only the values of an earlier chart."""
    return f"{{{{ .Values.{value} | default {port} }}}}"


def is_helper(obj: Object) -> bool:
    """Whether it is a role for users of the project's kinds."""
    return obj["kind"] == "ClusterRole" and _HELPER.search(obj["metadata"]["name"]) is not None


def place(obj: Object, parts: Parts, prefix: str) -> Place:
    """Where the template of an object goes, and when it is part of a release."""
    kind = obj["kind"]
    name = _rest(obj, prefix)
    about = tuple(_conditions_of_name(kind, name, parts))
    if kind == CRD:
        return Place("crd", (".Values.crd.enabled",))
    if kind == "ServiceAccount":
        is_of_manager = obj["metadata"]["name"] == parts.account
        return Place("rbac", (".Values.serviceAccount.create",) if is_of_manager else ())
    if kind in _RBAC:
        return Place("rbac", (".Values.rbac.helpers.enabled",) if is_helper(obj) else about)
    if kind in POLICY_KINDS:
        return Place("webhook", (".Values.webhook.enabled", _POLICY))
    if kind == "NetworkPolicy":
        return Place("network-policy", (".Values.networkPolicy.enabled", *about))
    if kind in _PROMETHEUS:
        return Place("prometheus", (".Values.prometheus.enabled", *about))
    if is_of_cert_manager(obj):
        return Place("cert-manager", (".Values.certManager.enabled",))
    if kind in WEBHOOK_KINDS or (kind == "Service" and _WEBHOOK.search(name)):
        return Place("webhook", (".Values.webhook.enabled",))
    if kind == "Service" and _METRICS.search(name):
        return Place("metrics", about)
    if kind == AUTOSCALER:
        return Place("extra", (".Values.autoscaling.enabled",))
    if kind == _BUDGET:
        return Place("extra", (".Values.podDisruptionBudget.enabled",))
    return Place("manager" if kind == "Deployment" else "extra")


def _conditions_of_name(kind: str, name: str, parts: Parts) -> Iterator[str]:
    if parts.metrics and _METRICS.search(name):
        yield ".Values.metrics.enabled"
    if parts.webhooks and (_WEBHOOK.search(name) or (kind in _RBAC_OF_CLUSTERS and name.startswith(_CERTIFICATES))):
        yield ".Values.webhook.enabled"


def _rest(obj: Object, prefix: str) -> str:
    """The name without the project's prefix, which may be any word."""
    return str(obj["metadata"]["name"]).removeprefix(prefix)


_NAME = "app.kubernetes.io/name"
_OURS = frozenset({_NAME, "app.kubernetes.io/managed-by", "app.kubernetes.io/instance", "app.kubernetes.io/version"})

_EXPRESSIONS = frozenset({"matchConditions", "validations", "variables"})
"""The fields of a policy with expressions. They name no object of the release."""
_SELECTORS = frozenset({"matchLabels", "selector", "labels"})


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes the templates of a chart.

    Attributes:
        names: The names of the project's objects.
        parts: What the project has.
        ports: The manager's ports.
    """

    names: Names
    parts: Parts
    ports: Ports

    def template(self, obj: Object) -> str:
        """The template of an object, with the conditions of its place."""
        text = self._crd(obj) if obj["kind"] == CRD else self._text(obj)
        conditions = place(obj, self.parts, self.names.prefix).conditions
        if not conditions:
            return text
        joined = conditions[0] if len(conditions) == 1 else f"and {' '.join(conditions)}"
        return "\n".join(_when(joined, text.removesuffix("\n"))) + "\n"

    def _text(self, obj: Object) -> str:
        template = Template()
        out = self.names.replaced(deepcopy(obj), template)
        self._selectors(out, template)
        self._metadata(out["metadata"], template)
        if out["kind"] in POLICY_KINDS:  # a word of an expression may be the name of the namespace
            out["spec"] |= {key: obj["spec"][key] for key in _EXPRESSIONS & obj["spec"].keys()}
        if out["kind"] in WEBHOOK_KINDS:
            for webhook in out["webhooks"]:
                self._authority(webhook["clientConfig"], template)
        if obj["kind"] in {"Service", "NetworkPolicy"} and self.ports.selects(obj):
            self.ports.replace(out["spec"].get("ports" if obj["kind"] == "Service" else "ingress") or [], template)
        if obj["kind"] == "ServiceMonitor":
            self._verification(out, template)
        if obj["kind"] == AUTOSCALER:
            for key in ("minReplicas", "maxReplicas"):
                out["spec"][key] = template.inline(f"{{{{ .Values.autoscaling.{key} }}}}")
        if obj["kind"] == "Deployment" and is_manager(obj):
            _with_values(out, self.names.chart, self.parts, self.ports, template)
        self._service_account(obj, out, template)
        return template.text(out)

    def _crd(self, obj: Object) -> str:
        """A CRD. Only what refers to the webhooks depends on the release."""
        template = Template()
        out = {**obj, "metadata": self.names.replaced(obj["metadata"], template), "spec": dict(obj["spec"])}
        annotations = out["metadata"].setdefault("annotations", {})
        annotations["helm.sh/resource-policy"] = template.block(
            *_when(".Values.crd.keep", "helm.sh/resource-policy: keep")
        )
        self._metadata(out["metadata"], template)
        conversion = out["spec"].get("conversion")
        if conversion and conversion.get("strategy") == "Webhook":
            inner = self.names.replaced(deepcopy(conversion), template)
            self._authority(inner["webhook"]["clientConfig"], template)
            lines = template.nested("conversion", inner)
            out["spec"]["conversion"] = template.block(*_when(".Values.webhook.enabled", *lines))
        return template.text(out)

    def _metadata(self, metadata: dict[str, Any], template: Template) -> None:
        kept = {key: value for key, value in (metadata.get("labels") or {}).items() if key not in _OURS}
        include = f'{{{{- include "{self.names.chart}.labels" $ | nindent <indent+0> }}}}'
        metadata["labels"] = {**kept, _NAME: template.block(include)}
        annotations = metadata.get("annotations") or {}
        if INJECTED_CA in annotations and self.parts.certificates:
            line = template.nested(INJECTED_CA, annotations[INJECTED_CA])
            annotations[INJECTED_CA] = template.block(*_when(".Values.certManager.enabled", *line))

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
            client["caBundle"] = template.block(*_when("not .Values.certManager.enabled", include))

    def _verification(self, monitor: Object, template: Template) -> None:
        """Verify the metrics server by the certificate of cert-manager only if there is one."""
        for endpoint in monitor["spec"]["endpoints"]:
            tls = endpoint.get("tlsConfig") or {}
            if self.parts.certificates and "ca" in tls:
                other = template.nested("tlsConfig", {"insecureSkipVerify": True})
                lines = _when(".Values.certManager.enabled", *template.nested("tlsConfig", tls), _ELSE, *other)
                endpoint["tlsConfig"] = template.block(*lines)

    def _service_account(self, obj: Object, out: Object, template: Template) -> None:
        """Refer to the manager's ServiceAccount by its value."""
        name = template.inline(self.names.helper("serviceAccountName"))
        for subject, written in zip(obj.get("subjects") or (), out.get("subjects") or (), strict=True):
            if subject["kind"] == "ServiceAccount" and subject["name"] == self.parts.account:
                written["name"] = name
        if obj["kind"] in POLICY_KINDS and (obj["spec"].get("paramRef") or {}).get("name") == self.parts.account:
            out["spec"]["paramRef"]["name"] = name
        if (
            obj["kind"] == "Deployment"
            and obj["spec"]["template"]["spec"].get("serviceAccountName") == self.parts.account
        ):
            out["spec"]["template"]["spec"]["serviceAccountName"] = name
        if obj["kind"] == "ServiceAccount" and obj["metadata"]["name"] == self.parts.account:
            out["metadata"]["name"] = name
            annotations = _given("serviceAccount.annotations", "annotations")
            out["metadata"].setdefault("annotations", template.block(*annotations))


SCHEDULING: dict[str, Any] = {
    "imagePullSecrets": [],
    "nodeSelector": {},
    "tolerations": [],
    "affinity": {},
    "topologySpreadConstraints": [],
    "priorityClassName": "",
}
"""Fields of a pod that are values, with the values that mean nothing."""


def settings(manager: Object) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Other fields that are values: what holds the field, its name, and that of the value."""
    yield manager["spec"], "strategy", "strategy"
    yield pod_of(manager), "securityContext", "podSecurityContext"
    yield container_of(manager), "securityContext", "securityContext"
    yield container_of(manager), "envFrom", "envFrom"
    yield container_of(manager), "resources", "resources"


SHARDS = re.compile(r"--shards=(\d+)")
_SHARDED = _when(".Values.manager.shards", "- --shards={{ .Values.manager.shards }}", _ELSE, "- --leader-elect")


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


def _with_values(deployment: Object, chart: str, parts: Parts, ports: Ports, template: Template) -> None:
    """Replace what the values decide by expressions."""
    container, pod = container_of(deployment), pod_of(deployment)
    replicas = "replicas: {{ .Values.manager.replicas }}"
    lines = _when("not .Values.autoscaling.enabled", replicas) if parts.autoscaler else [replicas]
    deployment["spec"]["replicas"] = template.block(*lines)
    container["image"] = template.block(f'image: {{{{ include "{chart}.image" $ | quote }}}}')
    container["imagePullPolicy"] = template.inline("{{ .Values.manager.image.pullPolicy }}")
    ports.replace(container.get("ports") or [], template)
    container["args"] = _arguments(container.get("args") or [], parts, ports, template)
    container["env"] = _variables(container.get("env") or [], parts, template)
    _items(container, "ports", "", parts, template)
    _items(container, "volumeMounts", "extraVolumeMounts", parts, template)
    _items(pod, "volumes", "extraVolumes", parts, template)
    for holder, key, value in (*settings(deployment), *((pod, key, key) for key in SCHEDULING)):
        holder[key] = template.block(*_given(f"manager.{value}", key))
    metadata = deployment["spec"]["template"].setdefault("metadata", {})
    for key, value in (("annotations", "podAnnotations"), ("labels", "podLabels")):
        metadata.setdefault(key, {})["~"] = template.block(*_given(f"manager.{value}"))  # sorts last


def _arguments(args: Sequence[Any], parts: Parts, ports: Ports, template: Template) -> str:
    """The arguments, and those of the values. The container's first key: its line stays a plain one."""
    lines = ["args:"]
    for arg in args:
        item = template.nested("args", [_bound(str(arg), ports, template)])[1:]
        if SHARDS.fullmatch(str(arg)):
            lines += _SHARDED
        elif (condition := _condition(str(arg).removeprefix("--"), parts)) is not None:
            lines += _when(condition, *item)
        elif parts.metrics and str(arg).startswith("--metrics-bind-address"):
            lines += _when(".Values.metrics.enabled", *item, _ELSE, "- --metrics-bind-address=0")
        else:
            lines += item
    if (port := ports.values.get("webhook.port")) is not None and "--webhook-port" not in "".join(map(str, args)):
        condition = f"and .Values.webhook.enabled (ne (int (.Values.webhook.port | default {port})) {port})"
        lines += _when(condition, "- --webhook-port={{ .Values.webhook.port }}")
    lines += ["{{- range .Values.manager.extraArgs }}", "- {{ . | quote }}", _END]
    return template.block(*lines)


def _bound(arg: str, ports: Ports, template: Template) -> str:
    """An argument with the value of the port in it."""
    servers = {"manager.healthPort": "health-probe-bind-address", "metrics.port": "metrics-bind-address"}
    for value, port in ports.values.items():
        if re.fullmatch(rf"--(?:{servers.get(value, 'webhook-port')}=(?:.*:)?){port}", arg):
            return arg.removesuffix(str(port)) + template.inline(_port(value, port))
    return arg


def _variables(env: Sequence[Any], parts: Parts, template: Template) -> str:
    lines = ["env:", *(template.nested("env", list(env))[1:] if env else [])]
    if parts.webhooks:
        lines += _when("not .Values.webhook.enabled", "- name: ENABLE_WEBHOOKS", '  value: "false"')
    return template.block(*lines, *_given("manager.env"))


def _condition(name: str, parts: Parts) -> str | None:
    """The condition of what has this name: for webhooks only, or for the metrics' certificate of cert-manager."""
    if parts.webhooks and "webhook" in name:
        return ".Values.webhook.enabled"
    if parts.certificates and parts.metrics and name.startswith("metrics-cert"):
        return "and .Values.certManager.enabled .Values.metrics.enabled"
    return None


def _items(holder: dict[str, Any], key: str, more: str, parts: Parts, template: Template) -> None:
    """Put the conditions around those items of a list that have one, and add those of a value."""
    items = holder.get(key) or []
    conditions = [_condition(str(each.get("name")), parts) for each in items]
    if not any(conditions) and not more:
        return
    lines: list[str] = []
    for item, condition in zip(items, conditions, strict=True):
        written = template.nested(key, [item])[1:]
        lines += _when(condition, *written) if condition is not None else written
    added = _given(f"manager.{more}") if more else []
    lines = [f"{key}:", *lines, *added] if lines else [*added[:1], f"{key}:", *added[1:]]
    holder[key] = template.block(*lines)


class HelmV1:
    """A Helm chart."""

    key = PluginKey("helm.pykb.dev", "v1")
    summary = "a Helm chart in charts/, made of config/"

    def init(self, request: InitRequest, plan: PlanBuilder) -> None:
        """Write the chart of a project without kinds. Without kustomize, that is left to a later command."""
        try:
            _write(request.project, plan, force=False)
        except EnvironmentProblem as problem:
            if problem.diagnostic.code is not TOOL_MISSING:
                raise
            message = "the chart was not written: neither `kustomize` nor `kubectl` is installed"
            plan.diagnostics.report(CHART_LATER, None, message, "later: `pykb edit --plugins helm`")

    def create_api(self, request: ApiRequest, plan: PlanBuilder) -> None:
        """Nothing: the CRD is generated after this command, and the chart is made of it."""

    def edit(self, request: EditRequest, plan: PlanBuilder) -> None:
        """Write the chart, or bring it up to date."""
        _write(request.project, plan, force=request.force)

    def remove(self, request: EditRequest, plan: PlanBuilder) -> None:
        """Remove the chart."""
        name = request.project.project_name
        ChartFiles(f"charts/{name}", plan, request.force).withdraw(described(name))


def _write(project: Project, plan: PlanBuilder, *, force: bool) -> None:
    name = project.project_name
    rendered = render(plan)
    ChartFiles(f"charts/{name}", plan, force).put_chart(chart(name, rendered), values(rendered))


_VALUES = "values.yaml"


def merged(text: str, before: Mapping[str, Any], after: str) -> str:
    """The user's values with new keys, and with new defaults where the user kept the old ones.

    Args:
        text: The values as they are.
        before: The values that pykb wrote last.
        after: The values that pykb would write now.
    """
    yaml = YAML()
    yaml.width = 4096
    yaml.preserve_quotes = True
    current = yaml.load(text)
    if not isinstance(current, CommentedMap):
        return text
    _merge(current, before, yaml.load(after))
    stream = StringIO()
    yaml.dump(current, stream)
    return stream.getvalue()


def _merge(current: CommentedMap, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    for key in [key for key in before if key not in after and current.get(key) == before[key]]:
        del current[key]
    for key, value in after.items():
        was = before.get(key)
        if key not in current:
            if key not in before:
                current[key] = value
        elif isinstance(value, dict) and isinstance(current[key], dict) and isinstance(was, dict) and value:
            _merge(current[key], was, value)
        elif current[key] == was and value != was:
            current[key] = value


class ChartFiles(WrittenFiles):
    """The files of a chart, below a folder of the project."""

    def __init__(self, folder: str, plan: PlanBuilder, force: bool) -> None:
        super().__init__(folder, plan, force, ONCE)

    def put_chart(self, files: Mapping[str, str], values: str) -> None:
        """Write a chart, or bring one up to date."""
        self.put_files(files, keep=frozenset({_VALUES}))
        self._put_values(values)
        self.remember({**files, _VALUES: values}, yaml_text.load(values))

    def _put_values(self, values: str) -> None:
        path = f"{self.folder}/{_VALUES}"
        text = self.plan.text(path)
        if text is None or digest(text.encode()) == self.last.files.get(_VALUES):
            self.plan.update(path, values.encode())
            return
        try:
            self.plan.update(path, merged(text, self.last.values, values).encode())
        except (yaml.YAMLError, YAMLError):
            self.report(_VALUES)


ONCE = frozenset({"Chart.yaml"})
"""Files that belong to the user once they exist."""

_WEBHOOK_SECRET = "templates/webhook/certificate.yaml"  # noqa: S105 - the name of a file


def chart(name: str, rendered: Rendered) -> dict[str, str]:
    """The texts of a chart by path, without the values."""
    objects = [each for each in (*rendered.objects, *rendered.optional) if each["kind"] != "Namespace"]
    names = Names.of(name, rendered.namespace, rendered.prefix, objects)
    parts = Parts.of(rendered)
    writer = Writer(names, parts, Ports.of(rendered.manager, parts))
    files = {
        **described(name),
        ".helmignore": render_file("chart/helmignore.j2", {}),
        "templates/NOTES.txt": render_file("chart/NOTES.txt.j2", {"parts": parts}),
        "templates/_helpers.tpl": _filled("chart/_helpers.tpl.j2", names, parts, objects),
    }
    if parts.certificates and parts.webhooks:
        files[_WEBHOOK_SECRET] = _filled("chart/webhook_secret.yaml.j2", names, parts, objects)
    for obj in objects:
        path = _path(obj, names, parts, files)
        files[path] = writer.template(obj)
    return files


def described(name: str) -> dict[str, str]:
    """The files that are written once."""
    return {"Chart.yaml": render_file("chart/Chart.yaml.j2", {"name": name})}


def values(rendered: Rendered) -> str:
    """The text of the values, with the defaults of the project."""
    objects = [*rendered.objects, *rendered.optional]
    manager = rendered.manager
    pod = pod_of(manager)
    kinds = {each["kind"] for each in rendered.objects}
    args = container_of(manager).get("args") or ()
    parts = Parts.of(rendered)
    context: Mapping[str, Any] = {
        "replicas": rendered.replicas,
        "shards": next((match[1] for each in args if (match := SHARDS.fullmatch(str(each)))), ""),
        "scaler": next((each["spec"] for each in objects if each["kind"] == AUTOSCALER), {}),
        "image": Image.of(container_of(manager)),
        "settings": {value: _lines(value, holder.get(key)) for holder, key, value in settings(manager)},
        "ports": Ports.of(manager, parts).values,
        "pod": {key: json.dumps(pod.get(key) or empty) for key, empty in SCHEDULING.items()},
        "parts": parts,
        "defaults": {
            "prometheus": str("ServiceMonitor" in kinds).lower(),
            "policies": str("NetworkPolicy" in kinds).lower(),
            "autoscaling": str(AUTOSCALER in kinds).lower(),
        },
    }
    return render_file("chart/values.yaml.j2", context)


def _lines(key: str, value: Any) -> str:
    """A field of the manager's values as YAML."""
    if not value:
        return f"  {key}: {'[]' if key == 'envFrom' else '{}'}"
    return "\n".join(f"  {line}" for line in Template.nested(key, value))


def _path(obj: Object, names: Names, parts: Parts, taken: Mapping[str, str]) -> str:
    name = obj["metadata"]["name"]
    stem = name if obj["kind"] == CRD else names.rest(name)
    folder = f"templates/{place(obj, parts, names.prefix).folder}"
    path = f"{folder}/{stem}.yaml"
    return path if path not in taken else f"{folder}/{stem}-{obj['kind'].lower()}.yaml"


def _filled(template: str, names: Names, parts: Parts, objects: list[Object]) -> str:
    """A template of helpers. It has words in place of names, since it is full of Helm's expressions."""
    text = render_file(template, {"parts": parts})
    secrets = [each["spec"]["secretName"] for each in objects if each["kind"] == "Certificate"]
    service = [each["metadata"]["name"] for each in objects if each["kind"] == "Service"]
    words = {
        "NAME": names.chart,
        "PREFIX": str(names.room),
        "ACCOUNT": names.rest(parts.account),
        "SECRET": next((each for each in map(names.rest, secrets) if "webhook" in each), ""),
        "SERVICE": next((each for each in map(names.rest, service) if "webhook" in each), ""),
    }
    for word, value in words.items():
        text = text.replace(word, value)
    return text
