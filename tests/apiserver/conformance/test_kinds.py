"""What both API servers do not take of single built-in kinds: values, and changes."""

from __future__ import annotations

from typing import Any

import pytest

from pykb.api.core.v1 import Namespace
from pykb.client import MergePatch
from pykb.client.errors import Invalid

from .makings import pod_template  # noqa: TID252 - shared by this folder only

AUTOSCALING, BATCH, NETWORKING = "autoscaling/v2", "batch/v1", "networking.k8s.io/v1"
RBAC = "rbac.authorization.k8s.io/v1"
SELECTOR = {"matchLabels": {"app": "x"}}
TEMPLATE = pod_template("a")
POD_SPEC = TEMPLATE["spec"]
JOB = {"template": {"spec": {**POD_SPEC, "restartPolicy": "Never"}}}
CRON_JOB = {"schedule": "* * * * *", "jobTemplate": {"spec": JOB}}
PORTS = [{"port": 80}]
HEADLESS = {"ports": PORTS, "clusterIP": "None", "selector": {"app": "x"}}
ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "a"}
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "x"}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
PATHS = [{"path": "x", "pathType": "Prefix", "backend": {"service": {"name": "a", "port": {"number": 80}}}}]


def named(api_version: str, kind: str, spec: Any = None, name: str = "o", **content: Any) -> dict[str, Any]:
    """An object without a namespace."""
    obj = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **content}
    return obj if spec is None else {**obj, "spec": spec}


def service(name: str = "o", **spec: Any) -> dict[str, Any]:
    """A Service."""
    return named("v1", "Service", spec, name)


def pod(**container: Any) -> dict[str, Any]:
    """A pod with one container."""
    return named("v1", "Pod", {"containers": [{"name": "a", "image": "a:1", **container}]})


def deployment(**spec: Any) -> dict[str, Any]:
    """A Deployment."""
    return named("apps/v1", "Deployment", {"selector": SELECTOR, "template": TEMPLATE, **spec})


def claim(**spec: Any) -> dict[str, Any]:
    """A PersistentVolumeClaim."""
    return named("v1", "PersistentVolumeClaim", {**CLAIM, **spec})


def stateful_set(name: str = "o", **spec: Any) -> dict[str, Any]:
    """A StatefulSet."""
    return named(
        "apps/v1", "StatefulSet", {"selector": SELECTOR, "template": TEMPLATE, "serviceName": "x", **spec}, name
    )


def budget(**spec: Any) -> dict[str, Any]:
    """A PodDisruptionBudget."""
    return named("policy/v1", "PodDisruptionBudget", {"selector": SELECTOR, **spec})


def autoscaler(**spec: Any) -> dict[str, Any]:
    """A HorizontalPodAutoscaler."""
    return named(AUTOSCALING, "HorizontalPodAutoscaler", {"scaleTargetRef": TARGET, **spec})


def expression(operator: str, *values: str) -> dict[str, Any]:
    """A selector with one more requirement for the label `app`."""
    requirement = {"key": "app", "operator": operator, **({"values": list(values)} if values else {})}
    return {**SELECTOR, "matchExpressions": [requirement]}


