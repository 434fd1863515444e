"""The objects and their history, with one version counter for all of them; lists, pages and watches."""

from __future__ import annotations

import asyncio
import base64
import re
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import orjson

from pykb.client.errors import ApiError
from pykb.client.ranges import hash_of
from pykb.client.selectors import FieldSelector, LabelSelector
from pykb.fake._http import bad_request, cause, invalid, refuse, status_body
from pykb.fake._resources import Request, Resource
from pykb.fake._versions import Versions

StorageKey = tuple[str, str]
"""Group and plural."""
ObjectKey = tuple[str, str]
"""Namespace and name."""

_REMEMBERED = 10_000
Matches = Callable[[Mapping[str, Any]], bool]

_SHARD = re.compile(r"shardRange\(object\.metadata\.(uid|namespace), '(0x[0-9a-f]{16,17})', '(0x[0-9a-f]{16,17})'\)")
_TOO_OLD = "too old resource version"


@dataclass(frozen=True, slots=True)
class Change:
    """One write. ``before`` and ``after`` are JSON. One of them is ``None`` for a creation or a deletion."""

    version: int
    storage: StorageKey
    namespace: str
    name: str
    api_version: str
    kind: str
    before: bytes | None
    after: bytes | None


class Storage:
    """Stores objects as JSON, so that callers cannot change them.

    ``version`` grows with each write. Each object has the version of its last write.
    """

    def __init__(self) -> None:
        self.version = 1
        self.observers: list[Callable[[Change], None]] = []
        """Called at each change, in the context of its request."""
        self._objects: dict[StorageKey, dict[ObjectKey, bytes]] = {}
        self._history: deque[Change] = deque(maxlen=_REMEMBERED)
        self._forgotten = 0
        self._followers: dict[StorageKey, dict[asyncio.Future[int], None]] = {}
        self.watches_sleep = False
        """Whether watches learn of no change, as when the network loses what they are sent."""

    def copy(self) -> Storage:
        """The same objects at the same version, without the history and the observers."""
        other = Storage()
        other.version = other._forgotten = self.version
        other._objects = {storage: dict(objects) for storage, objects in self._objects.items()}
        return other

    def get(self, storage: StorageKey, key: ObjectKey) -> dict[str, Any] | None:
        """A copy of an object."""
        found = self._objects.get(storage, {}).get(key)
        return None if found is None else orjson.loads(found)

    def all(self, storage: StorageKey, namespace: str, version: int | None = None) -> Iterator[dict[str, Any]]:
        """Copies of the objects in a namespace (in all if empty), sorted by namespace and name.

        They are those of now, or of an earlier version that is still in the history.
        """
        objects = dict(self._objects.get(storage, {}))
        for change in reversed(self._since(version) if version is not None else ()):
            if change.storage == storage and change.before is None:
                objects.pop((change.namespace, change.name), None)
            elif change.storage == storage and change.before is not None:
                objects[change.namespace, change.name] = change.before
        for (inside, _), found in sorted(objects.items()):
            if not namespace or inside == namespace:
                yield orjson.loads(found)

    def everything(self) -> Iterator[bytes]:
        """All objects as JSON, sorted by group, plural, namespace and name."""
        for storage in sorted(self._objects):
            yield from (found for _, found in sorted(self._objects[storage].items()))

    async def put(self, storage: StorageKey, obj: dict[str, Any]) -> dict[str, Any]:
        """Store an object with the next version. Return the stored object."""
        self.version += 1
        obj["metadata"]["resourceVersion"] = str(self.version)
        key = (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        objects = self._objects.setdefault(storage, {})
        before, after = objects.get(key), orjson.dumps(obj)
        objects[key] = after
        await self._tell(Change(self.version, storage, *key, obj["apiVersion"], obj["kind"], before, after))
        return obj

    async def remove(self, storage: StorageKey, obj: dict[str, Any]) -> dict[str, Any]:
        """Remove an object. Return its last state, with the version of its removal."""
        key = (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        self.version += 1
        del self._objects[storage][key]
        obj["metadata"]["resourceVersion"] = str(self.version)
        before = orjson.dumps(obj)
        await self._tell(Change(self.version, storage, *key, obj["apiVersion"], obj["kind"], before, None))
        return obj

    def compact(self, *, at_once: bool = False) -> None:
        """Drop the history, like etcd's compaction. Older watches and continue tokens expire.

        Args:
            at_once: Whether a watch expires now, not with the next change of its objects.
        """
        self._history.clear()
        self._forgotten = self.version
        for storage in tuple(self._followers) if at_once else ():
            self._wake(storage, 0)

    def is_forgotten(self, version: int) -> bool:
        """Whether the history no longer has the changes since a version."""
        oldest = self._history[0].version - 1 if len(self._history) == _REMEMBERED else self._forgotten
        return version < oldest

    async def follow(self, storage: StorageKey, since: int) -> AsyncGenerator[Change]:
        """Yield the changes after a version, without end. It stops if the history has lost a change not yet yielded."""
        while not self.is_forgotten(since):
            newest = self.version
            for change in self._since(since):
                if change.storage == storage:
                    yield change
            since = max(since, newest)
            if self.version <= since:
                since = max(since, await self._news(storage))

    async def _news(self, storage: StorageKey) -> int:
        """Wait for a change of these objects. Return the version before it."""
        news: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._followers.setdefault(storage, {})[news] = None
        try:
            return await news
        finally:
            self._followers.get(storage, {}).pop(news, None)

    def _since(self, version: int) -> list[Change]:
        """The changes after a version, oldest first."""
        return list(takewhile(lambda change: change.version > version, reversed(self._history)))[::-1]

    async def _tell(self, change: Change) -> None:
        self._history.append(change)
        for observer in self.observers:
            observer(change)
        if not self.watches_sleep:
            self._wake(change.storage, change.version - 1)

    def _wake(self, storage: StorageKey, version: int) -> None:
        """Let the watches of these objects look for changes after a version, or after what they have seen."""
        for news in self._followers.pop(storage, {}):
            if not news.done():
                news.set_result(version)


class Listing:
    """Reads collections."""

    def __init__(self, storage: Storage, versions: Versions, *, filters_by_shard: bool = False) -> None:
        self._storage = storage
        self._versions = versions
        self.filters_by_shard = filters_by_shard

    def select(self, request: Request, *, version: int | None = None) -> Iterator[dict[str, Any]]:
        """Return the objects that match the selectors, now or at an earlier version."""
        matches = self._matcher(request)
        for found in self._storage.all(request.resource.storage_key, request.route.namespace, version):
            obj = self._versions.read(request.resource, found)
            if matches is None or matches(obj):
                yield obj

    def list(self, request: Request) -> dict[str, Any]:
        """Return a list or a page of one."""
        parameters, gvk = request.parameters, request.resource.gvk
        version, start = str(self._storage.version), None
        token = parameters.get("continue")
        wanted = _version(parameters)
        exact = parameters.get("resourceVersionMatch") == "Exact"
        if token:
            if wanted:
                raise bad_request("specifying resource version is not allowed when using continue")
            version, start = self._read_token(token)
        if wanted > self._storage.version:
            raise refuse(504, "Timeout", "Too large resource version")
        if exact:
            version = str(self._exactly(wanted))
        # All pages of a list show the same moment. Changes between the pages are not visible.
        selected = self.select(request, version=int(version) if token or exact else None)
        found = [obj for obj in selected if start is None or _place(obj) >= start]
        metadata: dict[str, Any] = {"resourceVersion": version}
        limit = int(parameters.get("limit") or 0)
        if limit and len(found) > limit:
            rest = found[limit]
            metadata["continue"] = base64.b64encode(orjson.dumps([version, *_place(rest)])).decode()
            if not parameters.get("labelSelector") and not parameters.get("fieldSelector"):
                metadata["remainingItemCount"] = len(found) - limit
            found = found[:limit]
        return {"kind": f"{gvk.kind}List", "apiVersion": gvk.api_version, "metadata": metadata, "items": found}

    async def watch(self, request: Request) -> AsyncGenerator[bytes]:
        """Yield the lines of a watch."""
        resource, parameters = request.resource, request.parameters
        matches = self._matcher(request)
        since = str(_version(parameters))
        if since == "0":
            since = str(self._storage.version)
            for obj in self.select(request):
                yield _line("ADDED", obj)
        seconds = float(parameters.get("timeoutSeconds") or 300)
        try:
            async with (
                asyncio.timeout(seconds),
                aclosing(self._storage.follow(resource.storage_key, int(since))) as news,
            ):
                async for change in news:
                    if line := self._event(change, request, matches):
                        yield line
            yield _line("ERROR", status_body(410, "Expired", f"{_TOO_OLD}: {since} ({self._storage.version})"))
        except TimeoutError:
            if parameters.get("allowWatchBookmarks") == "true":
                bookmark = {"metadata": {"resourceVersion": str(self._storage.version)}}
                identity = {"kind": resource.gvk.kind, "apiVersion": resource.gvk.api_version}
                yield _line("BOOKMARK", {**identity, **bookmark})

    def _exactly(self, version: int) -> int:
        if not version:
            why = 'resourceVersionMatch "Exact" is forbidden for resourceVersion "0"'
            causes = [cause("resourceVersionMatch", "FieldValueForbidden", f"Forbidden: {why}")]
            raise invalid("ListOptions", "meta.k8s.io", "", causes)
        if self._storage.is_forgotten(version):
            raise refuse(410, "Expired", f"The resourceVersion for the provided list is too old: {version}")
        return version

    def _event(self, change: Change, request: Request, matches: Matches | None) -> bytes | None:
        """The line for a change. An object that starts or stops matching is reported as added or deleted."""
        resource = request.resource
        if request.route.namespace not in ("", change.namespace):
            return None
        if matches is None and change.api_version == resource.gvk.api_version:
            return _same_line(change)
        before = orjson.loads(change.before) if change.before else None
        after = orjson.loads(change.after) if change.after else None
        try:
            before, after = (each and self._versions.read(resource, each) for each in (before, after))
        except ApiError as error:
            return _line("ERROR", status_body(error.status, error.reason, error.message))
        was, is_now = (each is not None and (matches is None or matches(each)) for each in (before, after))
        if is_now and after is not None:
            return _line("MODIFIED" if was else "ADDED", after)
        if was and before is not None:
            before["metadata"]["resourceVersion"] = str(change.version)
            return _line("DELETED", before)
        return None

    def _matcher(self, request: Request) -> Matches | None:
        matches = _selected(request.resource, request.parameters)
        selector = request.parameters.get("shardSelector")
        if not selector or not self.filters_by_shard:
            return matches
        is_in = _shard(selector)
        return is_in if matches is None else lambda obj: matches(obj) and is_in(obj)

    def _read_token(self, token: str) -> tuple[str, tuple[str, str]]:
        try:
            version, namespace, name = orjson.loads(base64.b64decode(token, validate=True))
        except ValueError as error:
            raise bad_request("continue key is not valid") from error
        if self._storage.is_forgotten(int(version)):
            message = "The provided continue parameter is too old to display a consistent list result."
            raise refuse(410, "Expired", message)
        return version, (namespace, name)


def _place(obj: Mapping[str, Any]) -> tuple[str, str]:
    return (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])


def _selected(resource: Resource, parameters: Mapping[str, str]) -> Matches | None:
    """The selectors of a request; ``None`` without any."""
    if not parameters.get("labelSelector") and not parameters.get("fieldSelector"):
        return None
    try:
        labels = LabelSelector.parse(parameters.get("labelSelector", ""))
        fields = FieldSelector.parse(parameters.get("fieldSelector", ""))
    except ValueError as error:
        raise bad_request(f"unable to parse requirement: {error}") from error
    known = ("metadata.name", "metadata.namespace", *resource.selectable)
    for requirement in fields.requirements:
        if requirement.path not in known:
            raise bad_request(_unknown_field(resource, requirement.path))

    def matches(obj: Mapping[str, Any]) -> bool:
        return labels.matches(obj["metadata"].get("labels")) and fields.matches(obj)

    return matches


def _shard(selector: str) -> Matches:
    match = _SHARD.fullmatch(selector)
    if not match:
        raise bad_request(f"invalid shard selector: {selector}")
    field, start, end = match[1], int(match[2], 16), int(match[3], 16)
    return lambda obj: start <= hash_of(obj["metadata"].get(field, "")) < end


def _version(parameters: Mapping[str, str]) -> int:
    text = parameters.get("resourceVersion") or "0"
    if not text.isdecimal():
        why = f'strconv.ParseUint: parsing "{text}": invalid syntax'
        raise bad_request(f'invalid resource version: resourceVersion: Invalid value: "{text}": {why}')
    return int(text)


def _unknown_field(resource: Resource, path: str) -> str:
    if resource.selectable:
        return f"field label not supported: {path}"
    return f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"'


def _same_line(change: Change) -> bytes:
    """The line for a change of an object that is read as it is stored."""
    kind = b"DELETED" if change.after is None else b"ADDED" if change.before is None else b"MODIFIED"
    return b'{"type":"%b","object":%b}' % (kind, change.after or change.before or b"")


def _line(kind: str, obj: Mapping[str, Any]) -> bytes:
    return orjson.dumps({"type": kind, "object": obj})
