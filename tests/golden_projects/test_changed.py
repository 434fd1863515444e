"""The committed projects, edits and all, still pass their own checks after their layout was changed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hack.samples.build import UNTRACKED, files
from pykb.commands.delete import plan_delete
from pykb.commands.options import NewProject, OldApi
from pykb.files.apply import apply
from pykb.project.file import read
from tests.unit.plugins.conftest import pykb
from tests.unit.plugins.scaffolding import start

TESTDATA = Path(__file__).parents[2] / "testdata"


def run(root: Path, *command: str) -> None:
    """Run a tool of this environment; what it printed is the failure's text."""
    done = subprocess.run([sys.executable, "-m", *command], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def regrouped(tmp_path: Path) -> Path:
    """The sample with most of its author's own code, with folders for API groups."""
    root = tmp_path / "virtulmachine"
    shutil.copytree(TESTDATA / root.name, root, ignore=shutil.ignore_patterns(*UNTRACKED))
    pykb(root, "edit", "--multigroup")
    return root


def test_a_regrouped_sample_is_formatted_clean_and_typed(regrouped: Path, mypy_cache: Path) -> None:
    """By the configuration that it was scaffolded with: each import of what moved is found. Manifests are up to date."""
    run(regrouped, "ruff", "format", "--no-cache", "--check", ".")
    run(regrouped, "ruff", "check", "--no-cache", ".")
    run(regrouped, "mypy", "--cache-dir", str(mypy_cache), ".")
    pykb(regrouped, "generate", "--check")


@pytest.mark.parametrize("sample", sorted(path.parent.name for path in TESTDATA.glob("*/PROJECT")))
def test_everything_that_a_sample_has_can_be_deleted(sample: str, tmp_path: Path) -> None:
    """Only the author's own modules are left, the manifests are those of a new project, and copies of edits are kept."""
    root, fresh = tmp_path / "changed" / sample, tmp_path / "fresh"
    shutil.copytree(TESTDATA / sample, root, ignore=shutil.ignore_patterns(*UNTRACKED))
    project, _ = read(root)
    for each in project.resources:
        present, _ = read(root)
        if present.find(each) is not None:
            options = OldApi(each.group, each.version, each.kind, force=True, controller=True)
            plan, found = plan_delete(options, present, root)
            assert plan is not None, [finding.message for finding in found]
            assert apply(plan) is None
    left, _ = read(root)
    assert left.resources == ()
    options = NewProject(project.domain, project.project_name, namespaced=project.namespaced)
    start(replace(options, replicas=project.replicas), fresh)
    generated = "rbac/role.yaml"
    assert {path for path in files(root / "config") if path.as_posix() != generated} == {
        path for path in files(fresh / "config") if path.as_posix() != generated
    }
    for path in (
        "config/crd/kustomization.yaml",
        "config/rbac/kustomization.yaml",
        "config/default/kustomization.yaml",
    ):
        assert (root / path).read_text() == (fresh / path).read_text()
    main = (root / project.package / "__main__.py").read_text()
    assert "Reconciler" not in main
    assert "_webhook" not in main
    compile(main, "__main__.py", "exec")
    if sample != "memcached":  # nobody has edited it
        assert list((root / ".pykb/backup").rglob("*.py"))
