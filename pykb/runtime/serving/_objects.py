"""Single objects of the API server, by path, as JSON. Needs no types and no discovery."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeAlias

import orjson

from pykb.runtime.client.client import Client
from pykb.runtime.client.connection import Call
from pykb.runtime.errors import NotFound

Wire: TypeAlias = dict[str, Any]

_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


class Objects:
    """Reads and changes objects in the name of one field manager."""

    def __init__(self, client: Client, field_manager: str) -> None:
        self._connection = client.connection
        self._impersonate = client.options.impersonate
        self._query = (("fieldManager", field_manager),)
        self.date: datetime | None = None
        """The API server's time in its last answer."""

    async def find(self, path: str) -> Wire | None:
        """An object, or ``None`` if it does not exist."""
        return await self._get(path, "application/json")

    async def version(self, path: str) -> str | None:
        """The version of an object, which may be large, or ``None`` if it does not exist."""
        found = await self._get(path, _METADATA)
        return None if found is None else str(found["metadata"]["resourceVersion"])

    async def apply(self, path: str, wanted: Wire) -> Wire:
        """Apply an object: create it, or set the given fields. With ``resourceVersion``, only that version."""
        return await self._patch(path, wanted, "application/apply-patch+yaml", (("force", "true"),))

    async def change(self, path: str, operations: Sequence[Mapping[str, Any]]) -> Wire:
        """Change an object by a JSON patch."""
        return await self._patch(path, operations, "application/json-patch+json")

    async def _get(self, path: str, accept: str) -> Wire | None:
        call = Call("GET", path, accept=accept, repeatable=True, impersonate=self._impersonate, on_date=self._take_date)
        try:
            found: Wire = orjson.loads(await self._connection.request(call))
        except NotFound:
            return None
        return found

    def _take_date(self, text: str) -> None:
        with contextlib.suppress(ValueError):
            self.date = parsedate_to_datetime(text).replace(tzinfo=UTC)  # RFC 9110, 5.6.7: it is GMT

    async def _patch(self, path: str, body: object, kind: str, query: tuple[tuple[str, str], ...] = ()) -> Wire:
        call = Call(
            "PATCH",
            path,
            query=(*self._query, *query),
            body=orjson.dumps(body),
            content_type=kind,
            impersonate=self._impersonate,
        )
        changed: Wire = orjson.loads(await self._connection.request(call))
        return changed
