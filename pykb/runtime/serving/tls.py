"""TLS of the manager's servers, and which clients may connect.

The flags and their values are kube-apiserver's (``--tls-min-version``, ``--tls-cipher-suites``, ``--client-ca-file``,
``--requestheader-allowed-names``). Source:
https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.runtime import CLIENT_CA, TLS_OPTION
from pykb.runtime.serving._message import Handler, HttpError, HttpRequest, HttpResponse, Middleware

MIN_VERSIONS = {"VersionTLS12": ssl.TLSVersion.TLSv1_2, "VersionTLS13": ssl.TLSVersion.TLSv1_3}
"""Kubernetes clients support at least 1.2."""

_SUITES = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
}

# Python does not allow a choice among them. Naming them has no effect.
_ALWAYS = {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}


def server_context(min_version: str, cipher_suites: Sequence[str]) -> ssl.SSLContext:
    """Make a context for a server, without a certificate yet.

    Raises:
        EnvironmentProblem: The version or cipher suite does not exist.
    """
    if min_version not in MIN_VERSIONS:
        raise _refused(f"`{min_version}` is not a TLS version", "--tls-min-version", MIN_VERSIONS)
    for name in cipher_suites:
        if name not in _SUITES and name not in _ALWAYS:
            raise _refused(f"`{name}` is not a supported cipher suite", "--tls-cipher-suites", _SUITES)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = MIN_VERSIONS[min_version]
    # HTTP/2 is not offered (its resets were used for attacks).
    context.set_alpn_protocols(["http/1.1"])
    chosen = [_SUITES[name] for name in cipher_suites if name in _SUITES]
    if chosen:
        context.set_ciphers(":".join(chosen))
    elif cipher_suites and context.minimum_version < ssl.TLSVersion.TLSv1_3:
        what = "these cipher suites are all of TLS 1.3, and none is left for TLS 1.2"
        raise _refused(what, "--tls-cipher-suites", _SUITES, "or refuse TLS 1.2: `--tls-min-version=VersionTLS13`")
    return context


def _refused(what: str, flag: str, allowed: object, *more: str) -> EnvironmentProblem:
    names = ", ".join(allowed) if isinstance(allowed, dict) else str(allowed)
    return EnvironmentProblem(TLS_OPTION.at(None, what, help=(f"`{flag}` takes {names}", *more)))


def demand_client_certificate(context: ssl.SSLContext, file: Path) -> None:
    """Accept only clients with a certificate of an authority in the file.

    Raises:
        OSError: The file cannot be read.
        ssl.SSLError: The file has no certificate.
    """
    try:
        context.load_verify_locations(cadata=file.read_bytes().decode("ascii", "ignore"))
    except (ssl.SSLError, ValueError) as error:
        raise ssl.SSLError(f"`{file}` holds no certificate in PEM: {error}") from error
    # As Go does, accept an intermediate as the root, and certificates without key identifiers.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.verify_mode = ssl.CERT_REQUIRED


def check_client_ca(file: Path | None, names: Sequence[str], server: str) -> None:
    """Check the options for clients' certificates at the start.

    Raises:
        EnvironmentProblem: The file has no authority, or names are set without a file.
    """
    if file is None:
        if names:
            shown = ", ".join(f"`{name}`" for name in names)
            raise EnvironmentProblem(
                CLIENT_CA.at(
                    None,
                    f"the {server} server allows only {shown}, but has no CA to verify client certificates",
                    help=(f"give the CA of the clients: `--{server}-client-ca-file`",),
                )
            )
        return
    try:
        demand_client_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), file)
    except (OSError, ssl.SSLError) as error:
        why = error.strerror or str(error)
        raise EnvironmentProblem(
            CLIENT_CA.at(
                None,
                f"the client CA file of the {server} server, `{file}`, cannot be used: {why}",
                help=(f"`--{server}-client-ca-file` needs certificates in PEM; is the file mounted there?",),
            )
        ) from error


def client_checks(names: Sequence[str]) -> tuple[Middleware, ...]:
    """Refuse clients whose certificate has another common name. Without names, any is allowed."""
    if not names:
        return ()

    async def only_these(request: HttpRequest, handler: Handler) -> HttpResponse:
        if _common_name(request) not in names:
            raise HttpError(403, "the certificate is not that of an expected client\n")
        return await handler(request)

    return (only_these,)


def _common_name(request: HttpRequest) -> str | None:
    parts = (part for relative in request.peer_certificate.get("subject", ()) for part in relative)
    return next((value for name, value in parts if name == "commonName"), None)
