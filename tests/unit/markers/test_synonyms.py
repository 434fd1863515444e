"""Names that other schema languages give to a constraint lead to the marker."""

from __future__ import annotations

from collections import Counter

import pytest

from pykb.diagnostics import Diagnostics
from pykb.markers.collect import collect
from pykb.markers.registry import builtin_registry

FIELD = "class A:\n    # +kubebuilder:validation:{}\n    b: int\n"
CLASS = "# +kubebuilder:validation:{}\nclass A:\n    b: int\n"


def helps(source: str) -> tuple[str, ...]:
    """What the one finding about a module says to type."""
    found = Diagnostics()
    collect(source, "a.py", registry=builtin_registry(), diagnostics=found)
    (diagnostic,) = found
    assert diagnostic.code.slug == "marker-unknown"
    return diagnostic.help


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (FIELD.format("MinLen=1"), "MinLength"),
        (FIELD.format("Regex=x"), "Pattern"),
        (FIELD.format("OneOf=a;b"), "Enum"),
        (CLASS.format("OneOf=a;b"), "ExactlyOneOf"),
        (CLASS.format("AnyOf=a;b"), "AtLeastOneOf"),
        (FIELD.format("items:MaxLen=1"), "items:MaxLength"),
        (FIELD.format('CEL:rule="self"'), "XValidation"),
    ],
)
def test_another_name_leads_to_the_marker(source: str, name: str) -> None:
    """The name alone, or that of an argument behind it."""
    assert helps(source) == (f"this is called `+kubebuilder:validation:{name}`",)


def test_each_synonym_means_one_marker() -> None:
    """On a kind of declaration; the narrower one counts where two have it."""
    meanings = Counter((s, len(d.targets)) for d in builtin_registry() if not d.items_depth for s in d.synonyms)
    assert set(meanings.values()) == {1}
    assert all(s == s.casefold() for s, _ in meanings)


def test_a_name_that_is_near_to_nothing_gets_no_marker() -> None:
    """Not one that is near to the family's name."""
    assert helps(FIELD.format("Frobnicate=1")) == ("`pykb explain markers` lists all markers",)
