"""Errors of single fields, in the API server's wording.

Source: https://pkg.go.dev/k8s.io/apimachinery/pkg/util/validation/field#Error
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from pykb.api.safe_text import safe_text


class FieldErrorType(StrEnum):
    """The type of a field's error: the ``reason`` of a cause."""

    INVALID = "FieldValueInvalid"
    TYPE_INVALID = "FieldValueTypeInvalid"
    REQUIRED = "FieldValueRequired"
    NOT_FOUND = "FieldValueNotFound"
    DUPLICATE = "FieldValueDuplicate"
    NOT_SUPPORTED = "FieldValueNotSupported"
    FORBIDDEN = "FieldValueForbidden"
    TOO_LONG = "FieldValueTooLong"
    TOO_MANY = "FieldValueTooMany"


_WORDS = {
    FieldErrorType.INVALID: "Invalid value",
    FieldErrorType.TYPE_INVALID: "Invalid value",
    FieldErrorType.REQUIRED: "Required value",
    FieldErrorType.NOT_FOUND: "Not found",
    FieldErrorType.DUPLICATE: "Duplicate value",
    FieldErrorType.NOT_SUPPORTED: "Unsupported value",
    FieldErrorType.FORBIDDEN: "Forbidden",
    FieldErrorType.TOO_LONG: "Too long",
    FieldErrorType.TOO_MANY: "Too many",
}


class _NotSaid:
    """The absence of a value, which differs from ``None``."""

    def __repr__(self) -> str:
        return "not said"


_LONGEST_VALUE = 512

NOT_SAID: Final = _NotSaid()


@dataclass(frozen=True, slots=True)
class FieldError:
    """One invalid field, for :meth:`Invalid.of <pykb.client.errors.Invalid.of>`.

    ::

        errors = [FieldError("spec.cpu", "must be even", value=machine.spec.cpu)]
        if not machine.spec.disk:
            errors.append(FieldError.required("spec.disk"))
        raise Invalid.of(machine, errors)

    ``FieldError("spec.cpu", "must be even", value=3)`` reads ``spec.cpu: Invalid value: 3: must be even``.

    Attributes:
        path: The field, as on the wire: ``spec.parts[2].weight``, ``metadata.labels[app]``.
        message: The error, for people.
        value: The value found. It is shown to the client, cut at 512 characters, so leave out secrets.
        type: The type of the error.
    """

    path: str
    message: str
    value: object = NOT_SAID
    type: FieldErrorType = FieldErrorType.INVALID

    @classmethod
    def required(cls, path: str, message: str = "") -> FieldError:
        """A required field that is missing."""
        return cls(path, message, type=FieldErrorType.REQUIRED)

    @classmethod
    def forbidden(cls, path: str, message: str) -> FieldError:
        """A field that must not be set or changed."""
        return cls(path, message, type=FieldErrorType.FORBIDDEN)

    @classmethod
    def duplicate(cls, path: str, value: object) -> FieldError:
        """A value that occurs more than once."""
        return cls(path, "", value, FieldErrorType.DUPLICATE)

    @classmethod
    def not_supported(cls, path: str, value: object, supported: Sequence[str]) -> FieldError:
        """A value that is not one of the known values."""
        known = ", ".join(json.dumps(each, ensure_ascii=False) for each in supported)
        return cls(path, f"supported values: {known}", value, FieldErrorType.NOT_SUPPORTED)

    @property
    def body(self) -> str:
        """The message without the path."""
        parts = [_WORDS[self.type]]
        if not isinstance(self.value, _NotSaid):
            parts.append(_shown(self.value))
        if self.message:
            parts.append(self.message)
        return ": ".join(parts)

    def __str__(self) -> str:
        return f"{self.path}: {self.body}" if self.path else self.body


def _shown(value: Any) -> str:
    from pykb.api.wire import encode

    return safe_text(json.dumps(encode(value), ensure_ascii=False, default=safe_text), _LONGEST_VALUE)
