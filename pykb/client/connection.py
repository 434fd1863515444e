"""The interfaces that a client needs: a connection to an API server, and reads from a cache.

:mod:`~pykb.client.transport` implements the connection with requests and streams. The
in-memory API server of :mod:`pykb.fake` implements it too. All code above this interface is
the same in production and in tests.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
from typing import Any, Literal, Protocol
from urllib.parse import unquote

from pykb.client.login.credentials import Impersonation
from pykb.meta.gvk import GroupVersion, GroupVersionKind, NamespacedName

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request to an API server.

    Attributes:
        method: The verb.
        path: The path, percent-encoded, from the first slash.
        query: The query, in order.
        body: JSON bytes.
        content_type: The media type of the body.
        accept: The accepted media types of the answer.
        repeatable: Whether the request is idempotent. It is then repeated when the answer is lost.
        timeout: How long to wait for the whole answer. Defaults to the transport's limit.
        impersonate: The user to act as. Defaults to the user of the credentials.
        on_date: Called with the header ``Date`` of the answer, the server's time.
        chunks: Whether a stream yields the answer in parts as they arrive, instead of lines. It may be silent for ever.
    """

    method: Method
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = field(default=None, repr=False)
    content_type: str = "application/json"
    accept: str = "application/json"
    repeatable: bool = False
    timeout: timedelta | None = None
    impersonate: Impersonation | None = None
    on_date: Callable[[str], None] | None = None
    chunks: bool = False


DRY_RUN = ("dryRun", "All")
"""The part of a query by which a write stores nothing."""


def is_dry_run(call: Call) -> bool:
    """Whether the server stores nothing. Deletions say it in their body."""
    return DRY_RUN in call.query or (call.method == "DELETE" and b'"dryRun"' in (call.body or b""))


OWNER_INDEX = "metadata.ownerReferences.uid"
"""Name of the index by the uids of owners. Every cache has it."""


@dataclass(frozen=True, slots=True)
class ExecResult:
    """How a command in a container has ended.

    ::

        result = await client.exec("default/db-0", ["pg_isready"], container="db")
        if result.exit_code:
            print(result.stderr.decode(errors="replace"))

    Attributes:
        exit_code: 0 for success.
        stdout: What it has printed, up to the limit.
        stderr: What it has printed there, up to the limit.
        truncated: Whether it has printed more than the limit.
    """

    exit_code: int
    stdout: bytes = b""
    stderr: bytes = b""
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Route:
    """A resource path (https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris)."""

    group_version: GroupVersion
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


@lru_cache(maxsize=1024)
def parse_path(path: str) -> Route | None:
    """Parse a path. ``None`` if it is not the path of a resource."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    match parts:
        case ["api", version, *rest]:
            group_version = GroupVersion("", version)
        case ["apis", group, version, *rest]:
            group_version = GroupVersion(group, version)
        case _:
            return None
    namespace = ""
    if len(rest) >= 3 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    match rest:
        case [plural]:
            return Route(group_version, plural, namespace)
        case [plural, name]:
            return Route(group_version, plural, namespace, name)
        case [plural, name, subresource]:
            return Route(group_version, plural, namespace, name, subresource)
    return None


class Connection(Protocol):
    """A way to an API server."""

    async def request(self, call: Call) -> bytes:
        """Send a request and return the body of the answer.

        Raises:
            ApiError: The server refused.
            ServerUnreachable: There was no answer.
        """

    def stream(self, call: Call) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Send a request and yield the lines of the answer as they arrive, until the server ends it.

        If the call has ``chunks``, its parts are yielded instead.

        Raises:
            ApiError: The server refused.
            ServerUnreachable: There was no answer, or the stream broke.
        """

    async def execute(self, call: Call, stdin: bytes | None, limit: int) -> ExecResult:
        """Run a command in a container, and wait until it has ended.

        Args:
            call: A ``GET`` of the subresource ``exec``.
            stdin: What the command reads, if it reads.
            limit: How many bytes to keep of each output.

        Raises:
            ApiError: The server refused, or the command could not be run.
            ServerUnreachable: There was no answer, or the connection broke.
        """

    async def close(self) -> None:
        """Close every connection."""


class NotMirrored(LookupError):  # noqa: N818 - no error: the caller asks the server
    """The cache has a part of the objects of a kind, and not this one."""


class CacheReader(Protocol):
    """Reads objects of watched kinds without a request."""

    def has(self, gvk: GroupVersionKind, namespace: str | None = None) -> bool:
        """Whether this kind is watched (in this namespace). Its reads are then answered from memory."""

    async def get(self, gvk: GroupVersionKind, namespace: str, name: str) -> dict[str, Any] | None:
        """Return one object, or ``None``. Waits until the first list of the kind is complete.

        Raises:
            CacheSyncTimeout: The first list did not arrive in time.
            NotMirrored: Only the server knows whether the object exists.
        """

    def when_seen(
        self, gvk: GroupVersionKind, key: NamespacedName, version: str, *, is_gone: bool = False
    ) -> asyncio.Future[None] | None:
        """Return a future that is done when the mirror has an object at this version or a later one.

        ``None`` if it has it already, or if it may never have it. ``is_gone`` awaits its removal, after this version.
        """

    def when_deleted(
        self, gvk: GroupVersionKind, key: NamespacedName, uid: str, version: str
    ) -> asyncio.Future[None] | None:
        """Return a future that is done when the mirror has the deletion of the object with this uid.

        That is its removal, or this version if it stays for a while. ``None`` if the mirror does not have the object.
        """

    async def list(
        self,
        gvk: GroupVersionKind,
        *,
        namespace: str | None = None,
        labels: str | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> list[dict[str, Any]]:
        """Return the matching objects, sorted by namespace and name.

        Args:
            gvk: The kind.
            namespace: Only objects in this namespace. ``None`` means all.
            labels: A label selector in Kubernetes' syntax (``app=web,tier!=db``).
            fields: Values by the name of an index (``add_index``) or ``metadata.name`` /
                ``metadata.namespace``. All must match exactly.

        Raises:
            CacheSyncTimeout: The first list did not arrive in time.
            KeyError: A field has no index.
        """
