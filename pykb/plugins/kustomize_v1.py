"""``kustomize.common.pykb.dev/v1``: the folder ``config`` in kubebuilder's layout."""

from __future__ import annotations

from pykb.plugins.plugin import PluginKey
from pykb.plugins.rendering import Files, copied_sample
from pykb.plugins.request import ApiRequest, DeleteRequest, InitRequest, WebhookRequest
from pykb.project.file import Project
from pykb.scaffold.insert import Fragment, FragmentKind, Member
from pykb.scaffold.plan import OnExists, PlanBuilder

FOLDER = "config/"

_DEFAULT = "config/default/kustomization.yaml"
_MONITOR = "config/prometheus/kustomization.yaml"
_POLICIES = "config/network-policy/kustomization.yaml"

_FILES = (
    "config/webhook/service.yaml",
    "config/webhook/kustomization.yaml",
    "config/default/manager_webhook_patch.yaml",
)
_CERTIFICATES = "config/certificates"
_BUILT_IN_FILES = tuple(
    f"{_CERTIFICATES}/{name}.yaml"
    for name in ("secret", "role", "role_binding", "policy", "policy_binding", "kustomizeconfig", "kustomization")
)
_CERT_MANAGER_FILES = (
    "config/certmanager/issuer.yaml",
    "config/certmanager/certificate-webhook.yaml",
    "config/certmanager/certificate-metrics.yaml",
    "config/certmanager/kustomizeconfig.yaml",
    "config/certmanager/kustomization.yaml",
)
_WEBHOOKS = Member("resources", "../webhook", ("The webhooks: what the API server calls.",))
_CERT_MANAGER = Member("resources", "../certmanager", ("Their certificate; the cluster needs cert-manager.",))
_BUILT_IN = Member("resources", "../certificates", ("Their certificate, which the manager makes and renews.",))
_PATCH = "path: manager_webhook_patch.yaml\ntarget:\n  kind: Deployment\n"
_SERVICE = "kind: Service\nversion: v1\nname: webhook-service"
_CERTIFICATE = "kind: Certificate\ngroup: cert-manager.io\nversion: v1\nname: serving-cert"
_DNS_NAMES = (".spec.dnsNames.0", ".spec.dnsNames.1")
_INJECT = (".metadata.annotations.[cert-manager.io/inject-ca-from]",)


class KustomizeV1:
    """Manifests: kustomizations, roles, samples."""

    key = PluginKey("kustomize.common.pykb.dev", "v1")
    summary = "the kustomize manifests in config/"

    def init(self, request: InitRequest, plan: PlanBuilder) -> None:
        """Add the template's files below ``config``."""
        for path, file in request.files.items():
            if path.startswith(FOLDER):
                plan.create(path, file.content, mode=file.mode)

    def create_api(self, request: ApiRequest, plan: PlanBuilder) -> None:
        """Add the CRD to the kustomization, roles for users, and a sample."""
        if not request.make_resource:
            return
        resource, files = request.resource, Files(request, plan)
        plan.insert("config/crd/kustomization.yaml", _item(_CRDS, f"bases/{resource.api_group}_{resource.plural}.yaml"))
        samples = "config/samples/kustomization.yaml"
        files.once(samples, f"{samples}.j2")
        copied = request.source and copied_sample(request, plan, request.source)
        template = "config/samples/operand.yaml.j2" if resource.operand else "config/samples/sample.yaml.j2"
        files.create(f"config/samples/{request.sample}", copied or files.text(template))
        plan.insert(samples, _item(_SAMPLES, request.sample))
        # Roles are per kind and not per version. The first version creates them.
        prefix = request.group_prefix.replace("-", "_")
        names = {role: f"{prefix}{resource.singular}_{role}_role.yaml" for role in ("admin", "editor", "viewer")}
        for role, name in names.items():
            files.own(f"config/rbac/{name}", f"config/rbac/{role}_role.yaml.j2", on_exists=OnExists.KEEP)
        plan.insert("config/rbac/kustomization.yaml", *(_item(_ROLES, name) for name in names.values()))

    def create_webhook(self, request: WebhookRequest, plan: PlanBuilder) -> None:
        """Add Service, certificates and network policy, also to the kustomizations."""
        files = Files(request, plan)
        for path in (*_FILES, *(_BUILT_IN_FILES if request.is_built_in else _CERT_MANAGER_FILES)):
            files.once(path, f"{path}.j2")
        if request.made.defaulting or request.made.validation:
            plan.extend("config/webhook/kustomization.yaml", Member("resources", "manifests.yaml"))
        if request.is_built_in:
            _built_in(request, files)
        else:
            said = ("Serves the webhooks on :9443, with the certificate of the Secret webhook-server-cert.",)
            plan.extend(_DEFAULT, _WEBHOOKS, _CERT_MANAGER, Member("patches", _PATCH, said), *_replacements(request))
        if plan.current(_POLICIES) is not None:  # users who do not want the policies delete them
            policy = "config/network-policy/allow-webhook-traffic.yaml"
            files.once(policy, f"{policy}.j2")
            plan.extend(_POLICIES, Member("resources", "allow-webhook-traffic.yaml"))

    def delete(self, request: DeleteRequest, plan: PlanBuilder) -> None:
        """Remove the generated manifests of kinds and webhooks that are gone."""
        for kind in request.kinds:
            if not request.after.versions(kind):
                plan.update(f"config/crd/bases/{kind.api_group}_{kind.plural}.yaml", None)
        if _has_admission(request.project) and not _has_admission(request.after):
            plan.update(_GENERATED, None)


