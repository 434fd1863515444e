"""An external plugin as a part of a chain: asks it, and puts the files of its answer into the plan."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pykb.diagnostics.codes.plugin import PLUGIN_NOTE
from pykb.plugins.external.protocol import Question, ask
from pykb.plugins.external.universe import universe
from pykb.plugins.key import PluginKey
from pykb.plugins.request import ApiRequest, CommandLine, DeleteRequest, EditRequest, InitRequest, WebhookRequest
from pykb.project import FILE_NAME
from pykb.reading import yaml_text
from pykb.scaffold.plan import PlanBuilder, check


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
            plan.diagnostics.add(PLUGIN_NOTE.at(None, message))
        elif not is_known:
            plan.create(path, content)
        elif (broken := check(path, content)) is not None:
            plan.diagnostics.add(broken)
        else:
            plan.update(path, content)
