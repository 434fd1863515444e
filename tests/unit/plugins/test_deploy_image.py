"""`create api --plugins deploy-image` makes a project that its own generator accepts, and remembers the options."""

from __future__ import annotations

import json

from pykb.commands.options import NewApi, NewProject, OldApi
from pykb.commands.update import recipe
from pykb.project.file import read
from pykb.project.resource import Operand
from tests.unit.plugins.conftest import Grow, pykb
from tests.unit.plugins.scaffolding import create
from tests.unit.plugins.test_delete import delete, tree

CREATE = ("create", "api", "--group", "cache", "--version", "v1", "--kind", "Memcached", "--plugins", "deploy-image")


def test_the_command_asks_nothing_and_finds_nothing(grow: Grow) -> None:
    """Not even in the sample, whose name a rule of the CRD limits. PROJECT has the options as they were typed."""
    root = grow(NewProject("example.com", "fleet"))
    options = ("--image", "memcached:1.6", "--image-container-command", "memcached,-m=64", "--run-as-user", "7")
    printed = pykb(root, *CREATE, *options, "--format", "json")
    assert json.loads(printed[printed.rindex("\n[") :] if "\n[" in printed else printed) == []
    project, found = read(root)
    assert not found
    assert project.resources[0].operand == Operand("memcached:1.6", ("memcached", "-m=64"), None, 7)
    assert project.layout == ("python.pykb.dev/v1",)
    assert "container_port" not in (root / "fleet/api/v1/memcached_types.py").read_text(encoding="utf-8")


def test_its_controller_may_go_and_another_may_come(grow: Grow) -> None:
    """The image goes with the controller. A later one is as any other, and all can be deleted."""
    root = grow(NewProject("example.com", "fleet"))
    before = tree(root)
    image = NewApi("cache", "v1", "Memcached", operand=Operand("memcached"), plugins=("deploy-image",))
    create(root, image)
    delete(root, OldApi("cache", "v1", "Memcached", resource=False))
    assert not list(root.glob("config/manager/*_image_patch.yaml"))
    options = [word for step in recipe(read(root)[0], root, "").steps for word in step.options]
    assert "--no-controller" in options
    assert not [word for word in options if word.startswith("--image")]
    create(root, NewApi("cache", "v1", "Memcached", resource=False))
    assert "IMAGE" not in (root / "fleet/controllers/memcached_controller.py").read_text(encoding="utf-8")
    delete(root, OldApi("cache", "v1", "Memcached"))
    assert tree(root) == before
