"""Projects as commands make them. What several tests ask for is made once in a process, and copied."""

from __future__ import annotations

import os
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import pytest

from pykb.commands.create_api import plan_api
from pykb.commands.create_webhook import plan_webhook
from pykb.commands.init import plan_project
from pykb.commands.options import NewApi, NewProject, NewWebhook
from pykb.diagnostics import Diagnostics
from pykb.files.apply import apply
from pykb.files.plan import Plan
from pykb.project.file import read
from pykb.scaffold import distribution

New = NewApi | NewWebhook

_FOLDER = TemporaryDirectory(prefix="pykb-projects-")
_kept: dict[tuple[NewProject, tuple[New, ...]], Path] = {}
_wheel = cache(distribution.wheel)  # of the same sources it is the same


def write(plan: Plan | None, found: Diagnostics) -> None:
    """Apply a plan that has no errors."""
    assert plan is not None, [f"{finding.span} {finding.message}" for finding in found]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)  # the disk is not under test
        assert apply(plan) is None


def start(options: NewProject, root: Path, *additions: New) -> Path:
    """A new project in a folder, with APIs and webhooks."""
    at = next((n for n in range(len(additions), -1, -1) if (options, additions[:n]) in _kept), -1)
    root.parent.mkdir(parents=True, exist_ok=True)
    if at >= 0:
        shutil.copytree(_kept[options, additions[:at]], root)
    else:
        root.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(distribution, "wheel", _wheel)
            write(*plan_project(options, root, year="2026"))
    for each in additions[max(at, 0) :]:
        create(root, each)
    if at < len(additions):
        kept = _kept[options, additions] = Path(mkdtemp(dir=_FOLDER.name)) / root.name
        shutil.copytree(root, kept)
    return root


def create(root: Path, options: New) -> None:
    """Add an API or webhooks."""
    project, problems = read(root)
    assert not problems
    plan = plan_api if isinstance(options, NewApi) else plan_webhook
    planned, found = plan(options, project, root)  # type: ignore[arg-type]
    write(planned and planned.plan, found)
