"""Certificates of the manager's servers: read from files and followed when they change, or made on the spot."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import ssl
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.runtime import CERTIFICATE
from pykb.runtime.clock import Clock, SystemClock
from pykb.runtime.secret_file import secret_file

if TYPE_CHECKING:
    from pykb.runtime.metrics import Metrics
    from pykb.runtime.options import CertificateOptions

logger = logging.getLogger(__name__)

POLL = timedelta(seconds=10)
"""How often files are looked at; cert-manager renews days before a certificate runs out."""

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""What a certificate that is made holds for."""

VALIDITY = timedelta(days=365)

_PROGRAM = """
import sys
from pykb.runtime.certificates import self_signed
sys.stdout.buffer.write(b"\\0".join(self_signed(tuple(sys.stdin.read().split()))))
"""


class ServingCertificate:
    """A TLS context whose certificate follows its files: a runnable."""

    def __init__(
        self,
        options: CertificateOptions,
        *,
        metrics: Metrics | None = None,
        clock: Clock | None = None,
        hosts: tuple[str, ...] = LOOPBACK,
    ) -> None:
        """Load the certificate, or make one.

        Raises:
            EnvironmentProblem: The files are not there, or are no pair.
        """
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        # Kubernetes clients speak 1.2 at least; HTTP/2 is not offered (its resets were used for attacks).
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.set_alpn_protocols(["http/1.1"])
        self._metrics = metrics
        self._clock: Clock = clock or SystemClock()
        self._files: tuple[Path, Path] | None = None
        self._stamp: tuple[int, ...] = ()
        self._made = b""
        self.renewed = asyncio.Condition()
        """Notified when the files have changed and were read."""
        if options.directory is None:
            self._made, key = _made_elsewhere(hosts)
            load_pair(self.context, self._made, key)
            return
        self._files = (options.directory / options.name, options.directory / options.key)
        try:
            self._stamp = self._stamps()
            self._load()
        except (OSError, ssl.SSLError) as error:
            raise EnvironmentProblem(
                CERTIFICATE.at(
                    None,
                    f"the certificate `{self._files[0]}` with key `{self._files[1]}` cannot be used: {error}",
                    help=("is the secret with the certificate mounted there?",),
                )
            ) from error

    @property
    def authority(self) -> bytes:
        """What callers are to trust, in PEM: ``ca.crt`` next to the files, else the certificate itself.

        Raises:
            OSError: The files are gone.
        """
        if self._files is None:
            return self._made
        authority = self._files[0].parent / "ca.crt"
        return (authority if authority.is_file() else self._files[0]).read_bytes()

    async def run(self) -> None:
        """Follow the files until cancelled. A broken renewal is reported, and the old certificate stays."""
        while True:
            await self._clock.sleep(POLL)
            if self._files is None:
                continue
            try:
                stamp = self._stamps()
                if stamp == self._stamp:
                    continue
                self._load()
                self._stamp = stamp
            except (OSError, ssl.SSLError) as error:
                logger.warning("certificate not renewed", extra={"file": str(self._files[0]), "error": str(error)})
                if self._metrics is not None:
                    self._metrics.certificate_errors.inc()
            else:
                logger.info("certificate renewed", extra={"file": str(self._files[0])})
                async with self.renewed:
                    self.renewed.notify_all()

    def _stamps(self) -> tuple[int, ...]:
        assert self._files is not None  # noqa: S101 - callers checked
        return tuple(number for file in self._files for number in (file.stat().st_mtime_ns, file.stat().st_ino))

    def _load(self) -> None:
        assert self._files is not None  # noqa: S101 - callers checked
        # Read once: the files may be replaced meanwhile, one after the other.
        certificate, key = (file.read_bytes() for file in self._files)
        # A context forgets its key as soon as it is given a certificate that the key is not of, so another one tries.
        load_pair(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), certificate, key)
        load_pair(self.context, certificate, key)
        if self._metrics is not None:
            self._metrics.certificate_reads.inc()


def load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Load a certificate and a key that are no files."""
    with secret_file(certificate + b"\n" + key) as name:
        context.load_cert_chain(name, password=b"")  # without one, OpenSSL asks a terminal for it, and waits


def self_signed(hosts: tuple[str, ...]) -> tuple[bytes, bytes]:
    """A certificate for these names and addresses that nobody but its own holder vouches for, and its key; PEM."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])])
    now = datetime.now(UTC)
    names: list[x509.GeneralName] = []
    for host in hosts:
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(host)))
        except ValueError:
            names.append(x509.DNSName(host))
    usage = {
        word: word in ("digital_signature", "key_cert_sign")
        for word in (
            *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
            *("key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
        )
    }
    # Python 3.13 verifies strictly: a CA needs keyUsage, and every certificate the identifiers of its keys.
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + VALIDITY)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.KeyUsage(**usage), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return (
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


def _made_elsewhere(hosts: tuple[str, ...]) -> tuple[bytes, bytes]:
    """What :func:`self_signed` gives, from a process of its own.

    Once loaded, cryptography keeps 8 MiB for ever, a tenth of an idle manager; and it is needed once.
    """
    if "cryptography.x509" not in sys.modules and sys.executable:
        command = (sys.executable, "-c", _PROGRAM)
        with contextlib.suppress(OSError, subprocess.SubprocessError, ValueError):
            names = "\n".join(hosts).encode()
            done = subprocess.run(command, input=names, check=True, capture_output=True, timeout=60)
            certificate, key = done.stdout.split(b"\0")
            return certificate, key
    return self_signed(hosts)


async def make_certificate(
    options: CertificateOptions, *, metrics: Metrics | None = None, clock: Clock | None = None, host: str = ""
) -> ServingCertificate:
    """Load or make a certificate off the event loop (making a key takes a moment).

    Args:
        options: Where it is; made when it is nowhere.
        metrics: What reads are counted in.
        clock: What the files are followed by.
        host: A name or address that one that is made holds for, besides loopback.

    Raises:
        EnvironmentProblem: The files are not there, or are no pair.
    """
    hosts = tuple(dict.fromkeys((*LOOPBACK, *((host,) if host else ()))))
    return await asyncio.to_thread(ServingCertificate, options, metrics=metrics, clock=clock, hosts=hosts)
