"""Follows what was applied until it works: the Deployment's rollout, and the calls of its webhooks; or says why not.

Source: https://kubernetes.io/docs/tasks/debug/debug-application/debug-pods/
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pykb.deployment.cluster import Cluster
from pykb.deployment.manifests import CRD, INJECTED_CA, WEBHOOK_KINDS, Object, is_converted, of_kind, title_of
from pykb.diagnostics import Diagnostic, EnvironmentProblem
from pykb.diagnostics.codes.environment import ROLLOUT_FAILED, WEBHOOK_UNANSWERED
from pykb.envtest.reporter import Reporter, Step
from pykb.meta.gvk import rule_concerns

_Object = dict[str, Any]

_REVISION = "deployment.kubernetes.io/revision"
_PULL = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
_SETUP = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})
_NOT_STARTED = frozenset({"StartError", "ContainerCannotRun"})
_SANDBOX = frozenset({"FailedCreatePodSandBox", "NetworkNotReady"})
_SIGNALLED = frozenset({0, 137, 143})
"""The exit codes of a manager that the kubelet has ended: by SIGTERM, in time or not, or by SIGKILL."""
_RESTARTS = 2
_LOG_LINES = 12
_LOG_GONE = ("unable to retrieve container logs for ", "failed to try resolving symlinks in path ")
"""What a kubelet answers, as if it were the log, for a container or a file that was removed a moment ago."""
_LOG_ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a replica is not available.

    Attributes:
        title: The cause in a few words.
        notes: What the cluster says of it.
        remedies: What can be done about it.
        is_final: Whether waiting longer would not help.
        pod: The pod whose log shows more.
        container: The container in it.
        has_ended: Whether the container ended and was started again, so that the log of the earlier one counts.
    """

    title: str
    notes: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    is_final: bool = False
    pod: str = ""
    container: str = ""
    has_ended: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """A Deployment and the objects around it.

    Attributes:
        deployment: The Deployment.
        replica_set: Its newest ReplicaSet.
        pods: The pods of this ReplicaSet that are not being deleted.
        events: The events of pods and ReplicaSet, the latest last.
    """

    deployment: _Object
    replica_set: _Object | None
    pods: tuple[_Object, ...]
    events: tuple[_Object, ...]

    @classmethod
    def of(cls, name: str, objects: Iterable[_Object]) -> State:
        """Pick the objects of a Deployment from all of a namespace.

        Raises:
            LookupError: There is no such Deployment.
        """
        by_kind: dict[str, list[_Object]] = {}
        for each in objects:
            by_kind.setdefault(each["kind"], []).append(each)
        deployment = next((each for each in by_kind.get("Deployment", ()) if each["metadata"]["name"] == name), None)
        if deployment is None:
            raise LookupError(name)
        sets = sorted(_owned(by_kind.get("ReplicaSet", ()), deployment), key=_revision)
        newest = sets[-1] if sets else None
        pods = [each for each in _owned(by_kind.get("Pod", ()), newest) if "deletionTimestamp" not in each["metadata"]]
        concerned = {each["metadata"]["uid"] for each in (deployment, newest, *pods) if each is not None}
        events = [each for each in by_kind.get("Event", ()) if each["involvedObject"].get("uid") in concerned]
        return cls(deployment, newest, tuple(pods), tuple(sorted(events, key=_time)))


def find_cause(state: State) -> Cause | None:
    """The cause that stands against a rollout. ``None`` if nothing does so far."""
    refused = _refused(state)
    if refused is not None:
        return refused
    # A pod that ended for good matters only if nothing stands against the one that replaces it.
    pods = sorted(state.pods, key=lambda pod: (pod.get("status") or {}).get("phase") == "Failed")
    found = [cause for pod in pods for cause in _of_pod(pod, state.events)]
    return max(found, key=lambda cause: cause.is_final, default=None)


