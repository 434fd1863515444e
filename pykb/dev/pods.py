"""Finds the manager in a cluster that `pykb inspect` shows, and connects to its records, by the rights of the user."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pykb.client.connection import Call
from pykb.client.errors import ApiError, ServerUnreachable
from pykb.client.login.credentials import Credentials, StaticCredentials
from pykb.client.options import TransportOptions
from pykb.client.transport import Transport
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import INSPECT_FORBIDDEN, INSPECT_TARGET, RECORDS_OFF
from pykb.envtest.components import LOOPBACK
from pykb.runtime.options import RECORDS_PATH
from pykb.tools.kubectl import Kubectl
from pykb.tools.process import Finished, quote, succeeded

_PATIENCE = "--request-timeout=10s"
_FORWARD = timedelta(seconds=30)
_MANAGERS = "control-plane=controller-manager"
_READERS = "app.kubernetes.io/component=records-reader"
_PROJECT = "app.kubernetes.io/name"
_PORT = "records"
_TURN_ON = (
    "uncomment `../records` in config/default/kustomization.yaml, then `pykb deploy`",
    "pykb explain records-off     # without the scaffold",
)

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Subject:
    """What is shown.

    Attributes:
        kubectl: Asks the cluster.
        kind: ``deployment`` or ``pod``.
        name: Its name.
        namespace: Its namespace. Empty is that of the kubeconfig.
        account: The service account that reads the records. Empty is the one that the scaffold has for it.
    """

    kubectl: Kubectl
    kind: str
    name: str
    namespace: str = ""
    account: str = ""

    @contextlib.asynccontextmanager
    async def connected(self) -> AsyncIterator[tuple[str, AsyncIterator[bytes]]]:
        """Connect to the records of a pod. Gives what it is, and the stream of lines.

        Raises:
            EnvironmentProblem: There is no such pod, it does not serve records, or the user may not read them.
        """
        pod = await asyncio.to_thread(self.find_pod)
        token = await asyncio.to_thread(self.token_for, pod)
        async with contextlib.AsyncExitStack() as stack:
            port = await stack.enter_async_context(_forwarded(self.kubectl, pod))
            # kubectl has verified the API server, which leads to the pod. The pod's certificate is its own.
            login = Credentials(f"https://{LOOPBACK}:{port}", insecure=True, token=token)
            transport = await stack.enter_async_context(
                Transport(StaticCredentials(login), TransportOptions(attempts=1))
            )
            try:
                chunks = await stack.enter_async_context(transport.stream(Call("GET", RECORDS_PATH, chunks=True)))
            except ApiError as error:
                raise _refused(pod, error) from error
            except ServerUnreachable as error:
                raise RECORDS_OFF.problem(
                    f"pod `{pod.name}` does not serve its records at port {pod.port}", *_TURN_ON
                ) from error
            yield pod.title, chunks

    def find_pod(self) -> Pod:
        """Find the pod to show: of a Deployment the leader, if that is known, else a ready one.

        Raises:
            EnvironmentProblem: There is none that runs, or it does not serve records.
        """
        found = self._get(f"{self.kind}/{self.name}", "--ignore-not-found")
        if not found:
            where = f"namespace `{self.namespace}`" if self.namespace else "the namespace of the kubeconfig"
            listing = f"kubectl get {self.kind}s --all-namespaces"
            name = f"pykb inspect {self.kind}/NAME --namespace NAMESPACE"
            raise INSPECT_TARGET.problem(f"there is no {self.kind} `{self.name}` in {where}", listing, name)
        if self.kind == "pod":
            return Pod.of(found, self.account, "")
        labels = ",".join(f"{key}={value}" for key, value in found["spec"]["selector"].get("matchLabels", {}).items())
        pods = [each for each in self._get("pods", f"--selector={labels}")["items"] if _runs(each)]
        if not pods:
            helps = ("pykb deploy     # says why it does not start",)
            raise INSPECT_TARGET.problem(f"deployment `{self.name}` has no running pod", *helps)
        leases = self.kubectl.attempt("get", "leases", *self._within, "--output=json", _PATIENCE)
        leader = leader_of(pods, json.loads(leases.stdout)["items"] if leases.ok else ())
        pod = leader or max(pods, key=_is_ready)
        role = ", the leader" if leader else ""
        return Pod.of(pod, self.account, role + (f", one of {len(pods)} replicas" if len(pods) > 1 else ""))

    def token_for(self, pod: Pod) -> str:
        """A token of the account that reads the records.

        Raises:
            EnvironmentProblem: There is no such account, or the user may not have a token for it.
        """
        account = pod.account or self._reader(pod)
        words = ("create", "token", account, f"--namespace={pod.namespace}", "--duration=10m", _PATIENCE)
        return _answered(self.kubectl.attempt(*words)).stdout.strip()

    def _reader(self, pod: Pod) -> str:
        """The account that the scaffold has for readers."""
        found = self._get("serviceaccounts", f"--selector={_READERS}")["items"]
        own = [each for each in found if each["metadata"].get("labels", {}).get(_PROJECT) == pod.project]
        for each in own or found:
            return str(each["metadata"]["name"])
        message = f"namespace `{pod.namespace}` has no service account that reads records"
        raise RECORDS_OFF.problem(message, _TURN_ON[0], "or name one that may: `--service-account NAME`")

    @property
    def _within(self) -> tuple[str, ...]:
        return (f"--namespace={self.namespace}",) if self.namespace else ()

    def _get(self, *words: str) -> Any:
        answer = _answered(self.kubectl.attempt("get", *words, *self._within, "--output=json", _PATIENCE))
        return json.loads(answer.stdout or "null")


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod that serves records.

    Attributes:
        name: Its name.
        namespace: Its namespace.
        project: The project that it belongs to, by its label.
        port: The port of the records.
        account: The service account that reads them, if the user names one.
        title: What it is, for people.
    """

    name: str
    namespace: str
    project: str
    port: int
    account: str
    title: str

    @classmethod
    def of(cls, raw: Object, account: str, role: str) -> Pod:
        """Read a pod.

        Raises:
            EnvironmentProblem: It does not run, or has no port for records.
        """
        metadata = raw["metadata"]
        name, namespace = metadata["name"], metadata["namespace"]
        if not _runs(raw):
            raise INSPECT_TARGET.problem(f"pod `{name}` does not run", f"kubectl describe pod {name} -n {namespace}")
        ports = [port for each in raw["spec"]["containers"] for port in each.get("ports") or ()]
        port = next((each["containerPort"] for each in ports if each.get("name") == _PORT), None)
        if port is None:
            raise RECORDS_OFF.problem(f"pod `{name}` does not serve its records: it has no port `{_PORT}`", *_TURN_ON)
        project = metadata.get("labels", {}).get(_PROJECT, "")
        return cls(name, namespace, project, port, account, f"pod {namespace}/{name}{role}")


