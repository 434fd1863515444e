"""pykb's plurals and those of flect, in the release that controller-gen has, are the same, acronyms included."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from pykb.meta import names

Pluralizer = Callable[[Iterable[str]], dict[str, str]]

pytestmark = pytest.mark.differential

TABLE = Path(__file__).parents[2] / "testdata/plurals.tsv"
BEFORE = ("", "My", "HTTP", "br")
BEHIND = ("", "s", "S", "es", "y", "Set")


def spellings(word: str) -> set[str]:
    """A word in the mixtures of upper and lower case that somebody may write."""
    return {word, word.lower(), word.upper(), word.capitalize(), word[:1].lower() + word[1:].upper(), word.title()}


def words() -> Iterator[str]:
    """Every acronym and every word and ending of the tables, alone and in a longer name."""
    tables = names._tables()
    endings = {ending for pair in tables.suffixes for ending in pair}
    for word in {*names._ACRONYMS, *tables.plural_of, *tables.plurals, *endings}:
        for spelling in spellings(word):
            yield from (before + spelling + behind for before in BEFORE for behind in BEHIND)


@pytest.fixture(scope="module")
def theirs(pluralizer: Pluralizer) -> dict[str, str]:
    """The words, with the plurals of flect."""
    return pluralizer(words())


@pytest.fixture(scope="module")
def ours(theirs: dict[str, str]) -> dict[str, str]:
    """The words, with the plurals of pykb."""
    return {word: names.pluralize(word) for word in theirs}


def test_plurals_are_those_pluralizer(theirs: dict[str, str], ours: dict[str, str]) -> None:
    """No word has another plural, however it is spelled and whatever stands before and behind it."""
    assert len(theirs) > 25_000
    assert ours == theirs


def test_the_table_is_true(pluralizer: Pluralizer):
    """What the unit tests compare with, where there is no Go, is what flect says."""
    table = dict(line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()[1:])
    assert table == pluralizer(table)


def test_a_repeated_kind_is_noticed(theirs: dict[str, str], ours: dict[str, str]) -> None:
    """Wherever flect repeats an acronym, and only there, another plural is proposed."""
    repeated = {word for word, given in theirs.items() if len(given) > len(word) + len("zes")}
    assert repeated
    assert {word for word in theirs if names.undoubled(word) != ours[word]} == repeated
