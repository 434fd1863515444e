"""The certificate that a manager makes for its servers: kept in a Secret, renewed, and trusted by the API server.

All replicas share the Secret. Each checks it every few seconds and does what is due; a write needs the version that was
read, so that replicas agree. No replica leads. What is due follows from the API server's time: replicas whose clocks
differ would undo each other's work, and it is the API server that verifies the certificate.

Webhook configurations and the conversions of CRDs say which authority to trust. Only entries that call this manager's
own Services are changed, by a JSON patch. ``kubectl apply`` leaves the field alone, on the client as on the server,
since its manifests do not have it.
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from pykb.client.client import Client
from pykb.client.clock import Clock
from pykb.client.errors import ApiError, Forbidden, ServerUnreachable
from pykb.diagnostics.codes.runtime import MANAGED_CERTIFICATE
from pykb.serving._shared_secret import AUTHORITIES, Held, Objects, Pair, SharedSecret, Wire
from pykb.serving.options import ManagedCertificateOptions

logger = logging.getLogger(__name__)

_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_KINDS = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")

FIELD_MANAGER = "pykb-certificates"
PERIOD = timedelta(seconds=10)
"""The longest pause between two checks."""

_RETRY = timedelta(seconds=2)
_ROUNDS = 5

Take = Callable[[Pair], Awaitable[None]]


class ManagedCertificates:
    """Keeps the certificate of a manager's servers. It runs on every replica."""

    def __init__(
        self,
        client: Client,
        options: ManagedCertificateOptions,
        *,
        namespace: Callable[[], Awaitable[str]],
        converted: Callable[[], Awaitable[Iterable[str]]],
        clock: Clock,
        now: Callable[[datetime | None], datetime] = lambda there: there or datetime.now(UTC),
    ) -> None:
        """Prepare; nothing is read yet.

        Args:
            client: Reads and writes the Secret and the objects that trust it.
            options: The names of these objects.
            namespace: Finds the namespace of the manager.
            converted: Finds the names of the CRDs that the manager converts.
            clock: Measures the pauses.
            now: The time of day, which decides what is due. Its argument is the API server's time, if that is known.
        """
        self._objects = Objects(client, FIELD_MANAGER)
        self._options = options
        self._namespace = namespace
        self._converted = converted
        self._clock = clock
        self._now = now
        self._held: Held | None = None
        self._ready = asyncio.Event()
        self._takers: list[Take] = []
        self._problem = ""
        self._trust: Trust | None = None

    async def pair(self) -> Pair:
        """The certificate, as soon as it is in the Secret and the API server trusts it."""
        await self._ready.wait()
        assert self._held is not None  # noqa: S101 - it is ready
        return self._held.pair

    async def follow(self, take: Take) -> None:
        """Call this with the current certificate and with each later one."""
        self._takers.append(take)
        await take(await self.pair())

    def check(self) -> None:
        """The readiness check: fails while none of the places that name this manager trusts its certificate.

        The manager sets ``caBundle`` itself, before it is ready, so the check does not wait for the Service. If one of
        the webhooks still works, it must stay so. Without an answer of the API server, the last one counts.

        Raises:
            RuntimeError: The API server does not trust it.
        """
        if self._trust is not None and self._trust.is_lost:
            raise RuntimeError(f"the API server does not trust the certificate: {self._problem or 'not set yet'}")

    async def run(self) -> None:
        """Check and renew until cancelled.

        Raises:
            EnvironmentProblem: The options have no Service, or the namespace is unknown.
        """
        options = self._options
        namespace = options.namespace or await self._namespace()
        _check(options, namespace)
        secret = SharedSecret(self._objects, options, namespace, self._now)
        services = [f"{namespace}/{service}" for service in options.services]
        trust = self._trust = Trust(self._objects, options.configurations, services, self._converted)
        period = min(PERIOD, options.life / 12)
        while True:
            pause = period
            try:
                await self._make_sure(secret, trust)
                await self._publish(namespace)
            except (ApiError, ServerUnreachable) as error:
                self._report(error)
                pause = min(_RETRY, period)
            else:
                self._report(None)
            await self._clock.sleep(pause)

    async def _make_sure(self, secret: SharedSecret, trust: Trust) -> None:
        for _ in range(_ROUNDS):
            held = await secret.agree()
            try:
                is_changed = await trust.publish(held.material[AUTHORITIES])
            finally:
                await self._hand_over(held)
            # A replica that was frozen between reading and writing may have published an old
            # authority, so look again.
            if not is_changed:
                break
        self._ready.set()

    async def _hand_over(self, held: Held) -> None:
        known, self._held = self._held, held
        if known is not None and known.material != held.material:
            for take in self._takers:
                await take(held.pair)

    async def _publish(self, namespace: str) -> None:
        """Put the authorities into the ConfigMap, for scrapers of the metrics."""
        assert self._held is not None  # noqa: S101 - made sure before
        name, authorities = self._options.secret, self._held.material[AUTHORITIES]
        path = f"/api/v1/namespaces/{namespace}/configmaps/{name}"
        stored = await self._objects.find(path)
        if stored is not None and (stored.get("data") or {}).get(AUTHORITIES) == authorities:
            return
        metadata = {"name": name, "namespace": namespace}
        wanted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {AUTHORITIES: authorities}}
        await self._objects.apply(path, wanted)
        logger.info("authority set in ConfigMap", extra={"configmap": name})

    def _report(self, error: ApiError | ServerUnreachable | None) -> None:
        """Log a problem once, and its end."""
        before, self._problem = self._problem, str(error or "")
        if self._problem == before:
            return
        if error is None:
            logger.info("certificates ensured again", extra={"object": f"secrets/{self._options.secret}"})
            return
        helps = {"help": "apply the roles of config/certificates"} if isinstance(error, Forbidden) else {}
        logger.warning("certificates not ensured", extra={"error": self._problem, **helps})


