"""External plugins: a real executable, asked by the commands as kubebuilder asks it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from pykb.cli import app
from pykb.files.state import remember, remembered
from pykb.plugins.external import MOST_BYTES, universe
from pykb.scaffold.plan import PlanBuilder

_PLUGIN = f"""#!{sys.executable}
import json, sys

request = json.load(sys.stdin)
with open({{log!r}}, "a") as log:
    print(json.dumps(request), file=log)
command, args, universe = request["command"], request["args"], request["universe"]
answer = {{{{"apiVersion": "v1alpha1", "command": command, "universe": universe}}}}
if command == "flags":
    answer["flags"] = [
        {{{{"Name": "notes-file", "Type": "string", "Default": "NOTES.md", "Usage": "File of notes."}}}},
        {{{{"Name": "lines", "Type": "int", "Default": "1", "Usage": "How many."}}}},
        {{{{"Name": "group", "Type": "string", "Default": "", "Usage": "Not ours."}}}},
    ]
elif command == "metadata":
    answer["metadata"] = {{{{"description": "Keeps notes.", "examples": "pykb init --plugins python,notes"}}}}
else:
    name = args[args.index("--notes-file") + 1] if "--notes-file" in args else "NOTES.md"
    universe[name] = universe.get(name, "") + command + "\\n"
print(json.dumps(answer))
"""
_INIT = ("init", "--domain", "example.com", "--plugins", "python,notes")
_DISK = ("--group", "infra", "--version", "v1", "--kind", "Disk", "--no-make")


class Notes:
    """The plugin, and what it was asked."""

    def __init__(self, folder: Path, *, script: str = _PLUGIN) -> None:
        self.log = folder / "asked"
        self.program = folder / "plugins/notes.acme.io/v1/notes.acme.io.py"
        self.program.parent.mkdir(parents=True)
        self.program.write_text(script.format(log=str(self.log)), encoding="utf-8")
        self.program.chmod(0o755)

    def asked(self, command: str) -> list[dict[str, Any]]:
        """The requests for a command."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return [request for request in map(json.loads, lines) if request["command"] == command]


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Notes:
    """The plugin, installed; the working directory is an empty folder."""
    monkeypatch.setenv("EXTERNAL_PLUGINS_PATH", str(tmp_path / "plugins"))
    monkeypatch.setattr(os, "fsync", lambda _: None)
    (tmp_path / "fleet").mkdir()
    monkeypatch.chdir(tmp_path / "fleet")
    return Notes(tmp_path)


def test_a_plugin_takes_part_in_every_command(notes: Notes, capfd: pytest.CaptureFixture[str]) -> None:
    """From `init` on; it sees the files of the plugins before it."""
    assert app.run(_INIT) == 0
    assert app.run(["create", "api", *_DISK, "--resource", "--controller"]) == 0
    assert app.run(["create", "webhook", *_DISK, "--defaulting"]) == 0
    assert Path("NOTES.md").read_text() == "init\ncreate api\ncreate webhook\n"
    assert "- python.pykb.dev/v1\n- notes.acme.io/v1\n" in Path("PROJECT").read_text()
    [asked] = notes.asked("create api")
    assert "class Disk(" in asked["universe"]["fleet/api/v1/disk_types.py"]
    capfd.readouterr()


def test_a_plugin_joins_an_existing_project(notes: Notes, capfd: pytest.CaptureFixture[str]) -> None:
    """`edit` asks it and adds it to PROJECT, after those that are there. Later commands run it."""
    assert app.run(["init", "--domain", "example.com"]) == 0
    assert app.run(["edit", "--plugins", "notes", "--lines", "2"]) == 0
    assert app.run(["create", "api", *_DISK, "--resource", "--controller"]) == 0
    assert Path("NOTES.md").read_text() == "edit\ncreate api\n"
    assert "- python.pykb.dev/v1\n- notes.acme.io/v1\n" in Path("PROJECT").read_text()
    assert notes.asked("edit")[0]["args"] == ["--lines", "2"]
    assert notes.asked("edit")[0]["pluginChain"] == ["notes.acme.io/v1"]
    assert app.run(["edit", "--plugins", "notes"]) == 0
    assert Path("PROJECT").read_text().count("notes.acme.io") == 1
    capfd.readouterr()


