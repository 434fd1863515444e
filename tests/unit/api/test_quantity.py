"""Quantities: reading, comparing, writing."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pykb.api import Quantity, Struct


class Holder(Struct):
    amount: Quantity


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1", "1"),
        ("500m", "0.5"),
        ("2Gi", str(2 * 2**30)),
        ("1.5Ki", "1536"),
        ("1e3", "1000"),
        ("1E-3", "0.001"),
        ("1E", "1e18"),
        ("+.5", "0.5"),
        ("-2k", "-2000"),
        ("5n", "5e-9"),
        ("3.", "3"),
    ],
)
def test_the_amount_is_exact(text: str, amount: str) -> None:
    """Every suffix of the API reference is understood, without rounding."""
    assert Quantity(text).amount == Decimal(amount)


@pytest.mark.parametrize("text", ["", "Gi", "1GB", "1 Gi", "1gi", "one", "1e", "0x1", "NaN", "1\n", "\u0661"])
def test_other_texts_are_refused(text: str) -> None:
    """What the API server would refuse is refused here."""
    with pytest.raises(ValueError, match="is not a quantity"):
        Quantity(text)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1024Mi", "1Gi"),
        ("0.5", "500m"),
        ("1000m", "1"),
        ("1e3", "1e3"),
        ("1000", "1k"),
        ("1536Mi", "1536Mi"),
        ("0.5Gi", "512Mi"),
        ("0", "0"),
        ("0Gi", "0"),
        ("1023", "1023"),
        ("512Ki", "512Ki"),
        ("0.1n", "1n"),
        ("-1500m", "-1500m"),
        ("100E", "9223372036854775807"),
    ],
)
def test_the_canonical_form_is_the_servers(text: str, canonical: str) -> None:
    """No fraction, the largest suffix of the same family; checked against a real API server in tests/apiserver."""
    assert str(Quantity(text).canonical()) == canonical


def test_quantities_compare_by_amount() -> None:
    """Equal amounts are equal however they are written; a hash agrees."""
    assert Quantity("1000m") == Quantity("1") == "1" == Quantity(1)
    assert Quantity("1Gi") != Quantity("1G")
    assert hash(Quantity("1000m")) == hash(Quantity("1"))
    assert max([Quantity("900Mi"), Quantity("1Gi"), Quantity("5")]) == "1Gi"
    assert Quantity("1") != "abc"
    assert not Quantity("0m")


def test_quantities_add_up_in_the_left_sides_notation() -> None:
    """Sums and multiples stay in the family of suffixes they were written in."""
    assert str(Quantity("1Gi") + "1Gi") == "2Gi"
    assert str(Quantity("250m") * 3) == "750m"
    assert str(Quantity("2") - "500m") == "1500m"
    assert str(sum([Quantity("1Gi"), Quantity("512Mi")])) == "1536Mi"
    assert str(-Quantity("1k")) == "-1k"


@pytest.mark.parametrize("value", ["2Gi", "1000m", 2, 0, -3])
def test_what_came_goes_back_as_it_was(value: str | float) -> None:
    """Neither text nor number is rewritten, not even by copying."""
    held = Holder.from_wire({"amount": value})
    for other in (held, copy.deepcopy(held), pickle.loads(pickle.dumps(held))):
        wire = other.to_wire()["amount"]
        assert wire == value
        assert type(wire) is type(value)


@pytest.mark.parametrize(("value", "wire"), [(0.5, "0.5"), (2.0, 2), (1e-7, "0.0000001"), (2**64, str(2**64))])
def test_numbers_that_the_schema_does_not_take_go_out_as_texts(value: float, wire: str | int) -> None:
    """A schema has quantities as texts or integers of 64 bits."""
    assert Holder.from_wire({"amount": value}).to_wire() == {"amount": wire}


@pytest.mark.parametrize("value", [True, None, [], {}, "x", float("inf"), float("nan")])
def test_other_values_are_refused(value: object) -> None:
    """A quantity field takes texts and finite numbers only."""
    with pytest.raises(ValidationError):
        Holder.from_wire({"amount": value})


@given(st.integers(-(10**15), 10**15), st.sampled_from(["", "m", "k", "M", "Ki", "Mi", "e3", "u"]))
def test_canonical_keeps_the_amount(number: int, suffix: str) -> None:
    """Rewriting changes the text only, and is done once."""
    quantity = Quantity(f"{number}{suffix}")
    if abs(quantity.amount) < 2**63:
        assert quantity.canonical().amount == quantity.amount
        assert str(quantity.canonical().canonical()) == str(quantity.canonical())
