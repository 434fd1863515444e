"""The chart of a project: rendered and linted by Helm, compared with kustomize, and accepted by an API server."""

from __future__ import annotations

import base64
import re
import shutil
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509

from pykb.commands.edit import plan_edit
from pykb.commands.init import plan_project
from pykb.commands.options import Edits, NewProject
from pykb.deployment.manifests import objects_of
from pykb.envtest import ControlPlane, get_assets
from pykb.files.apply import apply
from pykb.project.file import read
from pykb.runtime import ManagerOptions
from pykb.tools.kubectl import Kubectl, build_kustomization

SAMPLES = Path(__file__).parents[2] / "testdata"
Helm = Callable[..., dict[str, Any]]
Object = dict[str, Any]

_OFF = {
    "crd": {"enabled": False},
    "webhook": {"enabled": False},
    "certManager": {"enabled": False},
    "metrics": {"enabled": False},
    "rbac": {"helpers": {"enabled": False}},
    "serviceAccount": {"create": False, "name": "theirs"},
}
_ON = {
    "prometheus": {"enabled": True},
    "networkPolicy": {"enabled": True},
    "fullnameOverride": "a-very-long-name-of-a-release-that-has-to-be-cut-off-somewhere",
    "manager": {
        "replicas": 3,
        "image": {"repository": "registry.example.com:5000/team/operator", "tag": "sha256:" + "0" * 64},
        "imagePullSecrets": [{"name": "registry"}],
        "extraArgs": ["--log-level=debug", 'a "quoted" one'],
        "env": [{"name": "TEAM", "value": "red"}],
        "podAnnotations": {"team": "red"},
        "podLabels": {"team": "red"},
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "only", "operator": "Exists"}],
        "affinity": {"podAntiAffinity": {}},
        "priorityClassName": "system-cluster-critical",
        "resources": {"limits": {"memory": "1Gi"}},
        "podSecurityContext": {"fsGroup": 2000, "runAsUser": 1001},
        "securityContext": {"readOnlyRootFilesystem": False},
        "envFrom": [{"secretRef": {"name": "credentials"}}],
        "extraVolumes": [{"name": "scratch", "emptyDir": {}}],
        "extraVolumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
        "strategy": {"type": "Recreate"},
        "healthPort": 18081,
    },
    "metrics": {"port": 18443},
}


@pytest.fixture(scope="module", params=["virtulmachine", "multigroup", "multigroup with everything"])
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that makes its certificate itself, and one with cert-manager, also with all that config/ offers."""
    name, _, everything = request.param.partition(" with ")
    root = tmp_path_factory.mktemp("charts") / name
    shutil.copytree(SAMPLES / name, root)
    for folder in ("default", "certmanager", "prometheus") if everything else ():
        path = root / "config" / folder / "kustomization.yaml"
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(r"^#(?=- |  |patches:|components:)", "", text, flags=re.MULTILINE), encoding="utf-8")
    plan, found = plan_edit(Edits(plugins=("helm",)), read(root)[0], root)
    assert not list(found)
    assert plan is not None
    assert apply(plan) is None
    return root


def _is_recorded(root: Path) -> bool:
    """Whether `pykb inspect` can show what the manager does."""
    return "\n- ../records\n" in (root / "config/default/kustomization.yaml").read_text(encoding="utf-8")


def chart_of(root: Path) -> Path:
    """The folder of the chart."""
    return root / "charts" / read(root)[0].project_name


def objects(text: str) -> dict[tuple[str, str], Object]:
    """The objects of manifests by kind and name."""
    return {(each["kind"], each["metadata"]["name"]): each for each in objects_of(text)}


def rendered(helm: Helm, root: Path, **values: object) -> dict[tuple[str, str], Object]:
    """What Helm makes of a chart. It has nothing to complain about."""
    name = read(root)[0].project_name
    answer = helm(chart_of(root), name, f"{name}-system", values)
    assert (answer["error"], answer["findings"]) == ("", [])
    assert f"is installed in the namespace {name}-system" in answer["notes"]
    return objects(answer["manifests"])


def without_labels(value: Any) -> Any:
    """An object without what a chart and kustomize cannot have in common: labels, and empty lists and mappings."""
    if isinstance(value, list):
        return [without_labels(each) for each in value]
    if not isinstance(value, dict):
        return value
    names = {"labels", "matchLabels", "selector", "helm.sh/resource-policy"}
    inner = {key: without_labels(each) for key, each in value.items() if key not in names}
    return {key: each for key, each in inner.items() if each not in (None, {}, [])}


def test_a_chart_has_what_kustomize_renders(helm: Helm, project: Path) -> None:
    """With the project's name for release and namespace, and the default values."""
    expected = objects(build_kustomization(project / "config/default", folders=(get_assets(kubectl=True).folder,)))
    name = read(project)[0].project_name
    del expected["Namespace", f"{name}-system"]
    text = re.sub(r"(?=\b(webhook|metrics)-server-cert)", f"{name}-", yaml.safe_dump_all(expected.values()))
    expected = objects(text)
    expected["Deployment", f"{name}-controller-manager"]["spec"]["template"]["spec"]["containers"][0][
        "imagePullPolicy"
    ] = "IfNotPresent"
    got = rendered(helm, project)
    assert set(got) == set(expected)
    for key, obj in expected.items():
        assert without_labels(got[key]) == without_labels(obj), key


