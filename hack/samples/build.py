"""Builds projects from their recipes, and compares them with the committed ones."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from hack.samples.recipes import app, foo, memcached, multigroup, pod_watcher, unit, virtulmachine
from hack.samples.steps import Step
from pykb.commands.init import LINKS

UNTRACKED = {".venv", ".pykb", "__pycache__", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache", "dist"}
"""The entries of a project's own .gitignore."""

PROJECTS: dict[str, list[Step]] = {
    "app": app.STEPS,
    "foo": foo.STEPS,
    "memcached": memcached.STEPS,
    "multigroup": multigroup.STEPS,
    "pod-watcher": pod_watcher.STEPS,
    "unit": unit.STEPS,
    "virtulmachine": virtulmachine.STEPS,
}
"""Every project of testdata/ with its recipe."""


def files(project: Path) -> Iterator[Path]:
    """Yield the files of a project that its repository would hold, relative to it, sorted."""
    for path in sorted(project.rglob("*")):
        relative = path.relative_to(project)
        if path.is_file() and not UNTRACKED.intersection(relative.parts):
            yield relative


def build(name: str, into: Path) -> Path:
    """Build a project in a directory, and return its path."""
    project = into / name
    project.mkdir(parents=True)
    for step in PROJECTS[name]:
        step(project)
    unpin(project)
    return project


def unpin(project: Path) -> None:
    """Remove what is there only because a checkout made the project: samples do not carry a wheel of pykb."""
    settings = project / "pyproject.toml"
    settings.write_bytes(settings.read_bytes().replace(LINKS, b""))


def publish(built: Path, target: Path) -> None:
    """Make the committed project equal to the new one. Files that git ignores stay."""
    for stale in set(files(target)) - set(files(built)):
        (target / stale).unlink()
    for path in files(built):
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(built / path, target / path)
