from pathlib import Path

import pytest

from pykb.meta.plural import pluralize

PAIRS = [
    tuple(line.split("\t"))
    for line in (Path(__file__).parents[3] / "testdata/plurals.tsv").read_text(encoding="utf-8").splitlines()[1:]
]


@pytest.mark.parametrize(("kind", "plural"), PAIRS)
def test_plural_is_the_one_that_controller_gen_writes(kind: str, plural: str):
    """The default plural of a kind equals controller-gen's, slips included."""
    assert pluralize(kind) == plural


def test_the_working_directory_has_no_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Flect reads `inflections.json` from the working directory; a plural of ours never depends on where one stands."""
    (tmp_path / "inflections.json").write_text('{"database": "nonsense"}', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert pluralize("Database") == "databases"