@pytest.mark.parametrize("plugins", ["helm", "grafana,helm"])
def test_a_project_without_kinds_has_a_chart(helm: Helm, tmp_path: Path, plugins: str) -> None:
    """It has values only for what there is. Alerts belong to it, with the names of the release."""
    root = tmp_path / "fleet"
    root.mkdir()
    options = NewProject("example.com", project_name="fleet", plugins=plugins.split(","))
    plan, problems = plan_project(options, root, year="2026")
    assert plan is not None, list(problems)
    assert apply(plan) is None
    found = helm(chart_of(root), "east", "ops", {"prometheus": {"enabled": True}})
    assert (found["error"], found["findings"]) == ("", [])
    rules = objects(found["manifests"]).get(("PrometheusRule", "east-fleet-controller-manager-alerts"))
    assert (rules is not None) is ("grafana" in plugins)
    if rules is not None:
        first = rules["spec"]["groups"][0]["rules"][0]["expr"]
        assert 'namespace="ops", job="east-fleet-controller-manager-metrics-service"' in first
        assert "{{ $labels.controller }}" in rules["spec"]["groups"][0]["rules"][1]["annotations"]["summary"]


def test_the_same_project_gives_the_same_chart(project: Path) -> None:
    """A second run changes nothing."""
    plan, found = plan_edit(Edits(plugins=("helm",)), read(project)[0], project)
    assert not list(found)
    assert plan is not None
    assert plan.is_empty


def test_what_selects_pods_and_services_finds_them(helm: Helm, project: Path) -> None:
    """Selectors have the release in them. Every object says which chart it is of."""
    found = rendered(helm, project, prometheus={"enabled": True}, networkPolicy={"enabled": True})
    name = read(project)[0].project_name
    pods = found["Deployment", f"{name}-controller-manager"]["spec"]["template"]["metadata"]["labels"]
    assert pods["app.kubernetes.io/instance"] == name
    selectors = [obj["spec"]["selector"] for (kind, _), obj in found.items() if kind == "Service"]
    selectors += [
        obj["spec"]["podSelector"]["matchLabels"] for (kind, _), obj in found.items() if kind == "NetworkPolicy"
    ]
    selectors += [found["Deployment", f"{name}-controller-manager"]["spec"]["selector"]["matchLabels"]]
    assert len(selectors) >= 5
    assert all(selector.items() <= pods.items() for selector in selectors)
    monitor = found["ServiceMonitor", f"{name}-controller-manager-metrics-monitor"]["spec"]["selector"]["matchLabels"]
    service = found["Service", f"{name}-controller-manager-metrics-service"]["metadata"]["labels"]
    [endpoint] = found["ServiceMonitor", f"{name}-controller-manager-metrics-monitor"]["spec"]["endpoints"]
    assert endpoint["tlsConfig"]["serverName"] == f"{name}-controller-manager-metrics-service.{name}-system.svc"
    assert monitor.items() <= service.items()
    assert {obj["metadata"]["labels"]["helm.sh/chart"] for obj in found.values()} == {f"{name}-0.1.0"}
    assert {obj["metadata"]["labels"]["app.kubernetes.io/managed-by"] for obj in found.values()} == {"Helm"}


