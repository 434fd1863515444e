"""The credentials for an API server, as plain values. pykb's and kopf's clients share them.

This module does not read files or run programs; :mod:`~pykb.client.login._kubeconfig` and
:mod:`~pykb.client.login` do.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

import orjson


@dataclass(frozen=True, slots=True)
class Impersonation:
    """The user to act as (https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation)."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Credentials:
    """One API server and the credentials for it. Its ``repr`` does not show secrets.

    ::

        credentials = Credentials("https://10.0.0.1:6443", token=token, ca_data=Path("ca.crt").read_bytes())
        async with Client.from_credentials(credentials) as client:
            await client.list(Pod, namespace="default")

    Attributes:
        server: The URL, without a slash at the end.
        ca_data: The certificates to trust, PEM. Defaults to the system's.
        insecure: Whether to skip the verification of the server's certificate.
        tls_server_name: The name that the server's certificate must have, if it differs from the
            URL's host.
        client_certificate: The client's certificate chain, PEM.
        client_key: Its private key, PEM.
        token: A bearer token.
        username: The user for basic authentication (a proxy in front of the server may require it).
        password: The password for basic authentication.
        proxy_url: The HTTP proxy to use. Defaults to the environment's (``HTTPS_PROXY``,
            ``NO_PROXY``).
        impersonate: The user to act as.
        namespace: The default namespace; empty if there is none.
        expiration: When they expire, in UTC; ``None`` if unknown.
        origin: Their source, for messages: ``kubeconfig /home/ann/.kube/config, context kind``.
    """

    server: str
    ca_data: bytes | None = field(default=None, repr=False)
    insecure: bool = False
    tls_server_name: str | None = None
    client_certificate: bytes | None = field(default=None, repr=False)
    client_key: bytes | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    proxy_url: str | None = field(default=None, repr=False)
    impersonate: Impersonation | None = None
    namespace: str = ""
    expiration: datetime | None = None
    origin: str = ""

    def expires_before(self, moment: datetime) -> bool:
        """Whether they are known to have expired at ``moment``."""
        return self.expiration is not None and self.expiration.astimezone(UTC) <= moment


class CredentialSource(Protocol):
    """Provides credentials to a client, repeatedly, since tokens are rotated and plugins return short-lived ones.

    ::

        class Vault:
            credentials: Credentials | None = None

            async def current(self) -> Credentials:
                return self.credentials or await self.refresh()

            async def refresh(self) -> Credentials:
                self.credentials = Credentials("https://10.0.0.1:6443", token=await new_token())
                return self.credentials

        client = Client.from_credentials(Vault())
    """

    async def current(self) -> Credentials:
        """Return the credentials for the next request. It reads a file or runs a plugin only if they have expired.

        Raises:
            EnvironmentProblem: There are no credentials, or reading their file or running their
                plugin failed.
        """

    async def refresh(self) -> Credentials:
        """Return new credentials, because the server answered 401 to those of :meth:`current`.

        Raises:
            EnvironmentProblem: As for :meth:`current`.
        """


@dataclass(frozen=True, slots=True)
class StaticCredentials:
    """A source that always returns the same credentials, for tests and for programs with their own."""

    credentials: Credentials

    async def current(self) -> Credentials:
        """Return the credentials."""
        return self.credentials

    async def refresh(self) -> Credentials:
        """Return the same credentials: there are no others."""
        return self.credentials


def expired_part(credentials: Credentials, now: datetime) -> str:
    """Return which part of credentials has expired, and when. Empty if no expired part is known.

    Args:
        credentials: The refused credentials.
        now: The present time.
    """
    for part, moment in (
        ("client certificate", _end_of_certificate(credentials.client_certificate)),
        ("token", _end_of_token(credentials.token)),
    ):
        if moment is not None and moment <= now:
            return f"the {part} of {credentials.origin or credentials.server} expired at {moment:%Y-%m-%dT%H:%M:%SZ}"
    return ""


def _end_of_certificate(pem: bytes | None) -> datetime | None:
    if not pem:
        return None
    from cryptography import x509  # imported here: it takes a tenth of a second, and the message is rarely needed

    try:
        return x509.load_pem_x509_certificate(pem).not_valid_after_utc
    except ValueError:
        return None


def _end_of_token(token: str | None) -> datetime | None:
    """The ``exp`` of a JWT. Other tokens do not contain their end."""
    parts = (token or "").split(".")
    if len(parts) != 3:
        return None
    try:
        claims = orjson.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return datetime.fromtimestamp(float(claims["exp"]), UTC)
    except (binascii.Error, ValueError, KeyError, TypeError, OverflowError):
        return None
