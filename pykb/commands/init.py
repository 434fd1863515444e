"""Plans ``init``: checks names, renders templates, runs plugins, adds PROJECT and the pin of pykb."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pykb
from pykb._regular_file import SETTINGS
from pykb.commands.options import NewProject
from pykb.diagnostics import NOTHING_WRITTEN, Diagnostics, EnvironmentProblem, Span
from pykb.diagnostics.codes.cli import FLAG_CONFLICT
from pykb.diagnostics.codes.commands import SHARDS_FEW
from pykb.diagnostics.codes.project import KUBERNETES_VERSION, PROJECT_EXISTS
from pykb.diagnostics.codes.scaffold import (
    DIRECTORY_FILE_TAKEN,
    DIRECTORY_IN_PROJECT,
    DIRECTORY_NOT_EMPTY,
    FILE_EXISTS,
    WHEEL_UNAVAILABLE,
)
from pykb.diagnostics.model import Severity
from pykb.files.plan import Plan
from pykb.meta.names import as_module_name
from pykb.plugins.plugin import call
from pykb.plugins.registry import DEFAULT, keys, resolve
from pykb.plugins.request import CommandLine, InitRequest
from pykb.project import FILE_NAME, writer
from pykb.project.file import Project
from pykb.project.options import ProjectOptions, options_of
from pykb.project.settings import KEY, of_option, setting, shown
from pykb.scaffold import distribution, license, naming  # noqa: A004 - our module of that name
from pykb.scaffold.locate import WHEEL, is_from_index
from pykb.scaffold.plan import PlanBuilder
from pykb.scaffold.template import opened, render_tree

PYTHON_VERSION = "3.11"
"""The minimum Python version of a project, the same as pykb's."""

_UV = b"[tool.uv]\n"
LINKS = b'find-links = [".pykb/wheels"]\n'
"""uv refuses a folder that is not there, so a project has this line only with a wheel."""


def plan_project(options: NewProject, root: Path, *, year: str) -> tuple[Plan | None, Diagnostics]:
    """Plan a new project in ``root``. Without errors among the findings the plan may be applied.

    Args:
        options: The options of the command.
        root: The folder of the project.
        year: The year that replaces ``YEAR`` in a licence file.
    """
    diagnostics = Diagnostics()
    _check_folder(root, diagnostics)
    name = options.project_name or root.name
    naming.check_project_name(name, diagnostics, from_directory=not options.project_name)
    naming.check_domain(options.domain, diagnostics)
    naming.check_owner(options.owner, diagnostics)
    boilerplate = license.header(
        options.license, owner=options.owner, file=options.license_file, year=year, found=diagnostics
    )
    oldest = _oldest(options.kubernetes, diagnostics)
    numbers = wanted_numbers(options, Project(), diagnostics)
    chain = resolve(options.plugins, (str(DEFAULT.key),), root, diagnostics)
    if diagnostics.has_errors():
        return None, diagnostics
    package = as_module_name(name)
    file = writer.new_project(
        domain=options.domain,
        project_name=name,
        package=package,
        layout=[str(plugin.key) for plugin in chain],
        multigroup=options.multigroup,
        namespaced=options.namespaced,
        cli_version=pykb.__version__,
    )
    file = writer.with_options(file, numbers)
    check_ranges(file, file.managers, None, diagnostics)
    about = {
        "owner": options.owner,
        "license": "" if options.license_file else str(options.license),
        "boilerplate": boilerplate,
        "year": year,
        "kubernetes": oldest,
    }
    with opened(options.template or None, diagnostics) as source:
        files = render_tree(source, variables(file, about), diagnostics) if source is not None else {}
    if diagnostics.has_errors():
        return None, diagnostics
    if oldest and (SETTINGS not in files or KEY.encode() not in files[SETTINGS].content):
        message = f"the template does not write `{KEY}` into {SETTINGS}, so `--{KEY}` has no effect"
        helps = (f"write it into [tool.pykb]: `{setting(of_option(oldest))}`",)
        diagnostics.report(KUBERNETES_VERSION, None, message, *helps, severity=Severity.WARNING)
    plan = PlanBuilder(root)
    call(chain, "init", InitRequest(file, files, CommandLine(options.args, keys(chain))), plan)
    plan.create(FILE_NAME, file.text.encode())
    pin(plan, diagnostics)
    _explain_taken(plan.diagnostics, diagnostics)
    return (None if diagnostics.has_errors() else plan.build()), diagnostics