LONG = "a" * 64
BETWEEN = "must be between 1 and 65535, inclusive"
NO_ADDRESS = 'Invalid value: "a": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'
NO_DOTS = "must not contain dots"
NOT_NEGATIVE = "must be greater than or equal to 0"
REQUIRED = "Required value"
VALUES = [
    (service(), "spec.ports", REQUIRED),
    (service(ports=[{"port": 70000}]), "spec.ports[0].port", BETWEEN),
    (service(ports=[{"port": 1}, {"port": 2}]), "spec.ports[1].name", REQUIRED),
    (
        service(ports=[{"port": 1, "name": "a"}, {"port": 2, "name": "a"}]),
        "spec.ports[1].name",
        'Duplicate value: "a"',
    ),
    (service(ports=PORTS, type="Foo"), "spec.type", 'Unsupported value: "Foo": supported values: "ClusterIP", "Ext'),
    (service(type="ExternalName"), "spec.externalName", REQUIRED),
    (service(**HEADLESS, type="NodePort"), "spec.clusterIPs[0]", "may not be set to 'None' for NodePort services"),
    (service(ports=PORTS, clusterIP="a"), "spec.clusterIPs[0]", NO_ADDRESS),
    (service(ports=PORTS, externalIPs=["a"]), "spec.externalIPs[0]", NO_ADDRESS),
    (service(ports=PORTS, sessionAffinity="x"), "spec.sessionAffinity", 'supported values: "ClientIP", "None"'),
    (service(ports=PORTS, internalTrafficPolicy="x"), "spec.internalTrafficPolicy", 'values: "Cluster", "Local"'),
    (service(ports=[{"port": 1, "protocol": "X"}]), "spec.ports[0].protocol", 'supported values: "SCTP", "TCP", "UDP"'),
    (
        service(ports=[{"port": 1, "nodePort": 30001}]),
        "spec.ports[0].nodePort",
        "Forbidden: may not be used when `type` is 'ClusterIP'",
    ),
    (claim(accessModes=["x"]), "spec.accessModes", 'values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadW'),
    (claim(volumeMode="x"), "spec.volumeMode", 'Unsupported value: "x": supported values: "Block", "Filesystem"'),
    (claim(storageClassName="A_b"), "spec.storageClassName", "a lowercase RFC 1123 subdomain must consist of"),
    (service("a.b", ports=PORTS), "metadata.name", NO_DOTS),
    (service(LONG, ports=PORTS), "metadata.name", "must be no more than 63 characters"),
    (pod(name="A_b"), "spec.containers[0].name", "a lowercase RFC 1123 label must consist of lower case alphanumeric"),
    (pod(image=""), "spec.containers[0].image", REQUIRED),
    (pod(ports=[{"containerPort": 70000}]), "spec.containers[0].ports[0].containerPort", BETWEEN),
    (pod(ports=[{"containerPort": 0}]), "spec.containers[0].ports[0].containerPort", REQUIRED),
    (
        pod(volumeMounts=[{"name": "v", "mountPath": "/x"}]),
        "spec.containers[0].volumeMounts[0].name",
        'Not found: "v"',
    ),
    (
        pod(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
        "spec.containers[0].resources.requests",
        "must be less than or equal to cpu limit of 1",
    ),
    (named("v1", "Pod", pod_template("a", "a")["spec"]), "spec.containers[1].name", 'Duplicate value: "a"'),
    (deployment(replicas=-1), "spec.replicas", NOT_NEGATIVE),
    (
        deployment(strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}),
        "spec.strategy.rollingUpdate",
        "may not be specified when strategy `type` is 'Recreate'",
    ),
    (deployment(selector={}), "spec.selector", "empty selector is invalid for deployment"),
    (
        deployment(template={**TEMPLATE, "metadata": {"labels": {"app": "x", "v": "a b"}}}),
        "spec.template.labels",
        "a valid label must be an empty string or consist of",
    ),
    (
        deployment(template={**TEMPLATE, "spec": {**POD_SPEC, "restartPolicy": "Never"}}),
        "spec.template.spec.restartPolicy",
        'Unsupported value: "Never": supported values: "Always"',
    ),
    (deployment(selector=expression("In", "y")), "spec.template.metadata.labels", "`selector` does not match template"),
    (
        deployment(selector=expression("Foo", "x")),
        "spec.selector.matchExpressions[0].operator",
        'Invalid value: "Foo": not a valid selector operator',
    ),
    (deployment(selector=expression("In")), "spec.selector.matchExpressions[0].values", "must be specified when"),
    (deployment(selector=expression("Exists", "x")), "spec.selector", "invalid label selector"),
    (
        deployment(selector=expression("Exists", "x")),
        "spec.selector.matchExpressions[0].values",
        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    ),
    (stateful_set(replicas=-1), "spec.replicas", NOT_NEGATIVE),
    (stateful_set("a.b"), "metadata.name", NO_DOTS),
    (stateful_set(LONG), "metadata.name", "must be no more than 63 characters"),
    (
        named(BATCH, "Job", {"template": {"spec": POD_SPEC}}),
        "spec.template.spec.restartPolicy",
        'Required value: valid values: "OnFailure", "Never"',
    ),
    (named(BATCH, "Job", JOB, LONG), "spec.template.labels", "must be no more than 63 bytes"),
    (named(BATCH, "CronJob", CRON_JOB, "a" * 53), "metadata.name", "must be no more than 52 characters"),
    (
        named(BATCH, "CronJob", {**CRON_JOB, "schedule": "* *"}),
        "spec.schedule",
        'Invalid value: "* *": expected exactly 5 fields, found 2: [* *]',
    ),
    (
        named(BATCH, "CronJob", {**CRON_JOB, "jobTemplate": {"spec": {"template": {"spec": POD_SPEC}}}}),
        "spec.jobTemplate.spec.template.spec.restartPolicy",
        REQUIRED,
    ),
    (budget(minAvailable=1, maxUnavailable=1), "spec", "minAvailable and maxUnavailable cannot be both set"),
    (budget(minAvailable=-1), "spec.minAvailable", NOT_NEGATIVE),
    (autoscaler(minReplicas=3, maxReplicas=2), "spec.maxReplicas", "must be greater than or equal to `minReplicas`"),
    (autoscaler(maxReplicas=0), "spec.maxReplicas", "must be greater than or equal to `minReplicas`"),
    (named("v1", "Secret", type="kubernetes.io/tls", data={"tls.crt": "eA=="}), "data[tls.key]", REQUIRED),
    (named("v1", "Secret", type="kubernetes.io/dockerconfigjson"), "data[.dockerconfigjson]", REQUIRED),
    (named("v1", "Secret", type="kubernetes.io/basic-auth"), "data[username]", REQUIRED),
    (named("v1", "Secret", type="kubernetes.io/ssh-auth"), "data[ssh-privatekey]", REQUIRED),
    (
        named(NETWORKING, "NetworkPolicy", {"podSelector": expression("Foo", "x")}),
        "spec.podSelector.matchExpressions[0].operator",
        'Invalid value: "Foo": not a valid selector operator',
    ),
    (named(NETWORKING, "Ingress", {}), "spec", "either `defaultBackend` or `rules` must be specified"),
    (
        named(NETWORKING, "Ingress", {"rules": [{"http": {"paths": PATHS}}]}),
        "spec.rules[0].http.paths[0].path",
        'Invalid value: "x": must be an absolute path',
    ),
    (
        named(NETWORKING, "Ingress", {"defaultBackend": {"service": {"name": "a"}}}),
        "spec.defaultBackend",
        "port name or number is required",
    ),
    (
        named(
            NETWORKING, "Ingress", {"defaultBackend": {"service": {"name": "a", "port": {"name": "x", "number": 1}}}}
        ),
        "spec.defaultBackend",
        "cannot set both port name & port number",
    ),
    (claim(accessModes=[]), "spec.accessModes", "at least 1 access mode"),
    (claim(resources={}), "spec.resources[storage]", REQUIRED),
    (
        claim(resources={"requests": {"storage": "0"}}),
        "spec.resources[storage]",
        'Invalid value: "0": must be greater than zero',
    ),
    (
        named(RBAC, "Role", rules=[{"verbs": ["get"], "resources": ["pods"]}]),
        "rules[0].apiGroups",
        "resource rules must supply at least one api group",
    ),
]
ACCEPTED = [
    service(**HEADLESS),
    service(clusterIP="None"),
    deployment(selector=expression("In", "x")),
    deployment(strategy={"type": "Recreate"}),
    named(BATCH, "CronJob", {**CRON_JOB, "schedule": "@daily"}, "a" * 52),
    named("v1", "Secret", type="kubernetes.io/basic-auth", data={"password": "eA=="}),
    named(RBAC, "ClusterRole", name="conformance-urls", rules=[{"verbs": ["get"], "nonResourceURLs": ["/x"]}]),
]
POD_RULE = "pod updates may not change fields other than"
SET_ONCE = "may not change once set"
KEPT = "field is immutable"
CHANGES = [
    (named(RBAC, "RoleBinding", roleRef=ROLE), {"roleRef": {**ROLE, "name": "b"}}, "roleRef", KEPT),
    (
        named("discovery.k8s.io/v1", "EndpointSlice", addressType="IPv4", endpoints=[]),
        {"addressType": "IPv6"},
        "addressType",
        KEPT,
    ),
    (service(ports=PORTS), {"spec": {"clusterIP": "None"}}, "spec.clusterIPs[0]", SET_ONCE),
    (service(**HEADLESS), {"spec": {"clusterIP": "10.0.0.77"}}, "spec.clusterIPs[0]", SET_ONCE),
    (
        service(**HEADLESS),
        {"spec": {"type": "LoadBalancer"}},
        "spec.clusterIPs[0]",
        "may not be set to 'None' for LoadBalancer services",
    ),
    (pod(), {"spec": {"containers": [{"name": "a", "image": "a:1", "args": ["x"]}]}}, "spec", POD_RULE),
    (pod(), {"spec": {"nodeName": "n"}}, "spec", POD_RULE),
    (pod(), {"spec": {"restartPolicy": "Never"}}, "spec", POD_RULE),
    (
        pod(),
        {"spec": {"containers": pod_template("a", "b")["spec"]["containers"]}},
        "spec.containers",
        "pod updates may not add or remove containers",
    ),
    (named(BATCH, "Job", JOB), {"spec": {"completions": 3}}, "spec.completions", KEPT),
    (budget(minAvailable=1), {"spec": {"maxUnavailable": 1}}, "spec", "cannot be both set"),
]
ALLOWED_CHANGES = [
    (pod(), {"spec": {"containers": [{"name": "a", "image": "a:2"}]}}),
    (pod(), {"spec": {"activeDeadlineSeconds": 5}}),
    (pod(), {"spec": {"tolerations": [{"key": "a", "operator": "Exists"}]}}),
    (named(BATCH, "Job", JOB), {"spec": {"parallelism": 3, "backoffLimit": 1}}),
    (service(ports=PORTS), {"spec": {"type": "ExternalName", "externalName": "x.example.com"}}),
    (service(**HEADLESS), {"spec": {"type": "ExternalName", "externalName": "x.example.com", "clusterIP": None}}),
    (budget(minAvailable=1), {"spec": {"minAvailable": None, "maxUnavailable": 1}}),
]


