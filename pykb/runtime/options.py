"""Options of a manager."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

from pykb.client.given import check_durations, check_names
from pykb.client.options import FIELD_MANAGER_LENGTH, ClientOptions, TransportOptions, program_name
from pykb.client.ranges import LONGEST_GROUP, Ranges, ShardBy
from pykb.meta.names import SUBDOMAIN_LENGTH, is_label, is_subdomain
from pykb.runtime._flags import FALSE, log_options, names_of, program_parser
from pykb.runtime._logging import LogFormat
from pykb.runtime.cache.informer_cache import CacheOptions
from pykb.serving.options import CertificateOptions, ManagedCertificateOptions, TlsOptions

DEFAULT_LEADER_ELECTION_ID = "pykb-leader-election"


class ManagerOverrides(TypedDict, total=False):
    """Single options by name, as in :class:`ManagerOptions`."""

    metrics_bind_address: str
    metrics_secure: bool
    metrics_certificate: CertificateOptions
    health_probe_bind_address: str
    pprof_bind_address: str
    webhooks: bool
    webhook_port: int
    webhook_bind_host: str
    webhook_certificate: CertificateOptions
    managed_certificate: ManagedCertificateOptions
    tls: TlsOptions
    leader_elect: bool
    leader_election_id: str
    leader_election_namespace: str
    lease_duration: timedelta
    renew_deadline: timedelta
    retry_period: timedelta
    release_on_cancel: bool
    shards: int
    shard_by: ShardBy
    graceful_shutdown_timeout: timedelta
    namespaces: tuple[str, ...]
    cache: CacheOptions
    client: ClientOptions
    max_connections: int
    kube_api_qps: float
    kube_api_burst: int
    group_kind_concurrency: Mapping[str, int]
    kubeconfig: Path | None
    context: str | None
    master: str | None
    log_level: str
    log_format: LogFormat


@dataclass(frozen=True, slots=True)
class ManagerOptions:
    """Options of a manager.

    ::

        options = ManagerOptions.from_args(leader_election_id="sealvm.example.com")  # and the command line
        manager = Manager(options)
        VirtulMachineReconciler(manager.client).setup(manager)
        manager.run()

    The defaults are controller-runtime's, except that metrics and probes are off. The defaults of
    :meth:`from_args` are those of a kubebuilder project: probes at ``:8081``, metrics off.

    Attributes:
        metrics_bind_address: The address of the metrics server; ``0`` for none.
        metrics_secure: Whether metrics are served over TLS and only to authorized clients.
        metrics_certificate: The certificate of the metrics server.
        health_probe_bind_address: The address of ``/healthz`` and ``/readyz``; ``0`` for none.
        pprof_bind_address: The address of the debug server (stacks, profiles, the log level); ``0``
            for none. Other machines must use TLS, with the metrics' certificate, and need the
            permission to read ``/debug/pprof/*``.
        webhooks: Whether webhooks are served, including kopf's admission handlers.
        webhook_port: The port of the webhook server; 0 for any.
        webhook_bind_host: The address that it listens on. Empty means all addresses.
        webhook_certificate: The certificate of the webhook server.
        managed_certificate: A certificate that the manager makes and renews itself.
        tls: The TLS options of all servers.
        leader_elect: Whether to use leader election, so that at most one replica works at a time.
        leader_election_id: The name of the lease. It is also the field manager of the client's
            writes. With ``shards``, it has at most 209 characters.
        leader_election_namespace: The namespace of the lease. Defaults to the pod's namespace.
        lease_duration: How long a standby waits before it takes a lease that is not renewed.
        renew_deadline: How long the leader tries to renew the lease before it gives up.
        retry_period: The pause between tries.
        release_on_cancel: Whether a leader releases the lease when it stops.
        graceful_shutdown_timeout: How long running work may take to finish when the manager stops.
        shards: Into how many ranges the objects of the controllers are divided among the replicas,
            so that all of them work. At least as many as replicas, rather four times as many. 0
            means that only the leader works.
        shard_by: The field whose hash decides about an object's range: its uid, or its namespace.
        namespaces: The namespaces to watch; empty for all.
        cache: The options of the cache.
        client: The options of the manager's client.
        max_connections: How many connections the manager's client may use.
        kube_api_qps: The average number of requests per second of that client. Not limited unless
            positive. The API server has its own limit (priority and fairness).
        kube_api_burst: How many requests may be sent at once, if ``kube_api_qps`` limits them.
        group_kind_concurrency: ``max_concurrent_reconciles`` by kind
            (``VirtulMachine.infra.example.com``), for controllers that do not set it.
        kubeconfig: The kubeconfig to use. By default it is found as by kubectl, or in a pod by its
            service account.
        context: The context of the kubeconfig.
        master: The API server's URL. It overrides the kubeconfig.
        log_level: ``debug``, ``info``, ``warning`` or ``error``.
        log_format: Text or JSON.
    """

    metrics_bind_address: str = "0"
    metrics_secure: bool = True
    metrics_certificate: CertificateOptions = CertificateOptions()
    health_probe_bind_address: str = "0"
    pprof_bind_address: str = "0"
    webhooks: bool = True
    webhook_port: int = 9443
    webhook_bind_host: str = ""
    webhook_certificate: CertificateOptions = CertificateOptions()
    managed_certificate: ManagedCertificateOptions = ManagedCertificateOptions()
    tls: TlsOptions = TlsOptions()
    leader_elect: bool = False
    leader_election_id: str = DEFAULT_LEADER_ELECTION_ID
    leader_election_namespace: str = ""
    lease_duration: timedelta = timedelta(seconds=15)
    renew_deadline: timedelta = timedelta(seconds=10)
    retry_period: timedelta = timedelta(seconds=2)
    release_on_cancel: bool = True
    graceful_shutdown_timeout: timedelta = timedelta(seconds=30)
    shards: int = 0
    shard_by: ShardBy = ShardBy.UID
    namespaces: tuple[str, ...] = ()
    cache: CacheOptions = field(default_factory=CacheOptions)
    client: ClientOptions = field(default_factory=ClientOptions)
    max_connections: int = 32
    kube_api_qps: float = 0.0
    kube_api_burst: int = 30
    group_kind_concurrency: Mapping[str, int] = field(default_factory=dict)
    kubeconfig: Path | None = None
    context: str | None = None
    master: str | None = None
    log_level: str = "info"
    log_format: LogFormat = LogFormat.TEXT

    def __post_init__(self) -> None:
        check_names("namespaces", self.namespaces)
        if not 0 <= self.webhook_port <= 65535:
            remedy = "for none, use `webhooks=False` or ENABLE_WEBHOOKS=false"
            raise ValueError(f"`webhook_port` is from 0 to 65535, found {self.webhook_port}; {remedy}")
        check_durations(
            lease_duration=self.lease_duration,
            renew_deadline=self.renew_deadline,
            retry_period=self.retry_period,
            graceful_shutdown_timeout=self.graceful_shutdown_timeout,
        )
        _check_lease(self.leader_election_id, self.leader_election_namespace, shards=self.shards)
        if self.shards:
            Ranges(self.shards, ShardBy(self.shard_by))

    @property
    def elects(self) -> bool:
        """Whether the replicas elect a leader. With ``shards`` it runs what is not divided."""
        return self.leader_elect or self.shards > 0

    def client_options(self) -> ClientOptions:
        """The options of ``client``. ``field_manager`` defaults to the leader election's id."""
        if self.client.field_manager != program_name() or self.leader_election_id == DEFAULT_LEADER_ELECTION_ID:
            return self.client
        return replace(self.client, field_manager=self.leader_election_id[:FIELD_MANAGER_LENGTH])

    def transport_options(self) -> TransportOptions:
        """The limits of the manager's client."""
        return TransportOptions(self.max_connections, qps=self.kube_api_qps, burst=self.kube_api_burst)

    def cache_options(self) -> CacheOptions:
        """The options of ``cache``. The namespaces default to ``namespaces``."""
        cache = self.cache
        if not self.namespaces or cache.default.namespaces:
            return cache
        return replace(cache, default=replace(cache.default, namespaces=self.namespaces))

    @classmethod
    def from_args(
        cls,
        argv: Sequence[str] | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        **overrides: Unpack[ManagerOverrides],
    ) -> Self:
        """Parse the command line. If it is wrong, end the program (exit code 2) with a message.

        ::

            options = ManagerOptions.from_args(["--leader-elect", "--log-level", "debug"])
            assert (options.leader_elect, options.log_level) == (True, "debug")

        Args:
            argv: The arguments. Defaults to those of the process.
            environ: The environment (``WATCH_NAMESPACE``, ``ENABLE_WEBHOOKS``). Defaults to that of
                the process.
            **overrides: Values that replace the defaults. Flags override them.
        """
        parser = program_parser()
        try:
            return cls.from_namespace(parser.parse_args(argv), environ=environ, **overrides)
        except ValueError as error:
            parser.error(str(error))

    @classmethod
    def from_namespace(
        cls,
        flags: argparse.Namespace,
        *,
        environ: Mapping[str, str] | None = None,
        **overrides: Unpack[ManagerOverrides],
    ) -> Self:
        """Make options from the flags that another parser with :func:`pykb.runtime.add_flags` has parsed."""
        given = {name: value for name, value in vars(flags).items() if value is not None}
        environ = os.environ if environ is None else environ
        values: dict[str, Any] = {"health_probe_bind_address": ":8081", **overrides}
        if environ.get("ENABLE_WEBHOOKS") in FALSE:
            values["webhooks"] = False
        namespaces = names_of(given.get("watch_namespaces", environ.get("WATCH_NAMESPACE", "")))
        if namespaces:
            values["namespaces"] = tuple(dict.fromkeys(namespaces))
        for server in ("metrics", "webhook"):
            option = f"{server}_certificate"
            values[option] = _certificate(values.get(option, CertificateOptions()), server, given)
        managed = _parts(given, "cert", "secret", "services", "configurations", "life", "authority_life")
        managed = {name: tuple(part) if isinstance(part, list) else part for name, part in managed.items()}
        values["managed_certificate"] = replace(
            values.get("managed_certificate", ManagedCertificateOptions()), **managed
        )
        tls = _parts(given, "tls", "min_version", "cipher_suites")
        values["tls"] = replace(values.get("tls", TlsOptions()), **tls)
        values |= log_options(given)
        same = cls.__dataclass_fields__.keys() - {"log_level", "log_format"}
        return cls(**values | {name: value for name, value in given.items() if name in same})


def _check_lease(name: str, namespace: str, *, shards: int) -> None:
    """Refuse a name that no Lease can have. The API server would refuse the Lease, and no replica would be ready."""
    if not is_subdomain(name):
        raise ValueError(
            "`leader_election_id` is the name of a Lease: lower case letters, digits, `-` and `.`, a letter or digit"
            f" around each dot and at both ends, at most {SUBDOMAIN_LENGTH} characters; found `{name}`"
        )
    if shards and len(name) > LONGEST_GROUP:
        raise ValueError(
            f"`leader_election_id` has {len(name)} characters, and with `shards` at most {LONGEST_GROUP}: the Leases"
            f" of the replicas are called `<leader_election_id>-member-<uid>`; found `{name}`"
        )
    if namespace and not is_label(namespace):
        raise ValueError(f"`leader_election_namespace` is the name of a namespace, found `{namespace}`")


def _certificate(before: CertificateOptions, server: str, given: Mapping[str, Any]) -> CertificateOptions:
    """The certificate of a server with its flags. A directory resets the names of the files."""
    parts = _parts(given, server, "client_ca", "client_names")
    directory = given.get(f"{server}_cert_path")
    if directory:
        name, key = given.get(f"{server}_cert_name"), given.get(f"{server}_cert_key")
        parts |= {"directory": Path(directory), "name": name or "tls.crt", "key": key or "tls.key"}
    return replace(before, **parts)


def _parts(given: Mapping[str, Any], prefix: str, *names: str) -> dict[str, Any]:
    return {name: given[f"{prefix}_{name}"] for name in names if f"{prefix}_{name}" in given}
