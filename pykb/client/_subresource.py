"""Subresources: the status of an object, and those with their own kind (scale, eviction, token)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pykb.api.object import Unstructured
from pykb.client._endpoint import Exchange
from pykb.client.codec import (
    AnyObject,
    AnyObjectT,
    Key,
    Kind,
    from_wire,
    gvk_of,
    key_of,
    replace_content,
    to_wire,
)
from pykb.client.connection import Method
from pykb.client.patches import MergePatch, Patch
from pykb.client.writer import object_endpoint

if TYPE_CHECKING:
    from pykb.api.autoscaling.v1 import Scale


class SubresourceClient:
    """Reads and writes a subresource that has its own kind: ``client.subresource("scale")``.

    ::

        eviction = Eviction(metadata=ObjectMeta(name=pod.metadata.name, namespace=pod.metadata.namespace))
        await client.subresource("eviction").create(pod, eviction)
    """

    def __init__(self, exchange: Exchange, name: str) -> None:
        self._exchange = exchange
        self._name = name

    async def get(self, kind: Kind, key: Key, *, namespace: str | None = None) -> Unstructured:
        """Read it.

        Raises:
            NotFound: The object does not exist, or its kind has no such subresource.
            ApiError: The server refused.
        """
        where = key_of(key)
        endpoint = await self._exchange.endpoint(
            kind, namespace=where.namespace or namespace or "", name=where.name, subresource=self._name
        )
        return _untyped(await self._exchange.send("GET", endpoint, repeatable=True))

    async def create(
        self, parent: AnyObject, body: AnyObjectT, *, field_manager: str | None = None, dry_run: bool = False
    ) -> AnyObjectT:
        """Post an object to it (an Eviction, a TokenRequest). ``body`` is updated with the server's answer.

        An answer of another kind (a ``Status``) leaves ``body`` unchanged.

        Raises:
            TooManyRequests: A disruption budget does not allow an eviction.
            ApiError: The server refused.
        """
        return await self._send("POST", parent, body, field_manager=field_manager, dry_run=dry_run)

    async def update(
        self, parent: AnyObject, body: AnyObjectT, *, field_manager: str | None = None, dry_run: bool = False
    ) -> AnyObjectT:
        """Replace it (a Scale). ``body`` is updated with the server's answer.

        Raises:
            Conflict: The parent has changed since ``body`` was read.
            ApiError: The server refused.
        """
        return await self._send("PUT", parent, body, field_manager=field_manager, dry_run=dry_run)

    async def patch(
        self, parent: AnyObject, patch: Patch, *, field_manager: str | None = None, dry_run: bool = False
    ) -> Unstructured:
        """Change it by a patch and return the result.

        Raises:
            ValueError: The patch is empty.
            ApiError: The server refused.
        """
        body = patch.body_for(parent)
        if body is None:
            raise ValueError(f"this patch of `{self._name}` changes nothing")
        endpoint = await object_endpoint(self._exchange, parent, self._name)
        query = self._exchange.write_query(field_manager=field_manager, dry_run=dry_run)
        content_type = patch.content_type
        return _untyped(await self._exchange.send("PATCH", endpoint, query=query, body=body, content_type=content_type))

    async def _send(
        self, method: Method, parent: AnyObject, body: AnyObjectT, *, field_manager: str | None, dry_run: bool
    ) -> AnyObjectT:
        endpoint = await object_endpoint(self._exchange, parent, self._name)
        query = self._exchange.write_query(field_manager=field_manager, dry_run=dry_run)
        wire = to_wire(body)
        answer = await self._exchange.send(method, endpoint, query=query, body=wire)
        if answer.get("kind") == wire.get("kind"):
            replace_content(body, answer)
        return body


class ScaleClient:
    """Reads and writes the scale subresource of Deployments, StatefulSets and kinds with ``subresource:scale``."""

    def __init__(self, exchange: Exchange) -> None:
        self._subresource = SubresourceClient(exchange, "scale")

    async def get(self, kind: Kind, key: Key, *, namespace: str | None = None) -> Scale:
        """Read it.

        Raises:
            NotFound: The object does not exist, or its kind has no scale.
            ApiError: The server refused.
        """
        return _scale(await self._subresource.get(kind, key, namespace=namespace))

    async def update(
        self, parent: AnyObject, scale: Scale, *, field_manager: str | None = None, dry_run: bool = False
    ) -> Scale:
        """Replace it. ``scale`` is updated with the server's answer.

        Raises:
            Conflict: The parent has changed since ``scale`` was read.
            ApiError: The server refused.
        """
        return await self._subresource.update(parent, scale, field_manager=field_manager, dry_run=dry_run)

    async def set_replicas(
        self, parent: AnyObject, replicas: int, *, field_manager: str | None = None, dry_run: bool = False
    ) -> Scale:
        """Set the number of replicas, whatever it was before.

        Raises:
            ApiError: The server refused.
        """
        patch = MergePatch({"spec": {"replicas": replicas}})
        return _scale(await self._subresource.patch(parent, patch, field_manager=field_manager, dry_run=dry_run))


def _untyped(answer: dict[str, Any]) -> Unstructured:
    return cast("Unstructured", from_wire(gvk_of(answer), answer))


def _scale(answer: Unstructured) -> Scale:
    from pykb.api.autoscaling.v1 import Scale

    return Scale.from_wire(answer.data)