def told(value: Any) -> str:
    """The kind of an object, a field, or nothing."""
    return value.get("kind", "") if isinstance(value, dict) else value if value.startswith(("spec", "data")) else ""


def in_namespace(obj: dict[str, Any], namespace: str) -> dict[str, Any]:
    """The object, there."""
    return {**obj, "metadata": {**obj["metadata"], "namespace": namespace}}


@pytest.mark.parametrize(("obj", "field", "words"), VALUES, ids=told)
async def test_a_value_that_the_kind_does_not_have_is_refused(client, namespace, obj, field, words):
    """With the field, in the server's words."""
    with pytest.raises(Invalid) as caught:
        await client.create(in_namespace(obj, namespace))
    assert [cause for cause in caught.value.causes if cause.field == field and words in cause.message], caught.value


@pytest.mark.parametrize("obj", ACCEPTED, ids=told)
async def test_what_looks_like_it_is_taken(client, namespace, obj):
    """By both."""
    made = in_namespace(obj, namespace)
    await client.create(made)
    assert made["metadata"]["uid"]
    if obj["kind"] == "ClusterRole":  # it is in no namespace
        await client.delete(made)


@pytest.mark.parametrize(("obj", "change", "field", "words"), CHANGES, ids=told)
async def test_a_change_that_the_kind_does_not_allow_is_refused(client, namespace, obj, change, field, words):
    """With the field, in the server's words."""
    made = in_namespace(obj, namespace)
    await client.create(made)
    with pytest.raises(Invalid) as caught:
        await client.patch(in_namespace(obj, namespace), MergePatch(change))
    assert [cause for cause in caught.value.causes if cause.field == field and words in cause.message], caught.value