def _refused(state: State) -> Cause | None:
    """The API server refuses the pods."""
    for owner in (state.deployment, state.replica_set):
        for condition in ((owner or {}).get("status") or {}).get("conditions") or ():
            if condition["type"] == "ReplicaFailure" and condition["status"] == "True":
                message = str(condition.get("message") or "")
                if "violates PodSecurity" in message:
                    return Cause(
                        "Pod Security refuses its pods",
                        (message,),
                        ("set what is missing in the securityContext in config/manager/manager.yaml",),
                        is_final=True,
                    )
                if "exceeded quota" in message:
                    return Cause(
                        "a ResourceQuota refuses its pods",
                        (message,),
                        ("lower the requests and limits in config/manager/manager.yaml, or raise the quota",),
                        is_final=True,
                    )
                return Cause("its pods are refused", (message,), is_final=True)
    return None


def _of_pod(pod: _Object, events: tuple[_Object, ...]) -> Iterator[Cause]:
    name, status = pod["metadata"]["name"], pod.get("status") or {}
    if status.get("phase") == "Failed":
        yield _failed(status)
        return
    for condition in status.get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable":
            yield _unschedulable(str(condition.get("message") or ""))
    containers = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    mine = [each for each in events if each["involvedObject"].get("uid") == pod["metadata"]["uid"]]
    for container in containers:
        cause = _of_container(pod, container, mine)
        if cause is not None:
            yield cause
    yield from _of_events(name, containers, mine)


def _failed(status: _Object) -> Cause:
    """A node has ended the pod for good. Its ReplicaSet makes another one.

    Source: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
    """
    reason, message = str(status.get("reason") or "unknown"), str(status.get("message") or "")
    if reason == "Evicted":
        remedies = ("set requests in config/manager/manager.yaml to what it uses, or free the node's resources",)
        return Cause("its node evicted the pod", (message,), remedies)
    return Cause(f"its node ended the pod ({reason})", (message,) if message else ())


def _unschedulable(message: str) -> Cause:
    """The scheduler counts the nodes for each of its reasons."""
    if "Insufficient" in message:
        remedies = ("lower the requests in config/manager/manager.yaml, or add a node",)
        return Cause("no node has room for its pod", (message,), remedies)
    if "taint" in message:
        return Cause(
            "the nodes have taints that its pod does not tolerate",
            (message,),
            (
                "kubectl get nodes --output=custom-columns=NAME:.metadata.name,TAINTS:.spec.taints",
                "add `tolerations` in config/manager/manager.yaml, or remove the taint from a node",
            ),
        )
    if "affinity" in message or "selector" in message:
        remedies = ("compare `nodeSelector` and `affinity` in config/ with the labels of the nodes",)
        return Cause("no node has the labels that its pod asks for", (message,), remedies)
    return Cause("no node takes its pod", (message,))


def _of_container(pod: _Object, container: _Object, events: list[_Object]) -> Cause | None:
    waiting = (container.get("state") or {}).get("waiting") or {}
    reason, message = waiting.get("reason", ""), str(waiting.get("message") or "")
    if reason in _PULL:
        return Cause(
            f"the image `{container['image']}` cannot be pulled",
            (message,) if message else (),
            ("push it (`make docker-push IMG=...`), or load it into the nodes", "--image NAME     # another image"),
            is_final=reason != "ErrImagePull",
        )
    if reason in _SETUP:
        return Cause(f"the container `{container['name']}` cannot be made", (message,), is_final=True)
    ended = (container.get("state") or {}).get("terminated") or (container.get("lastState") or {}).get("terminated")
    if not ended or (ended.get("exitCode") == 0 and not waiting):
        return None
    restarts = container.get("restartCount", 0)
    title, notes, remedies = _why_it_ended(pod, container, ended, events)
    return Cause(
        title,
        (*notes, *((f"it was started {restarts + 1} times",) if restarts else ())),
        remedies,
        is_final=restarts >= _RESTARTS,
        pod=pod["metadata"]["name"],
        container=container["name"],
        has_ended=bool(restarts),
    )


