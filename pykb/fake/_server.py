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
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from pykb.api.object import Object
from pykb.client.client import Client
from pykb.client.codec import AnyObject, Key, gvk_of, key_of, namespace_of, to_wire
from pykb.client.connection import Call, ExecResult, Route, parse_path
from pykb.client.mapper import ResourceMapper
from pykb.fake._http import (
    Parameters,
    no_resource,
    not_found,
    read_json,
    refuse,
)
from pykb.fake._known import Known
from pykb.fake._resources import CRD, Resource, Resources, Versions
from pykb.fake._storage import Listing, Storage
from pykb.fake._subresources import POD, Logs, container_of, evict, read_scale, write_scale
from pykb.fake._webhooks import ConditionCheck, Webhooks
from pykb.fake._writing import RuleCheck, Writing
from pykb.meta.gvk import GroupVersion, NamespacedName

if TYPE_CHECKING:
    from pykb.webhook.server import WebhookServer

Reactor = Callable[[Call], None]
ExecHandler = Callable[[NamespacedName, Sequence[str], str, bytes | None], ExecResult]

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
        self._filters_by_shard = filters_by_shard
        self._hold(Resources(), Storage())
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
        self._logs = Logs()
        self._seeds: list[dict[str, Any]] = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in _NAMESPACES
        ]
        for cls in kinds:
            self.resources.add_class(cls)
        for crd in crds:
            self.resources.add_definition(crd)
            self._seeds.append(dict(crd))

    def _hold(self, resources: Resources, storage: Storage) -> None:
        self.resources = resources
        self.storage = storage
        self.versions = Versions()
        """Converts objects of kinds with several versions."""
        self._webhooks = Webhooks(resources, storage, self.versions)
        self._listing = Listing(resources, storage, self.versions, filters_by_shard=self._filters_by_shard)
        self._writing = Writing(resources, storage, self.versions, self._webhooks)

    async def copy(self) -> FakeApiServer:
        """Make another server with the same kinds and objects. This is faster than to begin with CRDs again.

        It calls no webhooks.
        """
        await self._sow()
        other = FakeApiServer(filters_by_shard=self._filters_by_shard)
        other._hold(self.resources.copy(), self.storage.copy())
        other._writing.rules = self._writing.rules
        other._writing.known = self._writing.known = self._writing.known or Known()
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
        self._writing.known = None

    def use_webhooks(
        self,
        server: WebhookServer,
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
            server: The webhook server. It need not run.
            configurations: The webhook configurations: the manifests in ``config/webhook/manifests.yaml``.
            check: Evaluates their ``matchConditions``. It gets an expression and its variables, and raises
                ``ValueError`` if the evaluation fails. Without it, all conditions are met.
        """
        self._webhooks.use(configurations, server.ask, check)
        self.versions.convert = server.conversions.convert if server.converted else None

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
        if route.subresource == "log" and resource.gvk == POD:
            yield self._logs.read(self._get(resource, route), Parameters.of(call))
            return
        lines: AsyncGenerator[bytes] = self._listing.watch(resource, route.namespace, Parameters.of(call))
        try:
            yield _metadata_lines(lines) if _wants_metadata(call) else lines
        finally:
            await lines.aclose()

    async def execute(self, call: Call, stdin: bytes | None, limit: int) -> ExecResult:
        """Ask :attr:`exec_handler`; see :class:`~pykb.client.connection.Connection`."""
        await self._arrive(call)
        resource, route = self._locate(call.path)
        pod = self._get(resource, route)
        container = container_of(pod, Parameters.of(call).get("container"))
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
        parameters = Parameters.of(call)
        if route.subresource:
            return await self._answer_subresource(call, resource, route, parameters)
        match call.method, bool(route.name):
            case "GET", True:
                return self._get(resource, route)
            case "GET", False:
                return self._listing.list(resource, route.namespace, parameters)
            case "POST", False:
                return await self._writing.create(resource, route, parameters, _body(call))
            case "PUT", True:
                return await self._writing.update(resource, route, parameters, _body(call))
            case "PATCH", True:
                return await self._writing.patch(resource, route, parameters, _body(call), call.content_type)
            case "DELETE", True:
                return await self._delete(resource, route, _body(call))
            case "DELETE", False:
                return await self._delete_collection(call, resource, route, parameters)
        raise refuse(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")

    async def _answer_subresource(self, call: Call, resource: Resource, route: Route, parameters: Parameters) -> Any:
        if route.subresource == "eviction" and resource.gvk.kind == "Pod" and call.method == "POST":
            return await evict(self._writing, resource, route)
        if route.subresource not in resource.subresources:
            raise no_resource()
        if route.subresource == "scale":
            parent = self._get(resource, route)
            if call.method == "GET":
                return read_scale(resource, parent)
            patch = None if call.method == "PUT" else call.content_type
            return await write_scale(self._writing, resource, parent, parameters, _body(call), patch)
        match call.method:
            case "GET":
                return self._get(resource, route)
            case "PUT":
                return await self._writing.update(resource, route, parameters, _body(call))
            case "PATCH":
                return await self._writing.patch(resource, route, parameters, _body(call), call.content_type)
        raise refuse(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")

    async def _delete(self, resource: Resource, route: Route, options: dict[str, Any]) -> Any:
        answer = await self._writing.delete(resource, route, options)
        if resource.gvk == CRD and "dryRun" not in options:
            storage_key = (answer["spec"]["group"], answer["spec"]["names"]["plural"])
            for found in list(self.storage.all(storage_key, "")):
                await self.storage.remove(storage_key, found)
            self.resources.remove_definition(answer)
        return answer

    async def _delete_collection(self, call: Call, resource: Resource, route: Route, parameters: Parameters) -> Any:
        options = _body(call)
        for found in list(self._listing.select(resource, route.namespace, parameters)):
            metadata = found["metadata"]
            each = Route(route.group_version, route.plural, metadata.get("namespace", ""), metadata["name"])
            await self._delete(resource, each, options)
        return {"kind": f"{resource.gvk.kind}List", "apiVersion": resource.gvk.api_version, "items": []}

    def _get(self, resource: Resource, route: Route) -> dict[str, Any]:
        found = self.storage.get(resource.storage_key, (route.namespace, route.name))
        if found is None:
            raise not_found(resource.plural, resource.gvk.group, route.name)
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
