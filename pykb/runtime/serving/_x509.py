"""Makes X.509 certificates. Loads cryptography, so run it in another process (:mod:`._elsewhere`)."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_COMMON_NAME_LENGTH = 64


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> tuple[str, str]:
        """Both in PEM."""
        key = self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
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
    names: Iterable[str] = (),
    signs: bool = False,
) -> KeyPair:
    """Make a certificate with a new key.

    Args:
        title: The common name, for people.
        validity: When it is valid.
        signer: The authority. By default, it signs itself.
        names: The DNS names and addresses of a server.
        signs: Whether it is an authority.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, title[:_COMMON_NAME_LENGTH])])
    issuer_key = (signer.key if signer else key).public_key()
    # Python 3.13 verifies strictly: a CA needs keyUsage, and every certificate needs key
    # identifiers.
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(signer.certificate.subject if signer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(validity.start)
        .not_valid_after(validity.end)
        .add_extension(x509.BasicConstraints(ca=signs, path_length=0 if signs else None), critical=True)
        .add_extension(_usage(signs=signs, serves=bool(names)), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False)
    )
    alternatives = [_alternative(name) for name in names]
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    return KeyPair(builder.sign(signer.key if signer else key, hashes.SHA256()), key)


def _usage(*, signs: bool, serves: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=serves,
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