def _why_it_ended(
    pod: _Object, container: _Object, ended: _Object, events: list[_Object]
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Why a container ended: a title, notes and remedies."""
    if ended.get("reason") == "OOMKilled":
        limit = _memory_limit(pod, container["name"])
        title = f"the manager was killed at its memory limit{f' of {limit}' if limit else ''}"
        return title, (), ("raise `resources.limits.memory` in config/manager/manager.yaml",)
    if ended.get("reason") in _NOT_STARTED:
        return "the manager's program cannot be started", (str(ended.get("message") or ""),), ()
    killed = [str(each.get("message") or "") for each in events if each.get("reason") == "Killing"]
    if ended.get("exitCode") in _SIGNALLED and (failed := [each for each in killed if "liveness probe" in each]):
        return "the manager does not answer its liveness probe", (failed[-1],), ()
    return f"the manager crashes (exit code {ended.get('exitCode')})", (), ()


def _memory_limit(pod: _Object, name: str) -> str:
    spec = pod.get("spec") or {}
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        if container["name"] == name:
            return str(((container.get("resources") or {}).get("limits") or {}).get("memory") or "")
    return ""


def _of_events(pod: str, containers: list[_Object], events: list[_Object]) -> Iterator[Cause]:
    """What only events say: networks that cannot be set up, volumes that cannot be mounted, probes that fail."""
    is_made = any("running" in (each.get("state") or {}) for each in containers)
    unready = next((each for each in containers if not each.get("ready")), None)
    for event in events:
        reason, message = event.get("reason"), str(event.get("message") or "")
        if reason in _SANDBOX and not is_made:
            yield Cause(
                "its node cannot set up the pod's sandbox and network",
                (message,),
                ("see whether the network plugin (CNI) runs: kubectl get pods --namespace kube-system --output=wide",),
            )
        elif reason == "FailedMount" and not is_made:
            yield _unmounted(message)
        elif reason == "Unhealthy" and is_made and unready is not None:
            yield Cause("the manager is not ready", (message,), pod=pod, container=unready["name"])


def _unmounted(message: str) -> Cause:
    if "secret" in message and "not found" in message:
        remedies = ("see whether the Certificate was issued: kubectl describe certificates",)
        return Cause("a Secret is missing, such as that of a certificate", (message,), remedies)
    return Cause("a volume cannot be mounted", (message,))


def _owned(objects: Iterable[_Object], owner: _Object | None) -> list[_Object]:
    uid = owner["metadata"]["uid"] if owner is not None else None
    return [
        each
        for each in objects
        if any(reference["uid"] == uid for reference in each["metadata"].get("ownerReferences") or ())
    ]


def _revision(replica_set: _Object) -> int:
    text = (replica_set["metadata"].get("annotations") or {}).get(_REVISION, "")
    return int(text) if text.isdigit() else 0


def _time(event: _Object) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp") or "")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a rollout is.

    Attributes:
        wanted: The desired number of replicas.
        available: How many of the new version are available.
        complete: Whether all are, and no replica of an earlier version is left.
    """

    wanted: int
    available: int
    complete: bool

    @classmethod
    def of(cls, deployment: dict[str, Any]) -> Progress:
        """The progress of a Deployment, by the rules of ``kubectl rollout status``."""
        wanted = deployment["spec"].get("replicas", 1)
        status = deployment.get("status") or {}
        updated, available = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
        seen = status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
        complete = seen and updated == available == wanted == status.get("replicas", 0)
        return cls(wanted, min(updated, available), complete)


def follow(cluster: Cluster, deployment: dict[str, Any], reporter: Reporter, *, timeout: timedelta) -> None:
    """Wait until all replicas of a Deployment are available.

    Args:
        cluster: The cluster.
        deployment: The Deployment that was applied.
        reporter: Gets the progress.
        timeout: The maximum time to wait. A cause that does not go away by itself ends the wait earlier.

    Raises:
        EnvironmentProblem: The rollout failed. The diagnostic says why.
    """
    step = reporter.step(f"starting {title_of(deployment)}")
    try:
        _follow(cluster, deployment, step, timeout)
    except KeyboardInterrupt:
        step.failed("everything was applied, and the rollout continues")
        raise


def _follow(cluster: Cluster, deployment: dict[str, Any], step: Step, timeout: timedelta) -> None:
    end = time.monotonic() + timeout.total_seconds()
    while True:
        state = _state(cluster, deployment)
        progress = Progress.of(state.deployment)
        if progress.complete:
            step.done(f"{progress.available} of {progress.wanted} replicas")
            return
        cause = find_cause(state)
        step.update(f"{progress.available} of {progress.wanted} replicas{f': {cause.title}' if cause else ''}")
        is_over = time.monotonic() >= end
        if is_over or (cause is not None and cause.is_final):
            step.failed(cause.title if cause else f"not available after {timeout.total_seconds():g} s")
            raise EnvironmentProblem(_diagnostic(cluster, deployment, cause, timeout))
        time.sleep(min(cluster.interval, max(0.0, end - time.monotonic())))


def _state(cluster: Cluster, deployment: dict[str, Any]) -> State:
    """Read everything about a rollout in one request of kubectl."""
    kinds = "deployments.apps,replicasets.apps,pods,events"
    answer = cluster.kubectl("get", kinds, f"--namespace={_namespace(deployment)}", "--output=json")
    return State.of(deployment["metadata"]["name"], json.loads(answer)["items"])


def _namespace(deployment: dict[str, Any]) -> str:
    return str(deployment["metadata"].get("namespace", "default"))


def _diagnostic(cluster: Cluster, deployment: dict[str, Any], cause: Cause | None, timeout: timedelta) -> Diagnostic:
    namespace = _namespace(deployment)
    if cause is None:
        cause = Cause(f"not all replicas are available after {timeout.total_seconds():g} s")
    notes = [*cause.notes]
    if cause.pod and (log := _log(cluster, cause, namespace)):
        notes.append(log)
    notes.append("everything was applied; the earlier version of the manager keeps running, if there was one")
    return ROLLOUT_FAILED.at(
        None,
        f"{title_of(deployment)} does not start: {cause.title}",
        *cause.remedies,
        f"kubectl get pods,events --namespace {namespace}",
        notes=tuple(notes),
    )


def _log(cluster: Cluster, cause: Cause, namespace: str) -> str:
    """The last lines of the container that crashed, or that is not ready.

    A kubelet keeps one ended container, and removes it when the next one has ended. In between, it has no log to give.
    """
    words = ("logs", cause.pod, f"--namespace={namespace}", f"--container={cause.container}", f"--tail={_LOG_LINES}")
    for attempt in range(_LOG_ATTEMPTS):
        if attempt:
            time.sleep(cluster.interval)
        was_gone = False
        for previous in (("--previous",), ()) if cause.has_ended else ((),):
            answer = cluster.kubectl.attempt(*words, *previous)
            said = answer.stdout.strip()
            was_gone |= said.startswith(_LOG_GONE)
            if answer.ok and said and not said.startswith(_LOG_GONE):
                return "\n".join(("its last lines:", *said.splitlines()))
        if not was_gone:
            break
    return ""


# Waits until the API server reaches the webhooks of an operator, and says what it reports if it does not.
#
# Available replicas are not enough. The CA bundle must be set and known to the API server, and the nodes must send the
# requests of the Service to the new pods. So the API server is asked to create objects of the kinds, as a dry run.


_NAME = "pykb-asks-webhooks"
_NAMESPACE = "default"
_SHOWN = 300

_FAILED = re.compile(r'failed calling webhook "(?P<name>[^"]+)": (?P<reason>.*)', re.DOTALL)
_UNCONVERTED = re.compile(
    r"conversion webhook for (?P<name>\S+ \S+) failed: (?P<reason>(?:Post|the server could not find) .*)", re.DOTALL
)
"""A converter that fails has answered."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why the API server does not reach a webhook.

    Attributes:
        title: The obstacle in a few words.
        reason: What the API server says.
        remedies: What can be done about it.
    """

    title: str
    reason: str = ""
    remedies: tuple[str, ...] = ()


def await_webhooks(
    cluster: Cluster, operator: Sequence[Object], samples: Sequence[Object], reporter: Reporter, *, timeout: timedelta
) -> None:
    """Wait until the API server reaches the webhooks of an operator. Without webhooks, this does nothing.

    A webhook that may fail (`failurePolicy: Ignore`), is not called for CREATE or is for a kind of others is not asked:
    it is on the same server as the others. A webhook that validates is called for valid objects only, so it is asked
    about a sample.

    Args:
        cluster: The cluster.
        operator: The operator.
        samples: Objects of its kinds.
        reporter: Gets the progress.
        timeout: How long to wait.

    Raises:
        EnvironmentProblem: One is not reached in time. The diagnostic says why.
    """
    called = [each for each in operator if any(True for _ in _clients(each))]
    if not called:
        return
    step = reporter.step("waiting for the webhooks")
    try:
        _await(cluster, operator, called, list(_questions(operator, samples)), step, timeout)
    except KeyboardInterrupt:
        step.failed("everything was applied, and the manager runs")
        raise


def _await(
    cluster: Cluster,
    operator: Sequence[Object],
    called: Sequence[Object],
    questions: Sequence[tuple[str, Object]],
    step: Step,
    timeout: timedelta,
) -> None:
    names = {webhook["name"] for each in called for webhook in each.get("webhooks") or ()}
    end = time.monotonic() + timeout.total_seconds()
    while True:
        found = _untrusted(cluster, called) or _unanswered(cluster, questions, names)
        if found is None:
            step.done("they answer")
            return
        if time.monotonic() >= end:
            step.failed(found.title)
            raise EnvironmentProblem(_webhooks_unanswered(operator, found, timeout))
        step.update(f"{found.title}{f': {found.reason}' if found.reason else ''}")
        time.sleep(min(cluster.interval, max(0.0, end - time.monotonic())))


def _clients(obj: Object) -> Iterator[dict[str, Any]]:
    """The `clientConfig` of each webhook that an object makes the API server call through a Service."""
    found = [each.get("clientConfig") for each in obj.get("webhooks") or ()] if obj["kind"] in WEBHOOK_KINDS else []
    if obj["kind"] == CRD and is_converted(obj):
        found.append((obj["spec"]["conversion"].get("webhook") or {}).get("clientConfig"))
    yield from (each for each in found if each and each.get("service"))


def _untrusted(cluster: Cluster, called: Sequence[Object]) -> Obstacle | None:
    """An object whose `caBundle` nobody has set. The API server trusts no certificate of such a webhook."""
    names = [f"{each['kind']}/{each['metadata']['name']}" for each in called]
    answer = json.loads(cluster.kubectl("get", *names, "--output=json"))
    for each in answer.get("items", [answer]):  # a single one is not in a list
        if all(client.get("caBundle") for client in _clients(each)):
            continue
        source = (each["metadata"].get("annotations") or {}).get(INJECTED_CA)
        title = f"`{title_of(each)}` has no caBundle"
        if source is None:
            return Obstacle(title, "the manager sets it, and the log says why it does not")
        namespace, _, name = source.partition("/")
        look = f"kubectl describe certificate {name} --namespace {namespace}"
        return Obstacle(title, "the cainjector of cert-manager sets it when the Certificate was issued", (look,))
    return None


def _questions(operator: Sequence[Object], samples: Iterable[Object]) -> Iterator[tuple[str, Object]]:
    """An object for each served version of each kind that has webhooks, and where it would be created."""
    given = {(each.get("apiVersion"), each.get("kind")): each for each in reversed(list(samples))}
    rules = [*_rules(operator)]
    for crd in of_kind(operator, CRD):
        spec = crd["spec"]
        if is_converted(crd) or any(rule_concerns(rule, spec["group"], spec["names"]["plural"]) for rule in rules):
            for version in (each["name"] for each in spec["versions"] if each.get("served")):
                sample = given.get((f"{spec['group']}/{version}", spec["names"]["kind"]), {})
                yield _question(spec, version, sample)


def _question(spec: dict[str, Any], version: str, sample: Object) -> tuple[str, Object]:
    """The path for an object of a version of a CRD, and the object, made of a sample."""
    named = {"apiVersion": f"{spec['group']}/{version}", "kind": spec["names"]["kind"]}
    metadata = {**(sample.get("metadata") or {}), "name": _NAME}
    place = ""
    if spec["scope"] == "Namespaced":
        place = f"namespaces/{_NAMESPACE}/"
        metadata["namespace"] = _NAMESPACE
    path = f"/apis/{spec['group']}/{version}/{place}{spec['names']['plural']}?dryRun=All"
    return path, {**sample, **named, "metadata": metadata}


def _rules(operator: Sequence[Object]) -> Iterator[dict[str, Any]]:
    """What the API server calls the admission webhooks for."""
    for each in operator:
        if each["kind"] in WEBHOOK_KINDS:
            for webhook in each.get("webhooks") or ():
                yield from webhook.get("rules") or ()


def _unanswered(cluster: Cluster, questions: Iterable[tuple[str, Object]], names: set[str]) -> Obstacle | None:
    """A webhook that the API server does not reach. Every answer will do: also one that refuses the object."""
    for path, obj in questions:
        answer = cluster.kubectl.attempt("create", f"--raw={path}", "--filename=-", stdin=json.dumps(obj))
        if answer.ok:
            continue
        if (match := _FAILED.search(answer.stderr)) is not None and match["name"] in names:
            return _unreached(f"webhook `{match['name']}`", match["reason"])
        if (match := _UNCONVERTED.search(answer.stderr)) is not None:
            return _unreached(f"conversion webhook of `{match['name'].replace(', Kind=', ' ')}`", match["reason"])
    return None


def _unreached(what: str, reason: str) -> Obstacle:
    said = reason.strip()
    remedies: tuple[str, ...] = ()
    if "x509" in said:
        remedies = ("its caBundle does not fit the certificate that the manager serves: see the log of the manager",)
    elif "deadline exceeded" in said or "i/o timeout" in said:
        remedies = ("let the API server through to the pods' port for webhooks: firewall of the nodes, NetworkPolicy",)
    elif "refused" in said or "no endpoints" in said:
        remedies = ("does the manager serve webhooks? ENABLE_WEBHOOKS=false in config/manager switches them off",)
    return Obstacle(f"the API server does not reach the {what}", said[:_SHOWN], remedies)


def _webhooks_unanswered(operator: Sequence[Object], obstacle: Obstacle, timeout: timedelta) -> Diagnostic:
    managers = [each["metadata"] for each in of_kind(operator, "Deployment")]
    logs = [f"kubectl logs --namespace {each['namespace']} deployment/{each['name']}" for each in managers]
    return WEBHOOK_UNANSWERED.at(
        None,
        f"{obstacle.title} after {timeout.total_seconds():g} s",
        *obstacle.remedies,
        *logs,
        notes=(
            obstacle.reason,
            "everything was applied, and the manager runs",
            "the API server refuses objects of these kinds until it reaches the webhooks",
        ),
    )
