"""`pykb update` in repositories: what is written, what stops it, and what of the repository it does not trust."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import pykb
from pykb.cli import app
from pykb.commands.transition import GENERATED
from pykb.project.settings import oldest_supported
from pykb.scaffold import release as releases
from pykb.scaffold.locate import WHEEL
from tests.killing import killed_after
from tests.unit.plugins.older import TODAY, on_an_index, render, scaffold, text_of

EDIT = ("IMG ?= controller:latest", "IMG ?= mine:latest")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of an earlier release, committed; the working directory."""
    root = tmp_path / "fleet"
    for path, file in scaffold("0.0.2", "plain").items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(file.content)
    (root / "PROJECT").write_text(text_of("0.0.2", "plain"))
    git(root, "init", "--quiet")
    commit(root)
    monkeypatch.chdir(root)
    monkeypatch.setattr(releases, "published", on_an_index)
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setattr(releases, "render", render)
    monkeypatch.setattr("pykb.commands.init.is_from_index", lambda: True)  # no wheel in the project
    return root


def git(root: Path, *words: str) -> str:
    """Run git in the project."""
    author = ("-c", "user.name=fanux", "-c", "user.email=fanux@example.com", "-c", "commit.gpgSign=false")
    return subprocess.run(["git", *author, *words], cwd=root, check=True, capture_output=True, text=True).stdout


def commit(root: Path) -> None:
    """Commit everything."""
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=Edit")


def files(root: Path) -> dict[str, bytes]:
    """The files of the project."""
    found = (path for path in sorted(root.rglob("*")) if path.is_file() and ".git" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found if ".pykb" not in path.parts}


def edit(root: Path, old: str, new: str, path: str = "Makefile") -> None:
    """Replace a text."""
    text = (root / path).read_text()
    assert old in text
    (root / path).write_text(text.replace(old, new))


def conflict(root: Path) -> None:
    """Edit a line that the scaffold changes, and others."""
    edit(root, "The manager's certificate is self-signed", "written by hand", "config/prometheus/monitor.yaml")
    (root / "notes.md").write_text("mine\n")
    commit(root)


