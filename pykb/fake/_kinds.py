"""Rules of single built-in kinds: the values with which the API server begins, and those that it refuses.

Only rules that controllers meet are here. Defaults of built-in kinds (a pod's restart policy, a deployment's strategy)
are not. ``tests/apiserver/conformance/test_kinds.py`` compares each rule with the real server.

Source: https://kubernetes.io/docs/reference/kubernetes-api/
"""

from __future__ import annotations

import copy
import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Any

from pykb.api.quantity import Quantity
from pykb.client.selectors import LabelSelector, Operator
from pykb.fake._http import cause
from pykb.fake._names import Causes, bad, dns_label_mistakes, label_mistakes, subdomain_mistakes
from pykb.meta.gvk import WORKLOADS

_Object = Mapping[str, Any]
_Names = AbstractSet[str | None]

_DAEMONS = ("currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady")
_BUDGET = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
_STATUS: Mapping[str, _Object] = {
    "CronJob": {},
    "DaemonSet": dict.fromkeys(_DAEMONS, 0),
    "Deployment": {},
    "HorizontalPodAutoscaler": {"desiredReplicas": 0},
    "Ingress": {"loadBalancer": {}},
    "Job": {},
    "PersistentVolume": {"phase": "Pending"},
    "PersistentVolumeClaim": {"phase": "Pending"},
    "Pod": {"phase": "Pending"},
    "PodDisruptionBudget": dict.fromkeys(_BUDGET, 0),
    "ReplicaSet": {"replicas": 0},
    "ReplicationController": {"replicas": 0},
    "Service": {"loadBalancer": {}},
    "StatefulSet": {"availableReplicas": 0, "replicas": 0},
}
_IMMUTABLE: Mapping[str, tuple[str, ...]] = {
    "ClusterRoleBinding": ("roleRef",),
    **dict.fromkeys(WORKLOADS, ("spec.selector",)),
    "EndpointSlice": ("addressType",),
    "Job": ("spec.selector", "spec.template", "spec.completionMode"),
    "RoleBinding": ("roleRef",),
    "Secret": ("type",),
    "StatefulSet": ("spec.selector", "spec.volumeClaimTemplates", "spec.serviceName", "spec.podManagementPolicy"),
}
_CONTENT = {"ConfigMap": ("data", "binaryData"), "Secret": ("data",)}
_CONTENT_RULE = "Forbidden: field is immutable when `immutable` is set"
_CLAIM_RULE = (
    "Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName "
    "for bound claims"
)
_SIZE_RULE = "Forbidden: field can not be less than status.capacity"
_POD_RULE = (
    "Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
    "tolerations)"
)
_RECREATE_RULE = "Forbidden: may not be specified when strategy `type` is 'Recreate'"
_KEY = "[-._a-zA-Z0-9]+"
_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    f"'key-name', regex used for validation is '{_KEY}')"
)
_KEYS_OF_TYPE: Mapping[str, tuple[str, ...]] = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_SERVICE_VALUES: Mapping[str, tuple[str, ...]] = {
    "type": ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort"),
    "sessionAffinity": ("ClientIP", "None"),
    "internalTrafficPolicy": ("Cluster", "Local"),
}
_PROTOCOLS = {"protocol": ("SCTP", "TCP", "UDP")}
_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES = {"volumeMode": ("Block", "Filesystem")}
_LONGEST_CRON_JOB = 52
"""Characters of the name: its Jobs add eleven."""


def begin_status(kind: str, obj: dict[str, Any]) -> None:
    """Set the initial status of a new object, in place."""
    if kind in _STATUS:
        obj.setdefault("status", copy.deepcopy(dict(_STATUS[kind])))


def carry_over(kind: str, old: _Object, new: dict[str, Any]) -> None:
    """Keep what an update cannot take away, in place: the kind of address of a Service, a namespace's finalizers."""
    was, wanted = (obj.get("spec") or {} for obj in (old, new))
    has_address = "ExternalName" not in (was.get("type"), wanted.get("type"))
    if kind == "Service" and has_address and was.get("clusterIP") and not wanted.get("clusterIP"):
        new["spec"] = {**wanted, "clusterIP": was["clusterIP"]}
    if kind == "Namespace" and was != wanted:
        new["spec"] = was


def value_mistakes(kind: str, obj: _Object) -> Causes:
    """How an object violates the rules of its kind."""
    return _RULES[kind](obj) if kind in _RULES else []


