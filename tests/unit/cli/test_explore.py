"""`pykb explore` in a sample project, as a user types it: in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

APP = Path(__file__).parents[3] / "testdata" / "app"
CONTROLLER = Path("app_operator/controllers/app_controller.py")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the sample App, whose reconciler forgets children of former names."""
    root = tmp_path / "app"
    shutil.copytree(APP, root, ignore=shutil.ignore_patterns(".venv", ".pykb", "__pycache__"))
    text = (root / CONTROLLER).read_text(encoding="utf-8")
    line = "        await prune(self.client, Deployment, owner=app, keep=[app.spec.deployment.name])\n"
    assert line in text
    (root / CONTROLLER).write_text(text.replace(line, ""), encoding="utf-8")
    return root


def command(root: Path, *words: str) -> subprocess.Popen[str]:
    """Start `pykb explore`."""
    argv = [sys.executable, "-P", "-m", "pykb", "explore", *words]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
    return subprocess.Popen(argv, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def explore(root: Path, *words: str) -> tuple[int, str, str]:
    """Run `pykb explore`; gives its exit code and what it printed."""
    program = command(root, *words)
    said, shown = program.communicate(timeout=100)
    return program.returncode, said, shown


def test_a_finding_is_told_with_its_line_and_can_be_run_again(project):
    """And the history that is kept leads to the same end."""
    code, said, shown = explore(project, "--only", "explore-history")
    assert code == 1
    assert not said
    assert "error[explore-history]: Deployment web is left over" in shown
    assert f"--> {CONTROLLER}" in shown
    assert "Somebody replaces App app-sample (`spec.deployment.name = 'web-b'`)" in shown
    [kept] = (project / ".pykb" / "explore").glob("*.json")
    assert kept.stat().st_mode & 0o077 == 0
    code, said, _ = explore(project, "--replay", str(kept.relative_to(project)))
    assert code == 0
    assert "Deployment web-b is created" in said


def test_findings_for_programs_are_one_document(project):
    """With the code and the place."""
    code, _, shown = explore(project, "--only", "explore-history", "--format", "json")
    assert code == 1
    [finding] = json.loads(shown)
    assert finding["code"] == "explore-history"
    assert finding["span"]["path"] == str(CONTROLLER)


def test_an_interrupt_shows_what_was_found(project):
    """Nothing is lost."""
    program = command(project)
    for line in program.stderr or ():
        if "exploring" in line:
            break
    program.send_signal(signal.SIGINT)
    _, shown = program.communicate(timeout=60)
    assert program.returncode == 130
    assert "histories" in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["Nothing"], "there is no sample of the kind `Nothing`"),
        (["--only", "explore-crsh"], "did you mean `explore-crash`?"),
        (["--replay", "PROJECT"], "`PROJECT` holds no history"),
        (["--replay", "nowhere.json"], "`nowhere.json` holds no history"),
    ],
)
def test_a_mistake_is_told(project, words, said):
    """What is wrong, and what to do."""
    code, _, shown = explore(project, *words)
    assert code in (1, 2)
    assert said in shown


def test_a_manager_that_cannot_be_imported_is_a_finding(project):
    """Not a traceback."""
    (project / "app_operator" / "__main__.py").write_text("import nothing_of_this_name\n", encoding="utf-8")
    code, _, shown = explore(project)
    assert code == 1
    assert "nothing_of_this_name" in shown
    assert "Traceback" not in shown
