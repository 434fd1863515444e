"""Options of a manager, in Python and as flags of a generated project's program (kubebuilder's and pykb's own)."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

from pykb.runtime._logging import LOG_LEVELS, LogFormat
from pykb.runtime.cache.informer_cache import CacheOptions
from pykb.runtime.client.options import FIELD_MANAGER_LENGTH, ClientOptions, main_module, program_name
from pykb.runtime.controller.given import check_durations, check_names
from pykb.runtime.serving.bind import BindAddress

DEFAULT_LEADER_ELECTION_ID = "pykb-leader-election"
# zap counts verbosity upwards from 0 = info. Other names are the same as ours.
_FALSE = ("0", "f", "F", "false", "FALSE", "False")
_ZAP_LEVELS = {"panic": "error", "fatal": "error", "dpanic": "error", "warn": "warning"}


@dataclass(frozen=True, slots=True)
class CertificateOptions:
    """The certificate of a server, as mounted by cert-manager.

    Attributes:
        directory: The directory of the files. ``None`` means that a self-signed certificate is
            made.
        name: The file name of the certificate chain.
        key: The file name of the private key.
        client_ca: The file of the authorities whose clients may connect. It is reloaded when it
            changes. ``None`` means that every client may connect.
        client_names: The allowed common names in certificates of clients. Empty means any.
    """

    directory: Path | None = None
    name: str = "tls.crt"
    key: str = "tls.key"
    client_ca: Path | None = None
    client_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """TLS options of the servers.

    Attributes:
        min_version: ``VersionTLS12`` or ``VersionTLS13``.
        cipher_suites: The cipher suites of TLS 1.2, by their IANA names. Defaults to Python's.
            Cipher suites of TLS 1.3 cannot be chosen.
    """

    min_version: str = "VersionTLS12"
    cipher_suites: tuple[str, ...] = ()


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
    tls: TlsOptions
    leader_elect: bool
    leader_election_id: str
    leader_election_namespace: str
    lease_duration: timedelta
    renew_deadline: timedelta
    retry_period: timedelta
    release_on_cancel: bool
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
        tls: The TLS options of all servers.
        leader_elect: Whether to use leader election, so that at most one replica works at a time.
        leader_election_id: The name of the lease. It is also the field manager of the client's
            writes.
        leader_election_namespace: The namespace of the lease. Defaults to the pod's namespace.
        lease_duration: How long a standby waits before it takes a lease that is not renewed.
        renew_deadline: How long the leader tries to renew the lease before it gives up.
        retry_period: The pause between tries.
        release_on_cancel: Whether a leader releases the lease when it stops.
        graceful_shutdown_timeout: How long running work may take to finish when the manager stops.
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
    tls: TlsOptions = TlsOptions()
    leader_elect: bool = False
    leader_election_id: str = DEFAULT_LEADER_ELECTION_ID
    leader_election_namespace: str = ""
    lease_duration: timedelta = timedelta(seconds=15)
    renew_deadline: timedelta = timedelta(seconds=10)
    retry_period: timedelta = timedelta(seconds=2)
    release_on_cancel: bool = True
    graceful_shutdown_timeout: timedelta = timedelta(seconds=30)
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
        check_durations(
            lease_duration=self.lease_duration,
            renew_deadline=self.renew_deadline,
            retry_period=self.retry_period,
            graceful_shutdown_timeout=self.graceful_shutdown_timeout,
        )

    def client_options(self) -> ClientOptions:
        """The options of ``client``. ``field_manager`` defaults to the leader election's id."""
        if self.client.field_manager != program_name() or self.leader_election_id == DEFAULT_LEADER_ELECTION_ID:
            return self.client
        return replace(self.client, field_manager=self.leader_election_id[:FIELD_MANAGER_LENGTH])

    @classmethod
    def from_args(
        cls,
        argv: Sequence[str] | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        **overrides: Unpack[ManagerOverrides],
    ) -> Self:
        """Parse the command line. If it is wrong, end the program (exit code 2) with a message.

        Args:
            argv: The arguments. Defaults to those of the process.
            environ: The environment (``WATCH_NAMESPACE``, ``ENABLE_WEBHOOKS``). Defaults to that of
                the process.
            **overrides: Values that replace the defaults. Flags override them.
        """
        program = _program()
        parser = argparse.ArgumentParser(
            prog=program,
            usage="%(prog)s [flag ...]",
            description="Run the manager: every controller of the program, until SIGTERM or Ctrl-C.",
            epilog=_EXAMPLES.format(program=program),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        add_flags(parser)
        return cls.from_namespace(parser.parse_args(argv), environ=environ, **overrides)

    @classmethod
    def from_namespace(
        cls,
        flags: argparse.Namespace,
        *,
        environ: Mapping[str, str] | None = None,
        **overrides: Unpack[ManagerOverrides],
    ) -> Self:
        """Make options from the flags that another parser with :func:`add_flags` has parsed."""
        given = {name: value for name, value in vars(flags).items() if value is not None}
        environ = os.environ if environ is None else environ
        watched = given.pop("watch_namespaces", None)
        if watched is None:
            watched = environ.get("WATCH_NAMESPACE", "")
        values: dict[str, Any] = {"health_probe_bind_address": ":8081", **overrides}
        if environ.get("ENABLE_WEBHOOKS") in _FALSE:
            values["webhooks"] = False
        namespaces = tuple(dict.fromkeys(part.strip() for part in watched.split(",") if part.strip()))
        if namespaces:
            values["namespaces"] = namespaces
        for server in ("metrics", "webhook"):
            parts = {part: given.pop(f"{server}_cert_{part}", None) for part in ("path", "name", "key")}
            certificate: CertificateOptions = values.get(f"{server}_certificate", CertificateOptions())
            if parts["path"]:
                files = (Path(parts["path"]), parts["name"] or "tls.crt", parts["key"] or "tls.key")
                certificate = CertificateOptions(*files, certificate.client_ca, certificate.client_names)
            clients = {part: given.pop(f"{server}_{part}", None) for part in ("client_ca", "client_names")}
            values[f"{server}_certificate"] = replace(
                certificate, **{part: value for part, value in clients.items() if value is not None}
            )
        tls = {part: given.pop(f"tls_{part}", None) for part in ("min_version", "cipher_suites")}
        chosen = {part: value for part, value in tls.items() if value is not None}
        values["tls"] = replace(values.get("tls", TlsOptions()), **chosen)
        values |= _logging(given)
        known = {name for name in cls.__dataclass_fields__ if name not in ("log_level", "log_format")}
        return cls(**values | {name: value for name, value in given.items() if name in known})


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the manager's flags. :meth:`ManagerOptions.from_namespace` applies their defaults."""
    flag: dict[str, Any] = {"type": _boolean, "nargs": "?", "const": True, "metavar": "true|false"}

    add = parser.add_argument_group("cluster").add_argument
    add("--kubeconfig", type=Path, metavar="FILE", help="kubeconfig to use (default: as kubectl, or the pod's account)")
    add("--context", metavar="NAME", help="context of the kubeconfig")
    add("--master", metavar="URL", help="URL of the API server, in place of the kubeconfig's")
    add(
        *("--watch-namespace", "--watch-namespaces"),
        dest="watch_namespaces",
        metavar="NS[,NS...]",
        help="namespaces to watch (default: $WATCH_NAMESPACE, else all)",
    )
    add("--kube-api-qps", type=_rate, metavar="N", help="most requests a second, on average (default: no limit)")
    add("--kube-api-burst", type=_positive, metavar="N", help="most requests at once under that limit (default 30)")

    add = parser.add_argument_group("leader election").add_argument
    add("--leader-elect", **flag, help="have at most one replica work at a time (default false)")
    add("--leader-election-namespace", metavar="NS", help="namespace of the lease (default: that of the pod)")

    group = parser.add_argument_group("servers")
    add = group.add_argument
    add("--health-probe-bind-address", type=_address, metavar="ADDR", help="/healthz and /readyz (default :8081)")
    add("--metrics-bind-address", type=_address, metavar="ADDR", help="metrics, e.g. :8443; 0 for none (default 0)")
    add("--metrics-secure", **flag, help="metrics by TLS and to authorised readers only (default true)")
    _add_certificate(group, "metrics")
    add("--pprof-bind-address", type=_address, metavar="ADDR", help=_PPROF)
    add("--webhook-port", type=int, metavar="PORT", help="webhooks; none if $ENABLE_WEBHOOKS is false (default 9443)")
    add("--webhook-bind-host", metavar="HOST", help="address of the webhook server (default: every one)")
    _add_certificate(group, "webhook")
    add("--tls-min-version", choices=("VersionTLS12", "VersionTLS13"), help="of all servers (default VersionTLS12)")
    add("--tls-cipher-suites", type=_names, metavar="NAME[,NAME...]", help=_CIPHERS)
    add("--enable-http2", **flag, help="accepted for compatibility: the servers speak HTTP/1.1 only")

    add = parser.add_argument_group("log").add_argument
    add("--log-level", choices=LOG_LEVELS, help="least severity to log (default info)")
    add("--log-format", choices=[str(style) for style in LogFormat], help="form of the log (default text)")

    add = parser.add_argument_group("log, in kubebuilder's words").add_argument
    add("--zap-devel", **flag, help="log from debug on, as text")
    add("--zap-encoder", choices=("console", "json"), help="form of the log")
    add("--zap-log-level", metavar="LEVEL", help="least severity: debug, info, error, or a verbosity")
    add("--zap-stacktrace-level", metavar="LEVEL", help="accepted: errors nobody foresaw have a traceback")
    add("--zap-time-encoding", metavar="NAME", help="accepted: times are RFC 3339 in UTC")


_PPROF = "stacks, profiles, log level, e.g. 127.0.0.1:8082; not for everybody's eyes; 0 for none (default 0)"
_CIPHERS = "suites of TLS 1.2, by IANA name (default: Python's); those of TLS 1.3 cannot be chosen"

_EXAMPLES = """\
examples:
  {program} --log-level debug
  {program} --kubeconfig staging.yaml --watch-namespace default
  {program} --metrics-bind-address :8080 --metrics-secure=false
"""


def _program() -> str:
    """The command that runs this program. For a package run by ``-m``, Python only gives ``__main__.py``."""
    module = main_module()
    return f"python -m {module}" if module else Path(sys.argv[0]).name


def _add_certificate(group: argparse._ArgumentGroup, server: str) -> None:
    add = group.add_argument
    for part, text in (("path", "directory of the certificate"), ("name", "its file"), ("key", "its key's file")):
        add(f"--{server}-cert-{part}", metavar=part.upper(), help=f"{server} server: {text}")
    add(
        f"--{server}-client-ca-file",
        dest=f"{server}_client_ca",
        type=Path,
        metavar="FILE",
        help=f"{server} server: demand a client certificate that an authority in this file signed",
    )
    add(
        f"--{server}-client-allowed-names",
        dest=f"{server}_client_names",
        type=_names,
        metavar="CN[,CN...]",
        help=f"{server} server: common names of those certificates (default: any)",
    )


def _logging(given: dict[str, Any]) -> dict[str, Any]:
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
    if text in _FALSE:
        return False
    raise argparse.ArgumentTypeError(f"`{text}` is neither true nor false")


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number above 0")
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
