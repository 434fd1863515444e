"""Makes self-signed certificates for servers without a certificate."""

from __future__ import annotations

import contextlib
import ipaddress
import subprocess
import sys
from datetime import UTC, datetime, timedelta

VALIDITY = timedelta(days=365)

_PROGRAM = """
import sys
from pykb.runtime.serving._self_signed import self_signed
sys.stdout.buffer.write(b"\\0".join(self_signed(tuple(sys.stdin.read().split()))))
"""


def self_signed(hosts: tuple[str, ...]) -> tuple[bytes, bytes]:
    """Make a self-signed certificate for these names and addresses, and its key, in PEM."""
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
    # Python 3.13 verifies strictly: a CA needs keyUsage, and every certificate needs key
    # identifiers.
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


def made_elsewhere(hosts: tuple[str, ...]) -> tuple[bytes, bytes]:
    """Run :func:`self_signed` in a separate process.

    Once loaded, cryptography keeps 8 MiB, a tenth of an idle manager, and it is needed only once.
    """
    if "cryptography.x509" not in sys.modules and sys.executable:
        command = (sys.executable, "-c", _PROGRAM)
        with contextlib.suppress(OSError, subprocess.SubprocessError, ValueError):
            names = "\n".join(hosts).encode()
            done = subprocess.run(command, input=names, check=True, capture_output=True, timeout=60)
            certificate, key = done.stdout.split(b"\0")
            return certificate, key
    return self_signed(hosts)
