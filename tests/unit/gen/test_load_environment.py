"""Loading a project whose environment lies inside it."""

import sys
from pathlib import Path

from pykb.diagnostics import Diagnostics
from pykb.gen._load import importing, load


def test_what_is_installed_in_the_projects_environment_stays_imported(tmp_path, monkeypatch) -> None:
    """A package of `.venv` is no module of the project: importing a C extension's package twice breaks it."""
    installed = tmp_path / ".venv/lib/python3.11/site-packages"
    installed.mkdir(parents=True)
    (installed / "installed_dependency.py").write_text("")
    (tmp_path / "operator_under_test.py").write_text("import installed_dependency\n")
    monkeypatch.syspath_prepend(installed)
    with importing(tmp_path):
        load(Path(tmp_path / "operator_under_test.py"), tmp_path, Diagnostics())
        assert "operator_under_test" in sys.modules
    assert "installed_dependency" in sys.modules
    assert "operator_under_test" not in sys.modules
    monkeypatch.delitem(sys.modules, "installed_dependency")
