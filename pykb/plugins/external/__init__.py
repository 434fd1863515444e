"""Plugins that are executables of their own, by kubebuilder's protocol for external plugins, version v1alpha1.

They are found where kubebuilder finds them. PROJECT alone does not make pykb run a program: only those run that the
user has named. kubebuilder starts the executable once for each question, in the folder of the project, without
arguments. It writes a JSON object to stdin and reads one from stdout. The protocol is described at
https://book.kubebuilder.io/plugins/extending/external-plugins.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pykb.diagnostics import Diagnostic, Diagnostics
from pykb.diagnostics.codes.project import PLUGIN_BROKEN, PLUGIN_NOTE
from pykb.plugins import PluginKey
from pykb.plugins.request import ApiRequest, CommandLine, DeleteRequest, EditRequest, InitRequest, WebhookRequest
from pykb.project import FILE_NAME
from pykb.reading import yaml_text
from pykb.scaffold.plan import PlanBuilder, check, project_files

VARIABLE = "EXTERNAL_PLUGINS_PATH"


def folder() -> Path:
    """The folder of the plugins."""
    if given := os.environ.get(VARIABLE):
        return Path(given)
    if sys.platform == "darwin":
        return Path("~/Library/Application Support/kubebuilder/plugins").expanduser()
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "kubebuilder" / "plugins"


def installed() -> dict[PluginKey, Path]:
    """The executables by their keys: ``<name>/<version>/<name>``, with or without an extension."""
    return dict(sorted(_installed(folder())))


def usable(key: PluginKey, program: Path, diagnostics: Diagnostics) -> bool:
    """Whether pykb may run this program. Reports one that another user could have changed, or that cannot run."""
    status = program.stat()
    if status.st_uid not in {0, os.geteuid()} or status.st_mode & stat.S_IWOTH:
        problem = "can be changed by other users"
        helps = (f"if you trust it: `chown $USER {program} && chmod o-w {program}`",)
    elif not os.access(program, os.X_OK):
        problem = "is not executable"
        helps = (f"`chmod +x {program}`",)
    else:
        return True
    diagnostics.report(PLUGIN_BROKEN, None, f"the plugin `{key}` cannot be run: `{program}` {problem}", *helps)
    return False


def _installed(top: Path) -> Iterator[tuple[PluginKey, Path]]:
    for program in sorted(top.glob("*/*/*")):
        name, version = program.parts[-3:-1]
        if name in {program.name, program.stem} and program.is_file():
            yield PluginKey(name, version), program.resolve()


_FILE = "plugins"


def trust(root: Path, named: Iterable[str]) -> Diagnostic | None:
    """Remember the external plugins that a command line named. Returns a note if they cannot be remembered."""
    from pykb.files.state import missing_key, remember

    words = list(named)
    keys = [str(key) for key in installed() if any(key.answers_to(word) for word in words)] if words else []
    if not set(keys) - trusted(root):
        return None
    remember(root, _FILE, keys)
    return missing_key(f"name the plugins again with each command: `--plugins {','.join(keys)}`")


def trusted(root: Path) -> frozenset[str]:
    """The keys of the plugins that this user named in this copy."""
    from pykb.files.state import remembered

    return remembered(root, _FILE)


MOST_BYTES = 1024 * 1024
"""The size of a file that is not sent: no plugin edits such a file."""


def universe(plan: PlanBuilder) -> dict[str, str]:
    """The text files of the project after the changes of the plan.

    Leaves out what is not part of the project, binary and large files, and links, which may lead out of the project.
    """
    paths = {*(path for path in project_files(plan) if _is_sent(plan.root / plan.place(path))), *plan.changed}
    texts = {path: _text(plan.current(path)) for path in sorted(paths)}
    return {path: text for path, text in texts.items() if text is not None}


def _is_sent(path: Path) -> bool:
    return not path.is_symlink() and path.is_file() and path.stat().st_size <= MOST_BYTES


def _text(content: bytes | None) -> str | None:
    if content is None or len(content) > MOST_BYTES or b"\0" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


@dataclass(frozen=True, slots=True)
class ExternalPlugin:
    """An executable, known by its place in the folder of plugins."""

    key: PluginKey
    program: Path

    @property
    def summary(self) -> str:
        """Where it is."""
        return str(self.program)

    def init(self, request: InitRequest, plan: PlanBuilder) -> None:
        """Ask about ``init``."""
        self._run("init", request.command_line, plan)

    def create_api(self, request: ApiRequest, plan: PlanBuilder) -> None:
        """Ask about ``create api``."""
        self._run("create api", request.command_line, plan)

    def create_webhook(self, request: WebhookRequest, plan: PlanBuilder) -> None:
        """Ask about ``create webhook``."""
        self._run("create webhook", request.command_line, plan)

    def edit(self, request: EditRequest, plan: PlanBuilder) -> None:
        """Ask about ``edit``."""
        self._run("edit", request.command_line, plan)

    def delete(self, request: DeleteRequest, plan: PlanBuilder) -> None:
        """Ask about ``delete api`` or ``delete webhook``."""
        self._run(request.command, request.command_line, plan)

    def _run(self, command: str, line: CommandLine, plan: PlanBuilder) -> None:
        # It imports Pydantic, which no other part of these commands needs.
        from pykb.plugins.external.protocol import Question, ask

        sent = universe(plan)
        project = plan.current(FILE_NAME)
        config: dict[str, Any] | None = yaml_text.load(project) if project else None
        question = Question(command, line.args, sent, line.chain, config)
        answer = ask(self.key, self.program, question, plan.root, plan.diagnostics)
        if answer is None:
            return
        for path, text in sorted(answer.universe.items()):
            if text != sent.get(path):
                self._put(path, text.encode(), plan, is_known=path in sent)

    def _put(self, path: str, content: bytes, plan: PlanBuilder, *, is_known: bool) -> None:
        """Plan one file. The plugin may change a file that it was shown, and no other one."""
        if path == FILE_NAME:
            message = f"the plugin `{self.key}` changed {FILE_NAME}; this change is left out"
            plan.diagnostics.report(PLUGIN_NOTE, None, message)
        elif not is_known:
            plan.create(path, content)
        elif (broken := check(path, content)) is not None:
            plan.diagnostics.add(broken)
        else:
            plan.update(path, content)