def test_crds_are_kept(helm: Helm, project: Path) -> None:
    """Unless the values say otherwise."""
    key = "helm.sh/resource-policy"
    for keep, expected in ((True, "keep"), (False, None)):
        found = rendered(helm, project, crd={"enabled": True, "keep": keep})
        crds = [obj for (kind, _), obj in found.items() if kind == "CustomResourceDefinition"]
        assert crds
        assert {(crd["metadata"]["annotations"] or {}).get(key) for crd in crds} == {expected}


def test_values_decide_how_replicas_share_the_objects(helm: Helm, tmp_path: Path) -> None:
    """With shards or a leader, with the autoscaler or a fixed number, with the budget or without."""
    root = tmp_path / "fleet"
    root.mkdir()
    plan, _ = plan_project(NewProject("example.com", project_name="fleet"), root, year="2026")
    assert plan is not None
    assert apply(plan) is None
    plan, found = plan_edit(Edits(shards=16, plugins=("helm",)), read(root)[0], root)
    assert plan is not None, list(found)
    assert apply(plan) is None
    name = "fleet-controller-manager"
    made = rendered(helm, root)
    spec = made["Deployment", name]["spec"]
    assert spec["replicas"] == 4
    assert "--shards=16" in spec["template"]["spec"]["containers"][0]["args"]
    assert ("PodDisruptionBudget", name) in made
    assert ("HorizontalPodAutoscaler", name) not in made
    made = rendered(
        helm,
        root,
        manager={"shards": 0},
        autoscaling={"enabled": True, "maxReplicas": 3},
        podDisruptionBudget={"enabled": False},
    )
    spec = made["Deployment", name]["spec"]
    assert "replicas" not in spec
    assert "--leader-elect" in spec["template"]["spec"]["containers"][0]["args"]
    assert not [word for word in spec["template"]["spec"]["containers"][0]["args"] if word.startswith("--shards")]
    assert ("PodDisruptionBudget", name) not in made
    scaler = made["HorizontalPodAutoscaler", name]["spec"]
    assert (scaler["minReplicas"], scaler["maxReplicas"], scaler["scaleTargetRef"]["name"]) == (2, 3, name)