@pytest.mark.parametrize(("obj", "change"), ALLOWED_CHANGES, ids=told)
async def test_other_changes_are_allowed(client, namespace, obj, change):
    """Both servers have them."""
    await client.create(in_namespace(obj, namespace))
    changed = await client.patch(in_namespace(obj, namespace), MergePatch(change))
    for name, value in change["spec"].items():
        assert (changed["spec"].get(name) == value) or name in ("containers", "tolerations")


async def test_a_headless_service_stays_headless(client, namespace):
    """Also if an update has no address."""
    obj = in_namespace(service(**HEADLESS), namespace)
    await client.create(dict(obj))
    changed = await client.patch(obj, MergePatch({"spec": {"clusterIP": None, "ports": [{"port": 81}]}}))
    assert (changed["spec"]["clusterIP"], changed["spec"]["ports"][0]["port"]) == ("None", 81)


async def test_an_update_does_not_change_the_finalizers_of_a_namespace(client, namespace):
    """Only its subresource `finalize` does."""
    obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    before = await client.get(Namespace, namespace)
    changed = await client.patch(obj, MergePatch({"spec": {"finalizers": ["example.com/mine"]}}))
    finalizers = before.spec.finalizers if before.spec is not None else None
    assert (changed.get("spec") or {}).get("finalizers") == finalizers
