"""A bundle for the Operator Lifecycle Manager (OLM), from what kustomize renders of config/default.

Source: https://olm.operatorframework.io/docs/concepts/crds/clusterserviceversion/
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import yaml

from pykb.deployment.manifests import CRD, INJECTED_CA, POLICY_KINDS, Object, is_converted, is_of_cert_manager
from pykb.diagnostics import NOTHING_WRITTEN, Diagnostics
from pykb.diagnostics.codes.project import BUNDLE_LEFT_OUT
from pykb.diagnostics.codes.scaffold import FILE_BROKEN
from pykb.files.plan import digest
from pykb.gen.emit.yaml import dump_document
from pykb.plugins import PluginKey
from pykb.plugins.rendered import Rendered, WrittenFiles, container_of, pod_of, take_out
from pykb.plugins.rendered import render as render_objects
from pykb.plugins.request import ApiRequest, EditRequest, InitRequest
from pykb.project.file import Project
from pykb.reading import yaml_text
from pykb.scaffold.plan import OnExists, PlanBuilder
from pykb.scaffold.template import render_file

FOLDER = "bundle"
DOCKERFILE = "bundle.Dockerfile"
_ANNOTATIONS = "metadata/annotations.yaml"
_SAMPLES = "config/samples/kustomization.yaml"


class OlmV1:
    """An OLM bundle."""

    key = PluginKey("olm.pykb.dev", "v1")
    summary = "a bundle for OLM in bundle/, made of config/"

    def init(self, request: InitRequest, plan: PlanBuilder) -> None:
        """Add what people read about the operator. The bundle is made of it later."""
        path, text = _base(request.project)
        plan.create(path, text.encode())

    def create_api(self, request: ApiRequest, plan: PlanBuilder) -> None:
        """Nothing: the CRD is generated after this command, and the bundle is made of it."""

    def edit(self, request: EditRequest, plan: PlanBuilder) -> None:
        """Write the bundle, or bring it up to date."""
        path, text = _base(request.project)
        plan.create(path, text.encode(), on_exists=OnExists.KEEP)
        base = _mapping(plan, path)
        if base is None:
            return
        bundle = Bundle.of(render_objects(plan))
        version = _cluster_service_version(request.project.project_name, base, bundle, _samples(plan), plan.diagnostics)
        files = {f"manifests/{request.project.project_name}.clusterserviceversion.yaml": _document(version)}
        files |= {f"manifests/{name}": _document(obj) for name, obj in bundle.manifests.items()}
        annotations = _annotations(request.project)
        WrittenFiles(FOLDER, plan, request.force, frozenset(annotations)).put({**annotations, **files})
        labels = self._labels(plan)
        for name, content in _docker(labels).items():
            plan.create(name, content.encode(), on_exists=OnExists.OVERWRITE)

    def remove(self, request: EditRequest, plan: PlanBuilder) -> None:
        """Remove the bundle and what was written for it."""
        path, text = _base(request.project)
        fresh = {path: text, **_docker(self._labels(plan))}
        WrittenFiles(FOLDER, plan, request.force).withdraw(_annotations(request.project))
        for name, content in fresh.items():
            take_out(plan, name, digest(content.encode()))

    @staticmethod
    def _labels(plan: PlanBuilder) -> Mapping[str, Any]:
        found = _mapping(plan, f"{FOLDER}/{_ANNOTATIONS}") if plan.current(f"{FOLDER}/{_ANNOTATIONS}") else None
        return (found or {}).get("annotations") or {}


def _document(obj: Mapping[str, object]) -> str:
    """A file of the bundle. OLM reads only its first document, so that it must not begin with a separator."""
    return dump_document(obj).removeprefix("---\n")


def _base(project: Project) -> tuple[str, str]:
    """The part of the ClusterServiceVersion that belongs to the user: its path and its first text."""
    title = project.project_name.replace("-", " ").title()
    context = {"project": project, "title": title, "domain": project.domain or "example.com"}
    path = f"config/manifests/bases/{project.project_name}.clusterserviceversion.yaml"
    return path, render_file("olm/clusterserviceversion.yaml.j2", context)


def _annotations(project: Project) -> dict[str, str]:
    return {_ANNOTATIONS: render_file("olm/annotations.yaml.j2", {"project": project})}


def _docker(labels: Mapping[str, Any]) -> dict[str, str]:
    """The Dockerfile of the bundle, and what its build sees in place of the project's `.dockerignore`."""
    return {
        DOCKERFILE: render_file("olm/Dockerfile.j2", {"labels": labels}),
        f"{DOCKERFILE}.dockerignore": render_file("olm/dockerignore.j2", {}),
    }


