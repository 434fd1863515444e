"""Options of the certificates and of TLS."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from pykb.client.options import check_durations, check_names


@dataclass(frozen=True, slots=True)
class CertificateOptions:
    """The certificate of a server, as mounted by cert-manager.

    ::

        certificate = CertificateOptions(Path("/tmp/k8s-webhook-server/serving-certs"))
        manager = Manager(ManagerOptions(webhook_certificate=certificate))

    Attributes:
        directory: The directory of the files. ``None`` means that a self-signed certificate is
            made.
        name: The file name of the certificate chain.
        key: The file name of the private key.
        client_ca: The file of the authorities whose clients may connect. It is reloaded when it
            changes. ``None`` means that every client may connect.
        client_names: The allowed common names in certificates of clients. Empty means any.
    """

    directory: Path | None = None
    name: str = "tls.crt"
    key: str = "tls.key"
    client_ca: Path | None = None
    client_names: tuple[str, ...] = ()


_LONGEST_LIFE = timedelta(days=36500)
"""Of an authority. Certificates end before the year 10000."""


@dataclass(frozen=True, slots=True)
class ManagedCertificateOptions:
    """A certificate that the manager makes and renews itself, for all servers without a directory.

    ::

        managed = ManagedCertificateOptions(
            "serving-certificate",
            services=("webhook-service",),
            configurations=("validating-webhook-configuration",),
        )
        manager = Manager(ManagerOptions(managed_certificate=managed))

    It is kept in a Secret that all replicas share, with its authority and the authority's key.

    Attributes:
        secret: The name of the Secret, and of the ConfigMap that gets the authority. Empty means
            that no certificate is made.
        services: The Services of the manager. The certificate is for their names.
        configurations: The names of the webhook configurations that get the authority. The CRDs
            that the manager converts get it as well.
        namespace: The namespace of Secret and Services. Defaults to that of the pod.
        life: How long a certificate is valid. It is renewed when a third is left. The same applies
            to the certificate that a server signs itself if there is no other.
        authority_life: How long the authority is valid. At least three times as long, and at most a
            hundred years.
    """

    secret: str = ""
    services: tuple[str, ...] = ()
    configurations: tuple[str, ...] = ()
    namespace: str = ""
    life: timedelta = timedelta(days=90)
    authority_life: timedelta = timedelta(days=3650)

    def __post_init__(self) -> None:
        check_names("services", self.services)
        check_names("configurations", self.configurations)
        check_durations(life=self.life, authority_life=self.authority_life)
        if self.life <= timedelta(0):
            raise ValueError("`life` must be longer than nothing")
        if self.authority_life > _LONGEST_LIFE:
            raise ValueError(f"`authority_life` must be at most {_LONGEST_LIFE.days} days")
        if self.authority_life < 3 * self.life:
            raise ValueError("`authority_life` must be at least three times `life`")


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """TLS options of the servers.

    ::

        manager = Manager(ManagerOptions(tls=TlsOptions(min_version="VersionTLS13")))

    Attributes:
        min_version: ``VersionTLS12`` or ``VersionTLS13``.
        cipher_suites: The cipher suites of TLS 1.2, by their IANA names. Defaults to Python's.
            Cipher suites of TLS 1.3 cannot be chosen.
    """

    min_version: str = "VersionTLS12"
    cipher_suites: tuple[str, ...] = ()
