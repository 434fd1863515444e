"""`FakeApiServer`: an API server in memory, behind the same connection as the real one.

It behaves like a kube-apiserver without controllers, access control, CEL and the defaults of
built-in kinds. It calls webhooks and converters that it is given. The same conformance suite runs
against both (``tests/apiserver/conformance``).
Source of requests for metadata only:
https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-metadata-only
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from pykb.api.object import Object
from pykb.client.client import Client
from pykb.client.codec import AnyObject, Key, gvk_of, key_of, namespace_of, to_wire
from pykb.client.connection import Call, ExecResult, Route, parse_path
from pykb.client.errors import ApiError
from pykb.client.mapper import ResourceMapper
from pykb.client.writer import APPLY_CONTENT_TYPE
from pykb.fake._http import (
    CHANGED,
    bad_request,
    cause,
    invalid,
    no_resource,
    read_json,
    refuse,
)
from pykb.fake._merge import json_patch, merge_patch
from pykb.fake._resources import CRD, Request, Resource, Resources
from pykb.fake._storage import Listing, Storage
from pykb.fake._versions import Versions
from pykb.fake._webhooks import ConditionCheck, Webhooks
from pykb.fake._writing import AcceptedWrites, RuleCheck, Writing
from pykb.meta.gvk import GroupVersion, GroupVersionKind, NamespacedName

if TYPE_CHECKING:
    from pykb.webhook.server import WebhookServer


Reactor = Callable[[Call], None]
ExecHandler = Callable[[NamespacedName, Sequence[str], str, bytes | None], ExecResult]

_POD = GroupVersionKind("", "v1", "Pod")
_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
_VERSION = "meta.k8s.io/v1"
_KIND = "PartialObjectMetadata"
_REMEDY = "give the fake an object of it, its class in `kinds`, or its CRD in `crds`"


class FakeApiServer:
    """An API server in memory: a :class:`~pykb.client.connection.Connection` for any number of clients.

    ::

        client = fake_client(kinds=[VirtulMachine])
        server = client.connection
        assert isinstance(server, FakeApiServer)
        await VirtulMachineReconciler(client).reconcile(Request("default", "gone"))
        assert {call.method for call in server.calls} == {"GET"}  # it wrote nothing

    A test of errors sets ``react``::

        def refuse(call: Call) -> None:
            if call.method == "POST":
                raise Forbidden(403, "Forbidden", "the quota is used up")

        client = fake_client(machine)
        server = client.connection
        assert isinstance(server, FakeApiServer)
        server.react = refuse
        with pytest.raises(Forbidden):
            await VirtulMachineReconciler(client).reconcile(Request("default", "vm"))
    """

    def __init__(
        self,
        *,
        kinds: Iterable[type[Object]] = (),
        crds: Iterable[Mapping[str, Any]] = (),
        filters_by_shard: bool = False,
    ) -> None:
        """Make an empty server, with the built-in kinds and the namespaces that every cluster has.

        Args:
            kinds: Classes to serve without a CRD. They are namespaced, and have no defaults and
                only their own validation.
            crds: CustomResourceDefinitions to serve, as manifests. They can also be created through
                a client.
            filters_by_shard: Honour a ``shardSelector``, as a server with the feature gate
                ``ShardedListAndWatch``. Others ignore it.
        """
        self._hold(Resources(), Storage(), filters_by_shard=filters_by_shard)
        self.calls: list[Call] = []
        """Every request so far."""
        self.react: Reactor | None = None
        """Called with each request before it is handled. An error that it raises is the answer."""
        self.exec_handler: ExecHandler | None = None
        """Called with each command that a client runs in a container: the pod's key, the command, the container's name
        (empty if the pod names none), and the input. Its result is the answer.

        ::

            def run(pod: NamespacedName, command: Sequence[str], container: str, stdin: bytes | None) -> ExecResult:
                return ExecResult(0 if command[0] == "pg_isready" else 127)

            server.exec_handler = run
        """
        self._logs = _Logs()
        self._seeds: list[dict[str, Any]] = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in _NAMESPACES
        ]
        for cls in kinds:
            self.resources.add_class(cls)
        for crd in crds:
            self.resources.add_definition(crd)
            self._seeds.append(dict(crd))

    def _hold(self, resources: Resources, storage: Storage, *, filters_by_shard: bool) -> None:
        self.resources = resources
        self.storage = storage
        self.versions = Versions()
        """Converts objects of kinds with several versions."""
        self._webhooks = Webhooks(resources, storage, self.versions)
        self._listing = Listing(storage, self.versions, filters_by_shard=filters_by_shard)
        self._writing = Writing(resources, storage, self.versions, self._webhooks)

    @property
    def filters_by_shard(self) -> bool:
        """Whether it honours a ``shardSelector``. A restarted server may do so no longer."""
        return self._listing.filters_by_shard

    @filters_by_shard.setter
    def filters_by_shard(self, filters: bool) -> None:
        self._listing.filters_by_shard = filters

    async def copy(self) -> FakeApiServer:
        """Make another server with the same kinds and objects. This is faster than to begin with CRDs again.

        It calls no webhooks.
        """
        await self._sow()
        other = FakeApiServer()
        other._hold(self.resources.copy(), self.storage.copy(), filters_by_shard=self.filters_by_shard)
        other._writing.rules = self._writing.rules
        other._writing.accepted = self._writing.accepted = self._writing.accepted or AcceptedWrites()
        other._seeds.clear()
        return other

    def seed(self, *objects: AnyObject) -> None:
        """Add initial objects, with their status and their namespaces."""
        for obj in objects:
            wire = to_wire(obj)
            namespace = namespace_of(obj)
            if namespace and not any(
                seed["kind"] == "Namespace" and seed["metadata"]["name"] == namespace for seed in self._seeds
            ):
                self._seeds.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            if self.resources.of_kind(gvk_of(obj)) is None and isinstance(obj, Object):
                self.resources.add_class(type(obj))
            self._seeds.append(wire)

    def use_rules(self, rules: RuleCheck) -> None:
        """Refuse custom objects that break rules.

        Args:
            rules: Gets the kind of a new or changed object, the object, and what it was before. It returns, for each
                rule that the object breaks, the path and what is wrong there: ``"object": it cannot be changed``.
        """
        self._writing.rules = rules
        self._writing.accepted = None

    def use_webhooks(
        self,
        server: WebhookServer | Sequence[WebhookServer],
        configurations: Iterable[Mapping[str, Any]] = (),
        *,
        check: ConditionCheck | None = None,
    ) -> None:
        """Call a manager's webhooks and converters, without a network. Those of another manager are no longer called.

        ::

            server = FakeApiServer(crds=crds)
            manager = Manager(client=Client(server, mapper=ResourceMapper(server)))
            register(manager)
            server.use_webhooks(manager.webhook_server, configurations)

        Args:
            server: The webhook server. It need not run. Several, as those of replicas, answer in turn.
            configurations: The webhook configurations: the manifests in ``config/webhook/manifests.yaml``.
            check: Evaluates their ``matchConditions``. It gets an expression and its variables, and raises
                ``ValueError`` if the evaluation fails. Without it, all conditions are met.
        """
        servers = server if isinstance(server, Sequence) else [server]
        turn = cycle(servers)

        async def ask(path: str, review: bytes) -> bytes:
            return await next(turn).ask(path, review)

        self._webhooks.use(configurations, ask, check)
        last = servers[-1]
        self.versions.convert = last.conversions.convert if last.converted else None

    def set_logs(self, pod: Key, text: str, *, container: str = "", previous: bool = False) -> None:
        r"""Set what a container has printed. Without this, it has printed nothing.

        ::

            client = fake_client(Pod(metadata=ObjectMeta(name="web", namespace="default")))
            server = client.connection
            assert isinstance(server, FakeApiServer)
            server.set_logs("default/web", "listening\n")
            assert await client.logs("default/web") == "listening\n"

        The server honours ``tail_lines`` and ``limit_bytes``, and ignores ``since`` and ``timestamps``. Lines that are
        followed end with the text.

        Args:
            pod: "namespace/name", or the pod.
            text: The text.
            container: Its name. Not needed if the pod has only one.
            previous: Whether the text is of the container before its last restart.
        """
        self._logs.texts[key_of(pod), container, previous] = text

    @property
    def warnings(self) -> list[str]:
        """The warnings of webhooks so far."""
        return self._webhooks.warnings

    @property
    def remade(self) -> Mapping[str, int]:
        """How often mutating webhooks changed the spec in updates that did not, by path."""
        return self._webhooks.remade

    async def request(self, call: Call) -> bytes:
        """Answer a request; see :class:`~pykb.client.connection.Connection`."""
        await self._arrive(call)
        answer = await self._answer(call)
        return orjson.dumps(_metadata_of(answer) if _wants_metadata(call) else answer)

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[AsyncIterator[bytes]]:
        """Answer a watch; see :class:`~pykb.client.connection.Connection`."""
        await self._arrive(call)
        resource, route = self._locate(call.path)
        if route.subresource == "log" and resource.gvk == _POD:
            yield self._logs.read(self._get(resource, route), dict(call.query))
            return
        lines = self._listing.watch(Request(resource, route, dict(call.query), None, ""))
        try:
            yield _metadata_lines(lines) if _wants_metadata(call) else lines
        finally:
            await lines.aclose()

    async def execute(self, call: Call, stdin: bytes | None, limit: int) -> ExecResult:
        """Ask :attr:`exec_handler`; see :class:`~pykb.client.connection.Connection`."""
        await self._arrive(call)
        resource, route = self._locate(call.path)
        pod = self._get(resource, route)
        container = _container_of(pod, dict(call.query).get("container", ""))
        if self.exec_handler is None:
            raise refuse(500, "InternalError", "no command can be run: a test sets `exec_handler` of the fake server")
        command = [value for name, value in call.query if name == "command"]
        result = self.exec_handler(NamespacedName(route.namespace, route.name), command, container, stdin)
        truncated = max(len(result.stdout), len(result.stderr)) > limit
        return replace(
            result,
            stdout=result.stdout[:limit],
            stderr=result.stderr[:limit],
            truncated=result.truncated or truncated,
        )

    async def close(self) -> None:
        """Do nothing: there are no connections."""

    async def _arrive(self, call: Call) -> None:
        await asyncio.sleep(0)  # yield, as a real request does, so that others may run in between
        await self._sow()
        self.calls.append(call)
        if self.react is not None:
            self.react(call)

    async def _sow(self) -> None:
        while self._seeds:
            await self._writing.seed(self._seeds.pop(0))

    async def _answer(self, call: Call) -> Any:
        if (document := self._discovery(call.path)) is not None:
            return document
        resource, route = self._locate(call.path)
        request = Request(resource, route, dict(call.query), _body(call), call.content_type)
        if route.subresource:
            return await self._answer_subresource(call, request)
        match call.method, bool(route.name):
            case "GET", False:
                return self._listing.list(request)
            case "POST", False:
                return await self._writing.create(request)
            case "DELETE", True:
                return await self._delete(request)
            case "DELETE", False:
                return await self._delete_collection(request)
        return await self._read_or_change(call, request)

    async def _answer_subresource(self, call: Call, request: Request) -> Any:
        resource, route = request.resource, request.route
        if route.subresource == "eviction" and resource.gvk.kind == "Pod" and call.method == "POST":
            # Disruption budgets are not supported.
            await self._writing.delete(replace(request, route=replace(route, subresource=""), body={}))
            return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
        if route.subresource not in resource.subresources:
            raise no_resource()
        if route.subresource == "scale":
            parent = self._get(resource, route)
            if call.method == "GET":
                return _read_scale(resource, parent)
            if call.method == "PUT":
                request = replace(request, content_type="")
            return await _write_scale(self._writing, request, parent)
        return await self._read_or_change(call, request)

    async def _read_or_change(self, call: Call, request: Request) -> Any:
        match call.method, bool(request.route.name):
            case "GET", True:
                return self._get(request.resource, request.route)
            case "PUT", True:
                return await self._writing.update(request)
            case "PATCH", True:
                return await self._writing.patch(request)
        raise refuse(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")

    async def _delete(self, request: Request) -> Any:
        answer = await self._writing.delete(request)
        if request.resource.gvk == CRD and "dryRun" not in request.body:
            storage_key = (answer["spec"]["group"], answer["spec"]["names"]["plural"])
            for found in list(self.storage.all(storage_key, "")):
                await self.storage.remove(storage_key, found)
            self.resources.remove_definition(answer)
        return answer

    async def _delete_collection(self, request: Request) -> Any:
        resource, route = request.resource, request.route
        for found in list(self._listing.select(request)):
            metadata = found["metadata"]
            each = replace(route, namespace=metadata.get("namespace", ""), name=metadata["name"])
            await self._delete(replace(request, route=each))
        return {"kind": f"{resource.gvk.kind}List", "apiVersion": resource.gvk.api_version, "items": []}

    def _get(self, resource: Resource, route: Route) -> dict[str, Any]:
        found = self.storage.get(resource.storage_key, (route.namespace, route.name))
        if found is None:
            raise resource.not_found(route.name)
        return self.versions.read(resource, found)

    def _locate(self, path: str) -> tuple[Resource, Route]:
        route = parse_path(path)
        found = None if route is None else self.resources.find(route.group_version, route.plural)
        if route is None or found is None or (route.namespace and not found.namespaced):
            raise no_resource()
        return found, route

    def _discovery(self, path: str) -> dict[str, Any] | None:
        parts = path.strip("/").split("/")
        match parts:
            case ["api"]:
                return self.resources.aggregated(core=True)
            case ["apis"]:
                return self.resources.aggregated(core=False)
            case ["api", version]:
                group_version = GroupVersion("", version)
            case ["apis", group, version]:
                group_version = GroupVersion(group, version)
            case _:
                return None
        document = self.resources.discovery(group_version)
        if document is None:
            raise no_resource()
        return document


def _body(call: Call) -> Any:
    return read_json(call.body) if call.body else {}


def _wants_metadata(call: Call) -> bool:
    """Whether the request asks for metadata only."""
    return call.method == "GET" and f"as={_KIND}" in call.accept


def _metadata_of(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Reduce an object, or a list of objects, to its metadata."""
    if "items" not in answer:
        return {"kind": _KIND, "apiVersion": _VERSION, "metadata": answer["metadata"]}
    items = [_metadata_of(item) for item in answer["items"]]
    return {"kind": f"{_KIND}List", "apiVersion": _VERSION, "metadata": answer["metadata"], "items": items}


