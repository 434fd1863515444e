"""A project that moved `config/` and says so in `[tool.pykb]`: every command gives what it gives in an unmoved twin."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pykb.cli import app
from pykb.commands.options import Edits, NewApi, NewWebhook, OldApi
from pykb.dev.project import DevProject
from pykb.diagnostics import EnvironmentProblem
from pykb.explore import subject_of
from pykb.project import Certificates
from pykb.project.options import ApiOptions
from pykb.project.settings import config_folder
from pykb.scaffold import release as releases
from tests.unit.plugins.older import on_an_index, render, text_of
from tests.unit.plugins.older import scaffold as older_scaffold
from tests.unit.plugins.scaffolding import create, start, write
from tests.unit.plugins.test_delete import Tree, delete, plan_of, tree
from tests.unit.plugins.test_regroup import OPTIONS, changed, differences

HERE = "deploy/config"
MACHINE = (NewApi("infra", "v1", "Machine"), NewWebhook("infra", "v1", "Machine", defaulting=True, validation=True))
CONVERSION = (
    NewApi("infra", "v2", "Machine", controller=False, api=ApiOptions("v1")),
    NewWebhook("infra", "v1", "Machine", conversion=True, spoke=("v2",)),
)
DISK = NewApi("infra", "v1", "Disk", namespaced=False)
OWN = "config/settings.yaml"
"""A file of a folder `config` that has nothing to do with the manifests."""


def move(root: Path, to: str = HERE) -> None:
    """Move the folder as the guide says."""
    (root / to).parent.mkdir(parents=True, exist_ok=True)
    (root / "config").rename(root / to)
    named = (
        *root.glob("tests/**/*.py"),
        *root.glob("fleet/**/*.py"),
        *root.glob(f"{to}/**/*.yaml"),
        *root.glob("*[!K]"),
    )
    for path in (each for each in named if each.is_file()):
        path.write_text(re.sub(r"(?<![\w./])config/", f"{to}/", path.read_text()))
    settings = root / "pyproject.toml"
    settings.write_text(f'{settings.read_text()}\n[tool.pykb]\nconfig = "{to}"\n')


def unmoved(files: Tree) -> Tree:
    """The files with the paths of the twin."""
    found = {
        path.replace(f"{HERE}/", "config/"): each.replace(HERE.encode(), b"config") for path, each in files.items()
    }
    found["pyproject.toml"] = found["pyproject.toml"].replace(b'\n[tool.pykb]\nconfig = "config"\n', b"")
    return found


def run(root: Path, *words: str) -> int:
    """Run a command in the project."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        return app.run([*words])


@pytest.fixture
def twins(tmp_path: Path) -> tuple[Path, Path]:
    """A project with a webhook and its manifests, twice: as it was made, and moved."""
    plain = start(OPTIONS, tmp_path / "plain/fleet", *MACHINE)
    assert run(plain, "generate") == 0
    shutil.copytree(plain, tmp_path / "moved/fleet")
    move(tmp_path / "moved/fleet")
    return plain, tmp_path / "moved/fleet"


def again(root: Path) -> None:
    """Nothing is out of date."""
    assert run(root, "generate", "--check") == 0


STEPS: dict[str, Callable[[Path], object]] = {
    "check": again,
    "api": lambda root: create(root, DISK),
    "generate": lambda root: run(root, "generate"),
    "check again": again,
    "version": lambda root: create(root, CONVERSION[0]),
    "conversion": lambda root: create(root, CONVERSION[1]),
    "shards": lambda root: write(*changed(root, Edits(shards=16))),
    "plugins": lambda root: write(*changed(root, Edits(plugins=("helm", "olm", "grafana")))),
    "installer": lambda root: run(root, "build-installer", "--image", "fleet:v1"),
    "docs": lambda root: run(root, "generate", "docs"),
    "certificates": lambda root: write(*changed(root, Edits(certificates=Certificates.CERT_MANAGER))),
    "namespaced": lambda root: write(*changed(root, Edits(namespaced=True))),
    "multigroup": lambda root: write(*changed(root, Edits(multigroup=True))),
    "delete": lambda root: delete(root, OldApi("infra", "v1", "Disk", controller=True)),
}


def test_each_command_does_the_same_as_in_the_twin(twins: tuple[Path, Path]) -> None:
    """To the byte. A folder `config` of another use stays as it is."""
    plain, moved = twins
    (moved / "config").mkdir()
    (moved / OWN).write_text("mine: 1\n")
    for name, step in STEPS.items():
        before = tree(plain)
        for root in twins:
            step(root)
        files = tree(moved)
        assert files.pop(OWN) == b"mine: 1\n"
        assert [each.name for each in (moved / "config").iterdir()] == ["settings.yaml"], name
        assert differences(tree(plain), unmoved(files)) == "", name
        assert (tree(plain) == before) == (step is again), name


def test_explore_and_dev_read_the_manifests_where_they_are(twins: tuple[Path, Path]) -> None:
    """The CRDs, samples, roles and webhooks."""
    plain, moved = (subject_of(root, register=lambda _: None) for root in twins)
    assert moved.crds == plain.crds
    assert moved.samples == plain.samples
    assert moved.rules == plain.rules
    assert moved.webhooks == plain.webhooks
    assert len(moved.webhooks) == 2
    for root, folder in zip(twins, ("config", HERE), strict=True):
        assert DevProject(root, "fleet").crds == root / folder / "crd/bases"
        assert DevProject(root, "fleet").webhook_manifest.is_file()