def _check(options: ManagedCertificateOptions, namespace: str) -> None:
    if not options.services:
        raise MANAGED_CERTIFICATE.problem(
            f"`--cert-secret {options.secret}` makes a certificate, but for no Service",
            "name the Services of the manager: `--cert-service webhook-service`",
        )
    if not namespace:
        raise MANAGED_CERTIFICATE.problem(
            f"the namespace of the Secret `{options.secret}` is unknown",
            "outside of a pod, leave out `--cert-secret`, or set a namespace in the kubeconfig's context",
        )


class Trust:
    """The objects that say whom the API server trusts when it calls this manager."""

    def __init__(
        self,
        objects: Objects,
        configurations: Iterable[str],
        services: Iterable[str],
        converted: Callable[[], Awaitable[Iterable[str]]],
    ) -> None:
        """Prepare; nothing is read yet.

        Args:
            objects: Reads and changes them.
            configurations: The names of the webhook configurations, of either kind.
            services: The Services of this manager: ``<namespace>/<name>``.
            converted: Finds the names of the CRDs that this manager converts.
        """
        self._objects = objects
        self._paths = [f"{_ADMISSION}/{kind}/{name}" for name in configurations for kind in _KINDS]
        self._services = frozenset(services)
        self._converted = converted
        self._seen: dict[str, tuple[str, str]] = {}
        self._trusted: dict[str, bool] = {}

    @property
    def is_lost(self) -> bool:
        """Whether there are places that call this manager, and none of them trusts it."""
        return bool(self._trusted) and not any(self._trusted.values())

    async def publish(self, authorities: str) -> bool:
        """Make sure that each of them trusts these authorities (PEM). Return whether one was changed.

        An object that cannot be changed does not keep the others from it.

        Raises:
            ApiError: The API server refused, or an object changed meanwhile.
            ServerUnreachable: There was no answer.
        """
        bundle = base64.b64encode(authorities.encode()).decode()
        changed = False
        problem: ApiError | None = None
        for path in (*self._paths, *(f"{_CRDS}/{name}" for name in await self._converted())):
            try:
                if (await self._objects.version(path), bundle) == self._seen.get(path):
                    continue
                changed = await self._make_sure(path, bundle) or changed
            except ApiError as error:
                problem = problem or error
        if problem is not None:
            raise problem
        return changed

    async def _make_sure(self, path: str, bundle: str) -> bool:
        stored = await self._objects.find(path)
        if stored is None:
            self._seen.pop(path, None)
            self._trusted.pop(path, None)
            return False
        version = stored["metadata"]["resourceVersion"]
        entries = [(where, entry) for where, entry in _client_configs(stored) if self._is_ours(entry)]
        wrong = [where for where, entry in entries if entry.get("caBundle") != bundle]
        if entries:
            self._trusted[path] = len(wrong) < len(entries)
        if wrong:
            # The version makes it a conflict if the object has changed since.
            unchanged = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
            trusted = [{"op": "add", "path": f"{where}/caBundle", "value": bundle} for where in wrong]
            stored = await self._objects.change(path, [unchanged, *trusted])
            version = stored["metadata"]["resourceVersion"]
            shown = {"object": "/".join(path.split("/")[-2:]), "entries": len(wrong)}
            had = any(entry.get("caBundle") for _, entry in entries)
            logger.info("authority replaced in caBundle" if had else "authority set in caBundle", extra=shown)
            self._trusted[path] = True
        self._seen[path] = (str(version), bundle)
        return bool(wrong)

    def _is_ours(self, entry: Wire) -> bool:
        service = entry.get("service") or {}
        return f"{service.get('namespace')}/{service.get('name')}" in self._services


def _client_configs(found: Wire) -> Iterator[tuple[str, Wire]]:
    """The places that name a server to call, and what they say."""
    for number, each in enumerate(found.get("webhooks") or ()):
        yield f"/webhooks/{number}/clientConfig", each.get("clientConfig") or {}
    conversion: dict[str, Any] = (found.get("spec") or {}).get("conversion") or {}
    config = (conversion.get("webhook") or {}).get("clientConfig")
    if config:
        yield "/spec/conversion/webhook/clientConfig", config
