"""Metadata that Pydantic goes by, and that has no counterpart in a schema."""

from __future__ import annotations

import annotated_types as at
from pydantic import AfterValidator, BeforeValidator, PlainValidator, WrapValidator

from pykb.diagnostics.codes.types import CONSTRAINT, PYTHON_ONLY
from pykb.gen.draft import Draft

_CHECKS = (AfterValidator, BeforeValidator, PlainValidator, WrapValidator, at.Predicate)
_ARGUMENTS = ("max_digits", "decimal_places", "to_lower", "to_upper", "strip_whitespace")


def tell_python_only(item: object, draft: Draft) -> None:
    """Tell of a check or a change of values that the API server does not make, and of a class that says nothing."""
    what = draft.place.what
    if isinstance(item, type) and item.__module__.startswith("pykb.api"):  # ``Nullable`` for ``Nullable()``
        message = f"`{item.__name__}` on {what} is a class, which says nothing"
        draft.report(CONSTRAINT, message, f"write `{item.__name__}()`")
    given = [argument for argument in _ARGUMENTS if getattr(item, argument, None)]
    name = type(item).__name__ if isinstance(item, _CHECKS) else "=` and `".join(given) + "="
    if given or isinstance(item, _CHECKS):
        message = f"`{name}` on {what} is known to Python alone: the API server does not go by it"
        draft.report(PYTHON_ONLY, message, 'say it in the schema as well: `Field(pattern="...")`, `CEL("...")`')
