"""Plugins by their keys: whole, short, of other packages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from pykb.diagnostics import Diagnostics
from pykb.plugins import registry
from pykb.plugins.plugin import Bundle, Plugin, PluginKey
from pykb.plugins.registry import DEFAULT, built_in
from pykb.plugins.request import ApiRequest, InitRequest, WebhookRequest
from pykb.scaffold.plan import PlanBuilder


def resolve(keys: Sequence[str], found: Diagnostics) -> list[Plugin]:
    """The plugins of a command line with these keys, outside of any project."""
    return registry.resolve(keys, (), Path(), found)


class Notes:
    """A plugin as another package would write it."""

    key = PluginKey("notes.example.com", "v1")
    summary = "a file of notes"

    def init(self, request: InitRequest, plan: PlanBuilder) -> None:
        """Add a file."""
        plan.create("NOTES", f"notes of {request.project.project_name}\n".encode())

    def create_api(self, request: ApiRequest, plan: PlanBuilder) -> None:
        """Add a line for each kind."""
        plan.update("NOTES", (plan.current("NOTES") or b"") + f"{request.resource.kind}\n".encode())


class Point:
    """An entry point as importlib.metadata gives it."""

    name, value = "notes.example.com/v1", "notes:Notes"

    def load(self) -> object:
        """The class; an instance would do too."""
        return Notes


@pytest.mark.parametrize("key", ["python.pykb.dev/v1", "python.pykb.dev", "python/v1", "python"])
def test_a_short_key_is_enough(key: str) -> None:
    """The name up to a dot, with or without the version."""
    found = Diagnostics()
    assert resolve([key], found) == [DEFAULT]
    assert not found


@pytest.mark.parametrize("key", ["pyth", "python/v2", "python.other/v1", ""])
def test_half_a_name_is_no_key(key: str) -> None:
    """Names are compared part by part."""
    found = Diagnostics()
    assert resolve([key], found) == []
    assert [d.code.slug for d in found] == ["plugin-unknown"]


def test_the_same_plugin_twice_runs_once() -> None:
    """By whatever key it is called."""
    assert resolve(["python", "python/v1"], Diagnostics()) == [DEFAULT]


@pytest.mark.parametrize("plugin", [*built_in(), Notes()], ids=lambda p: str(p.key))
def test_plugins_keep_the_protocol(plugin: object) -> None:
    """Everything that a command asks of a plugin is there."""
    assert isinstance(plugin, Plugin | Bundle)
    assert PluginKey.parse(str(plugin.key)) == plugin.key


def test_a_plugin_of_another_package_takes_part(monkeypatch: pytest.MonkeyPatch, tmp_path, capfd) -> None:
    """From `init`, where PROJECT remembers it, to every later command."""
    from pykb.cli import app

    monkeypatch.setattr(registry, "entry_points", lambda group: [Point()])
    root = tmp_path / "fleet"
    root.mkdir()
    monkeypatch.chdir(root)
    assert app.run(["init", "--domain", "example.com", "--plugins", "python/v1,notes"]) == 0
    words = ["create", "api", "--group", "infra", "--version", "v1", "--kind", "Machine", "--no-make"]
    assert app.run([*words, "--resource", "--controller"]) == 0
    assert (root / "NOTES").read_text() == "notes of fleet\nMachine\n"
    assert "- notes.example.com/v1\n" in (root / "PROJECT").read_text()


class Hooked(Notes):
    """One that has something to add for webhooks, too."""

    def create_webhook(self, request: WebhookRequest, plan: PlanBuilder) -> None:
        """Add a line for each webhook."""
        plan.update("NOTES", (plan.current("NOTES") or b"") + f"{request.mutate_path}\n".encode())


@pytest.mark.parametrize(("plugin", "added"), [(Notes, ""), (Hooked, "/mutate-infra-example-com-v1-machine\n")])
def test_a_plugin_is_asked_about_webhooks_if_it_has_something_to_say(
    monkeypatch: pytest.MonkeyPatch, tmp_path, plugin: type[Notes], added: str
) -> None:
    """One that was written before there were any goes on to work."""
    from pykb.cli import app

    monkeypatch.setattr(Point, "load", lambda self: plugin)
    monkeypatch.setattr(registry, "entry_points", lambda group: [Point()])
    root = tmp_path / "fleet"
    root.mkdir()
    monkeypatch.chdir(root)
    assert app.run(["init", "--domain", "example.com", "--plugins", "python/v1,notes"]) == 0
    words = ["--group", "infra", "--version", "v1", "--kind", "Machine", "--no-make"]
    assert app.run(["create", "api", *words, "--resource", "--controller"]) == 0
    assert app.run(["create", "webhook", *words, "--defaulting"]) == 0
    assert (root / "NOTES").read_text() == f"notes of fleet\nMachine\n{added}"


def test_an_addition_comes_after_the_plugins_of_the_project() -> None:
    """Alone it would make no project and no kind."""
    found = Diagnostics()
    chain = registry.resolve(["helm"], ["python.pykb.dev/v1"], Path(), found)
    assert [str(plugin.key) for plugin in chain] == ["python.pykb.dev/v1", "helm.pykb.dev/v1"]
    assert registry.resolve(["helm", "python"], ["python/v1"], Path(), found) == chain[::-1]
    assert not found
