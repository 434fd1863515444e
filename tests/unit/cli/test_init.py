"""`pykb init`: a project from nothing, or a clear no."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

import pykb as package
from pykb.commands.update import recipe
from pykb.diagnostics import Diagnostics
from pykb.project.file import read
from pykb.project.settings import oldest_supported
from pykb.scaffold.release import render, running


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder named `sealvm`, the working directory."""
    root = tmp_path / "sealvm"
    root.mkdir()
    monkeypatch.chdir(root)
    return root


def files(root: Path) -> dict[str, bytes]:
    """All files but the state."""
    return {
        p.relative_to(root).as_posix(): p.read_bytes()
        for p in sorted(root.rglob("*"))
        if p.is_file() and ".git" not in p.relative_to(root).parts and ".pykb" not in p.parts
    }


def test_a_project_is_written_and_the_next_step_said(pykb, here: Path) -> None:
    """The walkthrough's first line: everything is there, nothing of this machine is in it."""
    ended = pykb("init", "--domain", "sealyun.com", "--license", "apache2", "--owner", "fanux")
    assert ended.code == 0
    assert ended.out == ""
    assert ended.err.endswith("Next: add a kind\n  pykb create api --group infra --version v1 --kind Machine\n")
    made = files(here)
    assert {"PROJECT", "Makefile", "Dockerfile", "pyproject.toml", "sealvm/__main__.py"} <= set(made)
    assert {"config/default/kustomization.yaml", "config/rbac/role.yaml"} <= set(made)
    assert made["sealvm/__main__.py"].startswith(b"# Copyright fanux\n#\n# Licensed under the Apache License")
    assert f"pykubebuilder=={package.__version__}".encode() in made["pyproject.toml"]
    machine = (str(Path(package.__file__).parent.parent).encode(), str(here).encode(), b"/root/")
    assert [path for path, text in made.items() if any(word in text for word in machine)] == []


def test_a_pykb_of_no_index_brings_its_wheel(pykb, here: Path) -> None:
    """PEP 610: the checkout that runs these tests is on no index, so its wheel is committed with the project."""
    ended = pykb("init", "--domain", "example.com")
    assert "commit .pykb/wheels/pykubebuilder-" in ended.err
    (wheel,) = (here / ".pykb/wheels").iterdir()
    assert wheel.name == f"pykubebuilder-{package.__version__}-py3-none-any.whl"
    subprocess.run(["git", "init", "-q"], cwd=here, check=True)
    shown = subprocess.run(["git", "status", "-uall", "--short"], cwd=here, check=True, capture_output=True, text=True)
    assert [line for line in shown.stdout.splitlines() if ".pykb" in line] == [f"?? .pykb/wheels/{wheel.name}"]


def test_a_copy_without_the_wheel_gets_it_from_a_command_that_writes(pykb, spawn, here: Path) -> None:
    """The same bytes, and said. Not from a command that reads, or where another version is pinned."""
    assert pykb("init", "--domain", "example.com").code == 0
    (wheel,) = (here / ".pykb/wheels").iterdir()
    content, pinned = wheel.read_bytes(), (here / "pyproject.toml").read_text()
    shutil.rmtree(here / ".pykb")
    spawn([], env={**os.environ, "_PYKB_COMPLETE": "complete_bash", "COMP_WORDS": "pykb ", "COMP_CWORD": "1"}, cwd=here)
    api = ("create", "api", "--group", "g", "--version", "v1", "--kind", "Box", "--resource", "--no-make")
    look: tuple[tuple[str, ...], ...] = (
        ("envtest", "list"), ("cluster", "status"), ("cluster", "down"), (*api, "--dry-run"), ("generate", "--stdout"),
    )  # fmt: skip
    for words in look:
        pykb(*words)
        assert not (here / ".pykb").exists(), words
    (here / "pyproject.toml").write_text(pinned.replace(f"=={package.__version__}", "==0.0.0"))
    assert "restored" not in pykb("generate").err
    assert not wheel.exists()
    (here / "pyproject.toml").write_text(pinned)
    assert f"note: restored .pykb/wheels/{wheel.name}" in pykb("generate").err
    assert wheel.read_bytes() == content
    assert "restored" not in pykb(*api).err


