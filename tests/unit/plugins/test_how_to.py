"""What the pages on webhooks and versions tell to type works, and their code is code."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from pykb.commands.create_api import NewApi
from pykb.commands.init import NewProject
from tests.unit.plugins.conftest import Grow

PAGES = Path(__file__).parents[3] / "docs/how-to"
STARTS: dict[str, tuple[NewProject, NewApi]] = {
    "add-a-webhook.md": (NewProject("sealyun.com", "sealvm"), NewApi("infra", "v1", "VirtulMachine")),
    "move-from-kopf.md": (NewProject("example.com", "fleet"), NewApi("ship", "v1", "Harbour")),
    "add-a-version.md": (NewProject("example.com", "fleet", multigroup=True), NewApi("ship", "v1beta1", "Frigate")),
}


def blocks(page: str, language: str) -> list[str]:
    """The code of a page in one language."""
    text = (PAGES / page).read_text(encoding="utf-8")
    return re.findall(rf"^ *```{language}\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", STARTS)
def test_every_command_of_a_page_works_after_the_one_before(grow: Grow, page: str) -> None:
    """In a project as the page supposes it."""
    options, api = STARTS[page]
    root = grow(options, api)
    commands = [line for block in blocks(page, "sh") for line in block.replace("\\\n", " ").splitlines()]
    run = [command for command in commands if command.startswith("pykb create ")]
    assert run
    for command in run:
        words = [sys.executable, "-m", *shlex.split(command), "--no-make"]
        done = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}\n{done.stderr}"
    for path in re.findall(
        r"`((?:sealvm|fleet|tests|config)/[\w./-]+\.(?:py|yaml))`", (PAGES / page).read_text("utf-8")
    ):
        assert (root / path).exists() or path == "config/webhook/manifests.yaml", path


@pytest.mark.parametrize("page", STARTS)
def test_the_code_of_a_page_parses(page: str) -> None:
    """Each block of Python."""
    found = blocks(page, "python")
    assert found
    for block in found:
        ast.parse(textwrap.dedent(block))
