"""Diagnostics of situations that a file cannot describe."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pykb.cli import app
from pykb.envtest import get_assets
from pykb.files.durable import Folder
from pykb.files.state import opened
from pykb.plugins.external import protocol
from pykb.plugins.plugin import PluginKey
from pykb.scaffold import distribution
from pykb.scaffold.plan import PlanBuilder
from pykb.tools.process import Limits
from tests.killing import killed_after

DISK = (
    "create",
    "api",
    "--group",
    "infra",
    "--version",
    "v1",
    "--kind",
    "Disk",
    "--resource",
    "--controller",
    "--no-make",
)
REFUSED = ("create", "api", "--group", "infra", "--version", "v1", "--kind", "no kind")


@pytest.fixture
def root(starts: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project after `init`, the working directory."""
    root = tmp_path / "sealvm"
    shutil.copytree(starts["sealvm"], root)
    monkeypatch.chdir(root)
    monkeypatch.setenv("NO_COLOR", "1")
    return root


def stderr_of(capfd: pytest.CaptureFixture[str], *words: str, code: int) -> str:
    """What a command prints; its exit code is checked."""
    capfd.readouterr()
    assert app.run(words) == code
    return capfd.readouterr().err


def test_a_repository_that_git_cannot_read(root: Path, golden, capfd: pytest.CaptureFixture[str]) -> None:
    """Its last commit is missing, and git may not fetch it."""
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    (root / ".git/HEAD").write_text("ref: refs/heads/lost\n")
    (root / ".git/refs/heads/lost").write_text("1" * 40 + "\n")
    golden("repository-unreadable/commit_missing", stderr_of(capfd, "generate", "--check-compat", "HEAD", code=1))


def test_the_environment_is_older_than_the_pin(root: Path, golden, capfd: pytest.CaptureFixture[str]) -> None:
    """And this pykb is not the pinned one, either."""
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/bin/python").symlink_to(sys.executable)
    (root / ".venv/lib/python3.11/site-packages/pykubebuilder-0.0.1.dist-info").mkdir(parents=True)
    text = (root / "pyproject.toml").read_text()
    (root / "pyproject.toml").write_text(re.sub('==[^"]*', "==0.0.2", text))
    golden("environment-outdated/older", stderr_of(capfd, "generate", code=1))