def test_the_same_options_give_the_same_bytes(pykb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any folder, any locale, any year."""
    trees = []
    for folder, year in (("a", "0"), ("b", "2000000000")):
        root = tmp_path / folder
        root.mkdir()
        monkeypatch.chdir(root)
        monkeypatch.setenv("SOURCE_DATE_EPOCH", year)
        words = ("--domain", "example.com", "--project-name", "app", "--owner", "Müller & Søn")
        assert pykb("init", *words).code == 0
        trees.append(files(root))
    assert trees[0] == trees[1]


@pytest.mark.parametrize("flag", ["--dry-run", "--diff"])
def test_looking_first_writes_nothing(pykb, here: Path, flag: str) -> None:
    """The list or the diff goes to stdout."""
    ended = pykb("init", "--domain", "example.com", flag)
    assert ended.code == 0
    assert "PROJECT" in ended.out
    assert list(here.iterdir()) == []


def test_the_diff_of_init_is_init(pykb, here: Path) -> None:
    """`pykb init --diff | git apply` is `pykb init`, but for the wheel."""
    diff = pykb("init", "--domain", "example.com", "--diff").out
    text = diff[: diff.index("diff --git a/.pykb/")] + diff[diff.index("diff --git a/AGENTS.md") :]
    subprocess.run(["git", "apply"], input=text.encode(), cwd=here, check=True)
    applied = files(here)
    other = here.parent / "other"
    other.mkdir()
    os.chdir(other)
    assert pykb("init", "--domain", "example.com", "--project-name", "sealvm").code == 0
    assert files(other) == applied


@pytest.mark.parametrize("version", ["1.33", ">=1.33"])
def test_the_oldest_kubernetes_is_in_the_settings(version: str, pykb, here: Path) -> None:
    """Commands read it there, and an update scaffolds it again. The rest of the project is the same."""
    assert pykb("init", "--domain", "example.com", "--kubernetes", version).code == 0
    assert oldest_supported(here) == (1, 33)
    found = Diagnostics()
    again = render(running(), recipe(read(here)[0], here, "", (1, 33)), found)
    assert list(found) == []
    assert b"kubernetes" in again["pyproject.toml"].content
    tree = files(here)
    assert (
        again["pyproject.toml"].content.partition(b"[tool.pykb]")[2]
        == tree["pyproject.toml"].partition(b"[tool.pykb]")[2]
    )
    other = here.parent / "other"
    other.mkdir()
    os.chdir(other)
    assert pykb("init", "--domain", "example.com", "--project-name", "sealvm").code == 0
    plain = files(other)
    assert {name for name in tree if tree[name] != plain[name]} == {"pyproject.toml"}
    table = '[tool.pykb]\nkubernetes = ">=1.33" # the oldest that the operator supports\n\n'
    assert tree["pyproject.toml"].replace(table.encode(), b"") == plain["pyproject.toml"]


def test_a_template_that_ignores_the_oldest_kubernetes_is_reported(pykb, here: Path) -> None:
    """The option would have no effect."""
    template = here.parent / "template"
    (template / "{{cookiecutter.project_name}}").mkdir(parents=True)
    (template / "cookiecutter.json").write_text('{"project_name": "x"}')
    settings = template / "{{cookiecutter.project_name}}" / "pyproject.toml"
    settings.write_text("[project]\n")
    ended = pykb("init", "--domain", "example.com", "--kubernetes", "1.33", "--template", str(template), "--dry-run")
    assert "warning[kubernetes-version]: the template does not write `kubernetes` into pyproject.toml" in ended.err
    assert 'help: write it into [tool.pykb]: `kubernetes = ">=1.33"`' in ended.err
    settings.write_text('[tool.pykb]\nkubernetes = ">={{ cookiecutter.kubernetes }}"\n')
    ended = pykb("init", "--domain", "example.com", "--kubernetes", "1.33", "--template", str(template), "--dry-run")
    assert "kubernetes-version" not in ended.err


def test_the_second_init_is_refused(pykb, here: Path) -> None:
    """It says so and changes nothing."""
    assert pykb("init", "--domain", "example.com").code == 0
    before = files(here)
    ended = pykb("init", "--domain", "other.com")
    assert ended.code == 1
    assert ended.err.startswith("error[project-exists]: ")
    assert files(here) == before


def test_a_new_repository_keeps_what_it_has(pykb, here: Path) -> None:
    """README and licence stay; rules that .gitignore lacks are added to it."""
    (here / "README.md").write_text("# mine\n")
    (here / ".gitignore").write_text("*.log\n__pycache__/")
    ended = pykb("init", "--domain", "example.com")
    assert ended.code == 0
    assert "keep      README.md" in ended.err
    assert (here / "README.md").read_text() == "# mine\n"
    ignore = (here / ".gitignore").read_text()
    assert ignore.startswith("*.log\n__pycache__/\n")
    assert ignore.count("__pycache__/") == 1
    assert "/.venv/" in ignore


def test_files_in_the_way_are_named_all_at_once(pykb, here: Path) -> None:
    """Nothing is written next to them."""
    (here / "Makefile").write_text("mine:\n")
    (here / "config/crd").mkdir(parents=True)
    (here / "config/crd/kustomization.yaml").write_text("mine: 1\n")
    before = files(here)
    ended = pykb("init", "--domain", "example.com")
    assert ended.code == 1
    assert "`Makefile`, `config/crd/kustomization.yaml`" in ended.err
    assert files(here) == before
    assert not (here / ".pykb").exists()


def test_all_mistakes_of_a_line_come_at_once(pykb, here: Path) -> None:
    """Exit code 2, each with what to type, nothing written."""
    ended = pykb("init", "--domain", "BAD_domain", "--project-name", "a b", "--license", "apach2", "--plugins", "pyton")
    assert ended.code == 2
    for text in ("`--domain bad-domain`", "`--project-name a-b`", "`--license apache2`", "no plugin has the key"):
        assert text in ended.err
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("name", ["Big_Name", "json", "kopf", "class", "tests", "x" * 40])
def test_a_folder_whose_name_cannot_serve_asks_for_another(
    pykb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The help has a `--project-name` that works."""
    root = tmp_path / name
    root.mkdir()
    monkeypatch.chdir(root)
    ended = pykb("init", "--domain", "example.com")
    assert ended.code == 2
    suggested = ended.err.rpartition("`--project-name ")[2].partition("`")[0]
    assert pykb("init", "--domain", "example.com", "--project-name", suggested).code == 0


def test_flags_of_the_project_reach_project(pykb, here: Path) -> None:
    """Also in kubebuilder's spellings."""
    words = ("--domain=example.com", "--multigroup=true", "--namespaced=false", "-owner", "x", "--project-version", "3")
    assert pykb("init", *words).code == 0
    project = yaml.safe_load((here / "PROJECT").read_text())
    assert (project["multigroup"], project.get("namespaced")) == (True, None)


def test_a_licence_header_of_ones_own(pykb, here: Path, tmp_path: Path) -> None:
    """A Go block comment is understood, YEAR is replaced, every Python file begins with it."""
    header = tmp_path / "header.txt"
    header.write_text("/*\nCopyright YEAR The Team.\n\nAll rights reserved.\n*/\n")
    assert pykb("init", "--domain", "example.com", "--license-file", str(header)).code == 0
    lines = (here / "sealvm/__main__.py").read_text().splitlines()
    assert lines[0].startswith("# Copyright 2")
    assert lines[1:3] == ["#", "# All rights reserved."]


def test_a_template_of_ones_own(pykb, here: Path, tmp_path: Path) -> None:
    """The tree is the template's; PROJECT and the pin are pykb's."""
    source = tmp_path / "t/{{cookiecutter.project_name}}"
    source.mkdir(parents=True)
    (source.parent / "cookiecutter.json").write_text('{"project_name": "", "team": "storage"}')
    (source / "OWNERS").write_text("{{ cookiecutter.team }} of {{ cookiecutter.domain }}\n")
    assert pykb("init", "--domain", "example.com", "--template", str(source.parent)).code == 0
    assert (here / "OWNERS").read_text() == "storage of example.com\n"
    assert set(files(here)) == {"OWNERS", "PROJECT"}


def test_only_the_manifests(pykb, here: Path) -> None:
    """`--plugins kustomize` leaves the code out, and PROJECT says so."""
    assert pykb("init", "--domain", "example.com", "--plugins", "kustomize/v1").code == 0
    assert {path.split("/")[0] for path in files(here)} == {"PROJECT", "config"}
    assert yaml.safe_load((here / "PROJECT").read_text())["layout"] == ["kustomize.common.pykb.dev/v1"]


@pytest.mark.parametrize(
    "name", ["true", "on", "null", "yes", "n", "1e3", "123", "My_Project", "abc", "kopf", "import"]
)
def test_names_that_would_be_read_as_something_else_are_refused(pykb, here: Path, name: str) -> None:
    """By YAML as a boolean or a number, by Python as another module; the name proposed instead is taken."""
    ended = pykb("init", "--domain", "example.com", "--project-name", name)
    assert ended.code == 2
    assert list(here.iterdir()) == []
    (proposed,) = re.findall(r"help: `--project-name (\S+)`", ended.err)
    assert pykb("init", "--domain", "example.com", "--project-name", proposed, "--dry-run").code == 0


def test_a_flag_with_a_wrong_value_says_what_it_takes(pykb, here: Path) -> None:
    """Both spellings of a boolean are shown."""
    ended = pykb("init", "--domain", "example.com", "--namespaced=flase")
    assert ended.code == 2
    assert "`--namespaced`, or `--namespaced=false`" in ended.err


def test_a_project_within_a_project_is_one_of_its_own(pykb, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said, with the way back; the generator of the one around it leaves it alone."""
    below = project / "services" / "harbour"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    ended = pykb("init", "--domain", "example.com")
    assert ended.code == 0
    assert ended.err.startswith("warning[directory-in-project]: ")
    assert "`cd ../..`" in ended.err
    words = ("--group", "fleet", "--version", "v1", "--kind", "Ship", "--resource", "--controller", "--no-make")
    assert pykb("create", "api", *words).code == 0
    monkeypatch.chdir(project)
    assert pykb("create", "api", *words).code == 0
    assert pykb("generate").code == 0
    assert [path.name for path in sorted((project / "config/crd/bases").iterdir())] == ["fleet.sealyun.com_ships.yaml"]
