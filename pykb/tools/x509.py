"""Makes certificates, of authorities, servers and clients, strict enough for Python 3.13.

Python 3.13 requires keyUsage in an authority and key identifiers in every certificate (RFC 5280, 4.2.1.1 to 4.2.1.3).
Loading cryptography takes 8 MiB.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> tuple[str, str]:
        """Both in PEM. The key is not encrypted, and in the only form of which kube-apiserver reads the public key."""
        key = self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
        return pem_of(self.certificate), key.decode("ascii")


@dataclass(frozen=True, slots=True)
class Validity:
    """When a certificate is valid. It starts a little before it is made, for clocks that are behind."""

    start: datetime
    end: datetime

    @classmethod
    def of(cls, life: timedelta, now: datetime) -> Validity:
        """From now on, for this time."""
        now = now.replace(microsecond=0)
        return cls(now - min(timedelta(hours=1), life / 10), now + life)


def pem_of(certificate: x509.Certificate) -> str:
    """A certificate in PEM."""
    return certificate.public_bytes(serialization.Encoding.PEM).decode("ascii")


def make(
    title: str,
    validity: Validity,
    *,
    signer: KeyPair | None = None,
    signs: bool = False,
    names: Iterable[str] = (),
    identifies: bool = False,
    groups: Iterable[str] = (),
) -> KeyPair:
    """Make a certificate with a new key, of P-256: an RSA key takes a hundred times as long to make.

    Args:
        title: The common name. It is the user of a client, and for people elsewhere.
        validity: When it is valid.
        signer: The authority. By default, it signs itself.
        signs: Whether it is an authority.
        names: The DNS names and addresses of a server.
        identifies: Whether it is of a client.
        groups: The groups of the client.

    Raises:
        ValueError: The title has more than 64 characters.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    subject = x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, title)])
    issuer_key = (signer.key if signer else key).public_key()
    alternatives = [_alternative(name) for name in names]
    purposes = [
        *([ExtendedKeyUsageOID.SERVER_AUTH] if alternatives else ()),
        *([ExtendedKeyUsageOID.CLIENT_AUTH] if identifies else ()),
    ]
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(signer.certificate.subject if signer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(validity.start)
        .not_valid_after(validity.end)
        .add_extension(x509.BasicConstraints(ca=signs, path_length=0 if signs else None), critical=True)
        .add_extension(_usage(signs=signs, shakes_hands=bool(purposes)), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False)
    )
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    if purposes:
        builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
    return KeyPair(builder.sign(signer.key if signer else key, hashes.SHA256()), key)


def _usage(*, signs: bool, shakes_hands: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=shakes_hands,
        key_cert_sign=signs,
        crl_sign=False,
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
