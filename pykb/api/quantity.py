"""Kubernetes quantities, such as ``500m`` of a CPU or ``2Gi`` of memory."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, Decimal, localcontext
from typing import Any, Self

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

# https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
_TEXT = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,18})?",
    re.ASCII,
)
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BY_EXPONENT = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_NANO = Decimal("1e-9")
_MOST = Decimal(2**63 - 1)
_FARTHEST = 10_000
"""The largest exponent that matters. The server stores its largest or smallest amount beyond it."""


class Quantity(str):
    """An amount with a suffix, kept as it was written.

    A quantity is a string and can be used like one. ``amount`` is its value. Two quantities are
    equal when their amounts are equal (``Quantity("1000m") == Quantity("1")``), and a plain string
    is compared in the same way. ``<``, ``+``, ``-`` and ``*`` work on amounts too. A quantity that
    was an integer in JSON is written as an integer again.

    Args:
        value: A string in Kubernetes' notation, or a number.

    Raises:
        ValueError: The string is not a quantity.

    >>> Quantity("1.5Gi") > Quantity("1Gi"), Quantity("500m") + Quantity("1500m"), Quantity("2Gi").amount
    (True, Quantity('2'), Decimal('2147483648'))
    """

    __slots__ = ("_number",)
    _number: int | None

    def __new__(cls, value: str | float | Decimal = "0") -> Self:
        """Validate and keep the string."""
        if type(value) is cls:
            return value
        if isinstance(value, str):
            text, number = str(value), None
        elif isinstance(value, bool):
            raise ValueError("a quantity is a string such as 500m or 2Gi, or a number")  # noqa: TRY004 - Pydantic's
        elif isinstance(value, Decimal):
            text, number = _format_decimal(value), None
        else:
            text, number = _from_number(value)
        if _TEXT.fullmatch(text) is None:
            raise ValueError(f"{text!r} is not a quantity: expected a number with a suffix, such as 500m or 2Gi")
        self = super().__new__(cls, text)
        self._number = number
        return self

    @property
    def amount(self) -> Decimal:
        """The exact value, with the suffix applied."""
        match = _TEXT.fullmatch(self)
        if match is None:  # pragma: no cover - the constructor let it pass
            raise ValueError(f"{str(self)!r} is not a quantity")
        number, suffix = Decimal(match["number"]), match["suffix"] or ""
        with localcontext(prec=60):
            if suffix in _BINARY:
                return number * Decimal(1024) ** _BINARY[suffix]
            if suffix in _DECIMAL:
                return number.scaleb(_DECIMAL[suffix])
            return number.scaleb(max(-_FARTHEST, min(int(suffix[1:]), _FARTHEST)))

    @property
    def wire(self) -> str | int:
        """The JSON value: the string, or the number that it was read from."""
        return str(self) if self._number is None else self._number

    def canonical(self) -> Quantity:
        """Return the form that the API server would store: the largest suffix without a fraction.

        The smallest unit is ``1n``. Smaller amounts are rounded up, as on the server.

        >>> Quantity("1024Mi").canonical(), Quantity("0.5").canonical(), Quantity("1e3").canonical()
        (Quantity('1Gi'), Quantity('500m'), Quantity('1e3'))
        """
        match = _TEXT.fullmatch(self)
        suffix = (match["suffix"] or "") if match else ""
        return Quantity(_format(self.amount, suffix))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            if str.__eq__(self, other):
                return True
            amount = _amount(other)
            return amount is not None and amount == self.amount
        if isinstance(other, int | float | Decimal) and not isinstance(other, bool):
            return self.amount == other
        return NotImplemented

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self) -> int:
        return hash(self.amount)

    def __lt__(self, other: str | float | Decimal) -> bool:
        return self.amount < Quantity(other).amount

    def __le__(self, other: str | float | Decimal) -> bool:
        return self.amount <= Quantity(other).amount

    def __gt__(self, other: str | float | Decimal) -> bool:
        return self.amount > Quantity(other).amount

    def __ge__(self, other: str | float | Decimal) -> bool:
        return self.amount >= Quantity(other).amount

    def __add__(self, other: str | float | Decimal) -> Quantity:
        return self._like(self.amount + Quantity(other).amount, other)

    def __radd__(self, other: str | float | Decimal) -> Quantity:
        return Quantity(other) + self

    def __sub__(self, other: str | float | Decimal) -> Quantity:
        return self._like(self.amount - Quantity(other).amount, other)

    def __mul__(self, factor: Any) -> Quantity:
        return self._like(self.amount * Decimal(str(factor)), self)

    __rmul__ = __mul__

    def __neg__(self) -> Quantity:
        return self._like(-self.amount, self)

    def _like(self, amount: Decimal, other: object) -> Quantity:
        # Like Add in Go: the result has the format of the left operand, unless that is zero.
        match = _TEXT.fullmatch(self if self.amount or not isinstance(other, str) else other)
        return Quantity(_format(amount, (match["suffix"] or "") if match else ""))

    def __bool__(self) -> bool:
        return bool(self.amount)

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __str__(self) -> str:
        return str.__str__(self)

    def __copy__(self) -> Quantity:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Quantity:
        return self

    def __reduce__(self) -> tuple[type[Quantity], tuple[str | int]]:
        return Quantity, (self.wire,)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            _validate,
            serialization=core_schema.plain_serializer_function_ser_schema(_wire, when_used="json"),
        )


def _validate(value: object) -> Quantity:
    if isinstance(value, str | int | float | Decimal):
        return Quantity(value)
    raise ValueError("a quantity is a string such as 500m or 2Gi, or a number")


def _wire(value: Quantity) -> str | int:
    return value.wire


def _amount(text: str) -> Decimal | None:
    try:
        return Quantity(text).amount
    except ValueError:
        return None


def _from_number(value: float) -> tuple[str, int | None]:
    # The schema of a quantity allows 64-bit integers. Other numbers are sent as strings.
    number = Decimal(repr(value))
    if not number.is_finite():
        return str(number), None
    whole = number == number.to_integral_value() and -(2**63) <= number < 2**63
    return f"{number:f}", int(number) if whole else None


def _format_decimal(number: Decimal) -> str:
    if not number.is_finite():
        raise ValueError(f"{number} is not a quantity: it must be finite")
    return _format(number, "")


def _format(amount: Decimal, suffix: str) -> str:
    """Write an amount in the same family (binary, decimal, exponent) as a suffix."""
    with localcontext(prec=60):
        amount = max(min(amount, _MOST), -_MOST).quantize(_NANO, rounding=ROUND_CEILING)
        # For fractions and for amounts below 1024 the server uses decimal suffixes instead of
        # binary ones.
        if suffix in _BINARY and amount == amount.to_integral_value() and abs(amount) >= 1024:
            number, exponent = int(amount), 0
            while number % 1024 == 0 and exponent < 6:
                number //= 1024
                exponent += 1
            return f"{number}{next((s for s, e in _BINARY.items() if e == exponent), '')}"
        if not amount:
            return "0"
        exponent = 18
        while amount.scaleb(-exponent) != amount.scaleb(-exponent).to_integral_value():
            exponent -= 3
        number = int(amount.scaleb(-exponent))
        if suffix[:1] in ("e", "E") and len(suffix) > 1 and suffix not in _BINARY:
            return f"{number}e{exponent}" if exponent else str(number)
        return f"{number}{_BY_EXPONENT[exponent]}"