def find_subject(kubectl: Kubectl, deployments: Sequence[Object], *, namespace: str, account: str) -> Subject:
    """Find the manager that the user has not named: the only one of the project, or of the namespace.

    Args:
        kubectl: Asks the cluster.
        deployments: Those of the project.
        namespace: The namespace that the user has named, if any.
        account: The service account that reads the records.

    Raises:
        EnvironmentProblem: There is none, or more than one.
    """
    found = deployments
    if not found:
        within = (f"--namespace={namespace}",) if namespace else ()
        words = ("get", "deployments", f"--selector={_MANAGERS}", *within, "--output=json", _PATIENCE)
        found = json.loads(_answered(kubectl.attempt(*words)).stdout)["items"]
    if len(found) == 1:
        metadata = found[0]["metadata"]
        return Subject(kubectl, "deployment", metadata["name"], namespace or metadata.get("namespace", ""), account)
    if not found:
        where = f"in namespace `{namespace}`" if namespace else "here"
        name = "pykb inspect deployment/NAME --namespace NAMESPACE"
        raise INSPECT_TARGET.problem(f"no Deployment {where} has the label `{_MANAGERS}`", name)
    titles = [(each["metadata"]["name"], each["metadata"].get("namespace", "")) for each in found]
    names = [f"pykb inspect deployment/{name}" + (f" --namespace {space}" if space else "") for name, space in titles]
    raise INSPECT_TARGET.problem("there are several managers: name one", *names)


def leader_of(pods: Sequence[Object], leases: Iterable[Object]) -> Object | None:
    """The pod that holds the Lease of the leader. With shards, the names of further Leases begin with its name."""
    named = sorted(leases, key=lambda each: len(each["metadata"]["name"]))
    for lease in named:
        holder = str((lease.get("spec") or {}).get("holderIdentity") or "")
        for pod in pods:
            if holder.startswith(f"{pod['metadata']['name']}_"):
                return pod
    return None


def _runs(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]


def _is_ready(pod: Object) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _answered(done: Finished) -> Finished:
    if "(Forbidden)" in done.stderr:
        helps = ("pykb explain inspect-forbidden     # has the rules of a Role",)
        raise INSPECT_FORBIDDEN.problem(
            "you may not look at this manager", *helps, notes=quote(done.stderr, source="kubectl wrote")
        )
    return succeeded(done)


def _refused(pod: Pod, error: ApiError) -> EnvironmentProblem:
    helps = (f"let it `get` `{RECORDS_PATH}`, as config/records/reader.yaml does; this counts after 30 seconds",)
    if error.status >= 500:
        helps = ("its log says why; it needs the permissions of config/rbac/metrics_auth_role.yaml",)
    return INSPECT_FORBIDDEN.problem(f"pod `{pod.name}` does not show its records: {error.message}", *helps)


@contextlib.asynccontextmanager
async def _forwarded(kubectl: Kubectl, pod: Pod) -> AsyncIterator[int]:
    """Forward a free port of this machine to the records of a pod. Gives its number."""
    words = ("port-forward", f"--namespace={pod.namespace}", f"--address={LOOPBACK}", f"pod/{pod.name}", f":{pod.port}")
    command = kubectl.command(words)
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for us, and we end it
    )
    try:
        port = await _port_of(process)
        if port is None:
            _, errors = await process.communicate()
            code = process.returncode or 1
            _answered(Finished(tuple(map(str, command)), code, "", errors.decode("utf-8", "replace")))
        else:
            yield port
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _port_of(process: asyncio.subprocess.Process) -> int | None:
    """The port of this machine, when it is forwarded. ``None`` if kubectl has ended, or is ended, without one."""
    line = b""
    try:
        async with asyncio.timeout(_FORWARD.total_seconds()):
            line = await process.stdout.readline() if process.stdout is not None else b""
    except (TimeoutError, ValueError):
        process.kill()
    found = re.match(rf"Forwarding from {re.escape(LOOPBACK)}:(\d+) -> ".encode(), line)
    return int(found[1]) if found is not None else None
