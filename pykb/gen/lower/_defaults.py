"""Turns Python defaults into defaults of the schema."""

from __future__ import annotations

import datetime as dt
import math
import re
import types
import typing
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from pykb.diagnostics import Diagnostic, Diagnostics, Severity
from pykb.diagnostics.codes.crd import DEFAULT_VALUE
from pykb.diagnostics.codes.types import DEFAULT_NOT_JSON
from pykb.gen.ir import Place

_EMPTY: tuple[type, ...] = (list, dict, set, frozenset, tuple)


def python_default(info: FieldInfo, place: Place, diagnostics: Diagnostics) -> tuple[object, str]:
    """The JSON value of a field's default, and its spelling. The spelling is empty when there is no default.

    ``None`` means that there is no default. Python code uses an empty container, or a model without arguments, to avoid
    checks for ``None``. The server should not fill those in.
    """
    try:
        value = _value_of(info)
    except Exception as error:  # noqa: BLE001 - whatever the user's factory raises
        diagnostics.report(
            DEFAULT_NOT_JSON,
            place.span,
            f"making the default of {place.what} fails: {type(error).__name__}: {error}",
            "fix the `default_factory`",
        )
        return None, ""
    if value is PydanticUndefined or value is None:
        if value is None:
            _check_none(info.annotation, place, diagnostics)
        return None, ""
    if isinstance(value, _EMPTY) and not value:
        return None, ""
    if isinstance(value, BaseModel) and not value.model_fields_set:
        return None, ""
    shown = f"= {value!r}"
    if isinstance(value, dt.datetime) and value.tzinfo is None:
        diagnostics.add(_naive(value, place))
    try:
        return _encode(value), shown
    except (TypeError, ValueError) as error:
        diagnostics.report(
            DEFAULT_NOT_JSON,
            place.span,
            f"the default of {place.what}, `{_shown(value)}`, has no JSON form",
            "use a plain value, or use `None` and set the value in your code",
            notes=(str(error),),
        )
        return None, ""


def _check_none(annotation: Any, place: Place, diagnostics: Diagnostics) -> None:
    """Report a default of ``None`` for a plain type. The type behind an alias or a type variable may allow ``None``."""
    plain = typing.get_origin(annotation) or annotation
    if not isinstance(plain, type) or plain in {Any, object, types.NoneType, types.UnionType}:
        return
    name = annotation.__name__ if isinstance(annotation, type) and annotation is plain else str(annotation)
    diagnostics.report(
        DEFAULT_VALUE,
        place.span,
        f"the default of {place.what} is `None`, which is not of type `{name}`",
        f"{name} | None = None",
        "or leave the default out: then the field is required",
        notes=("in the schema, the field is optional and has no default; your code gets `None` if it is absent",),
        severity=Severity.WARNING,
    )


def _naive(value: dt.datetime, place: Place) -> Diagnostic:
    return DEFAULT_VALUE.at(
        place.span,
        f"the default of {place.what}, `{value}`, has no time zone, so the schema gets it as UTC",
        notes=("times from the API server have one, and Python cannot compare times with and without a zone",),
        help=("datetime(..., tzinfo=UTC)", "with `from datetime import UTC`"),
        severity=Severity.WARNING,
    )


def _value_of(info: FieldInfo) -> Any:
    factory = info.default_factory
    if factory is None:
        return info.default
    if factory in _EMPTY or info.default_factory_takes_validated_data:
        return PydanticUndefined
    if isinstance(factory, type) and issubclass(factory, BaseModel):
        return PydanticUndefined  # a model without arguments; a call would build its validator
    make = typing.cast("typing.Callable[[], Any]", factory)
    first = make()
    # A clock or a random number differs from call to call, and cannot be a default of the API.
    return first if _encode_or_none(first) == _encode_or_none(make()) else PydanticUndefined


def _encode_or_none(value: object) -> object:
    try:
        return _encode(value)
    except (TypeError, ValueError):
        return None


def _encode(value: object) -> object:
    from pykb.api.wire import encode

    found = encode(value)
    _check_numbers(found)
    return found


def _check_numbers(value: object) -> None:
    """Raise ``ValueError`` for numbers that JSON or the API server cannot represent."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _check_numbers(item)
    elif isinstance(value, float) and not math.isfinite(value):
        message = f"JSON has no `{value}`"
        raise ValueError(message)
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        message = f"`{value}` does not fit into 64 bits"
        raise ValueError(message)


def _shown(value: object) -> str:
    """The ``repr`` of an object without its address, which differs from run to run."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
