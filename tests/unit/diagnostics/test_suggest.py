import pytest

from pykb.diagnostics.suggest import closest

NAMES = ["MaxLength", "MinLength", "MaxItems", "Pattern"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("Maxlength", "MaxLength"),
        ("MaxLenght", "MaxLength"),
        ("pattern", "Pattern"),
        ("MaximumSize", None),
        ("x", None),
    ],
)
def test_the_nearest_name_is_offered_only_when_it_is_near(typed: str, meant: str | None):
    """Within a third of the length counts as near; case does not count."""
    assert closest(typed, NAMES) == meant


def test_ties_are_broken_by_the_alphabet():
    """The answer does not depend on the order of the candidates."""
    assert closest("Mxxxxx", ["Mxxxxb", "Mxxxxa"]) == "Mxxxxa"


def test_words_that_all_have_make_no_name_similar():
    """Two of five letters are alike in the rest."""
    assert closest("explore-nothing", ["explore-theft", "explore-leader"]) is None
    assert closest("explore-thefd", ["explore-theft", "explore-leader"]) == "explore-theft"
