"""The writing half of a client: create, update, patch, apply, delete, and the same for subresources.

A write updates the given object with the server's answer (``resourceVersion``, defaults, generated
name), as controller-runtime does. It returns the same object for convenience.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, cast, overload

from pykb.api.object import Unstructured
from pykb.client._apply_configuration import check_keys, refuse_partial
from pykb.client._endpoint import Endpoint, Exchange
from pykb.client.clock import Clock, SystemClock
from pykb.client.codec import (
    AnyObject,
    AnyObjectT,
    Key,
    Kind,
    from_wire,
    gvk_of,
    key_of,
    namespace_of,
    replace_content,
    resource_version_of,
    to_wire,
)
from pykb.client.connection import Method
from pykb.client.errors import Conflict, NotFound
from pykb.client.json_text import encode, readable_as_yaml
from pykb.client.options import Propagation
from pykb.client.patches import MergePatch, Patch
from pykb.client.selectors import Fields, Labels, query_pairs

if TYPE_CHECKING:
    from pykb.api.autoscaling.v1 import Scale

logger = logging.getLogger(__name__)


APPLY_CONTENT_TYPE = "application/apply-patch+yaml"
T = TypeVar("T")


class DeleteOptions(TypedDict, total=False):
    """Options of :meth:`Writer.delete`."""

    propagation: Propagation | None
    grace_period: timedelta | None
    uid: str | None
    resource_version: str | None
    missing_ok: bool
    dry_run: bool


class DeleteByKeyOptions(DeleteOptions, total=False):
    """Options of :meth:`Writer.delete` by key. The key may have no namespace."""

    namespace: str | None


async def object_endpoint(exchange: Exchange, obj: AnyObject, subresource: str) -> Endpoint:
    """Return where an object, or one of its subresources, is served."""
    where = key_of(obj)
    return await exchange.endpoint(obj, namespace=where.namespace, name=where.name, subresource=subresource)


class ObjectWriter:
    """Changes objects, or one of their subresources that answers with the object."""

    _subresource = ""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    async def update(self, obj: AnyObjectT, *, field_manager: str | None = None, dry_run: bool = False) -> AnyObjectT:
        """Replace the stored object with this one, and update this one with the result.

        ``client.update`` does not write the status of a kind that has a status subresource, and
        ``client.status.update`` writes nothing else.

        Raises:
            Conflict: It has changed since it was read (by its ``resourceVersion``).
            NotFound: It does not exist.
            Invalid: It violates its schema or a rule.
            ApiError: The server refused.
            ValueError: It is a partial object.
        """
        refuse_partial(obj)
        endpoint = await object_endpoint(self._exchange, obj, self._subresource)
        query = self._exchange.write_query(field_manager=field_manager, dry_run=dry_run)
        version = resource_version_of(obj)
        answer = await self._exchange.send("PUT", endpoint, query=query, body=to_wire(obj), read_at=version)
        replace_content(obj, answer)
        return obj

    async def patch(
        self, obj: AnyObjectT, patch: Patch, *, field_manager: str | None = None, dry_run: bool = False
    ) -> AnyObjectT:
        """Change an object by a patch (:func:`~pykb.client.patches.merge_from` and its like).

        ::

            patch = merge_from(machine)
            machine.metadata.labels = {"tier": "web"}
            await client.patch(machine, patch)

        The object is updated with the stored object. An empty patch sends nothing.

        Raises:
            NotFound: It does not exist.
            Conflict: The optimistic lock or a ``test`` of the patch failed.
            Invalid: The result violates its schema or a rule.
            ApiError: The server refused.
        """
        body = patch.body_for(obj)
        if body is None:
            return obj
        endpoint = await object_endpoint(self._exchange, obj, self._subresource)
        query = self._exchange.write_query(field_manager=field_manager, dry_run=dry_run)
        version = resource_version_of(obj)
        answer = await self._exchange.send(
            "PATCH", endpoint, query=query, body=body, content_type=patch.content_type, read_at=version
        )
        replace_content(obj, answer)
        return obj

    async def apply(
        self,
        obj: AnyObjectT,
        *,
        field_manager: str | None = None,
        force: bool = False,
        resource_version: str | None = None,
        dry_run: bool = False,
    ) -> AnyObjectT:
        """Apply an object (server-side). The manager owns the fields that are set and releases those now left out.

        ::

            settings = partial(ConfigMap, "default/settings")
            settings.data = {"color": "blue"}  # "painter" owns only this key
            await client.apply(settings, field_manager="painter")

        The object should have only the desired fields. Do not apply an object that was read: this
        manager would then own what others wrote. To apply only a part of the required fields, use
        :func:`~pykb.runtime.partial`. The object is updated with the stored object, so make a new
        one for the next call. ``resourceVersion`` and ``managedFields`` are not sent. The API
        server would refuse ``managedFields``, as it does from controller-runtime. Objects from a
        cache have none, so that check would find only some mistakes. At level debug, the log names
        each object that had them.

        Args:
            obj: The desired fields. With a ``uid``, only the object with this uid is changed.
            field_manager: The name of the manager. Defaults to the client's.
            force: Whether to take over fields that other managers own.
            resource_version: Write only if the stored object still has this version.
            dry_run: Whether the server only checks the request and does not store the result.

        Raises:
            Conflict: Another manager owns a field and ``force`` is not set (each field has a
                cause), or the object has changed since ``resource_version``.
            Invalid: The result violates its schema or a rule.
            ApiError: The server refused.
            ValueError: An element of a list lacks its key.
        """
        endpoint = await object_endpoint(self._exchange, obj, self._subresource)
        wire = to_wire(obj)
        check_keys(obj, wire)
        metadata = wire.get("metadata") or {}
        metadata.pop("resourceVersion", None)
        if metadata.pop("managedFields", None):
            shown = {"kind": str(gvk_of(obj)), "object": str(key_of(obj))}
            logger.debug("applied object was read before: this manager will own all its fields", extra=shown)
        if resource_version:
            metadata["resourceVersion"] = resource_version
        query = self._exchange.write_query(field_manager=field_manager, dry_run=dry_run)
        if force:
            query = (*query, ("force", "true"))
        answer = await self._exchange.send(
            "PATCH",
            endpoint,
            query=query,
            body=readable_as_yaml(encode(wire)),
            content_type=APPLY_CONTENT_TYPE,
            repeatable=True,
            read_at=resource_version or "",
        )
        replace_content(obj, answer)
        return obj


class StatusWriter(ObjectWriter):
    """Writes only ``status``. The server receives the whole object and ignores the rest.

    ::

        machine.status.phase = "Stopped"
        await client.status.update(machine)

    The object is updated with the server's answer and returned, as by the other writes. In a
    reconciler, use :func:`pykb.runtime.patch_status`, which sends only what has changed. It is an
    error (``NotFound``) if the kind has no status subresource.
    """

    _subresource = "status"


class Writer(ObjectWriter):
    """Writes objects by requests to the API server."""

    async def create(self, obj: AnyObjectT, *, field_manager: str | None = None, dry_run: bool = False) -> AnyObjectT:
        """Create an object. It is updated with the stored object, including a name from ``generateName``.

        ::

            config = ConfigMap(metadata=ObjectMeta(generate_name="result-", namespace="default"), data={"sum": "3"})
            await client.create(config)
            assert config.metadata.name

        Raises:
            AlreadyExists: An object of this name exists.
            Invalid: It violates its schema or a rule.
            ApiError: The server refused.
            ValueError: Its kind is namespaced, and it has no namespace.
        """
        mapping, namespace = await self._exchange.mapping(obj), namespace_of(obj)
        if mapping.namespaced and not self._exchange.effective_namespace(namespace):
            kind = mapping.gvk.kind
            raise ValueError(f"`{kind}` is namespaced: set `metadata.namespace`, or use `client.namespaced(...)`")
        endpoint = await self._exchange.endpoint(obj, namespace=namespace)
        query = self._exchange.write_query(field_manager=field_manager, dry_run=dry_run)
        replace_content(obj, await self._exchange.send("POST", endpoint, query=query, body=to_wire(obj)))
        return obj

    @overload
    async def delete(self, target: AnyObject, /, **options: Unpack[DeleteOptions]) -> None: ...
    @overload
    async def delete(self, target: Kind, key: Key, /, **options: Unpack[DeleteByKeyOptions]) -> None: ...
    async def delete(
        self,
        target: Kind | AnyObject,
        key: Key | None = None,
        /,
        *,
        namespace: str | None = None,
        propagation: Propagation | None = None,
        grace_period: timedelta | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        missing_ok: bool = False,
        dry_run: bool = False,
    ) -> None:
        """Delete an object: ``delete(pod)`` or ``delete(Pod, "namespace/name")``.

        ::

            await client.delete(VirtulMachine, "default/vm", propagation="Foreground")
            await client.delete(pod, uid=pod.metadata.uid, missing_ok=True)

        The object is gone when the call returns, unless finalizers, a grace period or dependents
        delay it.

        Args:
            target: The object, or its kind.
            key: The key of the object, if the target is a kind.
            namespace: The namespace, if the key has none.
            propagation: What happens to its dependents. Defaults to the policy of the kind.
            grace_period: How long it may take to terminate (pods).
            uid: Delete only an object with this uid, not one that was created again.
            resource_version: Write only if the stored object still has this version.
            missing_ok: Whether it is acceptable that the object does not exist.
            dry_run: Whether the server only checks the request and does not store the result.

        Raises:
            NotFound: It does not exist, and ``missing_ok`` is not set.
            Conflict: A precondition does not hold.
            ApiError: The server refused.
        """
        where = key_of(target if key is None else key)  # type: ignore[arg-type]
        endpoint = await self._exchange.endpoint(target, namespace=where.namespace or namespace or "", name=where.name)
        body = _delete_options(propagation, grace_period, dry_run=dry_run or self._exchange.options.dry_run)
        conditions = {"uid": uid, "resourceVersion": resource_version}
        if preconditions := {name: value for name, value in conditions.items() if value}:
            body["preconditions"] = preconditions
        try:
            await self._exchange.send("DELETE", endpoint, body=body, read_at=resource_version or "")
        except NotFound as error:
            if not missing_ok or not error.details.name:
                raise

    async def delete_all_of(
        self,
        kind: Kind,
        *,
        namespace: str | None = None,
        labels: Labels | None = None,
        fields: Fields | None = None,
        propagation: Propagation | None = None,
        grace_period: timedelta | None = None,
        dry_run: bool = False,
    ) -> None:
        """Delete all objects of a kind in a namespace (or of a cluster-scoped kind) that match the selectors.

        ::

            await client.delete_all_of(Pod, namespace="default", labels="app=web")

        Raises:
            ValueError: A namespace is needed.
            ApiError: The server refused.
        """
        mapping = await self._exchange.mapping(kind)
        if mapping.namespaced and not self._exchange.effective_namespace(namespace or ""):
            raise ValueError(f"`{gvk_of(kind).kind}` is namespaced: give the namespace with `namespace=`")
        endpoint = await self._exchange.endpoint(kind, namespace=namespace or "")
        body = _delete_options(propagation, grace_period, dry_run=dry_run or self._exchange.options.dry_run)
        await self._exchange.send("DELETE", endpoint, query=query_pairs(labels, fields), body=body)


def _delete_options(
    propagation: Propagation | None, grace_period: timedelta | None, *, dry_run: bool
) -> dict[str, Any]:
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if propagation:
        options["propagationPolicy"] = propagation
    if grace_period is not None:
        options["gracePeriodSeconds"] = int(grace_period.total_seconds())
    if dry_run:
        options["dryRun"] = ["All"]
    return options


async def retry_on_conflict(
    change: Callable[[], Awaitable[T]],
    *,
    attempts: int = 5,
    pause: timedelta = timedelta(milliseconds=10),
    clock: Clock | None = None,
) -> T:
    """Call a function again while it raises :class:`Conflict`, and return what it returns.

    The function reads the object, changes it and writes it. Read with ``client.live``: a cache may
    not have the other write yet, and the conflict would repeat::

        async def count_up() -> None:
            counter = await client.live.get(ConfigMap, "default/counter")
            counter.data = {"n": str(int((counter.data or {}).get("n", "0")) + 1)}
            await client.update(counter)

        await retry_on_conflict(count_up)

    A reconciler seldom needs it. When it raises a ``Conflict``, its request is retried with a fresh
    object.

    Args:
        change: The function to call.
        attempts: The maximum number of calls. client-go's ``DefaultRetry`` also has 5.
        pause: How long to wait between attempts. Up to a tenth is added at random.
        clock: The clock for pauses. Defaults to the system's clock.

    Raises:
        Conflict: The last attempt failed with a conflict too.
        ValueError: ``attempts`` is less than 1.

    Source: https://pkg.go.dev/k8s.io/client-go/util/retry
    """
    if attempts < 1:
        raise ValueError(f"at least one attempt is needed, got {attempts}")
    clock = clock or SystemClock()
    for _ in range(attempts - 1):
        try:
            return await change()
        except Conflict:
            await clock.sleep(pause * (1 + random.random() / 10))  # noqa: S311 - no secret
    return await change()


# Subresources: the status of an object, and those with their own kind (scale, eviction, token).


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