def _mapping(plan: PlanBuilder, path: str) -> dict[str, Any] | None:
    """The content of a YAML file. Reports one that is not a mapping."""
    try:
        found = yaml_text.load(plan.text(path) or "")
    except yaml.MarkedYAMLError as error:
        message = f"`{path}` does not parse: {error.problem or 'not YAML'}"
        plan.diagnostics.report(FILE_BROKEN, yaml_text.place(error, path), message, notes=NOTHING_WRITTEN)
        return None
    if isinstance(found, dict):
        return found
    plan.diagnostics.report(FILE_BROKEN, None, f"`{path}` is not a mapping", notes=NOTHING_WRITTEN)
    return None


def _samples(plan: PlanBuilder) -> list[dict[str, Any]]:
    """The samples that the kustomization names."""
    if plan.current(_SAMPLES) is None:
        return []
    names = (_mapping(plan, _SAMPLES) or {}).get("resources") or []
    found: list[dict[str, Any]] = []
    for name in names:
        text = plan.text(f"config/samples/{name}")
        found += [each for each in yaml_text.load_all(text or "") if isinstance(each, dict)]
    return found


_IMAGE = "RELATED_IMAGE_"
_TAKEN = frozenset(
    {
        *("admissionReviewVersions", "failurePolicy", "matchPolicy", "objectSelector", "reinvocationPolicy", "rules"),
        *("sideEffects", "timeoutSeconds"),
    }
)
"""The fields of a webhook that a definition has as well."""
_REPLACED = frozenset({"clientConfig", "name"})
_MODES = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")


def _cluster_service_version(
    name: str, base: Mapping[str, Any], bundle: Bundle, samples: Sequence[Object], diagnostics: Diagnostics
) -> Object:
    """The whole object.

    Args:
        name: The name of the package.
        base: The part that belongs to the user. Its fields win.
        bundle: The objects of the project.
        samples: The samples of config/samples.
        diagnostics: Takes what a bundle cannot have.
    """
    metadata, spec = dict(base.get("metadata") or {}), dict(base.get("spec") or {})
    owned = list(_owned(bundle))
    known = {(each["name"].partition(".")[2], each["version"], each["kind"]) for each in owned}
    examples = [each for each in samples if _identity(each) in known]
    image = container_of(bundle.manager)["image"]
    annotations = {
        "alm-examples": json.dumps(examples, indent=2, sort_keys=True),
        "containerImage": image,
        **(metadata.get("annotations") or {}),
    }
    made = {
        "apiservicedefinitions": {},
        "customresourcedefinitions": {"owned": owned},
        "install": {"spec": _strategy(bundle), "strategy": "deployment"},
        "installModes": [{"supported": mode in _supported(bundle), "type": mode} for mode in _MODES],
        "relatedImages": list(_images(bundle)),
        "webhookdefinitions": list(_webhooks(bundle, diagnostics)),
    }
    for each in bundle.left_out:
        message = f"the bundle does not have the {each['kind']} `{each['metadata']['name']}`: OLM does not install it"
        diagnostics.report(BUNDLE_LEFT_OUT, None, message)
    version = str(spec.get("version") or "0.0.1")
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {**metadata, "annotations": annotations, "name": f"{name}.v{version}"},
        "spec": {key: value for key, value in {**made, **spec, "version": version}.items() if value != []},
    }


def _identity(obj: Object) -> tuple[str, str, str]:
    group, _, version = str(obj.get("apiVersion")).rpartition("/")
    return group, version, str(obj.get("kind"))


def _owned(bundle: Bundle) -> Iterator[Object]:
    """The kinds, in each version that is served."""
    for crd in bundle.crds:
        kind = crd["spec"]["names"]["kind"]
        for version in crd["spec"]["versions"]:
            if version["served"]:
                schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
                title = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", kind)
                yield {
                    "description": schema.get("description") or title,
                    "displayName": title,
                    "kind": kind,
                    "name": crd["metadata"]["name"],
                    "version": version["name"],
                }


def _strategy(bundle: Bundle) -> Object:
    manager = bundle.manager
    deployment = {
        "label": manager["metadata"].get("labels") or {},
        "name": manager["metadata"]["name"],
        "spec": manager["spec"],
    }
    rules = {
        field: [{"rules": deepcopy(rules), "serviceAccountName": bundle.account}]
        for field, rules in bundle.permissions.items()
        if rules
    }
    return {**rules, "deployments": [deployment]}


