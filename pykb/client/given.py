"""Checks the arguments of builders and options when they are passed.

Type checkers find these mistakes too, but not everyone runs one. Without these checks, a mistake
would fail at the first event or the first retry, or become a filter that passes everything.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from typing_extensions import Format

from pykb.api.object import Object
from pykb.meta.gvk import GroupVersionKind

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
