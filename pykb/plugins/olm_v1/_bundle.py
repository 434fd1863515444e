"""What the objects of a project become in a bundle: parts of the ClusterServiceVersion, manifests, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass

from pykb.deployment.manifests import CRD, POLICY_KINDS, Object
from pykb.plugins.rendered import Rendered, container_of, pod_of

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
_INJECT = "cert-manager.io/inject-ca-from"


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
        if webhooks or any(_is_converted(each) for each in crds):
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
        return [each for each in self.crds if _is_converted(each)]


def _is_converted(crd: Object) -> bool:
    return bool((crd["spec"].get("conversion") or {}).get("webhook"))


def _belongs_elsewhere(obj: Object, account: str) -> bool:
    """Whether OLM makes the object itself, or the ClusterServiceVersion has it."""
    kind, name = obj["kind"], str(obj["metadata"]["name"])
    if kind in {"Deployment", "Namespace"} or kind in WEBHOOKS:
        return True
    if kind == "ServiceAccount":
        return name == account
    if obj["apiVersion"].startswith("cert-manager.io/"):
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
    if annotations.pop(_INJECT, None) and not annotations:
        del found["metadata"]["annotations"]
    return found


def _file(obj: Object) -> str:
    if obj["kind"] == CRD:
        return f"{obj['spec']['group']}_{obj['spec']['names']['plural']}.yaml"
    return f"{obj['metadata']['name']}_{obj['kind'].lower()}.yaml"
