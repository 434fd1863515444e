"""Certificate authorities for control planes and their webhooks."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pykb.tools import x509

LIFETIME = timedelta(days=365)


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, from its first byte on. Refuses a link in its place."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        os.fchmod(file.fileno(), 0o600)  # O_CREAT does not change the mode of an existing file
        file.write(content)


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
        self._signer = x509.make("pykb-envtest-ca", _validity(), signs=True)

    @property
    def pair(self) -> KeyPair:
        """The authority's own certificate and key."""
        return _encoded(self._signer)

    def server(self, names: Iterable[str], *, title: str = "kube-apiserver") -> KeyPair:
        """A server certificate for DNS names and IP addresses. Its title is only for people."""
        return _encoded(x509.make(title, _validity(), signer=self._signer, names=names))

    def client(self, user: str, groups: Iterable[str] = ()) -> KeyPair:
        """A client certificate: Kubernetes takes the user from CN and the groups from O."""
        return _encoded(x509.make(user, _validity(), signer=self._signer, identifies=True, groups=groups))


def write_serving_certificate(folder: Path, hosts: Iterable[str]) -> bytes:
    """Write ``tls.crt``, ``tls.key`` and ``ca.crt`` for a server. Returns the authority's certificate as PEM.

    The authority's key signs only this certificate and is not kept.
    """
    authority = Authority()
    write_private(folder / "ca.crt", authority.pair.certificate)
    authority.server(hosts, title="pykb-webhooks").write(folder, "tls")
    return authority.pair.certificate


def _validity() -> x509.Validity:
    return x509.Validity.of(LIFETIME, datetime.now(UTC))


def _encoded(made: x509.KeyPair) -> KeyPair:
    certificate, key = made.pem
    return KeyPair(certificate.encode("ascii"), key.encode("ascii"))
