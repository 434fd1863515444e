"""What the tests of the plugins share: projects, made without a command line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pykb.plugins.new_api import NewApi, plan_api
from pykb.plugins.new_project import NewProject, plan_project
from pykb.plugins.new_webhook import NewWebhook, plan_webhook
from pykb.scaffold import project
from pykb.scaffold.apply import apply
from pykb.scaffold.plan import Plan

Grow = Callable[..., Path]


@pytest.fixture(scope="session")
def grow(tmp_path_factory: pytest.TempPathFactory) -> Grow:
    """Makes a project with the APIs and webhooks that a test names; nothing is generated."""

    def make(options: NewProject, *additions: NewApi | NewWebhook) -> Path:
        root = tmp_path_factory.mktemp("projects") / options.project_name
        root.mkdir()
        plan, found = plan_project(options, root, year="2026")
        write(plan)
        for each in additions:
            file, problems = project.load((root / project.FILE_NAME).read_text(encoding="utf-8"))
            assert file is not None, problems
            planned, found = plan_api(each, file, root) if isinstance(each, NewApi) else plan_webhook(each, file, root)
            assert planned is not None, [str(finding) for finding in found]
            write(planned.plan)
        return root

    def write(plan: Plan | None) -> None:
        assert plan is not None
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "fsync", lambda _: None)  # the disk is not under test
            assert apply(plan) is None

    return make
