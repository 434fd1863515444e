"""What a program gives to builders and options, judged when it is given.

Type checkers see these mistakes too, but few authors run one. Found later, each of them would be a failure at the first
event or the first retry, or a filter that lets everything through.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from pykb.api.object import Object
from pykb.meta.gvk import GroupVersionKind


def check_kind(method: str, kind: object) -> None:
    """Refuse what is neither a class of objects nor an identity.

    Raises:
        TypeError: It is another thing.
    """
    if isinstance(kind, GroupVersionKind) or (isinstance(kind, type) and issubclass(kind, Object)):
        return
    shown = f"the object `{type(kind).__name__}`: give it the class" if isinstance(kind, Object) else _described(kind)
    raise TypeError(f"`{method}` needs a kind, a class such as `Pod` or a `GroupVersionKind`; got {shown}")


def check_function(what: str, function: object, *takes: str, plain: bool = False) -> None:
    """Refuse what cannot be called as it will be.

    Args:
        what: What the function is, for the message.
        function: The function, or any object that can be called.
        takes: The names of the arguments that it will get.
        plain: Whether nobody awaits it.

    Raises:
        TypeError: It is a class, a call, no function, async, or takes other arguments.
    """
    if inspect.iscoroutine(function):
        function.close()
        called = function.__name__
        raise TypeError(f"{what} is a function, got its call: write `{called}`, not `{called}(...)`")
    if isinstance(function, type) and takes:
        called = function.__name__
        raise TypeError(f"{what} is a function or an object, got the class `{called}`: write `{called}(...)`")
    if not callable(function):
        raise TypeError(f"{what} is a function, got {_described(function)}")
    if plain and inspect.iscoroutinefunction(function):
        raise TypeError(f"{what} is a plain function, and `{_name(function)}` is async: nobody awaits it")
    try:
        inspect.signature(function).bind(*takes)
    except TypeError as error:
        given = ", ".join(takes) or "nothing"
        raise TypeError(f"{what} gets {given}, and `{_name(function)}` cannot be called so: {error}") from None
    except ValueError:  # some of C's have no signature
        return


def checked_predicates(predicates: object) -> tuple[Any, ...]:
    """The predicates, each of which can judge an event.

    Raises:
        TypeError: One cannot, or they are no list.
    """
    if callable(predicates) or not isinstance(predicates, Iterable):
        raise TypeError(f"`predicates` is a list, got {_described(predicates)}: `predicates=[...]`")
    found = tuple(predicates)
    for predicate in found:
        check_function("a predicate", predicate, "the event", plain=True)
    return found


def check_durations(**durations: object) -> None:
    """Refuse numbers of seconds, which other libraries take.

    Raises:
        TypeError: One is no duration.
    """
    for name, duration in durations.items():
        if duration is not None and not isinstance(duration, timedelta):
            raise TypeError(f"`{name}` is a timedelta, got {_described(duration)}: `timedelta(seconds=...)`")


def check_names(name: str, names: object) -> None:
    """Refuse one name where several are expected: its letters would be taken for names.

    Raises:
        TypeError: It is a string.
    """
    if isinstance(names, str):
        raise TypeError(f"`{name}` has several, got one string: `{name}=({names!r},)`")


def _name(function: object) -> str:
    return getattr(function, "__qualname__", type(function).__qualname__)


def _described(value: object) -> str:
    if isinstance(value, type):
        return f"the class `{value.__name__}`"
    return "None" if value is None else f"`{type(value).__name__}`"