def test_the_result_is_a_project_of_this_version(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """To the byte. The same command again changes nothing."""
    assert app.run(["update"]) == 0

    expected = {path: file.content for path, file in scaffold(TODAY, "plain").items()}
    expected["PROJECT"] = text_of(pykb.__version__, "plain").encode()
    expected[GENERATED] = scaffold("0.0.2", "plain")[GENERATED].content
    assert files(root) == expected
    assert f"pykubebuilder[cli,test]=={pykb.__version__}".encode() in expected["pyproject.toml"]

    commit(root)
    capfd.readouterr()
    assert app.run(["update"]) == 0
    assert "note[unchanged]" in capfd.readouterr().err
    assert files(root) == expected


@pytest.mark.parametrize("before", ["[tool.pyright]", "[tool.pytest.ini_options]"])
def test_the_oldest_kubernetes_stays(root: Path, before: str) -> None:
    """It is a line of the user in a project of a release that does not know it."""
    edit(root, f"{before}\n", f'[tool.pykb]\nkubernetes = ">=1.33" # why\n\n{before}\n', "pyproject.toml")
    commit(root)
    assert app.run(["update"]) == 0
    assert oldest_supported(root) == (1, 33)
    expected = scaffold(TODAY, "plain")["pyproject.toml"].content.decode()
    table = '[tool.pykb]\nkubernetes = ">=1.33" # why\n\n'
    assert (root / "pyproject.toml").read_text().replace(table, "") == expected


def test_a_conflict_stops_it_or_is_written(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As the user wants. `--diff` shows it in any case."""
    conflict(root)
    before = files(root)

    assert app.run(["update"]) == 1
    assert "error[update-conflict]" in capfd.readouterr().err
    assert files(root) == before

    assert app.run(["update", "--diff"]) == 1
    assert "+<<<<<<< HEAD" in capfd.readouterr().out
    assert files(root) == before

    assert app.run(["update", "--conflicts", "markers"]) == 1
    monitor = (root / "config/prometheus/monitor.yaml").read_text()
    assert "<<<<<<< HEAD\n      # written by hand" in monitor
    assert f">>>>>>> pykb-{pykb.__version__}\n" in monitor
    assert f"cliVersion: {pykb.__version__}" in (root / "PROJECT").read_text()
    assert (root / "notes.md").read_text() == "mine\n"


AVAILABILITY = "config/availability"
DEFAULT = "config/default/kustomization.yaml"


def test_replicas_that_are_not_used_go(root: Path) -> None:
    """Earlier releases wrote `config/availability` into all projects, commented out. Edited files of it stay."""
    patch = root / AVAILABILITY / "manager_patch.yaml"
    assert patch.exists()
    edit(root, "system-cluster-critical", "operators", f"{AVAILABILITY}/manager_patch.yaml")
    commit(root)
    assert app.run(["update"]) == 0
    assert [path.name for path in (root / AVAILABILITY).iterdir()] == ["manager_patch.yaml"]
    assert "../availability" not in (root / DEFAULT).read_text()
    assert "replicas" not in (root / "PROJECT").read_text()


@pytest.mark.parametrize("replicas", [2, 3])
def test_replicas_that_are_used_stay_and_are_recorded(root: Path, replicas: int) -> None:
    """Then `edit` knows them: it can take them out."""
    if replicas != 2:
        edit(root, "replicas: 2", f"replicas: {replicas}", f"{AVAILABILITY}/manager_patch.yaml")
    edit(root, "#components:\n#- ../availability\n", "components:\n- ../availability\n", DEFAULT)
    edit(root, "system-cluster-critical", "operators", f"{AVAILABILITY}/manager_patch.yaml")
    commit(root)
    before = {path.name: path.read_text() for path in (root / AVAILABILITY).iterdir()}
    assert app.run(["update"]) == 0
    assert "components:\n- ../availability\n" in (root / DEFAULT).read_text()
    after = {path.name: path.read_text() for path in (root / AVAILABILITY).iterdir()}
    assert after.keys() == before.keys()
    assert after["manager_patch.yaml"] == before["manager_patch.yaml"]
    assert f"    replicas: {replicas}\n" in (root / "PROJECT").read_text()
    commit(root)
    assert app.run(["edit", "--replicas", "1", "--no-make", "--force"]) == 0
    assert not (root / AVAILABILITY).exists()


def test_what_is_not_committed_is_not_changed(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Tracked files that were edited, and others where the scaffold has a file. Unrelated ones do not matter."""
    (root / "notes.md").write_text("mine\n")
    edit(root, *EDIT)
    assert app.run(["update"]) == 1
    assert "not committed: `Makefile`" in capfd.readouterr().err
    git(root, "checkout", "--quiet", "Makefile")

    own = root / "config/network-policy/kustomization.yaml"
    assert "config/network-policy/kustomization.yaml" not in scaffold("0.0.2", "plain")
    own.parent.mkdir()
    own.write_text("kind: Component\n")
    before = files(root)
    assert app.run(["update", "--conflicts", "markers"]) == 1
    assert "not committed: `config/network-policy/kustomization.yaml`" in capfd.readouterr().err
    assert files(root) == before

    own.unlink()
    assert app.run(["update"]) == 0
    assert (root / "notes.md").read_text() == "mine\n"


def test_a_repository_runs_nothing(root: Path, tmp_path: Path) -> None:
    """Neither hooks nor filters nor the monitor of files in its settings."""
    evil = tmp_path / "evil.sh"
    evil.write_text(f"#!/bin/sh\necho $0 $@ $GIT_DIR $PWD >>{tmp_path}/ran\ncat\n")
    evil.chmod(0o755)
    (root / ".gitattributes").write_text("* filter=evil merge=evil diff=evil\n")
    commit(root)
    for name in ("post-checkout", "post-index-change", "post-merge", "pre-commit", "reference-transaction"):
        (root / ".git/hooks" / name).write_bytes(evil.read_bytes())
        (root / ".git/hooks" / name).chmod(0o755)
    settings = ("core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "merge.evil.driver")
    for name in (*settings, "diff.evil.textconv", "diff.evil.command"):
        git(root, "config", name, str(evil))
    (tmp_path / "ran").unlink(missing_ok=True)
    for path in root.rglob("*.py"):
        path.touch()  # git would have to look into it

    assert app.run(["update"]) == 0

    assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()


def test_a_link_out_of_the_project_is_not_followed(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is written."""
    outside = root.parent / "outside"
    outside.write_bytes((root / "Makefile").read_bytes())
    (root / "Makefile").unlink()
    (root / "Makefile").symlink_to(outside)
    commit(root)
    before = outside.read_bytes()

    assert app.run(["update"]) == 1

    assert "error[path-outside]" in capfd.readouterr().err
    assert outside.read_bytes() == before
    assert f"cliVersion: {pykb.__version__}" not in (root / "PROJECT").read_text()


@pytest.mark.parametrize("version", ["../0.0.2", "0.0.2; id", "0.0.2/../..", "--help", "9.9.9", ""])
def test_a_version_in_project_only_names_a_release(root: Path, version: str, capfd: pytest.CaptureFixture[str]) -> None:
    """It is neither a path nor words of a command."""
    edit(root, "cliVersion: 0.0.2", f"cliVersion: '{version}'", "PROJECT")
    commit(root)
    before = files(root)

    assert app.run(["update"]) == 1

    assert "error[release-unknown]" in capfd.readouterr().err
    assert files(root) == before


def kill() -> None:
    """Have an update be killed after five files."""
    with killed_after(5):
        app.run(["update"])


def test_a_killed_update_is_completed_by_the_next_command(root: Path) -> None:
    """All files or none."""
    kill()
    assert "cliVersion: 0.0.2" in (root / "PROJECT").read_text()

    app.run(["generate", "--no-prune"])
    assert f"cliVersion: {pykb.__version__}" in (root / "PROJECT").read_text()
    assert (root / "config/network-policy/kustomization.yaml").exists()


def test_a_killed_update_that_git_took_back_is_not_written_again(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Nor by a command that fails."""
    before = files(root)
    kill()
    git(root, "restore", ".")
    git(root, "clean", "-fd")

    assert app.run(["create", "api", "--group", "g", "--version", "v1", "--kind", "no kind"]) == 2
    assert "had been taken back already" in capfd.readouterr().err
    assert files(root) == before
    assert git(root, "status", "--porcelain") == ""


def test_the_projects_own_pykb_does_not_run_it(root: Path) -> None:
    """It would be the earlier one."""
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/bin/python").write_text("#!/bin/sh\nexit 99\n")
    (root / ".venv/bin/python").chmod(0o755)
    (root / ".venv/lib/python3.11/site-packages/pykubebuilder-0.0.2.dist-info").mkdir(parents=True)

    assert app.run(["update"]) == 0
    assert f"cliVersion: {pykb.__version__}" in (root / "PROJECT").read_text()


def test_a_chart_has_a_command_of_its_own(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It is named at the end."""
    edit(root, "layout: [python.pykb.dev/v1]", "layout: [python.pykb.dev/v1, helm.pykb.dev/v1]", "PROJECT")
    commit(root)
    assert app.run(["update"]) == 0
    assert capfd.readouterr().err.endswith("then `make all test`\n  pykb edit --plugins helm\n")


def test_git_is_needed(root: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is written without it."""
    before = files(root)
    monkeypatch.setenv("PATH", str(root / "none"))
    assert app.run(["update"]) == 1
    assert "no `git` on PATH" in capfd.readouterr().err
    assert files(root) == before


def test_a_project_in_a_folder_of_a_repository(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is below the project matters."""
    inner = root / "operators/fleet"
    inner.mkdir(parents=True)
    for path, content in files(root).items():
        (inner / path).parent.mkdir(parents=True, exist_ok=True)
        (inner / path).write_bytes(content)
    commit(root)
    edit(root, *EDIT)
    outer = (root / "PROJECT").read_bytes()
    monkeypatch.chdir(inner)
    assert app.run(["update"]) == 0
    assert f"cliVersion: {pykb.__version__}" in (inner / "PROJECT").read_text()
    assert (root / "PROJECT").read_bytes() == outer


def test_a_wheel_of_the_same_version_may_be_an_earlier_build(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It is named, neither run nor replaced."""
    edit(root, "cliVersion: 0.0.2", f"cliVersion: {pykb.__version__}", "PROJECT")
    wheel = root / WHEEL
    assert app.run(["update", "--dry-run"]) == 0
    assert not wheel.exists()
    assert "--from" not in capfd.readouterr().err
    wheel.parent.mkdir(parents=True)
    wheel.write_bytes(b"an earlier build")
    commit(root)
    assert app.run(["update"]) == 0
    assert f"`pykb update --from {WHEEL}`" in capfd.readouterr().err
    assert wheel.read_bytes() == b"an earlier build"


@pytest.mark.parametrize(("layout", "code"), [("[other.example.com/v1]", 1), ("[kustomize.common.pykb.dev/v1]", 0)])
def test_only_files_of_the_layout_are_scaffolded(
    root: Path, layout: str, code: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """A project of another plugin does not get those of pykb."""
    edit(root, "[python.pykb.dev/v1]", layout, "PROJECT")
    edit(root, text_of("", "plain").partition("resources:")[2], " []\n", "PROJECT")
    for path in [path for path in files(root) if path.endswith(".py") or path.startswith(".")]:
        (root / path).unlink()
    commit(root)
    before = files(root)
    assert app.run(["update"]) == code
    if code:
        assert "error[not-rendered]" in capfd.readouterr().err
        assert files(root) == before
    else:
        assert not [path for path in files(root).keys() - before.keys() if path.endswith(".py")]
