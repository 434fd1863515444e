"""A repository with devices, pipes, sockets, loops of links and endless files in the place of files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Pykb


def _zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(200 * 1024 * 1024)


@pytest.mark.parametrize("make", [_zeros, os.mkfifo, _loop, _large, Path.mkdir], ids=lambda make: make.__name__)
@pytest.mark.parametrize(
    "name",
    [
        "PROJECT",
        "pyproject.toml",
        "sealvm/api.py",
        "config/samples/a.yaml",
        "config/webhook/manifests.yaml",
        "config/crd/kustomization.yaml",
        "hack/boilerplate.py.txt",
    ],
)
def test_what_is_no_file_is_told_and_not_waited_for(
    name: str, make: Callable[[Path], None], project: Path, pykb: Pykb
) -> None:
    """Whatever stands there: the command ends, with a finding or without the file, and never as a bug."""
    path = project / name
    if path.exists():
        path.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)
    create = ("create", "api", "--group", "infra", "--version", "v1", "--kind", "Disk", "--resource", "--controller")
    for words in (("generate",), (*create, "--no-make", "--dry-run")):
        ended = pykb(*words)
        assert ended.code in {0, 1, 2}, ended.err
        if name == "PROJECT" and make in {_zeros, os.mkfifo, _large} and words[0] == "create":
            assert "PROJECT`: it is " in ended.err


@pytest.mark.parametrize("make", [_zeros, os.mkfifo, _loop, _large], ids=lambda make: make.__name__)
def test_settings_that_cannot_be_read_are_not_taken_for_none(
    make: Callable[[Path], None], project: Path, pykb: Pykb
) -> None:
    """They can say where the manifests go. With an environment, the version that they pin is read first."""
    (project / ".venv").mkdir()
    (project / "pyproject.toml").unlink()
    make(project / "pyproject.toml")
    ended = pykb("generate")
    assert ended.code == 2
    assert "cannot read `pyproject.toml`: " in ended.err


@pytest.mark.parametrize("make", [_zeros, os.mkfifo, _loop, _large], ids=lambda make: make.__name__)
def test_a_clone_without_its_wheel_does_not_wait_for_its_settings(
    make: Callable[[Path], None], project: Path, pykb: Pykb
) -> None:
    """They say whether the wheel of this pykb fits, so a command that writes reads them before anything else."""
    shutil.rmtree(project / ".pykb/wheels", ignore_errors=True)
    (project / "pyproject.toml").unlink()
    make(project / "pyproject.toml")
    assert "cannot read `pyproject.toml`: " in pykb("generate").err


@pytest.mark.parametrize("text", ["a=[" + "1," * 600_000 + "]", "#" * 2_000_000], ids=["list", "comment"])
def test_settings_that_take_long_to_read_are_refused(text: str, project: Path, pykb: Pykb) -> None:
    """Each command reads them."""
    with (project / "pyproject.toml").open("a") as file:
        file.write(f"\n[tool.x]\n{text}\n")
    ended = pykb("generate")
    assert "cannot read `pyproject.toml`: it is larger than 1 MiB" in ended.err


@pytest.mark.parametrize("make", [_zeros, os.mkfifo, _loop, _large], ids=lambda make: make.__name__)
@pytest.mark.parametrize(
    "name", ["cookiecutter.json", "{{cookiecutter.project_name}}/a", "templates", "templates/included", "b"]
)
def test_a_template_of_what_is_no_file_is_told(
    name: str, make: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pykb: Pykb
) -> None:
    """Nothing is written."""
    template = tmp_path / "template"
    (template / "{{cookiecutter.project_name}}").mkdir(parents=True)
    (template / "cookiecutter.json").write_text("{}")
    path = template / name
    if path.exists():
        path.unlink()
    path.parent.mkdir(exist_ok=True)
    make(path)
    (template / "{{cookiecutter.project_name}}/c").write_text("{% include 'included' %}" * name.count("included"))
    (tmp_path / "app").mkdir()
    monkeypatch.chdir(tmp_path / "app")
    ended = pykb("init", "--domain", "example.com", "--template", str(template))
    if make is _large and name in {"templates", "b"}:
        return  # no part of what is rendered
    assert ended.code == 2, ended.err
    assert ended.err.startswith("error[template-broken]: ")
    assert not any(Path.cwd().iterdir())


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        ('{"team": ' + "1" * 10_000 + "}", ""),
        ('{"team": ' + "[" * 100_000 + "}", ""),
        ('{"team": "{{ ' + "1" * 10_000 + ' }}"}', ""),
        ("{}", "{{ " + "1" * 10_000 + " }}"),
        ("{}", "{{ 10 ** 10000 }}"),
        ("{}", "{{ " + "(" * 10_000 + " }}"),
        ("[]", ""),
        ('{"_jinja2_env_vars": []}', ""),
        ('{"_copy_without_render": 1}', ""),
        ('{"_jinja2_env_vars": {"block_start_string": 1}}', ""),
    ],
)
def test_numbers_and_forms_that_nobody_expects_are_told(
    declared: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pykb: Pykb
) -> None:
    """Python converts 4,300 digits at most, and recurses a thousand levels."""
    folder = tmp_path / "template" / "{{cookiecutter.project_name}}"
    folder.mkdir(parents=True)
    (folder / "a").write_text(text)
    (folder.parent / "cookiecutter.json").write_text(declared)
    (tmp_path / "app").mkdir()
    monkeypatch.chdir(tmp_path / "app")
    ended = pykb("init", "--domain", "example.com", "--template", str(folder.parent))
    assert ended.code in {0, 2}, ended.err
    if ended.code:
        assert "error[template-broken]" in ended.err
        shutil.rmtree(folder)
        assert not any(Path.cwd().iterdir())