def change_mistakes(kind: str, old: _Object, new: _Object) -> Causes:
    """Which parts of a change the kind does not allow."""
    fixed = _IMMUTABLE.get(kind, ())
    pairs = ((path, _at(old, path), _at(new, path)) for path in fixed)
    found = [bad(path, after, "field is immutable") for path, before, after in pairs if before != after]
    was, wanted = old.get("spec") or {}, new.get("spec") or {}
    if kind in _CHANGES:
        found += _CHANGES[kind](was, wanted, old.get("status") or {})
    if old.get("immutable"):
        found += _content_changes(kind, old, new)
    return found


def _at(obj: _Object, path: str) -> Any:
    first, _, rest = path.partition(".")
    value = obj.get(first)
    return (value or {}).get(rest) if rest else value


# -- values


def _required(field: str, why: str = "") -> dict[str, str]:
    return cause(field, "FieldValueRequired", f"Required value{why and ': '}{why}")


def _unsupported(field: str, value: str, supported: tuple[str, ...]) -> dict[str, str]:
    known = ", ".join(f'"{each}"' for each in supported)
    return cause(field, "FieldValueNotSupported", f'Unsupported value: "{value}": supported values: {known}')


def _enums(spec: _Object, path: str, values: Mapping[str, tuple[str, ...]]) -> Causes:
    """The fields whose text is none of those that there are."""
    wrong = [name for name, known in values.items() if spec.get(name) and spec[name] not in known]
    return [_unsupported(f"{path}.{name}", spec[name], values[name]) for name in wrong]