def test_a_plugin_is_told_of_deletions(
    tmp_path: Path, notes: Notes, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It sees the project without what goes. In a copy it is not run, which stops nothing."""
    assert app.run(_INIT) == 0
    assert app.run(["create", "api", *_DISK, "--resource", "--controller"]) == 0
    assert app.run(["create", "webhook", *_DISK, "--defaulting"]) == 0
    shutil.copytree(tmp_path / "fleet", tmp_path / "copy")
    assert app.run(["delete", "webhook", *_DISK, "--notes-file", "N.md"]) == 0
    assert app.run(["delete", "api", *_DISK]) == 0
    assert Path("N.md").read_text() == "delete webhook\n"
    assert Path("NOTES.md").read_text() == "init\ncreate api\ncreate webhook\ndelete api\n"
    [asked] = notes.asked("delete api")
    assert not any("disk" in path for path in asked["universe"])
    assert "resources" not in asked["config"]
    assert asked["pluginChain"][-1] == "notes.acme.io/v1"
    assert [request["args"] for request in notes.asked("flags")][-2:] == [["--delete webhook"], ["--delete api"]]
    monkeypatch.chdir(tmp_path / "copy")
    capfd.readouterr()
    assert app.run(["delete", "webhook", *_DISK]) == 0
    assert "note[plugin-unnamed]" in capfd.readouterr().err
    assert len(notes.asked("delete webhook")) == 1


def test_the_request_is_that_of_kubebuilder(notes: Notes, capfd: pytest.CaptureFixture[str]) -> None:
    """Its names, its arguments, its chain, and no configuration before there is a PROJECT."""
    assert app.run([*_INIT, "--dry-run", "--format", "json"]) == 0
    [asked] = notes.asked("init")
    assert set(asked) == {"apiVersion", "args", "command", "universe", "pluginChain"}
    assert asked["apiVersion"] == "v1alpha1"
    assert asked["args"] == ["--domain", "example.com"]
    own = ["python.pykb.dev/v1", "kustomize.common.pykb.dev/v1", "base.python.pykb.dev/v1"]
    assert asked["pluginChain"] == [*own, "notes.acme.io/v1"]
    assert notes.asked("flags") == [
        {"apiVersion": "v1alpha1", "args": ["--init"], "command": "flags", "universe": {}},
    ]
    assert not Path("PROJECT").exists()
    assert app.run(_INIT) == 0
    assert app.run(["create", "api", *_DISK, "--resource", "--controller", "--dry-run"]) == 0
    [asked] = notes.asked("create api")
    assert asked["config"]["projectName"] == "fleet"
    assert asked["config"]["version"] == "3"
    capfd.readouterr()


def test_a_plugin_adds_options_and_help(notes: Notes, capfd: pytest.CaptureFixture[str]) -> None:
    """They are checked like pykb's own. pykb's own cannot be replaced."""
    assert app.run([*_INIT, "--notes-file", "N.md", "--lines", "2"]) == 0
    assert Path("N.md").read_text() == "init\n"
    assert notes.asked("init")[0]["args"] == ["--domain", "example.com", "--notes-file", "N.md", "--lines", "2"]
    assert app.run(["create", "api", *_DISK, "--lines", "many"]) == 2
    assert app.run(["create", "api", *_DISK, "--note-file", "N.md"]) == 2
    assert "`--notes-file`" in capfd.readouterr().err
    assert app.run(["create", "api", "--help"]) == 0
    shown = capfd.readouterr().out
    assert "notes.acme.io/v1: Keeps notes." in shown
    assert "File of notes.  [default: NOTES.md]" in " ".join(shown.split()).replace(" [default", "  [default")
    assert "Not ours." not in shown


def test_a_plugin_without_flags_checks_them_itself(
    tmp_path: Path, notes: Notes, capfd: pytest.CaptureFixture[str]
) -> None:
    """Kubebuilder passes everything on, too."""
    notes.program.write_text(
        f'#!/bin/sh\nread -r request; case "$request" in *\'"init"\'*) printf "%s\\n" "$request" > {tmp_path}/asked; echo "{{}}";; '
        "*) exit 1;; esac\n"
    )
    assert app.run([*_INIT, "--colour", "red", "--loud"]) == 0
    assert notes.asked("init")[0]["args"] == ["--domain", "example.com", "--colour", "red", "--loud"]
    capfd.readouterr()


def test_a_copy_of_the_project_runs_no_plugin_before_it_is_named(
    tmp_path: Path, notes: Notes, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What pykb remembers counts in this copy only, even if it is copied along."""
    assert app.run(_INIT) == 0
    shutil.copytree(tmp_path / "fleet", tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    create = ("create", "api", *_DISK, "--resource", "--controller")
    assert app.run(create) == 1
    assert app.run(["create", "api", "--help"]) == 0
    assert "error[plugin-unnamed]" in capfd.readouterr().err
    assert len(notes.log.read_text().splitlines()) == 2  # the flags and the command of `init`
    assert app.run([*create, "--plugins", "python,notes", "--dry-run"]) == 0
    assert app.run(create) == 1
    assert app.run([*create, "--plugins", "python,notes"]) == 0
    assert app.run(["create", "webhook", *_DISK, "--defaulting"]) == 0
    assert Path("NOTES.md").read_text() == "init\ncreate api\ncreate webhook\n"
    capfd.readouterr()


def test_what_a_plugin_sees(tmp_path: Path) -> None:
    """Texts of the project; not what is outside of it, git's, pykb's, a cache's, or no text."""
    root = tmp_path / "fleet"
    seen = ["PROJECT", "fleet/__main__.py", ".github/workflows/test.yml", ".gitignore"]
    unseen = [".git/config", ".pykb/plugins", ".venv/lib/a.py", "env/lib/b.py", "fleet/__pycache__/c.txt"]
    for path in (*seen, *unseen):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("text", encoding="utf-8")
    (root / "env/pyvenv.cfg").touch()
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "folder").symlink_to(tmp_path)
    (root / "picture").write_bytes(b"\x89PNG\0")
    (root / "latin").write_bytes(b"\xe9")
    (root / "large").write_bytes(b"x" * (MOST_BYTES + 1))
    os.mkfifo(root / "pipe")
    plan = PlanBuilder(root)
    plan.create("new.txt", b"new")
    plan.update("PROJECT", None)
    assert sorted(universe(plan)) == sorted([*seen[1:], "new.txt"])


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"folder": 1, "words": ["x"]}', '{"folder": %d, "words": 5}', "\udcff", "[" * 10_000]
)
def test_a_record_of_another_form_is_not_trusted(tmp_path: Path, content: str) -> None:
    """Whoever wrote it."""
    remember(tmp_path, "plugins", ["notes/v1"])
    assert remembered(tmp_path, "plugins") == {"notes/v1"}
    inode = (tmp_path / ".pykb").stat().st_ino
    (tmp_path / ".pykb/plugins").write_bytes(content.replace("%d", str(inode)).encode(errors="surrogateescape"))
    assert remembered(tmp_path, "plugins") == set()


def test_a_record_behind_a_link_is_not_trusted(tmp_path: Path) -> None:
    """A repository can contain links."""
    remember(tmp_path, "plugins", ["notes/v1"])
    (tmp_path / ".pykb/plugins").rename(tmp_path / "elsewhere")
    (tmp_path / ".pykb/plugins").symlink_to(tmp_path / "elsewhere")
    assert remembered(tmp_path, "plugins") == set()