_CRDS = Fragment("crdkustomizeresource", "", FragmentKind.LIST_ITEM)
_SAMPLES = Fragment("manifestskustomizesamples", "", FragmentKind.LIST_ITEM)
_ROLES = Fragment("rbackustomizeresource", "", FragmentKind.LIST_ITEM)


def _item(place: Fragment, text: str) -> Fragment:
    return Fragment(place.anchor, text, place.kind)


_GENERATED = "config/webhook/manifests.yaml"


def _has_admission(project: Project) -> bool:
    webhooks = [resource.webhooks for resource in project.resources if resource.webhooks]
    return any(each.defaulting or each.validation for each in webhooks)


def _built_in(request: WebhookRequest, files: Files) -> None:
    """What only the manager's own certificates need."""
    said = ("Serves the webhooks on :9443, with a certificate that the manager makes.",)
    files.plan.extend(_DEFAULT, _WEBHOOKS, _BUILT_IN, Member("patches", _PATCH, said))
    if files.plan.current(_MONITOR) is not None:
        authority = "config/prometheus/monitor_authority_patch.yaml"
        files.once(authority, f"{authority}.j2")
    if request.made.conversion:
        crd = f"{request.resource.plural}.{request.resource.api_group}"
        for what in ("conversion_role", "conversion_policy"):
            for name in (f"{what}.yaml", f"{what}_binding.yaml"):
                files.once(f"{_CERTIFICATES}/{name}", f"{_CERTIFICATES}/{name}.j2")
                files.plan.extend(f"{_CERTIFICATES}/kustomization.yaml", Member("resources", name))
            files.plan.insert(f"{_CERTIFICATES}/{what}.yaml", Fragment("convertedcrds", crd, FragmentKind.LIST_ITEM))


def _replacements(request: WebhookRequest) -> list[Member]:
    """Replacements for names that get a prefix and a namespace from kustomize."""
    targets = ["kind: MutatingWebhookConfiguration", "kind: ValidatingWebhookConfiguration"]
    if request.made.conversion:
        targets.append(f"kind: CustomResourceDefinition\nname: {request.resource.plural}.{request.resource.api_group}")
    names = ("The certificate is for the Service of the webhooks: <name>.<namespace>.svc",)
    trust = ("cert-manager tells the API server whom to trust: <namespace>/<name> of the certificate.",)
    return [
        _replacement(_SERVICE, ".metadata.name", [_CERTIFICATE], _DNS_NAMES, (".", 0), names),
        _replacement(_SERVICE, ".metadata.namespace", [_CERTIFICATE], _DNS_NAMES, (".", 1)),
        _replacement(_CERTIFICATE, ".metadata.namespace", targets, _INJECT, ("/", 0), trust),
        _replacement(_CERTIFICATE, ".metadata.name", targets, _INJECT, ("/", 1)),
    ]


def _replacement(
    source: str,
    field: str,
    targets: list[str],
    paths: tuple[str, ...],
    part: tuple[str, int],
    comment: tuple[str, ...] = (),
) -> Member:
    delimiter, index = part
    lines = ["source:", *_indented(source), f"  fieldPath: {field}", "targets:"]
    for target in targets:
        lines += ["- select:", *_indented(target, 4), "  fieldPaths:", *(f"  - {path}" for path in paths)]
        lines += ["  options:", f"    delimiter: {delimiter}", f"    index: {index}", "    create: true"]
    return Member("replacements", "\n".join(lines), comment)


def _indented(text: str, blanks: int = 2) -> list[str]:
    return [" " * blanks + line for line in text.splitlines()]
