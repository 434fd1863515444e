"""Renders `templates/files` for plugins: the templates' context, and the rules for overwriting."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from pykb.plugins.request import KindRequest
from pykb.project.file import Project
from pykb.project.resource import Resource
from pykb.python_source.layout import WIDTH, line_length
from pykb.python_source.source import CodeStyle
from pykb.scaffold.insert import Fragment
from pykb.scaffold.plan import OnExists, PlanBuilder
from pykb.scaffold.template import render


@dataclass(frozen=True, slots=True)
class Files:
    """The files that one request adds to a plan."""

    request: KindRequest
    plan: PlanBuilder

    @property
    def style(self) -> CodeStyle:
        """The project's Python style, from its settings."""
        return style_of(self.plan.root, self.request.project)

    def text(self, template: str, **own: object) -> str:
        """Render a template, and format it if it is Python. Defines the full context of templates.

        Args:
            template: Its path, which ends in ``.j2``.
            own: Values only for this template.
        """
        request = self.request
        seen = {"request": request, "project": request.project, "resource": request.resource}
        text = render(template, seen | own)
        if template.endswith(".py.j2"):
            with contextlib.suppress(SyntaxError):  # the plan reports it
                return self.style.formatted(text)
        return text

    def insert(self, path: str, fragment: Fragment) -> None:
        """Insert a fragment above an anchor of a file, unless it is present."""
        self.plan.insert(path, fragment, width=self.style.width)

    def once(self, path: str, template: str) -> None:
        """Create a shared file once. Later commands do not change it, even with ``--force``."""
        self.plan.once(path, lambda: self.text(template).encode())

    def own(self, path: str, template: str, *, on_exists: OnExists = OnExists.REFUSE, **own: object) -> None:
        """Create a file that only this command writes. ``--force`` overwrites it."""
        self.create(path, self.text(template, **own), on_exists=on_exists)

    def create(self, path: str, text: str, *, on_exists: OnExists = OnExists.REFUSE) -> None:
        """Like :meth:`own`, with the text given."""
        self.plan.create(path, text.encode(), on_exists=OnExists.OVERWRITE if self.request.force else on_exists)


def style_of(root: Path, project: Project) -> CodeStyle:
    """The Python style of a project, from its settings."""
    settings = root / "pyproject.toml"  # only read, so it may be a link to shared settings
    width = None
    with contextlib.suppress(OSError):
        width = line_length(settings.read_bytes()) if settings.is_file() else None
    return CodeStyle(project.package, width or WIDTH)


def types_file(resource: Resource) -> str:
    """The file with the class of a project's kind."""
    return f"{path_of(resource.path)}/{resource.singular}_types.py"


def path_of(module: str) -> str:
    """The path of a module or package, without ``.py``."""
    return module.replace(".", "/")
