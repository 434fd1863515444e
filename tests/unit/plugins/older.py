"""Projects as releases of pykb scaffold them: this one, and an earlier and a later one that are made up."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import pykb
from pykb.commands.update import recipe
from pykb.diagnostics import Diagnostics
from pykb.project.file import load
from pykb.scaffold import release as releases
from pykb.scaffold.locate import PACKAGE, templates
from pykb.scaffold.release import Release, published
from pykb.tools.git import File

_CHECKOUTS = TemporaryDirectory(prefix="pykb-checkouts-")
EARLIER, TODAY, NEXT = "0.0.2", "today", "next"

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
def release(version: str) -> Release:
    """A release by its version."""
    if version == TODAY:
        return releases.running()
    found = Diagnostics()
    place = later() if version == NEXT else earlier()
    made = releases.given(place, found)
    assert made is not None, list(found)
    return made


def on_an_index(version: str, root: Path) -> Release:
    """The earlier release, as if the package index had it. Others are not there."""
    return release(EARLIER) if version == EARLIER else published(version, root)


_RENDERED: dict[tuple[str, releases.Recipe], dict[str, File]] = {}
_render = releases.render


def render(release: Release, recipe: releases.Recipe, found: Diagnostics) -> dict[str, File]:
    """Render, but the same only once: it takes a process. What cannot be rendered is reported each time."""
    key = release.version, recipe
    if not _RENDERED.get(key):
        _RENDERED[key] = _render(release, recipe, found)
    return _RENDERED[key]


@cache
def scaffold(version: str, name: str) -> dict[str, File]:
    """The files of a project as a version scaffolds it. Callers must not change it."""
    project, found = load(PROJECTS[name])
    header = "" if name == "groups" else "# The header of fleet."
    files = render(release(version), recipe(project, Path("/nonexistent"), header), found)
    assert not [(each.message, each.notes) for each in found]
    return files


def checkout(version: str = pykb.__version__) -> tuple[Path, Path]:
    """A checkout of a version with today's code, and the folder of its project template. The templates are a copy."""
    root = Path(mkdtemp(dir=_CHECKOUTS.name))
    (root / "pykb").mkdir()
    for path in PACKAGE.iterdir():
        if path.name != "__init__.py":
            (root / "pykb" / path.name).symlink_to(path)
    init = (PACKAGE / "__init__.py").read_text()
    (root / "pykb/__init__.py").write_text(init.replace(f'"{pykb.__version__}"', f'"{version}"'))
    shutil.copytree(templates(), root / "templates")
    return root, root / "templates/project/{{cookiecutter.project_name}}"


@cache
def earlier() -> Path:
    """A checkout of a version before this one. Since then files have moved, gone, come and changed."""
    root, project = checkout(EARLIER)
    shutil.rmtree(project / "config/network-policy")
    (project / "config/{% if cookiecutter.replicas > 1 %}availability{% endif %}").rename(
        project / "config/availability"
    )
    (project / "config/rbac/metrics_auth_role.yaml").rename(project / "config/rbac/auth_proxy_role.yaml")
    (project / "TODO.md").write_text("# What is to be done\n\nEverything.\n\nAnd more.\n")
    change(
        project,
        {
            "config/rbac/kustomization.yaml": [("metrics_auth_role.yaml", "auth_proxy_role.yaml")],
            "config/availability/manager_patch.yaml": [("{{ cookiecutter.replicas }}", "2")],
            "config/default/kustomization.yaml": [
                ("{% elif cookiecutter.replicas > 1 %}", "{% elif true %}"),
                ('{{ "Two" if cookiecutter.replicas == 2 else cookiecutter.replicas }}', "Two"),
                ("\ncomponents:\n- ", "\n#components:\n#- "),
            ],
            "config/prometheus/monitor.yaml": [
                (
                    "    tlsConfig:\n",
                    "    tlsConfig:\n      # The manager's certificate is self-signed.\n      # So it is.\n",
                ),
                ("/metrics", "/"),
            ],
            "Makefile": [("##@ Image", "##@ Container")],
            "Dockerfile": [("\nFROM ", "\n# Once.\nFROM ")],
            "README.md": [("# ", "# The ")],
            "pyproject.toml": [
                ("{% if cookiecutter.kubernetes %}", "{% if false %}"),
                ("pytest", "pytest-earlier"),
            ],
            "{{cookiecutter.package}}/__main__.py": [('"""', '"""Formerly. ')],
        },
    )
    types = root / "templates/files/api/version/types.py.j2"
    types.write_text(types.read_text().replace("An example field, to be replaced", "A field, to be replaced"))
    return root


def change(project: Path, changes: dict[str, list[tuple[str, str]]]) -> None:
    """Replace texts in files of a template."""
    for path, pairs in changes.items():
        text = (project / path).read_text()
        for old, new in pairs:
            assert old in text, (path, old)
            text = text.replace(old, new, 1)
        (project / path).write_text(text)


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
    change(project, changes)
    types = root / "templates/files/api/version/types.py.j2"
    types.write_text(types.read_text() + "\n\nADDED = 1\n")
    return root
