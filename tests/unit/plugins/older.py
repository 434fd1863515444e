"""Projects as releases of pykb scaffold them: two states of its history, this one, and a later one that is made up."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import pytest

from pykb.commands.update import recipe
from pykb.project.file import load
from pykb.scaffold import release as releases
from pykb.scaffold.locate import PACKAGE, templates
from pykb.scaffold.release import Recipe
from pykb.tools.git import File

ARCHIVE = Path(__file__).parents[3] / "testdata/releases.tar.xz"
_CHECKOUTS = TemporaryDirectory(prefix="pykb-checkouts-")
TODAY, NEXT = "today", "next"

_API = """
- api:
    crdVersion: v1
    namespaced: true
  controller: true
  domain: example.com
  group: infra
  kind: {kind}
  path: fleet.api.{module}
  version: v1
"""
_HOOKS = """\
  webhooks:
    defaulting: true
    validation: true
    webhookVersion: v1
"""
_HEAD = "domain: example.com\nlayout: [python.pykb.dev/v1]\nprojectName: fleet\nrepo: fleet\nversion: '3'\n"
_SHARDS = "plugins:\n  kustomize.common.pykb.dev/v1:\n    shards: 16\n"
_ONE = _API.format(kind="Machine", module="v1").lstrip("\n")
PROJECTS = {
    "plain": f"{_HEAD}resources:\n{_ONE}",
    "webhooks": f"{_HEAD}{_SHARDS}resources:\n{_ONE}{_HOOKS}",
    "groups": f"{_HEAD}multigroup: true\nnamespaced: true\nresources:\n"
    + _API.format(kind="Machine", module="infra.v1").lstrip("\n")
    + _API.format(kind="Disk", module="storage.v1").lstrip("\n").replace("group: infra", "group: storage"),
}
"""PROJECT by the options that it shows."""


def text_of(version: str, name: str) -> str:
    """PROJECT of a version of pykb."""
    return f"cliVersion: {version}\n{PROJECTS[name]}"


@cache
def scaffold(version: str, name: str) -> dict[str, File]:
    """The files of a project as a version scaffolds it. Callers must not change it."""
    project, found = load(PROJECTS[name])
    header = "" if name == "groups" else "# The header of fleet."
    made: Recipe = recipe(project, Path("/nonexistent"), header)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(releases, "ARCHIVE", ARCHIVE)
        opened = {TODAY: releases.running, NEXT: lambda: releases.given(later(), found)}
        with opened.get(version, lambda: releases.archived(version, found))() as release:
            files = releases.render(release, made, found) if release else {}
    assert not [(each.message, each.notes) for each in found]
    return files


def checkout() -> tuple[Path, Path]:
    """A checkout of this version, and the folder of its project template. The templates are a copy."""
    root = Path(mkdtemp(dir=_CHECKOUTS.name))
    (root / "pykb").symlink_to(PACKAGE)
    shutil.copytree(templates(), root / "templates")
    return root, root / "templates/project/{{cookiecutter.project_name}}"


@cache
def later() -> Path:
    """A checkout of a version that does not exist yet. It moves, drops, adds and changes files."""
    root, project = checkout()
    (project / "config/prometheus/monitor.yaml").rename(project / "config/prometheus/service_monitor.yaml")
    (project / "config/network-policy/allow-metrics-traffic.yaml").unlink()
    (project / "TASKS.md").write_text("# Tasks of {{ cookiecutter.project_name }}\n")
    changes = {
        "config/prometheus/kustomization.yaml": [("monitor.yaml", "service_monitor.yaml")],
        "config/prometheus/service_monitor.yaml": [("/metrics", "/all-metrics")],
        "Makefile": [("IMG ?= controller:latest", "IMG ?= operator:latest"), ("##@ Image", "##@ Images")],
        "Dockerfile": [("\nFROM ", "\n# Changed.\nFROM ")],
        "README.md": [("# ", "# The operator ")],
        "pyproject.toml": [("pykubebuilder==", "pykubebuilder==9."), ("pytest", "pytest-later")],
    }
    for path, pairs in changes.items():
        text = (project / path).read_text()
        for old, new in pairs:
            assert old in text, (path, old)
            text = text.replace(old, new, 1)
        (project / path).write_text(text)
    types = root / "templates/files/api/version/types.py.j2"
    types.write_text(types.read_text() + "\n\nADDED = 1\n")
    return root