def _supported(bundle: Bundle) -> frozenset[str]:
    """A manager of one namespace watches its own. Conversion webhooks serve the whole cluster."""
    variables = {each["name"] for each in container_of(bundle.manager).get("env") or ()}
    if "WATCH_NAMESPACE" in variables and not bundle.converted:
        return frozenset({"OwnNamespace"})
    return frozenset({"AllNamespaces"})


def _images(bundle: Bundle) -> Iterator[Object]:
    """The images that have to be copied for a cluster without a network."""
    for container in pod_of(bundle.manager)["containers"]:
        yield {"image": container["image"], "name": container["name"]}
        for each in container.get("env") or ():
            if each["name"].startswith(_IMAGE) and each.get("value"):
                name = each["name"].removeprefix(_IMAGE).lower().replace("_", "-")
                yield {"image": each["value"], "name": name}


def _webhooks(bundle: Bundle, diagnostics: Diagnostics) -> Iterator[Object]:
    for configuration in bundle.webhooks:
        for webhook in configuration["webhooks"]:
            lost = sorted(set(webhook) - _TAKEN - _REPLACED)
            if lost:
                fields = ", ".join(f"`{each}`" for each in lost)
                message = f"the webhook `{webhook['name']}` of the bundle does not have {fields}"
                diagnostics.report(BUNDLE_LEFT_OUT, None, message)
            yield {
                **{key: deepcopy(webhook[key]) for key in _TAKEN if key in webhook},
                **_place(bundle),
                "generateName": webhook["name"],
                "type": WEBHOOKS[configuration["kind"]],
                "webhookPath": webhook["clientConfig"]["service"].get("path") or "/",
            }
    for crd in bundle.converted:
        webhook = crd["spec"]["conversion"]["webhook"]
        yield {
            **_place(bundle),
            "admissionReviewVersions": webhook["conversionReviewVersions"],
            "conversionCRDs": [crd["metadata"]["name"]],
            "generateName": f"c{crd['spec']['names']['singular']}.kb.io",
            "sideEffects": "None",
            "type": "ConversionWebhook",
            "webhookPath": webhook["clientConfig"]["service"].get("path") or "/convert",
        }


def _place(bundle: Bundle) -> Object:
    """Where OLM reaches the webhooks: its Service listens on 443 and forwards to the manager."""
    return {"containerPort": 443, "deploymentName": bundle.manager["metadata"]["name"], "targetPort": 9443}


