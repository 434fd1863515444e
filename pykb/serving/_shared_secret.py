"""The Secret in which all replicas of a manager find the same certificate."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import orjson

from pykb.client.client import Client
from pykb.client.connection import Call
from pykb.client.errors import Conflict, NotFound
from pykb.serving.options import ManagedCertificateOptions

if TYPE_CHECKING:
    from pykb.serving._authority import Review

logger = logging.getLogger(__name__)
Wire: TypeAlias = dict[str, Any]

_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

AUTHORITIES = "ca.crt"
_KEYS = (AUTHORITIES, "ca.key", "tls.crt", "tls.key")
_REVIEWED = "pykb.dev/reviewed"
"""The annotation of the Secret with the time in which nothing is due, and a digest of what was reviewed. A manager that
starts and finds it needs no review, which takes a fifth of the CPU time of its start."""
_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, with the authorities that clients must trust; all in PEM."""

    certificate: bytes
    key: bytes
    authorities: bytes


@dataclass(frozen=True, slots=True)
class Held:
    """What the Secret has, and the time in which nothing is due."""

    material: dict[str, str]
    since: datetime
    until: datetime

    @property
    def pair(self) -> Pair:
        """The part that a server needs."""
        certificate, key, authorities = (self.material[key].encode() for key in ("tls.crt", "tls.key", AUTHORITIES))
        return Pair(certificate, key, authorities)


@dataclass(slots=True, eq=False)
class SharedSecret:
    """Reads the Secret, and writes it when something is missing or due."""

    objects: Objects
    options: ManagedCertificateOptions
    namespace: str
    now: Callable[[datetime | None], datetime]
    _held: Held | None = None

    @property
    def _path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/secrets/{self.options.secret}"

    async def agree(self) -> Held:
        """Return what all replicas serve.

        Raises:
            ApiError: The API server refused, or others kept changing the Secret.
            ServerUnreachable: There was no answer.
        """
        for _ in range(_ATTEMPTS):
            secret = await self._found()
            material = _decoded(secret.get("data") or {})
            is_held = self._held is not None and self._held.material == material
            known = self._held if is_held else self._reviewed(secret, material)
            now = self.now(self.objects.date)
            if known is not None and known.since <= now < known.until:
                self._held = known
                return known
            review = await asyncio.to_thread(self._review, material, now)
            if review.material == material or await self._write(review, secret):
                self._held = Held(review.material, review.since, review.until)
                return self._held
        raise Conflict(409, "Conflict", f"other programs keep changing the Secret {self.options.secret}")

    async def _found(self) -> Wire:
        secret = await self.objects.find(self._path)
        if secret is None:
            logger.warning(
                "the Secret of the certificates is missing", extra={"object": f"secrets/{self.options.secret}"}
            )
            # Without data, so that it does not matter how many replicas do this at once.
            secret = await self.objects.apply(self._path, self._wire())
        return secret

    async def _write(self, review: Review, read: Wire) -> bool:
        """Write the Secret, unless another replica was first."""
        made = review.material
        record = " ".join((review.since.isoformat(), review.until.isoformat(), self._digest(made)))
        try:
            await self.objects.apply(self._path, self._wire(read["metadata"]["resourceVersion"], made, record))
        except Conflict:
            return False
        changes = list(review.changed)
        if self._held is not None and made == self._held.material:
            changes.append("restored the certificates")
        said = " and ".join(changes) or "removed what cannot be used"
        logger.info(said, extra={"object": f"secrets/{self.options.secret}", "expires": review.expires.isoformat()})
        return True

    def _wire(self, version: str = "", material: Mapping[str, str] | None = None, record: str = "") -> Wire:
        metadata: Wire = {"name": self.options.secret, "namespace": self.namespace}
        wire: Wire = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
        if material is not None:
            metadata |= {"resourceVersion": version, "annotations": {_REVIEWED: record}}
            wire["data"] = {key: base64.b64encode(text.encode()).decode() for key, text in material.items()}
        return wire

    def _review(self, material: dict[str, str], now: datetime) -> Review:
        from pykb.serving._authority import review  # with cryptography: 12 MiB that most starts do not need

        known = [self._held.material] if self._held is not None else []
        return review([material, *known], self._names(), self.options, now)

    def _names(self) -> list[str]:
        services = [f"{service}.{self.namespace}.svc" for service in self.options.services]
        return [*services, *(f"{service}.cluster.local" for service in services)]

    def _reviewed(self, secret: Wire, material: dict[str, str]) -> Held | None:
        """What an earlier review found, if it was about this material and these options."""
        record = (secret["metadata"].get("annotations") or {}).get(_REVIEWED, "")
        since, _, rest = record.partition(" ")
        until, _, digest = rest.partition(" ")
        if digest != self._digest(material):
            return None
        try:
            return Held(material, *(datetime.fromisoformat(end).astimezone(UTC) for end in (since, until)))
        except ValueError:  # somebody else wrote it
            return None

    def _digest(self, material: Mapping[str, str]) -> str:
        lives = [self.options.life.total_seconds(), self.options.authority_life.total_seconds()]
        reviewed = orjson.dumps([material, self._names(), lives], option=orjson.OPT_SORT_KEYS)
        return hashlib.sha256(reviewed).hexdigest()


def _decoded(data: Mapping[str, Any]) -> dict[str, str]:
    """The texts of the Secret. What is not a text is left out, and so made again."""
    found = {}
    for key in _KEYS:
        try:
            found[key] = base64.b64decode(data[key]).decode("ascii")
        except (KeyError, ValueError):
            continue
    return found


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
