"""`create api --plugins deploy-image` makes a project that its own generator accepts, and remembers the options."""

from __future__ import annotations

import json
import sys

from pykb.commands.init import NewProject
from pykb.project.file import read
from pykb.project.operand import Operand
from tests.unit.plugins.conftest import Grow, run

CREATE = ("create", "api", "--group", "cache", "--version", "v1", "--kind", "Memcached", "--plugins", "deploy-image")


def test_the_command_asks_nothing_and_finds_nothing(grow: Grow) -> None:
    """Not even in the sample, whose name a rule of the CRD limits. PROJECT has the options as they were typed."""
    root = grow(NewProject("example.com", "fleet"))
    options = ("--image", "memcached:1.6", "--image-container-command", "memcached,-m=64", "--run-as-user", "7")
    printed = run(root, sys.executable, "-m", "pykb", *CREATE, *options, "--format", "json")
    assert json.loads(printed[printed.rindex("\n[") :] if "\n[" in printed else printed) == []
    project, found = read(root)
    assert not found
    assert project.resources[0].operand == Operand("memcached:1.6", ("memcached", "-m=64"), None, 7)
    assert project.layout == ("python.pykb.dev/v1",)
    assert "container_port" not in (root / "fleet/api/v1/memcached_types.py").read_text(encoding="utf-8")
