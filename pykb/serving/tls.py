"""TLS of the manager's servers: their certificates (read from files and reloaded, managed, or self-signed) and clients.

The flags and their values are kube-apiserver's (``--tls-min-version``, ``--tls-cipher-suites``, ``--client-ca-file``,
``--requestheader-allowed-names``). Source:
https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from pykb.client.clock import Clock, SystemClock
from pykb.client.server import secret_file
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.runtime import CERTIFICATE, CLIENT_CA, TLS_OPTION
from pykb.serving._message import Handler, HttpError, HttpRequest, HttpResponse, Middleware
from pykb.serving.options import CertificateOptions, ManagedCertificateOptions, TlsOptions

if TYPE_CHECKING:
    from prometheus_client import Counter, Gauge

    from pykb.serving._shared_secret import Pair
    from pykb.serving.managed_certificates import ManagedCertificates

logger = logging.getLogger(__name__)

POLL = timedelta(seconds=10)
"""How often files are checked. cert-manager renews days before a certificate expires."""

LIFE = ManagedCertificateOptions().life
"""Of a self-signed certificate, by default."""

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""The names in a self-signed certificate."""

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
    return TLS_OPTION.problem(what, f"`{flag}` takes {names}", *more)


def demand_client_certificate(context: ssl.SSLContext, file: Path) -> None:
    """Accept only clients with a certificate of an authority in the file.

    Raises:
        OSError: The file cannot be read.
        ssl.SSLError: The file has no certificate.
    """
    try:
        context.load_verify_locations(cadata=file.read_bytes().decode("ascii", "ignore"))
    except (ssl.SSLError, ValueError) as error:
        raise ssl.SSLError(ssl.SSL_ERROR_SSL, f"`{file}` holds no certificate in PEM: {error}") from error
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
            raise CLIENT_CA.problem(
                f"the {server} server allows only {shown}, but has no CA to verify client certificates",
                f"give the CA of the clients: `--{server}-client-ca-file`",
            )
        return
    try:
        demand_client_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), file)
    except (OSError, ssl.SSLError) as error:
        why = error.strerror or str(error)
        raise CLIENT_CA.problem(
            f"the client CA file of the {server} server, `{file}`, cannot be used: {why}",
            f"`--{server}-client-ca-file` needs certificates in PEM; is the file mounted there?",
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


class CertificateMetrics(Protocol):
    """What is counted of certificates."""

    certificate_reads: Counter
    certificate_errors: Counter
    certificate_end: Gauge
    """When it expires, by server."""


class ServingCertificate:
    """A TLS context that reloads its certificate when the files change. A runnable."""

    def __init__(
        self,
        options: CertificateOptions,
        *,
        tls: TlsOptions | None = None,
        metrics: CertificateMetrics | None = None,
        clock: Clock | None = None,
        hosts: tuple[str, ...] = LOOPBACK,
        server: str = "webhook",
        managed: Pair | None = None,
        life: timedelta = LIFE,
    ) -> None:
        """Load the certificate, or take the managed one, or make one, which is valid for the given time.

        Raises:
            EnvironmentProblem: The files are missing or do not match, or the TLS options cannot be
                met.
        """
        self._options = options
        self._tls = tls or TlsOptions()
        self._metrics = metrics
        self._server = server
        self._clock: Clock = clock or SystemClock()
        self._made: tuple[bytes, bytes] | None = None
        self._sign: Callable[[], tuple[bytes, bytes]] | None = None
        self._life = life
        self._end = 0.0
        self.renewed = asyncio.Condition()
        """Notified after changed files were read."""
        server_context(self._tls.min_version, self._tls.cipher_suites)
        check_client_ca(options.client_ca, options.client_names, server)
        self._authority = b""
        pair: tuple[Path, ...] = ()
        if options.directory is None and managed is not None:
            self._made, self._authority = (managed.certificate, managed.key), managed.authorities
        elif options.directory is None:
            self._sign = partial(self_signed, hosts, life)
            self._made = self._sign()
            self._authority = self._made[0]
        else:
            pair = (options.directory / options.name, options.directory / options.key)
        self._pair = pair
        self._files = pair if options.client_ca is None else (*pair, options.client_ca)
        try:
            self._stamp: tuple[int, ...] | None = self._stamps()
            self.context = self._loaded()
            """For connections from now on; another one after each renewal."""
        except (OSError, ssl.SSLError) as error:
            shown = " with key ".join(f"`{file}`" for file in self._pair)
            raise CERTIFICATE.problem(
                f"the certificate {shown} cannot be used: {error}",
                "check that the secret with the certificate is mounted there",
            ) from error

    @property
    def authority(self) -> bytes:
        """The authority for clients, in PEM: ``ca.crt`` next to the files, else the certificate itself.

        Raises:
            OSError: The files are missing.
        """
        if self._made is not None:
            return self._authority
        authority = self._pair[0].parent / "ca.crt"
        return (authority if authority.is_file() else self._pair[0]).read_bytes()

    def check(self) -> None:
        """Check that the certificate has not expired. Clients refuse one that has.

        Raises:
            RuntimeError: It has.
        """
        if self._end < time.time():
            raise RuntimeError(f"the certificate of the {self._server} server has expired")

    async def take(self, managed: Pair) -> None:
        """Serve another managed certificate from now on."""
        before, self._made = self._made, (managed.certificate, managed.key)
        self._authority = managed.authorities
        if self._made != before:
            self._stamp = None
            await self._reload("a managed one")

    async def run(self) -> None:
        """Reload changed files until cancelled. An invalid renewal is reported, and the old certificate stays.

        A self-signed certificate is made again when a third of its life is left.
        """
        while True:
            await self._clock.sleep(POLL)
            if self._sign is not None and time.time() > self._end - self._life.total_seconds() / 3:
                self._made = await asyncio.to_thread(self._sign)
                self._authority, self._stamp = self._made[0], None
            await self._reload(str(next(iter(self._files), "a self-signed one")))

    async def _reload(self, shown: str) -> None:
        try:
            stamp = self._stamps()
            if stamp == self._stamp:
                return
            self.context = self._loaded()
            self._stamp = stamp
        except (OSError, ssl.SSLError) as error:
            logger.warning("certificate or client CA not renewed", extra={"file": shown, "error": str(error)})
            if self._metrics is not None:
                self._metrics.certificate_errors.inc()
        else:
            logger.info("certificates renewed", extra={"file": shown})
            async with self.renewed:
                self.renewed.notify_all()

    def _stamps(self) -> tuple[int, ...]:
        return tuple(number for file in self._files for number in (file.stat().st_mtime_ns, file.stat().st_ino))

    def _loaded(self) -> ssl.SSLContext:
        """A new context each time: an authority or a key cannot be removed from a context."""
        context = server_context(self._tls.min_version, self._tls.cipher_suites)
        # Read once: the files may be replaced one after the other meanwhile.
        certificate, key = self._made or (file.read_bytes() for file in self._pair)
        load_pair(context, certificate, key)
        if self._options.client_ca is not None:
            demand_client_certificate(context, self._options.client_ca)
        self._end = _end_of(certificate)
        if self._metrics is not None:
            self._metrics.certificate_end.labels(self._server).set(self._end)
            if self._made is None:
                self._metrics.certificate_reads.inc()
        return context


def _end_of(certificate: bytes) -> float:
    """When the first certificate of a chain expires. Without cryptography, which takes 12 MiB."""
    with secret_file(certificate) as name:
        decoded = ssl._ssl._test_decode_cert(name)  # type: ignore[attr-defined] # noqa: SLF001 - the only way
    return ssl.cert_time_to_seconds(decoded["notAfter"])


def load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a certificate and a key from memory."""
    with secret_file(certificate + b"\n" + key) as name:
        context.load_cert_chain(name, password=b"")  # otherwise OpenSSL prompts for it on the terminal and waits


async def make_certificate(
    options: CertificateOptions,
    *,
    server: str,
    tls: TlsOptions | None,
    metrics: CertificateMetrics | None,
    clock: Clock | None,
    host: str = "",
    managed: ManagedCertificates | None,
    life: timedelta = LIFE,
) -> ServingCertificate:
    """Load or make a certificate outside the event loop (making a key takes time).

    Args:
        options: The location of the certificate. Without one, it is managed or made.
        server: The server: the prefix of its flags.
        tls: The TLS options.
        metrics: Counts reads.
        clock: The clock for checking the files.
        host: A name or address in a self-signed certificate, besides loopback.
        managed: The certificate that the manager keeps, if it does. This waits until it is ready.
        life: How long a self-signed certificate is valid.

    Raises:
        EnvironmentProblem: The files are missing or do not match, or the TLS options cannot be met.
    """
    hosts = tuple(dict.fromkeys((*LOOPBACK, *((host,) if host else ()))))
    make = partial(ServingCertificate, tls=tls, metrics=metrics, clock=clock, hosts=hosts, server=server, life=life)
    if managed is None or options.directory is not None:
        return await asyncio.to_thread(make, options)
    certificate = await asyncio.to_thread(make, options, managed=await managed.pair())
    await managed.follow(certificate.take)
    return certificate


def self_signed(hosts: tuple[str, ...], life: timedelta = LIFE) -> tuple[bytes, bytes]:
    """Make a self-signed certificate for these names and addresses, and its key, in PEM."""
    from pykb.tools.x509 import Validity, make  # with cryptography, which most managers do not need

    certificate, key = make(hosts[0], Validity.of(life, datetime.now(UTC)), names=hosts, signs=True).pem
    return certificate.encode(), key.encode()
