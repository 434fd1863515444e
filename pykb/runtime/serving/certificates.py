"""Certificates of the manager's servers: read from files and reloaded on change, managed, or self-signed."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.runtime import CERTIFICATE
from pykb.runtime.client.server import secret_file
from pykb.runtime.clock import Clock, SystemClock
from pykb.runtime.manager.options import CertificateOptions, TlsOptions
from pykb.runtime.serving._elsewhere import call
from pykb.runtime.serving.tls import check_client_ca, demand_client_certificate, server_context

if TYPE_CHECKING:
    from pykb.runtime._metrics import Metrics
    from pykb.runtime.serving._shared_secret import Pair
    from pykb.runtime.serving.managed_certificates import ManagedCertificates

logger = logging.getLogger(__name__)

POLL = timedelta(seconds=10)
"""How often files are checked. cert-manager renews days before a certificate expires."""

VALIDITY = timedelta(days=365)
"""Of a self-signed certificate."""

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""The names in a self-signed certificate."""


class ServingCertificate:
    """A TLS context that reloads its certificate when the files change. A runnable."""

    def __init__(
        self,
        options: CertificateOptions,
        *,
        tls: TlsOptions | None = None,
        metrics: Metrics | None = None,
        clock: Clock | None = None,
        hosts: tuple[str, ...] = LOOPBACK,
        server: str = "webhook",
        managed: Pair | None = None,
    ) -> None:
        """Load the certificate, or take the managed one, or make one.

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
            self._made = self_signed(hosts)
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
            raise EnvironmentProblem(
                CERTIFICATE.at(
                    None,
                    f"the certificate {shown} cannot be used: {error}",
                    help=("check that the secret with the certificate is mounted there",),
                )
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
        """Reload changed files until cancelled. An invalid renewal is reported, and the old certificate stays."""
        while True:
            await self._clock.sleep(POLL)
            await self._reload(str(next(iter(self._files), "")))

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
    """When the first certificate of a chain expires. Without cryptography, which would stay in memory."""
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
    metrics: Metrics | None,
    clock: Clock | None,
    host: str = "",
    managed: ManagedCertificates | None,
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

    Raises:
        EnvironmentProblem: The files are missing or do not match, or the TLS options cannot be met.
    """
    hosts = tuple(dict.fromkeys((*LOOPBACK, *((host,) if host else ()))))
    make = partial(ServingCertificate, tls=tls, metrics=metrics, clock=clock, hosts=hosts, server=server)
    if managed is None or options.directory is not None:
        return await asyncio.to_thread(make, options)
    certificate = await asyncio.to_thread(make, options, managed=await managed.pair())
    await managed.follow(certificate.take)
    return certificate


def self_signed(hosts: tuple[str, ...]) -> tuple[bytes, bytes]:
    """Make a self-signed certificate for these names and addresses, and its key, in PEM."""
    given = {"hosts": hosts, "days": VALIDITY.days, "now": datetime.now(UTC).isoformat()}
    made = call("pykb.runtime.serving._authority:self_signed_json", given)
    return made["certificate"].encode(), made["key"].encode()