def _address(field: str, address: str) -> Causes:
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return [bad(field, address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]
    return []


def _not_negative(spec: _Object, field: str) -> Causes:
    value = spec.get(field)
    is_fine = not isinstance(value, int) or value >= 0
    return [] if is_fine else [bad(f"spec.{field}", value, "must be greater than or equal to 0")]


def _port(field: str, port: Any) -> Causes:
    is_fine = not isinstance(port, int) or 1 <= port <= 65535
    return [] if is_fine else [bad(field, port, "must be between 1 and 65535, inclusive")]


def _name_at_most(obj: _Object, most: int) -> Causes:
    name = obj["metadata"].get("name", "")
    return [bad("metadata.name", name, f"must be no more than {most} characters")] if len(name) > most else []


def _name_without_dots(obj: _Object) -> Causes:
    name = obj["metadata"].get("name", "")
    return [bad("metadata.name", name, "must not contain dots")] if "." in name else _name_at_most(obj, 63)


def _keys(obj: _Object, parts: tuple[str, ...]) -> Causes:
    return [
        bad(f"{part}[{key}]", key, _KEY_RULE)
        for part in parts
        for key in obj.get(part) or {}
        if not re.fullmatch(_KEY, key)
    ]


def _config_map(obj: _Object) -> Causes:
    return _keys(obj, _CONTENT["ConfigMap"])


def _secret(obj: _Object) -> Causes:
    data, of_type = obj.get("data") or {}, obj.get("type", "")
    found = [_required(f"data[{key}]") for key in _KEYS_OF_TYPE.get(of_type, ()) if key not in data]
    if of_type == "kubernetes.io/basic-auth" and data.keys().isdisjoint(("username", "password")):
        found += [_required("data[username]"), _required("data[password]")]
    return [*_keys(obj, _CONTENT["Secret"]), *found]


def _service(obj: _Object) -> Causes:
    spec = obj.get("spec") or {}
    ports, of_type, address = spec.get("ports") or [], spec.get("type") or "ClusterIP", spec.get("clusterIP")
    found = [*_name_without_dots(obj), *_enums(spec, "spec", _SERVICE_VALUES)]
    if address and address != "None":
        found += _address("spec.clusterIPs[0]", address)
    for index, each in enumerate(spec.get("externalIPs") or ()):
        found += _address(f"spec.externalIPs[{index}]", each)
    if of_type == "ExternalName" and not spec.get("externalName"):
        found.append(_required("spec.externalName"))
    if of_type in ("NodePort", "LoadBalancer") and address == "None":
        found.append(bad("spec.clusterIPs[0]", address, f"may not be set to 'None' for {of_type} services"))
    if not ports and of_type != "ExternalName" and address != "None":
        found.append(_required("spec.ports"))
    names: set[str] = set()
    for index, port in enumerate(ports):
        path, name = f"spec.ports[{index}]", port.get("name")
        if len(ports) > 1 and not name:
            found.append(_required(f"{path}.name"))
        if name and name in names:
            found.append(cause(f"{path}.name", "FieldValueDuplicate", f'Duplicate value: "{name}"'))
        names.add(name or "")
        found += [*_port(f"{path}.port", port.get("port")), *_enums(port, path, _PROTOCOLS)]
        if port.get("nodePort") and of_type == "ClusterIP":
            rule = "Forbidden: may not be used when `type` is 'ClusterIP'"
            found.append(cause(f"{path}.nodePort", "FieldValueForbidden", rule))
    return found


def _pod(obj: _Object) -> Causes:
    return _pod_spec(obj.get("spec") or {}, "spec")


def _pod_spec(spec: _Object, path: str, claims: _Names = frozenset()) -> Causes:
    found: Causes = []
    volumes = claims | {volume.get("name") for volume in spec.get("volumes") or ()}
    names: set[str] = set()
    for where, container in _containers(spec, path):
        name = container.get("name") or ""
        found += dns_label_mistakes(name, f"{where}.name")
        if name in names:
            found.append(cause(f"{where}.name", "FieldValueDuplicate", f'Duplicate value: "{name}"'))
        names.add(name)
        if not container.get("image"):
            found.append(_required(f"{where}.image"))
        for index, port in enumerate(container.get("ports") or ()):
            field = f"{where}.ports[{index}].containerPort"
            number = port.get("containerPort")
            found += _port(field, number) if number else [_required(field)]
        for index, mount in enumerate(container.get("volumeMounts") or ()):
            if (volume := mount.get("name")) not in volumes:
                field = f"{where}.volumeMounts[{index}].name"
                found.append(cause(field, "FieldValueNotFound", f'Not found: "{volume}"'))
        found += _requests(container.get("resources") or {}, f"{where}.resources.requests")
    return found


def _containers(spec: _Object, path: str) -> Iterator[tuple[str, _Object]]:
    for part in ("initContainers", "containers"):
        yield from ((f"{path}.{part}[{index}]", each) for index, each in enumerate(spec.get(part) or ()))


def _requests(resources: _Object, field: str) -> Causes:
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    return [
        bad(field, str(requests[name]), f"must be less than or equal to {name} limit of {limits[name]}")
        for name in sorted(requests.keys() & limits.keys())
        if Quantity(str(requests[name])) > Quantity(str(limits[name]))
    ]


def _template(template: _Object | None, path: str, claims: _Names = frozenset()) -> Causes:
    template = template or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    return [*label_mistakes(labels, f"{path}.labels"), *_pod_spec(template.get("spec") or {}, f"{path}.spec", claims)]


def _workload(obj: _Object) -> Causes:
    spec = obj.get("spec") or {}
    template = spec.get("template") or {}
    restarts = (template.get("spec") or {}).get("restartPolicy") or "Always"
    claims = {(claim.get("metadata") or {}).get("name") for claim in spec.get("volumeClaimTemplates") or ()}
    found = [*_not_negative(spec, "replicas"), *_selection(obj), *_template(template, "spec.template", claims)]
    if restarts != "Always":
        found.append(_unsupported("spec.template.spec.restartPolicy", restarts, ("Always",)))
    return found


def _deployment(obj: _Object) -> Causes:
    strategy = (obj.get("spec") or {}).get("strategy") or {}
    found = _workload(obj)
    if strategy.get("type") == "Recreate" and strategy.get("rollingUpdate"):
        found.append(cause("spec.strategy.rollingUpdate", "FieldValueForbidden", _RECREATE_RULE))
    return found


def _stateful_set(obj: _Object) -> Causes:
    return [*_name_without_dots(obj), *_workload(obj)]


def _selection(obj: _Object) -> Causes:
    """A workload selects the pods of its own template."""
    spec = obj.get("spec") or {}
    selector = spec.get("selector") or {}
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        return [bad("spec.selector", {}, f"empty selector is invalid for {obj.get('kind', '').lower()}")]
    if found := _selector(selector, "spec.selector"):
        return [*found, bad("spec.selector", selector, "invalid label selector")]
    if LabelSelector.from_wire(selector).matches(labels):
        return []
    return [bad("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")]


def _selector(selector: _Object, path: str) -> Causes:
    found = []
    for index, each in enumerate(selector.get("matchExpressions") or ()):
        where, operator = f"{path}.matchExpressions[{index}]", each.get("operator")
        if operator not in tuple(Operator):
            found.append(bad(f"{where}.operator", operator, "not a valid selector operator"))
        elif operator in (Operator.IN, Operator.NOT_IN) and not each.get("values"):
            found.append(_required(f"{where}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
        elif operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST) and each.get("values"):
            why = "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            found.append(cause(f"{where}.values", "FieldValueForbidden", why))
    return found


def _job(obj: _Object) -> Causes:
    name, template = obj["metadata"].get("name", ""), (obj.get("spec") or {}).get("template")
    # The API server labels the pods with the name.
    return [*label_mistakes({"job-name": name}, "spec.template.labels"), *_work(template, "spec.template")]


def _work(template: _Object | None, path: str) -> Causes:
    found = _template(template, path)
    if ((template or {}).get("spec") or {}).get("restartPolicy") not in ("OnFailure", "Never"):
        found.append(_required(f"{path}.spec.restartPolicy", 'valid values: "OnFailure", "Never"'))
    return found


def _cron_job(obj: _Object) -> Causes:
    spec = obj.get("spec") or {}
    schedule, job = spec.get("schedule") or "", (spec.get("jobTemplate") or {}).get("spec") or {}
    found = [*_name_at_most(obj, _LONGEST_CRON_JOB), *_work(job.get("template"), "spec.jobTemplate.spec.template")]
    fields = schedule.split()
    if not schedule.startswith("@") and len(fields) != 5:
        why = f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
        found.append(bad("spec.schedule", schedule, why))
    return found


def _claim(obj: _Object) -> Causes:
    spec = obj.get("spec") or {}
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    modes = spec.get("accessModes") or ()
    found = [] if modes else [_required("spec.accessModes", "at least 1 access mode is required")]
    found += [_unsupported("spec.accessModes", mode, _ACCESS_MODES) for mode in modes if mode not in _ACCESS_MODES]
    found += _enums(spec, "spec", _VOLUME_MODES)
    if storage_class := spec.get("storageClassName"):
        found += subdomain_mistakes(storage_class, "spec.storageClassName")
    if size is None:
        found.append(_required("spec.resources[storage]"))
    elif Quantity(str(size)) <= Quantity("0"):
        found.append(bad("spec.resources[storage]", str(size), "must be greater than zero"))
    return found


def _budget(obj: _Object) -> Causes:
    spec = obj.get("spec") or {}
    fields = ("minAvailable", "maxUnavailable")
    found = list(chain.from_iterable(_not_negative(spec, field) for field in fields))
    if all(spec.get(field) is not None for field in fields):
        found.append(bad("spec", spec, "minAvailable and maxUnavailable cannot be both set"))
    return [*found, *_selector(spec.get("selector") or {}, "spec.selector")]


def _autoscaler(obj: _Object) -> Causes:
    spec = obj.get("spec") or {}
    least, most = spec.get("minReplicas", 1), spec.get("maxReplicas", 0)
    found = [] if most >= least else [bad("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")]
    return found if most > 0 else [*found, _required("spec.maxReplicas")]


def _ingress(obj: _Object) -> Causes:
    spec = obj.get("spec") or {}
    if not spec.get("rules") and not spec.get("defaultBackend"):
        return [bad("spec", None, "either `defaultBackend` or `rules` must be specified")]
    found = _backend(spec.get("defaultBackend"), "spec.defaultBackend")
    for index, rule in enumerate(spec.get("rules") or ()):
        for number, path in enumerate((rule.get("http") or {}).get("paths") or ()):
            where, text = f"spec.rules[{index}].http.paths[{number}]", path.get("path") or ""
            if path.get("pathType") in ("Exact", "Prefix") and not text.startswith("/"):
                found.append(bad(f"{where}.path", text, "must be an absolute path"))
            found += _backend(path.get("backend"), f"{where}.backend")
    return found


def _backend(backend: _Object | None, path: str) -> Causes:
    service = (backend or {}).get("service")
    port = (service or {}).get("port") or {}
    if service and port.get("name") and port.get("number"):
        return [bad(path, "", "cannot set both port name & port number")]
    if service and not port.get("name") and not port.get("number"):
        return [_required(path, "port name or number is required")]
    return []


def _network_policy(obj: _Object) -> Causes:
    return _selector((obj.get("spec") or {}).get("podSelector") or {}, "spec.podSelector")


def _role(obj: _Object) -> Causes:
    why = "resource rules must supply at least one api group"
    return [
        _required(f"rules[{index}].apiGroups", why)
        for index, rule in enumerate(obj.get("rules") or ())
        if rule.get("resources") and not rule.get("apiGroups")
    ]


_RULES: Mapping[str, Callable[[_Object], Causes]] = {
    "ClusterRole": _role,
    "ConfigMap": _config_map,
    "CronJob": _cron_job,
    **dict.fromkeys(WORKLOADS, _workload),
    "Deployment": _deployment,
    "HorizontalPodAutoscaler": _autoscaler,
    "Ingress": _ingress,
    "Job": _job,
    "NetworkPolicy": _network_policy,
    "PersistentVolumeClaim": _claim,
    "Pod": _pod,
    "PodDisruptionBudget": _budget,
    "Role": _role,
    "Secret": _secret,
    "Service": _service,
    "StatefulSet": _stateful_set,
}


# -- changes


def _job_changes(was: _Object, wanted: _Object, _: _Object) -> Causes:
    before, after = was.get("completions"), wanted.get("completions")
    is_elastic = wanted.get("completionMode") == "Indexed"
    return [] if before == after or is_elastic else [bad("spec.completions", after, "field is immutable")]


def _service_changes(was: _Object, wanted: _Object, _: _Object) -> Causes:
    before, after = was.get("clusterIP"), wanted.get("clusterIP")
    # Without a value, it has an address that the server gave to it.
    if "ExternalName" in (was.get("type"), wanted.get("type")) or before == after or not (before or after == "None"):
        return []
    return [bad("spec.clusterIPs[0]", [after], "may not change once set")]


def _pod_changes(was: _Object, wanted: _Object, _: _Object) -> Causes:
    for part in ("containers", "initContainers"):
        if len(was.get(part) or ()) != len(wanted.get(part) or ()):
            why = "Forbidden: pod updates may not add or remove containers"
            return [cause(f"spec.{part}", "FieldValueForbidden", why)]
    before, after = _fixed(was), _fixed(wanted)
    old, new = was.get("tolerations") or [], wanted.get("tolerations") or []
    if before == after and all(each in new for each in old):
        return []
    return [cause("spec", "FieldValueForbidden", _POD_RULE)]


def _fixed(spec: _Object) -> dict[str, Any]:
    """What cannot be changed of a pod."""
    free = ("activeDeadlineSeconds", "ephemeralContainers", "schedulingGates", "tolerations")
    rest = {name: value for name, value in spec.items() if name not in free}
    for part in ("containers", "initContainers"):
        rest[part] = [{name: value for name, value in each.items() if name != "image"} for each in spec.get(part) or ()]
    return rest


def _claim_changes(was: _Object, wanted: _Object, status: _Object) -> Causes:
    """The changes of a claim, but those with which it is bound, and its size and class once it is."""
    is_bound = status.get("phase") == "Bound"
    before, after = ({"volumeMode": "Filesystem", **spec} for spec in (was, wanted))
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    changed -= {name for name in ("volumeName", "storageClassName") if not before.get(name)}
    found = []
    if changed - ({"resources", "volumeAttributesClassName"} if is_bound else set()):
        found.append(cause("spec", "FieldValueForbidden", _CLAIM_RULE))
    old, new, least = (_storage(part) for part in (was.get("resources"), wanted.get("resources"), status))
    if is_bound and new < old and new <= least:
        found.append(cause("spec.resources.requests.storage", "FieldValueForbidden", _SIZE_RULE))
    return found


def _storage(part: _Object | None) -> Quantity:
    """The size that resources request, or that a status says."""
    sizes = (part or {}).get("requests") or (part or {}).get("capacity") or {}
    return Quantity(sizes.get("storage", "0"))


_CHANGES: Mapping[str, Callable[[_Object, _Object, _Object], Causes]] = {
    "Job": _job_changes,
    "PersistentVolumeClaim": _claim_changes,
    "Pod": _pod_changes,
    "Service": _service_changes,
}


def _content_changes(kind: str, old: _Object, new: _Object) -> Causes:
    """The changes of an immutable ConfigMap or Secret."""
    parts = [name for name in _CONTENT.get(kind, ()) if (old.get(name) or {}) != (new.get(name) or {})]
    if kind in _CONTENT and not new.get("immutable"):
        parts.append("immutable")
    return [cause(name, "FieldValueForbidden", _CONTENT_RULE) for name in parts]
