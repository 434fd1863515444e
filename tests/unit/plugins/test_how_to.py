"""What the pages on webhooks and versions tell to type works."""

from __future__ import annotations

import re
import shlex

import pytest

from pykb.cli import app
from pykb.commands.options import NewApi, NewProject
from tests.pages import blocks
from tests.sources import ROOT
from tests.unit.plugins.conftest import Grow

STARTS: dict[str, tuple[NewProject, NewApi]] = {
    "docs/how-to/add-a-webhook.md": (NewProject("sealyun.com", "sealvm"), NewApi("infra", "v1", "VirtulMachine")),
    "docs/how-to/move-from-kopf.md": (NewProject("example.com", "fleet"), NewApi("ship", "v1", "Harbour")),
    "docs/how-to/add-a-version.md": (
        NewProject("example.com", "fleet", multigroup=True),
        NewApi("ship", "v1beta1", "Frigate"),
    ),
}


@pytest.mark.parametrize("page", STARTS)
def test_every_command_of_a_page_works_after_the_one_before(
    grow: Grow, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a project as the page supposes it."""
    options, api = STARTS[page]
    root = grow(options, api)
    commands = [line for block in blocks(page, "sh") for line in block.replace("\\\n", " ").splitlines()]
    run = [command for command in commands if command.startswith("pykb create ")]
    assert run
    monkeypatch.chdir(root)
    for command in run:
        assert app.run([*shlex.split(command)[1:], "--no-make"]) == 0, command
    for path in re.findall(
        r"`((?:sealvm|fleet|tests|config)/[\w./-]+\.(?:py|yaml))`", (ROOT / page).read_text("utf-8")
    ):
        assert (root / path).exists() or path == "config/webhook/manifests.yaml", path
