"""Options of a client, which apply to every request, and of the transport below it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Literal, TypedDict

from pykb.client.login.credentials import Impersonation

FieldValidation = Literal["Ignore", "Warn", "Strict"]
Propagation = Literal["Orphan", "Background", "Foreground"]

FIELD_MANAGER_LENGTH = 128
"""The maximum number of characters in the name of a field manager (``metav1/validation``)."""


def main_module() -> str | None:
    """Return the module or package that Python runs by ``-m``, or ``None`` if it runs a file."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return None if spec is None else str(spec.name).removesuffix(".__main__")


def program_name() -> str:
    """The name of this program: the module or package of ``python -m``, else the name of its file.

    client-go also records writes under the name of the program's file. Two programs must not share
    a name: by server-side apply, each would remove the fields that the other has set.
    """
    name = main_module() or Path(sys.argv[0]).stem
    return name[:FIELD_MANAGER_LENGTH] if name[:1].isalnum() else "python"


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """Options of a client.

    ::

        options = ClientOptions(namespace="shop", field_manager="shop-tool", dry_run=True)
        async with Client.from_environment(options=options) as client:
            await client.apply(deployment_of(machine))  # validated, not stored

    Attributes:
        namespace: Restricts the client to this namespace, which is also the default. It does not
            affect cluster-scoped kinds.
        field_manager: The name that records its writes in ``managedFields``. Defaults to the name
            of the program (:func:`program_name`), and in a manager to its ``leader_election_id``,
            if set.
        field_validation: How the server treats unknown and duplicate fields. ``None`` means the
            server's default (``Warn``).
        dry_run: Whether writes are only validated, defaulted and admitted, but not stored.
        impersonate: The user to act as.
    """

    namespace: str = ""
    field_manager: str = field(default_factory=program_name)
    field_validation: FieldValidation | None = None
    dry_run: bool = False
    impersonate: Impersonation | None = None


class OptionChanges(TypedDict, total=False):
    """The :class:`ClientOptions` in which another client differs."""

    namespace: str
    field_manager: str
    field_validation: FieldValidation | None
    dry_run: bool
    impersonate: Impersonation | None


@dataclass(frozen=True, slots=True)
class TransportOptions:
    """Limits of a transport.

    ::

        limits = TransportOptions(qps=20, burst=40)
        async with Client.from_environment(transport=limits) as client:
            await client.list(Pod, namespace="default")

    Attributes:
        max_connections: How many requests may run at once. Watches do not count.
        timeout: How long to wait for a whole answer. The server itself gives up after a minute.
        connect_timeout: How long to wait for a connection.
        attempts: How often to try a request that may be repeated.
        first_backoff: The pause before the second attempt. It doubles with each further one, with
            jitter.
        max_backoff: The longest pause. If the server asks for a longer one (``Retry-After``), the
            request waits as long as that, up to a minute. If it asks for more, the error is raised
            at once, with its ``retry_after``.
        idle_timeout: How long a stream may be silent before it counts as broken. A watch gets a
            bookmark every minute.
        qps: The average number of requests per second. Not limited unless positive. Streams
            (watches, logs) do not count, as in client-go.
        burst: How many requests may be sent at once, if ``qps`` limits them.
    """

    max_connections: int = 32
    timeout: timedelta = timedelta(seconds=60)
    connect_timeout: timedelta = timedelta(seconds=10)
    attempts: int = 6
    first_backoff: timedelta = timedelta(milliseconds=100)
    max_backoff: timedelta = timedelta(seconds=10)
    idle_timeout: timedelta = timedelta(seconds=70)
    qps: float = 0.0
    burst: int = 30
