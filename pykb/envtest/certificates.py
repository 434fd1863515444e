"""Certificate authorities for control planes and their webhooks, strict enough for Python 3.13.

Python 3.13 requires keyUsage in an authority and authorityKeyIdentifier in the certificates that it signs (RFC 5280,
4.2.1.1 and 4.2.1.3).
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = dt.timedelta(days=365)
CLOCK_SKEW = dt.timedelta(hours=1)


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, from its first byte on. Refuses a link in its place."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        os.fchmod(file.fileno(), 0o600)  # O_CREAT does not change the mode of an existing file
        file.write(content)


def new_key() -> ec.EllipticCurvePrivateKey:
    """A P-256 key. It takes a millisecond to make; an RSA key takes a tenth of a second."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """A private key as unencrypted PEM, in the form that client-go reads."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes

    def write(self, folder: Path, name: str) -> tuple[Path, Path]:
        """Write ``<name>.crt`` and ``<name>.key``, private, and return their paths."""
        certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
        write_private(certificate, self.certificate)
        write_private(key, self.key)
        return certificate, key


class Authority:
    """A certificate authority with the lifetime of its control plane. It signs certificates of servers and users."""

    def __init__(self) -> None:
        self._key = new_key()
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "pykb-envtest-ca")])
        self._certificate = (
            self._builder(subject, subject, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=True), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def pair(self) -> KeyPair:
        """The authority's own certificate and key."""
        return KeyPair(self._certificate.public_bytes(serialization.Encoding.PEM), key_pem(self._key))

    def server(self, names: Iterable[str], *, title: str = "kube-apiserver") -> KeyPair:
        """A server certificate for DNS names and IP addresses. Its title is only for people."""
        alternatives = x509.SubjectAlternativeName([_alternative(name) for name in names])
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, title)])
        return self._leaf(subject, ExtendedKeyUsageOID.SERVER_AUTH, alternatives)

    def client(self, user: str, groups: Iterable[str] = ()) -> KeyPair:
        """A client certificate: Kubernetes takes the user from CN and the groups from O."""
        subject = x509.Name(
            [
                *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups),
                x509.NameAttribute(NameOID.COMMON_NAME, user),
            ]
        )
        return self._leaf(subject, ExtendedKeyUsageOID.CLIENT_AUTH, None)

    def _leaf(
        self,
        subject: x509.Name,
        purpose: x509.ObjectIdentifier,
        alternatives: x509.SubjectAlternativeName | None,
    ) -> KeyPair:
        key = new_key()
        issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = (
            self._builder(subject, self._certificate.subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
            .add_extension(issuer_key, critical=False)
        )
        if alternatives is not None:
            builder = builder.add_extension(alternatives, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), key_pem(key))

    @staticmethod
    def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - CLOCK_SKEW)
            .not_valid_after(now + LIFETIME)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        )


def write_serving_certificate(folder: Path, hosts: Iterable[str]) -> bytes:
    """Write ``tls.crt``, ``tls.key`` and ``ca.crt`` for a server. Returns the authority's certificate as PEM.

    The authority's key signs only this certificate and is not kept.
    """
    authority = Authority()
    write_private(folder / "ca.crt", authority.pair.certificate)
    authority.server(hosts, title="pykb-webhooks").write(folder, "tls")
    return authority.pair.certificate


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
