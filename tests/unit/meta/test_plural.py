from pathlib import Path

import pytest

from pykb.meta.names import pluralize, undoubled

TABLE = Path(__file__).parents[3] / "testdata/plurals.tsv"


def test_plurals_are_those_that_controller_gen_writes():
    """The default plural of a kind equals controller-gen's, slips included."""
    table = dict(line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines()[1:])
    assert {kind: pluralize(kind) for kind in table} == table


@pytest.mark.parametrize(
    ("kind", "proposed"),
    [("Dns", "dnses"), ("MyDns", "mydnses"), ("PublicIps", "publicipses"), ("Https", "httpses")],
)
def test_a_repeated_acronym_has_another_plural_to_propose(kind: str, proposed: str):
    """Flect writes some acronyms twice; what it would have written for capitals is proposed."""
    assert pluralize(kind) != proposed
    assert undoubled(kind) == proposed


@pytest.mark.parametrize("kind", ["Vpn", "Api", "Acl", "IDs", "DNS", "Redis", "Machine"])
def test_a_plural_without_a_repetition_stays(kind: str):
    """Nothing else is proposed for a plural that repeats nothing."""
    assert undoubled(kind) == pluralize(kind)


def test_the_working_directory_has_no_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Flect reads `inflections.json` from the working directory; a plural of ours never depends on where one stands."""
    (tmp_path / "inflections.json").write_text('{"database": "nonsense"}', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert pluralize("Database") == "databases"
