"""Renders `templates/files` for plugins, by rules for overwriting, and copies the files of another version."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass

from pykb.diagnostics import NOTHING_WRITTEN
from pykb.diagnostics.codes.project import VERSION_SOURCE
from pykb.plugins.request import ApiRequest, KindRequest
from pykb.project.resource import Resource, sample_name
from pykb.python_source.source import CodeStyle, Source
from pykb.scaffold.insert import Fragment
from pykb.scaffold.plan import OnExists, PlanBuilder
from pykb.scaffold.template import render_file


@dataclass(frozen=True, slots=True)
class Files:
    """The files that one request adds to a plan."""

    request: KindRequest
    plan: PlanBuilder

    @property
    def style(self) -> CodeStyle:
        """The project's Python style, from its settings."""
        return CodeStyle(self.request.project.package, self.plan.width)

    def text(self, template: str, **own: object) -> str:
        """Render a template, and format it if it is Python. Defines the full context of templates.

        Args:
            template: Its path, which ends in ``.j2``.
            own: Values only for this template.
        """
        request = self.request
        seen = {
            "request": request,
            "project": request.project,
            "resource": request.resource,
            "config": self.plan.config,
        }
        text = render_file(template, seen | own)
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


def types_file(resource: Resource) -> str:
    """The file with the class of a project's kind."""
    return f"{path_of(resource.path)}/{resource.singular}_types.py"


def path_of(module: str) -> str:
    """The path of a module or package, without ``.py``."""
    return module.replace(".", "/")


_OF_ONE_VERSION = re.compile(r"# *\+kubebuilder:(storageversion|unservedversion|deprecatedversion\b.*)")
"""Markers about the storage or serving of a version, which a new version does not get."""


def copied_types(request: ApiRequest, plan: PlanBuilder, source: Resource, style: CodeStyle) -> str | None:
    """The source's module of types, with the group and version of the new API.

    Returns ``None`` when it cannot be copied. The plan has the finding.
    """
    path = types_file(source)
    text = plan.text(path)
    old, new = f"{source.path}.groupversion", f"{request.resource.path}.groupversion"
    if text is not None and f"from {old} import" in text:
        kept = "".join(line for line in text.splitlines(keepends=True) if not _OF_ONE_VERSION.fullmatch(line.strip()))
        with contextlib.suppress(SyntaxError):  # the generator reports it
            return Source.parse(kept).with_module(old, new, style).text
    what = "is not there" if text is None else f"has no line `from {old} import GROUP_VERSION`"
    message = f"`{path}` {what}: the types of `{source}` cannot be copied"
    helps = ("omit `--from`, and write the types of the new version yourself",)
    plan.diagnostics.report(VERSION_SOURCE, None, message, *helps, notes=NOTHING_WRITTEN)
    return None


def copied_sample(request: ApiRequest, plan: PlanBuilder, source: Resource) -> str | None:
    """The source's sample in the new version; ``None`` when the source has none."""
    text = plan.text(f"config/samples/{sample_name(source)}")
    if text is None:
        return None
    version = re.compile(rf"^apiVersion: {re.escape(source.api_version)}$", re.MULTILINE)
    return version.sub(f"apiVersion: {request.resource.api_version}", text)