def test_everything_can_be_left_out(helm: Helm, project: Path) -> None:
    """What remains is the manager without webhooks and metrics, under another ServiceAccount."""
    found = rendered(helm, project, **_OFF)
    kinds = {kind for kind, _ in found}
    # The manager's own certificate is for the metrics, too, and the budget of config/availability for the manager.
    assert kinds - {"Secret", "ConfigMap", "PodDisruptionBudget", "ServiceAccount"} == {
        "Deployment",
        "Role",
        "RoleBinding",
        "ClusterRole",
        "ClusterRoleBinding",
    }
    name = read(project)[0].project_name
    pod = found["Deployment", f"{name}-controller-manager"]["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "theirs"
    manager = pod["containers"][0]
    assert "--metrics-bind-address=0" in manager["args"]
    assert {"name": "ENABLE_WEBHOOKS", "value": "false"} in manager["env"]
    assert not manager.get("volumeMounts")
    assert not [word for word in manager["args"] if "webhook" in word]
    subjects = {each["name"] for obj in found.values() for each in obj.get("subjects") or ()}
    accounts = {name for kind, name in found if kind == "ServiceAccount"}  # of those who read the manager's records
    assert accounts == ({f"{name}-records-reader"} if _is_recorded(project) else set())
    assert subjects == {"theirs", *accounts}
    assert not [name for kind, name in found if kind.startswith("Cluster") and "certificates" in name]


def test_the_policy_is_about_the_account_of_the_release(helm: Helm, project: Path) -> None:
    """Under its name, in its namespace; about the webhook configurations of the release. It can be left out."""
    if not (project / "config/certificates").is_dir():  # cert-manager needs no permissions of the manager
        assert (
            "policy" not in yaml.safe_load((chart_of(project) / "values.yaml").read_text(encoding="utf-8"))["webhook"]
        )
        return
    chosen = {"fullnameOverride": "north", "serviceAccount": {"create": False, "name": "theirs"}}
    found = rendered(helm, project, **chosen)
    name = read(project)[0].project_name
    policy = found["ValidatingAdmissionPolicy", "north-certificates-policy"]["spec"]
    binding = found["ValidatingAdmissionPolicyBinding", "north-certificates-policy-binding"]["spec"]
    assert binding["policyName"] == "north-certificates-policy"
    assert (binding["paramRef"]["namespace"], binding["paramRef"]["name"]) == (f"{name}-system", "theirs")
    names = policy["matchConstraints"]["resourceRules"][0]["resourceNames"]
    assert names == ["north-mutating-webhook-configuration", "north-validating-webhook-configuration"]
    rules = found["ClusterRole", "north-certificates-role"]["rules"]
    assert names == rules[0]["resourceNames"]
    without = rendered(helm, project, **chosen, webhook={"policy": False})
    assert set(rendered(helm, project, **chosen, webhook={"policy": None})) == set(found)
    assert set(found) - set(without) == {key for key in found if key[0].startswith("ValidatingAdmissionPolicy")}


def test_the_values_reach_the_manager(helm: Helm, project: Path) -> None:
    """Each of them, and names that are too long are cut."""
    found = rendered(helm, project, **_ON)
    [deployment] = [obj for (kind, _), obj in found.items() if kind == "Deployment"]
    assert deployment["spec"]["replicas"] == 3
    template = deployment["spec"]["template"]
    pod, wanted = template["spec"], _ON["manager"]
    assert isinstance(wanted, dict)
    manager = pod["containers"][0]
    assert manager["image"] == "registry.example.com:5000/team/operator@sha256:" + "0" * 64
    assert manager["args"][-2:] == wanted["extraArgs"]
    assert manager["env"][-1:] == wanted["env"]
    assert manager["resources"]["limits"]["memory"] == "1Gi"
    for key in ("imagePullSecrets", "nodeSelector", "tolerations", "priorityClassName"):
        assert pod[key] == wanted[key]
    assert wanted["affinity"].items() <= pod["affinity"].items()  # Helm merges it with that of config/availability
    assert manager["envFrom"] == wanted["envFrom"]
    assert pod["volumes"][-1:] == wanted["extraVolumes"]
    assert manager["volumeMounts"][-1:] == wanted["extraVolumeMounts"]
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}
    assert pod["securityContext"].items() > wanted["podSecurityContext"].items()  # beside those of config/manager
    assert manager["securityContext"]["readOnlyRootFilesystem"] is False
    assert manager["securityContext"]["allowPrivilegeEscalation"] is False
    assert template["metadata"]["annotations"]["team"] == template["metadata"]["labels"]["team"] == "red"
    assert 60 <= max(len(name) for kind, name in found if kind != "CustomResourceDefinition") <= 63


