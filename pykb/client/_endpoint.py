"""Finds the path of an object, encodes the body, and sends one request for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson

from pykb.client.codec import AnyObject, Kind, UnreadableObjects, gvk_of, resource_of
from pykb.client.connection import DRY_RUN, Call, Connection, Method, Route, is_dry_run, parse_path
from pykb.client.errors import Conflict, NotFound
from pykb.client.json_text import Page, encode, read_object, writable
from pykb.client.mapper import ResourceMapper, ResourceMapping
from pykb.client.options import ClientOptions
from pykb.client.task import current_witness
from pykb.meta.gvk import GroupVersionKind, NamespacedName

if TYPE_CHECKING:
    from pykb.client.connection import CacheReader

Query = tuple[tuple[str, str], ...]

_PLAIN = re.compile("[A-Za-z0-9._-]+")  # nothing in it needs quoting


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The path of a collection, an object or a subresource, and the kind that is served there."""

    gvk: GroupVersionKind
    path: str


@dataclass(slots=True, eq=False)
class Exchange:
    """Turns kinds and names into requests. Shared by the reading and the writing half of a client."""

    connection: Connection
    mapper: ResourceMapper
    options: ClientOptions
    unreadable: UnreadableObjects
    cache: CacheReader | None = None

    async def endpoint(
        self, what: Kind | AnyObject, *, namespace: str = "", name: str = "", subresource: str = ""
    ) -> Endpoint:
        """Return where an object is served. Without a name, where the collection is served.

        Raises:
            NoKindMatch: The server does not serve the kind.
            ValueError: The namespace is missing, the client is restricted to another one, or the
                name is a path.
        """
        gvk = gvk_of(what)
        mapping = await self.mapping(what)
        path = gvk.group_version.path
        if mapping.namespaced:
            namespace = self.effective_namespace(namespace)
            if name and not namespace:
                message = f"`{gvk.kind}` is namespaced: give the namespace of `{name}`"
                raise ValueError(f'{message}, as "namespace/{name}" or with `namespace=`')
            if namespace:
                path += f"/namespaces/{_segment(namespace)}"
        path += f"/{mapping.plural}"
        if name:
            path += f"/{_segment(name)}"
        if subresource:
            path += f"/{subresource}"
        return Endpoint(gvk, path)

    async def mapping(self, what: Kind | AnyObject) -> ResourceMapping:
        """Return where its kind is served."""
        gvk = gvk_of(what)
        return self.mapper.known(gvk) or await self.mapper.mapping(gvk, static=resource_of(what))

    def effective_namespace(self, namespace: str) -> str:
        """Return the namespace to use for a namespaced kind.

        Raises:
            ValueError: The client is restricted to another namespace.
        """
        own = self.options.namespace
        if own and namespace and namespace != own:
            raise ValueError(f"this client is restricted to namespace `{own}`, found `{namespace}`")
        return namespace or own

    async def send(
        self,
        method: Method,
        endpoint: Endpoint,
        *,
        query: Query = (),
        body: Mapping[str, Any] | bytes | None = None,
        content_type: str = "application/json",
        repeatable: bool = False,
        read_at: str = "",
    ) -> dict[str, Any]:
        """Send a request and return the object in the answer. ``read_at`` is the version that a write starts from.

        Raises:
            ApiError: The server refused.
            ServerUnreachable: There was no answer.
            ValueError: The body has a value without a JSON form.
        """
        content = body if body is None or isinstance(body, bytes) else encode(body)
        call = Call(
            method,
            endpoint.path,
            query=query,
            body=content,
            content_type=content_type,
            repeatable=repeatable,
            impersonate=self.options.impersonate,
        )
        witness = current_witness.get()
        if witness is None or not witness.wants_requests:
            return await self._send(call, endpoint, read_at)
        return await witness.sent(self._send(call, endpoint, read_at), call, endpoint.gvk, self.cache)

    async def _send(self, call: Call, endpoint: Endpoint, read_at: str) -> dict[str, Any]:
        witness = current_witness.get()
        try:
            answer = _read(await self.connection.request(call), call)
        except NotFound as error:
            if not error.details.name:
                # The resource is missing, not the object: its CRD was deleted and may come back
                # changed.
                self.mapper.forget(endpoint.gvk)
            raise
        except Conflict as error:
            route = parse_path(call.path)
            if witness is not None and route is not None and _has_changed(error, route, endpoint.gvk.kind):
                witness.conflicted(self.cache, endpoint.gvk, NamespacedName(route.namespace, route.name), read_at)
            raise
        if witness is not None and call.method != "GET" and not is_dry_run(call):
            if call.method != "DELETE":
                witness.stored(self.cache, endpoint.gvk, answer, call.query)
            elif (route := parse_path(call.path)) is not None and route.name:
                witness.deleted(self.cache, endpoint.gvk, NamespacedName(route.namespace, route.name), answer)
        return answer

    def write_query(self, *, field_manager: str | None = None, dry_run: bool = False) -> Query:
        """The query of a create, update, patch or apply."""
        pairs = [("fieldManager", field_manager or self.options.field_manager)]
        if dry_run or self.options.dry_run:
            pairs.append(DRY_RUN)
        if self.options.field_validation:
            pairs.append(("fieldValidation", self.options.field_validation))
        return tuple(pairs)


def _has_changed(error: Conflict, route: Route, kind: str) -> bool:
    """Whether a conflict is about the version of the object, not about the owner of a field or a quota.

    The API server names the resource if an update conflicts, and the kind if a deletion does.
    """
    is_named = error.details.name == route.name and error.details.kind in (route.plural, kind)
    return is_named and not error.causes


@lru_cache(maxsize=4096)  # a reconciler names its object at each write
def _segment(name: str) -> str:
    if name in (".", "..") or "/" in name or "%" in name:
        raise ValueError(f"`{name}` is not a valid name: a name is not `.` or `..` and has neither `/` nor `%`")
    return name if _PLAIN.fullmatch(name) else quote(name, safe="")


def _read(content: bytes, call: Call) -> dict[str, Any]:
    """Read an answer. Objects in it that are nested too deeply are marked."""
    try:
        answer: dict[str, Any] = orjson.loads(content)
    except orjson.JSONDecodeError:
        route = parse_path(call.path)
        if route is None or route.name or call.method not in ("GET", "DELETE"):
            return read_object(content)
        page = Page(content)
        return {"items": list(map(writable, page.items())), "metadata": page.metadata}
    return answer