def variables(project: Project, about: Mapping[str, str]) -> dict[str, Any]:
    """The variables of a project template.

    Args:
        project: PROJECT.
        about: What PROJECT does not record: ``owner``, ``license``, ``boilerplate``, ``year``, ``kubernetes``.
    """
    return {
        "kubernetes": "",
        **about,
        "project_name": project.project_name,
        "package": project.package,
        "domain": project.domain,
        "namespaced": project.namespaced,
        "multigroup": project.multigroup,
        **{name: getattr(project, name) for name in options_of(ProjectOptions)},
        "replicas": project.managers,
        "pykb_version": pykb.__version__,
        "python_version": PYTHON_VERSION,
    }


def wanted_numbers(options: ProjectOptions, project: Project, diagnostics: Diagnostics) -> dict[str, int]:
    """The options of the project that change, by the names of their fields."""
    named = {name: getattr(options, name) for name in options_of(ProjectOptions)}
    wanted = {name: value for name, value in named.items() if value is not None}
    if options.replicas and wanted.get("shards", project.shards):
        message = "`--replicas` is the number of managers of which one works; with shards, all of them work"
        helps = ("set `replicas` in config/manager/manager.yaml", "to let only one work: `--shards 0`")
        diagnostics.report(FLAG_CONFLICT, None, message, *helps)
    if options.shards:
        wanted["replicas"] = 0
    if options.replicas == 1:
        wanted["replicas"] = 0  # the default
    return {name: value for name, value in wanted.items() if value != getattr(project, name)}


def check_ranges(project: Project, replicas: int, place: Span | None, diagnostics: Diagnostics) -> None:
    """Report if the replicas have fewer ranges than there are of them."""
    if project.shards and replicas > project.shards:
        ranges = f"{project.shards} range{'s' * (project.shards > 1)}"
        message = f"{ranges} for {replicas} replicas: some of them would have no work"
        helps = (f"`--shards {4 * replicas}`, or fewer replicas",)
        diagnostics.report(SHARDS_FEW, place, message, *helps, notes=NOTHING_WRITTEN)


def _oldest(named: str, diagnostics: Diagnostics) -> str:
    """The oldest Kubernetes that the project supports; empty if none was named."""
    try:
        return shown(of_option(named)) if named else ""
    except EnvironmentProblem as problem:
        diagnostics.add(problem.diagnostic)
        return ""


def _check_folder(root: Path, diagnostics: Diagnostics) -> None:
    if os.path.lexists(root / FILE_NAME):
        message = "this directory already contains a project: it has a file `PROJECT`"
        helps = ("to add a kind: `pykb create api --group infra --version v1 --kind Machine`",)
        diagnostics.report(PROJECT_EXISTS, None, message, *helps, notes=NOTHING_WRITTEN)
        return
    around = next((folder for folder in root.parents if (folder / FILE_NAME).is_file()), None)
    if around is not None:
        helps = (f"to add a kind to that one: `cd {os.path.relpath(around, root)}`, then `pykb create api`",)
        message = f"this directory is inside the project `{around.name}`; `pykb init` starts a separate project here"
        diagnostics.report(DIRECTORY_IN_PROJECT, None, message, *helps)
    others = sorted(entry.name for entry in root.iterdir() if not entry.name.startswith("."))
    if others:
        shown = ", ".join(f"`{name}`" for name in others[:5]) + (", ..." if len(others) > 5 else "")
        diagnostics.report(DIRECTORY_NOT_EMPTY, None, f"the directory is not empty: {shown}")


def pin(plan: PlanBuilder, diagnostics: Diagnostics) -> None:
    """Add the wheel of this pykb to the project if it is not on a package index, so that clones have it."""
    if is_from_index():
        return
    content = distribution.wheel()
    if content is None:
        message = "this pykb is not an installed package, so its wheel cannot be put into the project"
        helps = ("install pykb with `pip` or `uv`, or put a wheel of it into `.pykb/wheels`",)
        diagnostics.report(WHEEL_UNAVAILABLE, None, message, *helps)
        return
    plan.update(WHEEL, content)
    settings = plan.current(SETTINGS)
    if settings is not None and LINKS not in settings:
        plan.update(SETTINGS, settings.replace(_UV, _UV + LINKS, 1))


def _explain_taken(planned: Diagnostics, diagnostics: Diagnostics) -> None:
    """Replace the findings for existing files by a single one, since `init` has no `--force`."""
    taken = [d.span.path for d in planned if d.code is FILE_EXISTS and d.span is not None]
    diagnostics.extend(d for d in planned if d.code is not FILE_EXISTS)
    if not taken:
        return
    shown = ", ".join(f"`{path}`" for path in taken)
    message = f"`pykb init` would write files that already exist: {shown}"
    helps = ("move them, or start the project in a new directory", "`--diff` shows what would be written")
    diagnostics.report(DIRECTORY_FILE_TAKEN, None, message, *helps, notes=NOTHING_WRITTEN)
