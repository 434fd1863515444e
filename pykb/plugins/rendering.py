"""Files that plugins make of the templates of `templates/files`: what those see, and who may overwrite them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from pykb.plugins.request import KindRequest
from pykb.project.resource import Resource
from pykb.python_source.layout import WIDTH, line_length
from pykb.python_source.source import CodeStyle
from pykb.scaffold.insert import Fragment
from pykb.scaffold.plan import OnExists, PlanBuilder
from pykb.scaffold.template import render


@dataclass(frozen=True, slots=True)
class Files:
    """The files that one request puts into a plan."""

    request: KindRequest
    plan: PlanBuilder

    @property
    def style(self) -> CodeStyle:
        """How the project writes Python, by its own settings."""
        settings = self.plan.root / "pyproject.toml"  # only read: it may be a link to those of several projects
        width = None
        with contextlib.suppress(OSError):
            width = line_length(settings.read_bytes()) if settings.is_file() else None
        return CodeStyle(self.request.project.package, width or WIDTH)

    def text(self, template: str, **own: object) -> str:
        """A rendered template, formatted where it is Python. This is all that a template sees.

        Args:
            template: Its path, which ends in ``.j2``.
            own: What only this template needs.
        """
        request = self.request
        seen = {"request": request, "project": request.project, "resource": request.resource}
        text = render(template, seen | own)
        if template.endswith(".py.j2"):
            with contextlib.suppress(SyntaxError):  # the plan says so
                return self.style.formatted(text)
        return text

    def insert(self, path: str, fragment: Fragment) -> None:
        """Something to put above an anchor of a file, if it is not there."""
        self.plan.insert(path, fragment, width=self.style.width)

    def once(self, path: str, template: str) -> None:
        """A file that several share: made by the first, then left alone, also by ``--force``."""
        if self.plan.current(path) is None:
            self.plan.create(path, self.text(template).encode())

    def own(self, path: str, template: str, *, on_exists: OnExists = OnExists.REFUSE, **own: object) -> None:
        """A file of this command alone, which ``--force`` overwrites."""
        self.create(path, self.text(template, **own), on_exists=on_exists)

    def create(self, path: str, text: str, *, on_exists: OnExists = OnExists.REFUSE) -> None:
        """The same, with a text that is there already."""
        self.plan.create(path, text.encode(), on_exists=OnExists.OVERWRITE if self.request.force else on_exists)


def types_file(resource: Resource) -> str:
    """The file with the class of a kind of the project."""
    return f"{path_of(resource.path)}/{resource.singular}_types.py"


def path_of(module: str) -> str:
    """The file of a module, or the folder of a package, without ``.py``."""
    return module.replace(".", "/")