def test_findings_name_the_files_where_they_are(twins: tuple[Path, Path], capfd: pytest.CaptureFixture[str]) -> None:
    """With the lines that are there, in spans and in words."""
    _, moved = twins
    manager = moved / HERE / "manager/manager.yaml"
    manager.write_text(manager.read_text().replace("--leader-elect", "--elect"))
    assert run(moved, "edit", "--shards", "16") == 1
    shown = capfd.readouterr().err
    assert f" --> {HERE}/manager/manager.yaml:" in shown
    assert "--elect" in shown
    manager.unlink()
    assert run(moved, "edit", "--shards", "16") == 1
    assert f"`{HERE}/manager/manager.yaml` does not exist" in capfd.readouterr().err
    assert run(moved, "build-installer", "--image", "fleet:v1") == 1
    assert f"`{HERE}/manager/manager.yaml`, which does not exist" in capfd.readouterr().err
    sample = moved / HERE / "samples/infra_v1_machine.yaml"
    sample.write_text("a: [\n")
    run(moved, "generate", "--check")
    assert f"{HERE}/samples/infra_v1_machine.yaml:" in capfd.readouterr().err


def test_an_edited_file_is_not_deleted(twins: tuple[Path, Path], capfd: pytest.CaptureFixture[str]) -> None:
    """The finding shows it; with `--force`, the copy has the name of the real file."""
    _, moved = twins
    role = moved / HERE / "rbac/machine_admin_role.yaml"
    role.write_text(f"{role.read_text()}# mine\n")
    plan, _ = plan_of(moved, OldApi("infra", "v1", "Machine", controller=True))
    assert plan is None
    words = ("--group", "infra", "--version", "v1", "--kind", "Machine", "--no-make")
    assert run(moved, "delete", "api", *words, "--controller") == 1
    assert f"`{HERE}/rbac/machine_admin_role.yaml` was edited by hand" in capfd.readouterr().err
    assert run(moved, "delete", "api", *words, "--controller", "--force") == 0
    assert not role.exists()
    assert any((moved / ".pykb/backup").rglob("machine_admin_role.yaml*"))


def test_update_changes_the_files_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the twin: edits stay, and what the scaffold changed is changed."""
    monkeypatch.setattr(releases, "published", on_an_index)
    monkeypatch.setattr(releases, "render", render)
    monkeypatch.setattr("pykb.commands.init.is_from_index", lambda: True)
    monkeypatch.setattr("pykb.scaffold.locate.is_from_index", lambda: True)
    roots = tmp_path / "plain/fleet", tmp_path / "moved/fleet"
    for root in roots:
        for path, file in older_scaffold("0.0.2", "webhooks").items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(file.content)
        (root / "PROJECT").write_text(text_of("0.0.2", "webhooks"))
        manager = root / "config/manager/manager.yaml"
        manager.write_text(f"# mine\n{manager.read_text()}")
        if root is roots[1]:
            move(root)
        author = ("-c", "user.name=fanux", "-c", "user.email=fanux@example.com", "-c", "commit.gpgSign=false")
        for words in (("init", "--quiet"), ("add", "--all", "--force"), ("commit", "--quiet", "--message", "All")):
            subprocess.run(["git", *author, *words], cwd=root, check=True)
        before = tree(root)
        assert run(root, "update") == 0
        assert tree(root) != before
        assert (root / "config").exists() == (root is roots[0])
    files = [{path: text for path, text in tree(root).items() if not path.startswith(".git/")} for root in roots]
    assert differences(files[0], unmoved(files[1])) == ""


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ('"../config"', "not a path below the project"),
        ('"/etc"', "not a path below the project"),
        ('"."', "not a path below the project"),
        ('""', "names no folder"),
        ("7", "names no folder"),
        ('"absent"', "names no folder of the project: `absent`"),
        ('"PROJECT"', "names no folder"),
        ('"away"', "`away` is a symbolic link that leads out"),
        ('".git"', "where git or pykb keeps"),
        ('"config/default"', "in `config/` itself"),
    ],
)
def test_what_names_no_folder_of_the_project_is_refused(
    named: str, why: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """By every command, and nothing is written."""
    root = start(OPTIONS, tmp_path / "fleet")
    (root / ".git").mkdir()
    (root / "away").symlink_to(tmp_path)
    settings = root / "pyproject.toml"
    settings.write_text(f"{settings.read_text()}\n[tool.pykb]\nconfig = {named}\n")
    with pytest.raises(EnvironmentProblem, match=re.escape(why)):
        config_folder(root)
    before = tree(root)
    words = ("--group", "infra", "--version", "v1", "--kind", "Disk", "--no-make")
    for command in (("generate",), ("create", "api", *words), ("edit", "--shards", "2"), ("build-installer",)):
        assert run(root, *command) in {1, 2}
        shown = capfd.readouterr().err
        assert shown.count("`config` in `[tool.pykb]` names") == 1, shown
    assert tree(root) == before


def test_a_link_inside_the_project_is_followed(tmp_path: Path) -> None:
    """And the path is a clean one."""
    root = start(OPTIONS, tmp_path / "fleet")
    move(root, "deploy")
    (root / "linked").symlink_to("deploy")
    settings = root / "pyproject.toml"
    settings.write_text(settings.read_text().replace('"deploy"', '"./linked/"'))
    assert config_folder(root) == "linked"
    create(root, DISK)
    assert (root / "deploy/samples/infra_v1_disk.yaml").is_file()
    assert not (root / "config").exists()
