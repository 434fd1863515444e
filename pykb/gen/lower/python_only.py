"""Metadata that Pydantic goes by, and that has no counterpart in a schema."""

from __future__ import annotations

import annotated_types as at
from pydantic import AfterValidator, BeforeValidator, PlainValidator, WrapValidator

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.types import CONSTRAINT, PYTHON_ONLY
from pykb.gen.lower.place import Place

_CHECKS = (AfterValidator, BeforeValidator, PlainValidator, WrapValidator, at.Predicate)
_ARGUMENTS = ("max_digits", "decimal_places", "to_lower", "to_upper", "strip_whitespace")


def check_called(item: object, place: Place, diagnostics: Diagnostics) -> None:
    """Tell of an annotation that is a class, ``Nullable`` for ``Nullable()``: it would say nothing at all."""
    if isinstance(item, type) and item.__module__.startswith("pykb.api"):
        diagnostics.add(
            CONSTRAINT.at(
                place.span,
                f"`{item.__name__}` on {place.what} is a class, which says nothing",
                help=(f"write `{item.__name__}()`",),
            ),
        )


def check_python_only(item: object, place: Place, diagnostics: Diagnostics) -> None:
    """Tell of a check or a change of values that the API server does not make."""
    if isinstance(item, _CHECKS):
        name = f"`{type(item).__name__}`"
    else:
        given = [argument for argument in _ARGUMENTS if getattr(item, argument, None)]
        if not given:
            return
        name = " and ".join(f"`{argument}=`" for argument in given)
    diagnostics.add(
        PYTHON_ONLY.at(
            place.span,
            f"{name} on {place.what} is known to Python alone: the API server does not go by it",
            help=('say it in the schema as well: `Field(pattern="...")`, `CEL("...")`',),
        ),
    )
