"""Options of a manager, and their flags."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Never, Self, TypedDict, Unpack

from pykb.client.options import (
    FIELD_MANAGER_LENGTH,
    ClientOptions,
    TransportOptions,
    check_durations,
    check_names,
    main_module,
    program_name,
)
from pykb.client.ranges import LONGEST_GROUP, MOST, Ranges, ShardBy
from pykb.meta.names import SUBDOMAIN_LENGTH, is_label, is_subdomain
from pykb.runtime._logging import LOG_LEVELS, LogFormat
from pykb.runtime.cache.informer_cache import CacheOptions
from pykb.serving import BindAddress
from pykb.serving.options import CertificateOptions, ManagedCertificateOptions, TlsOptions

FALSE = ("0", "f", "F", "false", "FALSE", "False")
# zap counts verbosity upwards from 0 = info. Other names are the same as ours.
_ZAP_LEVELS = {"panic": "error", "fatal": "error", "dpanic": "error", "warn": "warning"}
_EXAMPLES = """\
examples:
  {program} --log-level debug
  {program} --kubeconfig staging.yaml --watch-namespace default
  {program} --metrics-bind-address :8080 --metrics-secure=false
"""


def program_parser() -> argparse.ArgumentParser:
    """The parser of a program that has no flags of its own."""
    # For a package run by `-m`, Python only gives `__main__.py`.
    module = main_module()
    program = f"python -m {module}" if module else Path(sys.argv[0]).name
    parser = argparse.ArgumentParser(
        prog=program,
        usage="%(prog)s [flag ...]",
        description="Run the manager: every controller of the program, until SIGTERM or Ctrl-C.",
        epilog=_EXAMPLES.format(program=program),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_flags(parser)
    return parser


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the manager's flags. ``ManagerOptions.from_namespace`` applies their defaults.

    ::

        parser = argparse.ArgumentParser()
        parser.add_argument("--region", default="eu")
        add_flags(parser)
        manager = Manager(ManagerOptions.from_namespace(parser.parse_args()))
    """
    flag: dict[str, Any] = {"type": _boolean, "nargs": "?", "const": True, "metavar": "true|false"}

    add = parser.add_argument_group("cluster").add_argument
    add(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="kubeconfig to use (default: as kubectl, or the pod's service account)",
    )
    add("--context", metavar="NAME", help="context of the kubeconfig")
    add("--master", metavar="URL", help="URL of the API server, instead of the kubeconfig's")
    add(
        *("--watch-namespace", "--watch-namespaces"),
        dest="watch_namespaces",
        metavar="NS[,NS...]",
        help="namespaces to watch (default: $WATCH_NAMESPACE, else all)",
    )
    add("--kube-api-qps", type=_rate, metavar="N", help="most requests per second, on average (default: no limit)")
    add("--kube-api-burst", type=_positive, metavar="N", help="most requests at once under that limit (default 30)")

    add = parser.add_argument_group("leader election").add_argument
    add("--leader-elect", **flag, help="let only one replica work at a time (default false)")
    add("--leader-election-namespace", metavar="NS", help="namespace of the lease (default: that of the pod)")

    add = parser.add_argument_group("sharding").add_argument
    add("--shards", type=_shards, metavar="N", help=_SHARDS)
    add("--processes", type=_removed, default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    add("--shard-by", type=ShardBy, choices=list(ShardBy), help="field whose hash decides (default uid)")

    group = parser.add_argument_group("servers")
    add = group.add_argument
    add("--health-probe-bind-address", type=_address, metavar="ADDR", help="/healthz and /readyz (default :8081)")
    add("--metrics-bind-address", type=_address, metavar="ADDR", help="metrics, e.g. :8443; 0 for none (default 0)")
    add("--metrics-secure", **flag, help="serve metrics over TLS, only to authorised clients (default true)")
    _add_certificate(group, "metrics")
    add("--records-bind-address", type=_address, metavar="ADDR", help=_RECORDS)
    add("--pprof-bind-address", type=_address, metavar="ADDR", help=_PPROF)
    add("--webhook-port", type=int, metavar="PORT", help="webhooks; none if $ENABLE_WEBHOOKS is false (default 9443)")
    add("--webhook-bind-host", metavar="HOST", help="address of the webhook server (default: all addresses)")
    _add_certificate(group, "webhook")
    add(
        "--tls-min-version",
        choices=("VersionTLS12", "VersionTLS13"),
        help="minimum version of TLS for all servers (default VersionTLS12)",
    )
    add("--tls-cipher-suites", type=names_of, metavar="NAME[,NAME...]", help=_CIPHERS)
    add("--cert-secret", metavar="NAME", help=_MANAGED)
    add(
        "--cert-service",
        dest="cert_services",
        nargs="+",
        metavar="NAME",
        help="Services of the manager, for whose names that certificate is made",
    )
    add(
        "--webhook-configuration",
        dest="cert_configurations",
        nargs="+",
        metavar="NAME",
        help="webhook configurations that get the authority of that certificate",
    )
    add("--cert-life", type=_days, metavar="DAYS", help=_LIFE)
    add("--cert-authority-life", type=_days, metavar="DAYS", help="how long its authority is valid (default 3650)")
    add("--enable-http2", **flag, help="accepted, no effect: the servers speak HTTP/1.1 only")

    add = parser.add_argument_group("log").add_argument
    add("--log-level", choices=LOG_LEVELS, help="lowest level to log (default info)")
    add(
        "--log-format",
        choices=[str(style) for style in LogFormat],
        help="format of the log; `reconciles` is text with a line for each reconcile (default text)",
    )

    add = parser.add_argument_group("log (kubebuilder's flags)").add_argument
    add("--zap-devel", **flag, help="log as text, from level debug")
    add("--zap-encoder", choices=("console", "json"), help="format of the log")
    add("--zap-log-level", metavar="LEVEL", help="lowest level: debug, info, error, or a verbosity")
    add("--zap-stacktrace-level", metavar="LEVEL", help="accepted, no effect: unexpected errors have a traceback")
    add("--zap-time-encoding", metavar="NAME", help="accepted, no effect: times are RFC 3339 in UTC")


_SHARDS = "let all replicas work, each on its share of N ranges of objects; 0 for the leader only (default 0)"
_RECORDS = "records for `pykb inspect`, to authorised clients, e.g. 127.0.0.1:8083; 0 for none (default 0)"
_PPROF = "stacks, profiles, log level, e.g. 127.0.0.1:8082; keep it private; 0 for none (default 0)"
_MANAGED = "Secret in which the manager keeps a certificate that it makes and renews itself (default: none)"
_LIFE = "how long a certificate is valid that the manager makes, with or without --cert-secret (default 90)"
_CIPHERS = "cipher suites of TLS 1.2, by IANA name (default: Python's); those of TLS 1.3 cannot be chosen"


def _add_certificate(group: argparse._ArgumentGroup, server: str) -> None:
    add = group.add_argument
    for part, text in (
        ("path", "directory of the certificate"),
        ("name", "file name of the certificate"),
        ("key", "file name of the key"),
    ):
        add(f"--{server}-cert-{part}", metavar=part.upper(), help=f"{server} server: {text}")
    add(
        f"--{server}-client-ca-file",
        dest=f"{server}_client_ca",
        type=Path,
        metavar="FILE",
        help=f"{server} server: require client certificates signed by a CA in this file",
    )
    add(
        f"--{server}-client-allowed-names",
        dest=f"{server}_client_names",
        type=names_of,
        metavar="CN[,CN...]",
        help=f"{server} server: allowed common names of client certificates (default: any)",
    )


def log_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The log's options, from flags. pykb's own win over zap's."""
    values: dict[str, Any] = {}
    if given.get("zap_devel"):
        values |= {"log_level": "debug", "log_format": LogFormat.TEXT}
    if "zap_encoder" in given:
        values["log_format"] = LogFormat.JSON if given["zap_encoder"] == "json" else LogFormat.TEXT
    if "zap_log_level" in given:
        values["log_level"] = _zap_level(given["zap_log_level"])
    if "log_level" in given:
        values["log_level"] = given["log_level"]
    if "log_format" in given:
        values["log_format"] = LogFormat(given["log_format"])
    return values


def _zap_level(text: str) -> str:
    if text.isdigit():
        return "debug" if int(text) > 0 else "info"
    level = _ZAP_LEVELS.get(text.lower(), text.lower())
    return level if level in LOG_LEVELS else "info"


def _boolean(text: str) -> bool:
    # The spellings of Go's strconv.ParseBool.
    if text in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if text in FALSE:
        return False
    raise argparse.ArgumentTypeError(f"`{text}` is neither true nor false")


def names_of(text: str) -> tuple[str, ...]:
    """Split a list at its commas."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _removed(_: str) -> Never:
    raise argparse.ArgumentTypeError("it was removed: run several replicas with --shards instead")


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number above 0")
    return int(text)


def _days(text: str) -> timedelta:
    try:
        return timedelta(days=_positive(text))
    except OverflowError:
        raise argparse.ArgumentTypeError(f"`{text}` days are too many") from None


def _shards(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > MOST:
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number from 0 to {MOST}")
    return int(text)


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not math.isfinite(rate):
        raise argparse.ArgumentTypeError(f"`{text}` is not a number; expected e.g. 20, or 0 for no limit")
    return rate


def _address(text: str) -> str:
    try:
        BindAddress.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


RECORDS_PATH = "/records"
"""Where the records are served, and what a role has to name."""

DEFAULT_LEADER_ELECTION_ID = "pykb-leader-election"


class ManagerOverrides(TypedDict, total=False):
    """Single options by name, as in :class:`ManagerOptions`."""

    # It repeats the fields: Python's types cannot derive a TypedDict from a dataclass. A ParamSpec of the constructor
    # could not follow an optional parameter, and would have its positional ones. A test compares the two.

    metrics_bind_address: str
    metrics_secure: bool
    metrics_certificate: CertificateOptions
    health_probe_bind_address: str
    records_bind_address: str
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
        records_bind_address: The address of the records of reconciles and webhook calls, for `pykb
            inspect`; ``0`` for none. Readers must use TLS, with the metrics' certificate, and need
            the permission to read ``/records``, also on this machine.
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
    records_bind_address: str = "0"
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