def test_the_home_of_the_user_cannot_be_written(
    root: Path, golden, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command does its work, and says what follows."""
    (root.parent / "state").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(root.parent / "state"))
    golden("origin-key/write", first_lines(stderr_of(capfd, *DISK, code=0), 3).replace(str(root.parent), "HOME"))


def test_another_command_writes(root: Path, golden, capfd: pytest.CaptureFixture[str]) -> None:
    """The lock is held."""
    with opened(root) as state, state.lock("lock"):
        golden("busy/lock_held", stderr_of(capfd, *DISK, code=1))


def test_a_file_changes_in_between(
    root: Path, golden, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Someone saves a file while the command renders."""
    sync = Folder.sync

    def sync_late(self: Folder) -> None:
        (root / "sealvm/__main__.py").write_text("x = 1\n")
        sync(self)

    monkeypatch.setattr(Folder, "sync", sync_late)
    golden("file-changed/edited", stderr_of(capfd, *DISK, code=1))
    assert (root / "sealvm/__main__.py").read_text() == "x = 1\n"


@pytest.mark.parametrize(
    "case", ["recovered/completed", "recovered/undone", "recovered/taken_back", "recovered/left_out"]
)
def test_the_command_before_was_killed(root: Path, golden, capfd: pytest.CaptureFixture[str], case: str) -> None:
    """Killed after some files: completed by the next command. Undone when a file was edited or taken back."""
    kill(after=0 if case == "recovered/left_out" else 14)
    made = sorted((root / "sealvm/api").rglob("*.py"))
    assert bool(made) is (case != "recovered/left_out")
    if case == "recovered/undone":
        (root / "PROJECT").write_text((root / "PROJECT").read_text() + "# mine\n")
    if case == "recovered/taken_back":
        made[0].unlink()
    golden(case, first_lines(stderr_of(capfd, *REFUSED, code=2)))
    assert (root / "sealvm/api").exists() is (case == "recovered/completed")
    assert not (root / ".pykb/transaction").exists()


def kill(*, after: int = 0) -> None:
    """Have a command be killed after its decision to write, and after some files."""
    with killed_after(after):
        app.run(DISK)


def first_lines(text: str, number: int = 2) -> str:
    """The note about the command before, without what this one says."""
    return "".join(text.splitlines(keepends=True)[:number])


@pytest.mark.parametrize("words", [("generate", "--check"), (*DISK, "--dry-run"), (*DISK, "--diff")])
def test_a_command_that_only_looks_says_that_one_was_killed(
    root: Path, golden, capfd: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    """Nothing is completed by it."""
    kill()
    before = {path: path.lstat().st_mtime_ns for path in root.rglob("*")}
    app.run(words)
    golden("transaction-pending/look", first_lines(capfd.readouterr().err))
    assert {path: path.lstat().st_mtime_ns for path in root.rglob("*") if "__pycache__" not in path.parts} == before


def test_a_copy_of_a_project_brings_a_killed_command_along(
    root: Path, golden, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is not carried out where it did not begin."""
    kill()
    shutil.copytree(root, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    golden("transaction-unusable/copied", stderr_of(capfd, *DISK, code=1))
    golden("transaction-pending/copied", first_lines(stderr_of(capfd, *DISK, "--dry-run", code=0)))
    assert not (tmp_path / "copy/sealvm/api").exists()


@pytest.mark.parametrize(
    ("case", "version"), [("project-cli-version/older", "0.9.1"), ("project-cli-version/newer", "0.20.0")]
)
def test_the_project_was_made_by_another_version(
    root: Path, golden, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, case: str, version: str
) -> None:
    """A warning: the command does its work. A version that is none, or the same, is not spoken of."""
    monkeypatch.setattr("pykb.cli.project.__version__", "0.10.0")
    before = (root / "PROJECT").read_text()
    for same in ("0.10.0", "(devel)", "0.10.0.dev1", "0.9.1'; id; '"):
        (root / "PROJECT").write_text(re.sub("cliVersion: .*", f'cliVersion: "{same}"', before))
        assert stderr_of(capfd, *DISK, "--dry-run", code=0) == "nothing was written (--dry-run)\n"
    (root / "PROJECT").write_text(re.sub("cliVersion: .*", f"cliVersion: {version}", before))
    golden(case, stderr_of(capfd, *DISK, "--dry-run", code=0))


def test_a_project_above_belongs_to_another(
    root: Path, golden, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory above is used only if it is the user's own; the working directory always."""
    from pykb import project as finding

    monkeypatch.setattr(finding, "_is_trusted", lambda _: False)  # only root can give a folder to somebody else
    assert stderr_of(capfd, *DISK, "--dry-run", code=0) == "nothing was written (--dry-run)\n"
    monkeypatch.chdir(root / "sealvm")
    golden("project-owner/above", stderr_of(capfd, *DISK, code=1).replace(str(root), "<project>"))


def test_a_template_of_ours_is_broken(
    root: Path, golden, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rendered file that does not parse."""
    from pykb.plugins import rendering

    real = rendering.render_file
    monkeypatch.setattr(
        rendering, "render_file", lambda name, values: real(name, values).replace("class Disk(", "class Disk")
    )
    golden("rendered-broken/python", stderr_of(capfd, *DISK, code=1))
    assert not (root / "sealvm/api").exists()


def test_the_generator_fails(
    root: Path, golden, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files stay, and what is left to do is said."""
    monkeypatch.setenv("PYKB_HANDED_OVER", "1")  # else the command itself would be handed over
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/lib/python3.11/site-packages/pykubebuilder-0.0.1.dist-info").mkdir(parents=True)
    own = root / ".venv/bin/python"
    own.write_text('#!/bin/sh\necho "error: it is what $4 says" >&2\nexit 1\n')
    own.chmod(0o755)
    golden("generate-failed/own_pykb", stderr_of(capfd, *DISK[:-1], code=1))
    assert (root / "sealvm/api").exists()


def test_a_pykb_without_metadata(
    tmp_path: Path, golden, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run from a bare folder: the project is made, and what it lacks is said."""
    monkeypatch.setattr(distribution, "checkout", lambda: None)

    real = importlib.metadata.distribution

    def gone(name: str) -> importlib.metadata.Distribution:
        if name == distribution.NAME:
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "distribution", gone)
    here = tmp_path / "sealvm"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("NO_COLOR", "1")
    shown = stderr_of(capfd, "init", "--domain", "sealyun.com", code=0)
    golden("wheel-unavailable/bare_folder", shown.partition("create ")[0])


class _Point:
    """An entry point as importlib.metadata gives it."""

    name = "notes.example.com/v1"
    value = "notes_plugin:PLUGIN"

    def __init__(self, loaded: object) -> None:
        self.loaded = loaded

    def load(self) -> object:
        """What the module has under the name, or its failure."""
        if isinstance(self.loaded, Exception):
            raise self.loaded
        return self.loaded


@pytest.mark.parametrize(
    ("case", "loaded"),
    [("plugin-broken/import_fails", ImportError("no module named notes")), ("plugin-broken/no_plugin", object())],
)
def test_a_plugin_of_another_package_is_broken(
    root: Path, golden, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, case: str, loaded: object
) -> None:
    """Only when it is asked for."""
    from pykb.plugins import registry

    monkeypatch.setattr(registry, "entry_points", lambda group: [_Point(loaded)])
    assert stderr_of(capfd, *DISK, "--dry-run", code=0) == "nothing was written (--dry-run)\n"
    golden(case, stderr_of(capfd, *DISK, "--plugins", "notes", code=1))


class _Notes:
    """A plugin with a mistake: a text where bytes are expected."""

    key = PluginKey("notes.example.com", "v1")
    summary = "a file of notes"

    def init(self, request: object, plan: PlanBuilder) -> None:
        """Nothing."""

    def create_api(self, request: object, plan: PlanBuilder) -> None:
        """Give a text for the content of a file."""
        plan.create("NOTES", "text")  # type: ignore[arg-type]


def test_a_plugin_of_another_package_gives_a_text(
    root: Path, golden, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The finding names the plugin and its line."""
    from pykb.plugins import registry

    monkeypatch.setattr(registry, "entry_points", lambda group: [_Point(_Notes())])
    shown = stderr_of(capfd, *DISK, "--plugins", "notes.example.com", code=1)
    golden("plugin-fault/python", re.sub(r"raised at \S+:\d+", "raised at <place>", shown))


_ANSWERS = {
    "plugin-fault/not_json": ("echo hello", 1),
    "plugin-fault/list": ("echo '[]'", 1),
    "plugin-fault/types": ("""echo '{"universe": {"NOTES": 1, "TODO": ["x"]}, "error": "no"}'""", 1),
    "plugin-fault/version": ("""echo '{"apiVersion": "v2"}'""", 1),
    "plugin-fault/exit": ("echo 'no such option' >&2; exit 3", 1),
    "plugin-fault/hang": ("sleep 60", 1),
    "plugin-fault/flood": ("head -c 5000000 /dev/zero", 1),
    "plugin-fault/interpreter": ("#!/no/such/program", 1),
    "plugin-error/words": ("""echo '{"error": true, "errorMsgs": ["--team is required", "no quota"]}'""", 1),
    "plugin-error/no_words": ("""echo '{"error": true}'""", 1),
    "plugin-note/stderr": ("""echo "using team red" >&2; echo '{"universe": {"NOTES": "x"}}'""", 0),
    "plugin-note/project": ("""echo '{"universe": {"PROJECT": "x", "NOTES": "y"}}'""", 0),
    "path-outside/plugin": ("""echo '{"universe": {"../NOTES": "x"}}'""", 1),
    "rendered-broken/plugin": ("""echo '{"universe": {"notes.yaml": "a: ]"}}'""", 1),
    "file-exists/plugin": ("""echo '{"universe": {".editorconfig": "x"}}'""", 1),
}


def _install(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An external plugin with this script."""
    program = folder / "notes.acme.io/v1/notes.acme.io"
    program.parent.mkdir(parents=True)
    program.write_text(script if script.startswith("#!") else f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("EXTERNAL_PLUGINS_PATH", str(folder))
    return program


@pytest.mark.parametrize("case", _ANSWERS)
def test_an_external_plugin_answers(
    root: Path, golden, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, case: str
) -> None:
    """Each wrong answer is the fault of the plugin, by name; nothing is written then."""
    script, code = _ANSWERS[case]
    _install(tmp_path / "plugins", script, monkeypatch)
    limits = Limits(seconds=0.5 if case.endswith("hang") else 60, size=1024**2)
    for name in ("LIMITS", "QUICK"):
        monkeypatch.setattr(protocol, name, limits)
    (root / ".editorconfig").write_bytes(b"\0")
    before = {path for path in root.rglob("*") if path.is_file()}
    golden(case, stderr_of(capfd, *DISK, "--plugins", "python,notes", code=code))
    assert (before == {path for path in root.rglob("*") if path.is_file()}) is (code != 0)


@pytest.mark.parametrize(("case", "mode"), [("plugin-broken/not_executable", 0o644), ("plugin-broken/writable", 0o757)])
def test_an_external_plugin_cannot_be_run(
    root: Path, golden, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, case, mode
) -> None:
    """Somebody else may have put it there."""
    program = _install(tmp_path / "plugins", "exit 1", monkeypatch)
    program.chmod(mode)
    golden(case, stderr_of(capfd, *DISK, "--plugins", "notes", code=1).replace(str(tmp_path), "<folder>"))


def test_only_project_names_an_external_plugin(
    root: Path, golden, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whoever wrote PROJECT does not choose which programs run."""
    _install(tmp_path / "plugins", f"touch {tmp_path}/ran", monkeypatch)
    file = root / "PROJECT"
    file.write_text(file.read_text().replace("- python.pykb.dev/v1\n", "- python.pykb.dev/v1\n- notes.acme.io/v1\n"))
    golden("plugin-unnamed/layout", stderr_of(capfd, *DISK, code=1))
    assert not (tmp_path / "ran").exists()


@pytest.mark.apiserver  # kubectl comes with it
def test_a_template_of_the_chart_was_edited(root: Path, golden, capfd: pytest.CaptureFixture[str]) -> None:
    """It stays as it is, and nobody has to guess why the chart does not change."""
    get_assets(kubectl=True)
    assert app.run(["edit", "--plugins", "helm"]) == 0
    template = root / "charts/sealvm/templates/manager/controller-manager.yaml"
    template.write_text(f"# ours\n{template.read_text()}", encoding="utf-8")
    manager = root / "config/manager/manager.yaml"
    manager.write_text(manager.read_text().replace("initialDelaySeconds: 15", "initialDelaySeconds: 30"))
    golden("chart-edited/template", stderr_of(capfd, "edit", "--plugins", "helm", code=0))


@pytest.mark.apiserver
def test_a_bundle_without_something(root: Path, golden, capfd: pytest.CaptureFixture[str]) -> None:
    """OLM would not install it."""
    get_assets(kubectl=True)
    kustomization = root / "config/default/kustomization.yaml"
    kustomization.write_text(kustomization.read_text().replace("- ../manager\n", "- ../manager\n- quota.yaml\n"))
    quota = "apiVersion: v1\nkind: ResourceQuota\nmetadata:\n  name: quota\n"
    (root / "config/default/quota.yaml").write_text(quota, encoding="utf-8")
    golden("bundle-left-out/quota", stderr_of(capfd, "edit", "--plugins", "olm", code=0))


@pytest.mark.apiserver
def test_manifests_that_were_not_generated(root: Path, golden, capfd: pytest.CaptureFixture[str]) -> None:
    """The message of kustomize would be a long line about folders and links."""
    get_assets(kubectl=True)
    words = ("create", "api", "--group", "infra", "--version", "v1", "--kind", "Disk", "--resource", "--controller")
    assert app.run([*words, "--no-make"]) == 0
    golden("kustomization/not_generated", stderr_of(capfd, "build-installer", code=1))


def test_a_chart_without_kustomize(
    golden, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The project is made. The chart comes later."""
    root = tmp_path / "fleet"
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    for variable in ("PATH", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    words = ("init", "--domain", "example.com", "--plugins", "helm", "--dry-run")
    golden("chart-later/init", stderr_of(capfd, *words, code=0))


def test_a_bug(golden, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions are those of this machine, so they are blanked."""
    monkeypatch.setenv("NO_COLOR", "1")

    def fail() -> object:
        raise LookupError("no such thing")

    monkeypatch.setattr("pykb.diagnostics.codes.all_codes", fail)
    shown = stderr_of(capfd, "explain", "usage", code=70)
    golden("internal-error/lookup", re.sub(r"note: pykb .*", "note: pykb <versions>", shown))


def test_no_space_is_left(
    golden, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, root: Path
) -> None:
    """No space left while staging: the words of the system, nothing written."""
    real = os.write

    def write(handle: int, data: bytes) -> int:
        if os.path.realpath(f"/proc/self/fd/{handle}").endswith(".after"):
            raise OSError(28, "No space left on device")
        return real(handle, data)

    monkeypatch.setattr(os, "write", write)
    shown = stderr_of(capfd, *DISK, code=1)
    monkeypatch.undo()
    golden("write-failed/no_space", shown)
    assert not (root / "sealvm/api").exists()


def test_a_file_is_no_text(root: Path, golden, capfd: pytest.CaptureFixture[str]) -> None:
    """PROJECT saved in another encoding."""
    (root / "PROJECT").write_bytes("# größe\n".encode("latin-1"))
    golden("not-text/project", stderr_of(capfd, *DISK, code=1))


def test_a_link_leads_out_of_the_project(root: Path, golden, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The folder of the controllers is a link to somewhere else."""
    (tmp_path / "outside").mkdir()
    (root / "sealvm/controllers").symlink_to(tmp_path / "outside")
    golden("path-outside/link", stderr_of(capfd, *DISK, code=1))
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_file_may_not_be_read(
    root: Path, golden, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the superuser can read everything, the system's answer is given by hand."""

    def refuse(path: Path, **_: object) -> bytes:
        raise PermissionError(13, "Permission denied", path.name)

    monkeypatch.setattr("pykb.project.read_bytes", refuse)
    golden("system-error/no_permission", stderr_of(capfd, *DISK, code=1))


def test_a_project_begins_in_another(
    root: Path, golden, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the wrong directory, most likely."""
    (root / "below").mkdir()
    monkeypatch.chdir(root / "below")
    golden("directory-in-project/below", stderr_of(capfd, "init", "--domain", "sealyun.com", "--dry-run", code=0))
