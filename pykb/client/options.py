"""Options of a client, which apply to every request, and of the transport below it; and the checks of all options."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, TypedDict

from typing_extensions import Format

from pykb.api.object import Object
from pykb.client.login.credentials import Impersonation
from pykb.meta.gvk import GroupVersionKind

# Checks the arguments of builders and options when they are passed.
#
# Type checkers find these mistakes too, but not everyone runs one. Without these checks, a mistake
# would fail at the first event or the first retry, or become a filter that passes everything.


# Otherwise, Python 3.14 evaluates annotations. Names under `if TYPE_CHECKING:` do not exist then.
_AS_WRITTEN: dict[str, Any] = {"annotation_format": Format.STRING} if sys.version_info >= (3, 14) else {}


def check_kind(method: str, kind: object) -> None:
    """Refuse a value that is not a class of objects or a group, version and kind.

    Raises:
        TypeError: It is something else.
    """
    if isinstance(kind, GroupVersionKind) or (isinstance(kind, type) and issubclass(kind, Object)):
        return
    shown = f"the object `{type(kind).__name__}`: give it the class" if isinstance(kind, Object) else described(kind)
    raise TypeError(f"`{method}` needs a kind, a class such as `Pod` or a `GroupVersionKind`; got {shown}")


def check_function(what: str, function: object, *takes: str, plain: bool = False) -> None:
    """Refuse a function that cannot be called with the arguments that it will get.

    Args:
        what: A description of the function, for the message.
        function: The function, or any callable object.
        takes: The names of the arguments that it will get.
        plain: Whether it must not be async, because its result is not awaited.

    Raises:
        TypeError: It is a class, the result of a call, not callable, async, or takes other
            arguments.
    """
    if inspect.iscoroutine(function):
        function.close()
        called = function.__name__
        raise TypeError(f"{what} is a function, got its call: write `{called}`, not `{called}(...)`")
    if isinstance(function, type) and takes:
        called = function.__name__
        raise TypeError(f"{what} is a function or an object, got the class `{called}`: write `{called}(...)`")
    if not callable(function):
        raise TypeError(f"{what} is a function, got {described(function)}")
    if plain and inspect.iscoroutinefunction(function):
        raise TypeError(f"{what} is a plain function, but `{_name(function)}` is async: nothing awaits it")
    try:
        inspect.signature(function, **_AS_WRITTEN).bind(*takes)
    except TypeError as error:
        given = ", ".join(takes) or "nothing"
        raise TypeError(f"{what} gets {given}, but `{_name(function)}` does not accept that: {error}") from None
    except ValueError:  # some functions written in C have no signature
        return


def checked_predicates(predicates: object) -> tuple[Any, ...]:
    """Return the predicates, if each can filter an event.

    Raises:
        TypeError: One cannot, or the argument is not a list.
    """
    if callable(predicates) or not isinstance(predicates, Iterable):
        raise TypeError(f"`predicates` is a list, got {described(predicates)}: `predicates=[...]`")
    found = tuple(predicates)
    for predicate in found:
        check_function("a predicate", predicate, "the event", plain=True)
    return found


def check_durations(**durations: object) -> None:
    """Refuse numbers of seconds, which other libraries accept.

    Raises:
        TypeError: A value is not a ``timedelta``.
    """
    for name, duration in durations.items():
        if duration is not None and not isinstance(duration, timedelta):
            raise TypeError(f"`{name}` is a timedelta, got {described(duration)}: `timedelta(seconds=...)`")


def check_names(name: str, names: object) -> None:
    """Refuse a single string where several names are expected: each letter would become a name.

    Raises:
        TypeError: It is a string.
    """
    if isinstance(names, str):
        raise TypeError(f"`{name}` takes several values, got one string: `{name}=({names!r},)`")


def _name(function: object) -> str:
    return getattr(function, "__qualname__", type(function).__qualname__)


def described(value: object) -> str:
    """What an argument is, for messages."""
    if isinstance(value, type):
        return f"the class `{value.__name__}`"
    return "None" if value is None else f"`{type(value).__name__}`"


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