def test_the_ports_can_be_chosen(helm: Helm, project: Path) -> None:
    """In the arguments, the container, the Services and the network policies, which must agree."""
    before = rendered(helm, project, networkPolicy={"enabled": True})
    chosen = {"webhook": {"port": 19443}, "metrics": {"port": 18443}, "manager": {"healthPort": 18081}}
    found = rendered(helm, project, networkPolicy={"enabled": True}, **chosen)
    [deployment] = [obj for (kind, _), obj in found.items() if kind == "Deployment"]
    manager = deployment["spec"]["template"]["spec"]["containers"][0]
    options = ManagerOptions.from_args(manager["args"])
    assert (options.health_probe_bind_address, options.metrics_bind_address) == (":18081", ":18443")
    assert options.webhook_port == 19443
    records = {8083} if _is_recorded(project) else set()  # on the loopback interface: nobody else has that port
    assert {each["containerPort"] for each in manager["ports"]} == {18081, 18443, 19443, *records}
    services = [port for (kind, _), obj in found.items() if kind == "Service" for port in obj["spec"]["ports"]]
    assert {(each["port"], each["targetPort"]) for each in services} == {(18443, 18443), (443, 19443)}
    policies = [rule for (kind, _), obj in found.items() if kind == "NetworkPolicy" for rule in obj["spec"]["ingress"]]
    assert {port["port"] for rule in policies for port in rule["ports"]} == {18443, 19443}
    absent = {"webhook": {"port": None}, "metrics": {"port": None}, "manager": {"healthPort": None}}
    assert rendered(helm, project, networkPolicy={"enabled": True}, **absent) == before
    text = yaml.safe_dump_all(found[key] for key in sorted(found) if key[0] != "CustomResourceDefinition")
    back = re.sub(r"\b1(?=(8081|8443|9443)\b)", "", text).replace("        - --webhook-port=9443\n", "")
    assert back == yaml.safe_dump_all(before[key] for key in sorted(before) if key[0] != "CustomResourceDefinition")


def test_a_certificate_without_cert_manager(helm: Helm, project: Path) -> None:
    """Helm makes one for the Service of the webhooks. Every caller trusts its authority."""
    if not (project / "config/certmanager").is_dir():  # the manager makes it: there is nothing to choose
        assert "certManager" not in yaml.safe_load((chart_of(project) / "values.yaml").read_text(encoding="utf-8"))
        return
    found = rendered(helm, project, certManager={"enabled": False})
    name = read(project)[0].project_name
    assert not {"Certificate", "Issuer"} & {kind for kind, _ in found}
    secret = found["Secret", f"{name}-webhook-server-cert"]["data"]
    certificate = x509.load_pem_x509_certificate(base64.b64decode(secret["tls.crt"]))
    authority = x509.load_pem_x509_certificate(base64.b64decode(secret["ca.crt"]))
    certificate.verify_directly_issued_by(authority)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    host = f"{name}-webhook-service.{name}-system.svc"
    assert names.get_values_for_type(x509.DNSName) == [host, f"{host}.cluster.local"]
    clients = [each["clientConfig"] for obj in found.values() for each in obj.get("webhooks") or ()]
    crds = [obj["spec"] for (kind, _), obj in found.items() if kind == "CustomResourceDefinition"]
    clients += [crd["conversion"]["webhook"]["clientConfig"] for crd in crds if "conversion" in crd]
    assert clients
    assert {client["caBundle"] for client in clients} == {secret["ca.crt"]}
    manager = found["Deployment", f"{name}-controller-manager"]["spec"]["template"]["spec"]
    mounted = [volume["secret"]["secretName"] for volume in manager["volumes"]]
    assert {("Secret", secret) for secret in mounted} <= set(found)
    annotations = [obj["metadata"].get("annotations") or {} for obj in found.values()]
    assert not any("cert-manager.io/inject-ca-from" in each for each in annotations)


@pytest.mark.apiserver
def test_an_api_server_accepts_a_chart(helm: Helm, project: Path, control_plane: ControlPlane) -> None:
    """All objects of its own kinds; those of cert-manager and Prometheus need their CRDs."""
    kubectl = Kubectl(get_assets(kubectl=True).kubectl, control_plane.kubeconfig)
    name = read(project)[0].project_name
    kubectl.apply(yaml.safe_dump({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"{name}-system"}}))
    for values in ({}, {"certManager": {"enabled": False}, "networkPolicy": {"enabled": True}}, _OFF):
        found = rendered(helm, project, **deepcopy(values))
        own = [obj for obj in found.values() if not obj["apiVersion"].startswith(("cert-manager.io", "monitoring."))]
        done = kubectl("apply", "--server-side", "--dry-run=server", "--filename=-", stdin=yaml.safe_dump_all(own))
        assert done.count("serverside-applied (server dry run)") == len(own)
