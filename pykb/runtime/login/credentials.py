"""What a connection to an API server needs: plain values, the same for pykb's client and for kopf's.

Nothing here reads a file or runs a program; :mod:`~pykb.runtime.login._kubeconfig` and
:mod:`~pykb.runtime.login._incluster` do.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Whom to act as (https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation)."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Credentials:
    """One API server and the means to be admitted by it. Its ``repr`` shows no secret.

    Attributes:
        server: The URL, without a slash at the end.
        ca_data: The certificates to trust, PEM; the system's when ``None``.
        insecure: Whether the server's certificate is not verified at all.
        tls_server_name: The name that the server's certificate must carry, where it is not the URL's host.
        client_certificate: The client's certificate chain, PEM.
        client_key: Its private key, PEM.
        token: A bearer token.
        username: For basic authentication (a proxy in front of the server may ask for it).
        password: For basic authentication.
        proxy_url: The HTTP proxy to go through; without it the environment's (``HTTPS_PROXY``, ``NO_PROXY``).
        impersonate: Whom to act as.
        namespace: The namespace to work in where none is given; empty when nothing says so.
        expiration: When the server will no longer accept them, in UTC; ``None`` when unknown.
        origin: Where they were found, for messages: ``kubeconfig /home/ann/.kube/config, context kind``.
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
        """Whether they are known to be useless at ``moment``."""
        return self.expiration is not None and self.expiration.astimezone(UTC) <= moment


class CredentialSource(Protocol):
    """Where a client gets its credentials, again and again: tokens are rotated, plugins hand out short-lived ones."""

    async def current(self) -> Credentials:
        """What to use for the next request. Cheap: reads a file or runs a plugin only when its answer has run out.

        Raises:
            EnvironmentProblem: There are none, or a file or a plugin they come from failed.
        """
        ...

    async def refresh(self) -> Credentials:
        """New ones, because the server answered 401 to those of :meth:`current`.

        Raises:
            EnvironmentProblem: As :meth:`current`.
        """
        ...


@dataclass(frozen=True, slots=True)
class StaticCredentials:
    """A source that always gives the same: for tests, and for programs that bring their own."""

    credentials: Credentials

    async def current(self) -> Credentials:
        """The credentials."""
        return self.credentials

    async def refresh(self) -> Credentials:
        """The same credentials: there are no others."""
        return self.credentials