WEBHOOKS = {
    "MutatingWebhookConfiguration": "MutatingAdmissionWebhook",
    "ValidatingWebhookConfiguration": "ValidatingAdmissionWebhook",
}
CERTIFICATES = "/tmp/k8s-webhook-server/serving-certs"  # noqa: S108 - where OLM mounts the certificate
_KINDS = frozenset(
    {
        *("ClusterRole", "ClusterRoleBinding", "ConfigMap", "NetworkPolicy", "PodDisruptionBudget", "PriorityClass"),
        *("PrometheusRule", "Role", "RoleBinding", "Secret", "Service", "ServiceAccount", "ServiceMonitor", CRD),
    }
)
"""The kinds of a project that OLM installs from a bundle.

Source: https://olm.operatorframework.io/docs/tasks/creating-operator-manifests/#packaging-additional-objects-alongside-an-operator
"""
_BINDINGS = {"ClusterRoleBinding": "clusterPermissions", "RoleBinding": "permissions"}
_MANAGED = ("--cert-secret", "--cert-service", "--webhook-configuration")
"""The manager's options for certificates that it makes itself, each with its values."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """The objects of a project, sorted by what becomes of them.

    Attributes:
        manager: The Deployment of the manager.
        permissions: Its rules, by the field of the install strategy.
        webhooks: The webhook configurations.
        crds: The CRDs.
        manifests: The other files of the bundle, and the CRDs, by name.
        left_out: Objects that OLM does not install.
    """

    manager: Object
    permissions: Mapping[str, list[Object]]
    webhooks: Sequence[Object]
    crds: Sequence[Object]
    manifests: Mapping[str, Object]
    left_out: Sequence[Object]

    @classmethod
    def of(cls, rendered: Rendered) -> Bundle:
        """Sort the objects of a project. OLM brings the certificate, so what makes or mounts one is left behind."""
        manager = deepcopy(rendered.manager)
        manager["spec"]["replicas"] = rendered.replicas
        account = pod_of(manager).get("serviceAccountName") or "default"
        webhooks = [each for each in rendered.objects if each["kind"] in WEBHOOKS]
        crds = [each for each in rendered.objects if each["kind"] == CRD]
        _without_certificates(manager, rendered.objects)
        if webhooks or any(map(is_converted, crds)):
            container_of(manager)["args"].append(f"--webhook-cert-path={CERTIFICATES}")
        others = [each for each in rendered.objects if not _belongs_elsewhere(each, account)]
        used = [each for each in others if each["kind"] in _BINDINGS and _binds(each, account)]
        permissions = {field: list(_rules(rendered.objects, used, kind)) for kind, field in _BINDINGS.items()}
        others = _without_bindings(others, used)
        manifests = {_file(each): _portable(each) for each in others if each["kind"] in _KINDS}
        left_out = [each for each in others if each["kind"] not in _KINDS]
        return cls(manager, permissions, webhooks, crds, manifests, left_out)

    @property
    def account(self) -> str:
        """The ServiceAccount of the manager."""
        return str(pod_of(self.manager).get("serviceAccountName") or "default")

    @property
    def converted(self) -> list[Object]:
        """The CRDs with a conversion webhook."""
        return [each for each in self.crds if is_converted(each)]


def _belongs_elsewhere(obj: Object, account: str) -> bool:
    """Whether OLM makes the object itself, or the ClusterServiceVersion has it."""
    kind, name = obj["kind"], str(obj["metadata"]["name"])
    if kind in {"Deployment", "Namespace"} or kind in WEBHOOKS:
        return True
    if kind == "ServiceAccount":
        return name == account
    if is_of_cert_manager(obj):
        return True
    is_of_certificates = "-certificates-" in f"-{name}" and kind in {*_BINDINGS, "Role", "ClusterRole", *POLICY_KINDS}
    is_certificate = name.endswith("serving-certificate") and kind in {"Secret", "ConfigMap"}
    return is_of_certificates or is_certificate or (kind == "Service" and name.endswith("webhook-service"))


def _binds(binding: Object, account: str) -> bool:
    return any((each["kind"], each["name"]) == ("ServiceAccount", account) for each in binding.get("subjects") or ())


def _role(binding: Object) -> tuple[str, str]:
    return binding["roleRef"]["kind"], binding["roleRef"]["name"]


def _rules(objects: Sequence[Object], bindings: Sequence[Object], kind: str) -> Iterator[Object]:
    """The rules that the bindings of a kind give."""
    known = {(each["kind"], each["metadata"]["name"]): each for each in objects}
    for binding in bindings:
        if binding["kind"] == kind:
            yield from (known.get(_role(binding)) or {}).get("rules") or ()


def _without_bindings(objects: Sequence[Object], bindings: Sequence[Object]) -> list[Object]:
    """The objects without bindings and their roles."""
    roles = {_role(each) for each in bindings}
    return [each for each in objects if each not in bindings and (each["kind"], each["metadata"]["name"]) not in roles]


def _without_certificates(manager: Object, objects: Sequence[Object]) -> None:
    """Take out of the manager what makes or mounts certificates of config/."""
    container, pod = container_of(manager), pod_of(manager)
    secrets = {(each.get("spec") or {}).get("secretName") for each in objects if each["kind"] == "Certificate"}
    volumes = pod.get("volumes") or []
    gone = {each["name"] for each in volumes if (each.get("secret") or {}).get("secretName") in secrets}
    mounts = container.get("volumeMounts") or []
    paths = {each["mountPath"] for each in mounts if each["name"] in gone}
    pod["volumes"] = [each for each in volumes if each["name"] not in gone]
    container["volumeMounts"] = [each for each in mounts if each["name"] not in gone]
    container["args"] = [*_without_options(container.get("args") or (), paths)]


def _without_options(args: Iterable[str], paths: set[str]) -> Iterator[str]:
    """The arguments without the options of certificates, and without those that name one of the paths."""
    is_value = False
    for word in args:
        name, _, value = word.partition("=")
        is_value = name in _MANAGED or (is_value and not word.startswith("-"))
        if not is_value and value not in paths:
            yield word


def _portable(obj: Object) -> Object:
    """The object without what only a kustomize installation has: the namespace, and cert-manager's annotation."""
    found = deepcopy(obj)
    found["metadata"].pop("namespace", None)
    annotations = found["metadata"].get("annotations") or {}
    if annotations.pop(INJECTED_CA, None) and not annotations:
        del found["metadata"]["annotations"]
    return found


def _file(obj: Object) -> str:
    if obj["kind"] == CRD:
        return f"{obj['spec']['group']}_{obj['spec']['names']['plural']}.yaml"
    return f"{obj['metadata']['name']}_{obj['kind'].lower()}.yaml"
