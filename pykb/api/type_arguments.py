"""Finds type arguments of bases: ``VirtulMachine`` in ``class X(Defaulter[VirtulMachine])``."""

from __future__ import annotations

import typing
from typing import Any, TypeVar


def type_arguments(cls: type, base: type, allowed: tuple[type, ...], example: str) -> tuple[type[Any], ...] | None:
    """Return the type arguments that a subclass gives to a generic base.

    Return ``None`` if the subclass is itself generic.

    Args:
        cls: The subclass. Call this function in ``__init_subclass__``, after that of the bases.
        base: The generic base.
        allowed: Each argument must be a subclass of one of these.
        example: Arguments to suggest in an error message, such as ``Pod``.

    Raises:
        TypeError: An argument is missing, or is not a subclass of an allowed class.
    """
    found = resolved(cls, base)
    generic = bool(getattr(cls, "__parameters__", ()))
    if generic and all(isinstance(argument, TypeVar) for argument in found):
        return None
    parent = next(each.__name__ for each in cls.__bases__ if issubclass(each, base))
    for argument in found:
        if isinstance(argument, TypeVar):
            raise TypeError(
                f"`{cls.__name__}` does not say what it is for: write `class {cls.__name__}({parent}[{example}])`"
            )
        if not isinstance(argument, type) or not issubclass(argument, allowed):
            shown = argument.__forward_arg__ if isinstance(argument, typing.ForwardRef) else argument
            shown = shown.__name__ if isinstance(shown, type) else repr(shown)
            hint = ", the class itself and not its name" if isinstance(argument, typing.ForwardRef) else ""
            raise TypeError(
                f"`{cls.__name__}` is for `{shown}`, which is not a kind: "
                f"write `class {cls.__name__}({parent}[{example}])`{hint}"
            )
    return found


def resolved(cls: type, base: type) -> tuple[Any, ...]:
    """Return the type arguments unchecked. Each argument that is not given is a type variable."""
    if cls is base:
        return tuple(getattr(cls, "__parameters__", ()))
    for given in cls.__dict__.get("__orig_bases__", cls.__bases__):
        origin = typing.get_origin(given) or given
        if not isinstance(origin, type) or not issubclass(origin, base):
            continue
        filled = dict(zip(getattr(origin, "__parameters__", ()), typing.get_args(given), strict=False))
        return tuple(filled.get(argument, argument) for argument in resolved(origin, base))
    raise TypeError(f"`{cls.__name__}` is not a `{base.__name__}`")
