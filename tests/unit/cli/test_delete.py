"""`pykb delete` as a person runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from pykb.cli import app
from tests.unit.cli.conftest import Pykb, commit

MACHINE = ("--group", "infra", "--version", "v1", "--kind", "Machine")


def status() -> str:
    """What git shows as changed."""
    return subprocess.run(["git", "status", "--short"], check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def made(pristine: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one kind, webhooks and generated manifests, committed; to be copied, not changed."""
    root = tmp_path_factory.mktemp("made") / "sealvm"
    shutil.copytree(pristine, root)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        assert app.run(["create", "api", *MACHINE, "--resource", "--controller", "--no-make"]) == 0
        assert app.run(["create", "webhook", *MACHINE, "--defaulting", "--programmatic-validation"]) == 0
    commit(root)
    return root


@pytest.fixture
def machine(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it; the working directory."""
    root = tmp_path / "sealvm"
    shutil.copytree(made, root)
    monkeypatch.chdir(root)
    return root


def test_a_kind_goes_with_its_generated_manifests(machine: Path, pykb: Pykb) -> None:
    """The result is the commit before, with nothing left over."""
    assert pykb("delete", "api", *MACHINE).code == 0
    before = subprocess.run(["git", "diff", "HEAD~1", "--stat"], check=True, capture_output=True, text=True).stdout
    assert before == ""
    assert not (machine / "sealvm/api").exists()
    assert not (machine / "config/webhook").exists()


def test_a_plan_is_shown_and_nothing_is_written(machine: Path, pykb: Pykb) -> None:
    """As a list, as JSON, as a diff that git can apply."""
    shown = pykb("delete", "webhook", *MACHINE, "--dry-run")
    assert "remove    sealvm/webhooks/v1/machine_webhook.py\n" in shown.out
    assert "update    PROJECT\n" in shown.out
    data = json.loads(pykb("delete", "webhook", *MACHINE, "--dry-run", "--format", "json").out)
    assert {"action": "remove", "path": "config/webhook/service.yaml"} in data["changes"]
    diff = pykb("delete", "webhook", *MACHINE, "--diff").out
    assert status() == ""
    subprocess.run(["git", "apply", "--check", "-"], input=diff, check=True, text=True, cwd=machine)


def test_edits_are_shown_and_nothing_is_written(machine: Path, pykb: Pykb) -> None:
    """The exit code is that of a finding; that of a misspelt kind, too."""
    types = machine / "sealvm/api/v1/machine_types.py"
    types.write_text(types.read_text().replace("foo", "size"))
    before = status()
    ended = pykb("delete", "api", *MACHINE)
    assert (ended.code, status()) == (1, before)
    assert "error[edited-by-hand]: `sealvm/api/v1/machine_types.py`" in ended.err
    misspelt = pykb("delete", "api", *MACHINE[:-1], "Machin")
    assert misspelt.code == 1
    assert "help: `--kind Machine`" in misspelt.err
    forced = pykb("delete", "api", *MACHINE, "--force")
    assert forced.code == 0
    assert "the old `sealvm/api/v1/machine_types.py` is kept as `.pykb/backup/" in forced.err


def test_a_shell_completes_kinds_and_controllers(machine: Path, spawn) -> None:  # type: ignore[no-untyped-def]
    """From PROJECT."""
    del machine
    words = "pykb delete webhook --kind "
    environment = {**os.environ, "_PYKB_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": "4"}
    assert spawn((), env=environment).stdout.split() == ["Machine"]