async def _metadata_lines(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Reduce the objects in the lines of a watch to their metadata. Errors are unchanged."""
    async for line in lines:
        event = orjson.loads(line)
        if event["type"] != "ERROR":
            event["object"] = _metadata_of(event["object"])
        yield orjson.dumps(event)


def fake_client(
    *objects: AnyObject,
    kinds: Iterable[type[Object]] = (),
    crds: Path | Iterable[Mapping[str, Any]] = (),
) -> Client:
    """Make a client of an API server in memory that has these objects.

    ::

        client = fake_client(ConfigMap(metadata=ObjectMeta(name="a", namespace="default")))
        found = await client.get(ConfigMap, "default/a")

    Args:
        *objects: The initial objects, with their status. Their namespaces and kinds are added, too.
        kinds: Further classes to serve, without an initial object.
        crds: CustomResourceDefinitions: manifests, or the directory of a project
            (``config/crd/bases``). With them, defaults are set and values are validated as in a
            cluster.
    """
    manifests = _read(crds) if isinstance(crds, Path) else crds
    server = FakeApiServer(kinds=kinds, crds=manifests)
    server.seed(*objects)
    return Client(server, mapper=ResourceMapper(server, remedy=_REMEDY))


def _read(directory: Path) -> list[Mapping[str, Any]]:
    from pykb.reading import yaml_text

    documents: list[Mapping[str, Any]] = []
    for path in sorted(directory.glob("*.yaml")):
        documents += [document for document in yaml_text.load_all(path.read_bytes()) if document]
    return documents


class _Logs:
    """What the containers of pods have printed, as a test says."""

    def __init__(self) -> None:
        self.texts: dict[tuple[NamespacedName, str, bool], str] = {}
        """By the pod, the name of the container (empty for the only one), and whether it is the one before."""

    async def read(self, pod: Mapping[str, Any], parameters: Mapping[str, str]) -> AsyncGenerator[bytes]:
        """Yield what a container has printed."""
        metadata = pod["metadata"]
        container = _container_of(pod, parameters.get("container", ""))
        key = NamespacedName(metadata.get("namespace", ""), metadata["name"])
        previous = parameters.get("previous") == "true"
        text = self.texts.get((key, container, previous)) or self.texts.get((key, "", previous)) or ""
        if tail := parameters.get("tailLines"):
            lines = text.splitlines(keepends=True)
            text = "".join(lines[max(0, len(lines) - int(tail)) :])
        content = text.encode()
        if limit := parameters.get("limitBytes"):
            content = content[: int(limit)]
        yield content


def _container_of(pod: Mapping[str, Any], wanted: str) -> str:
    """The name of a container. Empty if the pod says nothing about its containers.

    Raises:
        BadRequest: There is none of this name, or there are several and none is named.
    """
    spec = pod.get("spec") or {}
    names = [each["name"] for each in spec.get("containers") or ()]
    others = [each["name"] for part in ("initContainers", "ephemeralContainers") for each in spec.get(part) or ()]
    if not wanted and len(names) > 1:
        raise bad_request(
            f"a container name must be specified for pod {pod['metadata']['name']}, choose one of: [{' '.join(names)}]"
        )
    if wanted and names and wanted not in (*names, *others):
        raise bad_request(f"container {wanted} is not valid for pod {pod['metadata']['name']}")
    return wanted or (names[0] if names else "")


def _read_scale(resource: Resource, parent: Mapping[str, Any]) -> dict[str, Any]:
    """The scale of an object."""
    metadata = parent["metadata"]
    shown = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: dict[str, Any] = {"replicas": _at(parent, resource.scale.status_replicas) or 0}
    selector = _at(parent, resource.scale.selector) if resource.scale.selector else None
    if isinstance(selector, Mapping):
        labels = selector.get("matchLabels", selector) or {}
        selector = ",".join(f"{name}={value}" for name, value in sorted(labels.items()))
    if selector:
        status["selector"] = selector
    replicas = _at(parent, resource.scale.replicas)
    if replicas is None and resource.gvk.group == "apps":
        replicas = 1  # by default
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in shown if name in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


async def _write_scale(writing: Writing, request: Request, parent: dict[str, Any]) -> dict[str, Any]:
    """Replace the scale (without a content type), patch or apply it."""
    resource, scale = request.resource, _read_scale(request.resource, parent)
    is_applied = request.content_type == APPLY_CONTENT_TYPE
    if is_applied or not request.content_type:
        scale = request.body
    elif isinstance(request.body, list):
        scale = json_patch(scale, request.body)
    else:
        scale = merge_patch(scale, request.body)
    version = scale["metadata"].get("resourceVersion")
    if version and version != parent["metadata"]["resourceVersion"]:
        raise resource.conflict(request.route.name, CHANGED)
    replicas: Any = (scale.get("spec") or {}).get("replicas", 0)
    if replicas < 0:
        raise _negative(resource, request.route.name, replicas)
    change: Any = replicas
    for step in reversed(resource.scale.replicas):
        change = {step: change}
    if is_applied:
        change |= {"apiVersion": resource.gvk.api_version, "kind": resource.gvk.kind, "metadata": {}}
    how = APPLY_CONTENT_TYPE if is_applied else "application/merge-patch+json"
    route = replace(request.route, subresource="")
    written = await writing.patch(replace(request, route=route, body=change, content_type=how, via="scale"))
    return _read_scale(resource, written)


def _negative(resource: Resource, name: str, replicas: int) -> ApiError:
    if resource.custom:
        path = "." + ".".join(resource.scale.replicas)
        causes = [cause(path, "FieldValueInvalid", f"Invalid value: {replicas}: should be a non-negative integer")]
        return resource.invalid(name, causes)
    message = f"Invalid value: {replicas}: must be greater than or equal to 0"
    return invalid("Scale", "autoscaling", name, [cause("spec.replicas", "FieldValueInvalid", message)])


def _at(obj: Mapping[str, Any], path: Sequence[str]) -> Any:
    value: Any = obj
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value
