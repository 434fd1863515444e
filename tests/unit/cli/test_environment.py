"""The pykb of a project's own environment takes over, where there is one that runs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import pykb as package
from pykb.cli.project import pinned_version

METADATA = ".venv/lib/python3.11/site-packages/pykubebuilder-9.8.7.dist-info"


def pin(project: Path, version: str) -> None:
    """Let pyproject.toml require a version of pykb."""
    text = (project / "pyproject.toml").read_text()
    (project / "pyproject.toml").write_text(re.sub(r"(pykubebuilder(\[[\w,]+\])?)==[^\"]*", rf"\1=={version}", text))


@pytest.fixture
def environment(project: Path) -> Path:
    """An environment of another version, whose Python tells what it is given; its scripts are of no use."""
    pin(project, "9.8.7")
    (project / METADATA).mkdir(parents=True)
    folder = project / ".venv/bin"
    folder.mkdir(parents=True)
    for name, text in {"python": '#!/bin/sh\necho "own: $@"\n', "pykb": "#!/no/such/place/.venv/bin/python\n"}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return project / ".venv"


@pytest.mark.usefixtures("environment")
def test_the_projects_pykb_runs_the_command_also_where_the_project_was_moved(spawn) -> None:
    """A script of an environment names the place where it was made, its Python goes along."""
    done = spawn(["generate", "--check"])
    assert done.returncode == 0
    assert done.stdout == "own: -P -m pykb generate --check\n"
    assert "the project's is 9.8.7: using the project's" in done.stderr


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("words", [("explore", "--seconds", "5"), ("dev",)])
def test_what_runs_the_projects_code_runs_in_its_environment(spawn, words: tuple[str, ...]) -> None:
    """Only it has the packages that the code imports."""
    assert spawn([*words]).stdout == f"own: -P -m pykb {' '.join(words)}\n"


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("words", [("create", "api"), ("create", "webhook")])
def test_a_kind_is_added_by_the_pykb_that_the_project_pins(spawn, words: tuple[str, ...]) -> None:
    """Its templates fit the rest of the project. What only looks starts no program of the folder."""
    named = (*words, "--group", "infra", "--version", "v1", "--kind", "Machine")
    assert spawn([*named]).stdout == f"own: -P -m pykb {' '.join(named)}\n"
    assert "own:" not in spawn([*named, "--dry-run"]).stdout


@pytest.mark.usefixtures("environment")
def test_the_pykb_that_pyproject_pins_runs_where_the_environment_has_another(spawn, project: Path) -> None:
    """As after `pykb update`: this one if it is pinned, and none if neither is."""
    pin(project, package.__version__)
    done = spawn(["generate"])
    assert (done.returncode, done.stdout) == (0, "")
    assert f"pins pykb {package.__version__}, and .venv has 9.8.7: using this one" in done.stderr
    pin(project, "7.7.7")
    for words in (["generate"], ["create", "api"]):
        done = spawn(words)
        assert (done.returncode, done.stdout) == (1, "")
        assert "error[environment-outdated]: pyproject.toml pins pykb 7.7.7, and .venv has 9.8.7" in done.stderr
        assert "`make environment`" in done.stderr
    assert spawn(["generate", "--stdout", "--help"]).returncode == 0


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('"pykubebuilder==0.2.0"\n"pykubebuilder[cli]==0.2.0", "pykubebuilder[cli,test] == 0.2.0"', "0.2.0"),
        ("'pykubebuilder==0.2.0; python_version>\"3\"'", "0.2.0"),
        ('"pykubebuilder==0.2.0", "pykubebuilder[cli]==0.3.0"', None),
        ('"pykubebuilder>=0.2.0"', None),
        ('"pykubebuilder==0.2.*"', None),
        ('"pykubebuilder==0.2.0", "pykubebuilder[cli]"', None),
        ('"pykubebuilder-tools==1"', None),
        ("", None),
    ],
)
def test_only_one_exact_version_is_a_pin(tmp_path: Path, text: str, version: str | None) -> None:
    """With a range, the pykb of the environment decides."""
    (tmp_path / "pyproject.toml").write_text(text)
    assert pinned_version(tmp_path) == version


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("/dev/zero"), os.mkfifo], ids=["device", "pipe"])
def test_a_pin_is_read_from_regular_files_only(tmp_path: Path, make: Callable[[Path], None]) -> None:
    """Each command of a project with an environment reads it before anything else."""
    make(tmp_path / "pyproject.toml")
    assert pinned_version(tmp_path) is None


def test_a_pin_is_found_in_one_pass(tmp_path: Path) -> None:
    """Each bracket that nothing closes was a search up to the end of the line: minutes for a file of 14 MB."""
    (tmp_path / "pyproject.toml").write_text('"pykubebuilder[' * 1_000_000)
    assert pinned_version(tmp_path) is None


@pytest.mark.parametrize("lacking", ["python", METADATA])
def test_an_environment_without_a_pykb_that_runs_is_said(spawn, project: Path, environment: Path, lacking: str) -> None:
    """The command goes on with the pykb at hand."""
    if lacking == "python":
        (environment / "bin/python").unlink()
        (environment / "bin/python").symlink_to("/no/such/python")
    else:
        (project / METADATA).rename(project / "gone")
    done = spawn(["generate"])
    assert done.returncode == 0
    assert "note: .venv has no pykb that runs" in done.stderr


def test_no_file_of_the_project_stands_for_a_module_of_pykb(pykb, project: Path) -> None:
    """`create api` runs the generator in the project, where a file may be called like a library."""
    for name in ("yaml.py", "typing.py"):
        (project / name).write_text("raise SystemExit('not this one')\n")
    words = ("--group", "infra", "--version", "v1", "--kind", "Machine", "--resource", "--controller")
    ended = pykb("create", "api", *words)
    assert (ended.code, "not this one" in ended.err) == (0, False)
    assert (project / "config/crd/bases/infra.sealyun.com_machines.yaml").exists()
