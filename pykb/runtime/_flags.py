"""The manager's flags: kubebuilder's and pykb's own."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Never

from pykb.client.options import main_module
from pykb.client.ranges import MOST, ShardBy
from pykb.runtime._logging import LOG_LEVELS, LogFormat
from pykb.serving import BindAddress

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
