"""Plans `update`: merges what changed in the scaffold since the pykb that made the project.

Three states are merged: the project as that pykb scaffolds it, as this one does, and as it is. A recipe has the
commands that make the project again. PROJECT does not record all options and no order, so the result may differ from
what the user once had. But two releases that carry out the same recipe differ only in what changed between them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

import pykb
from pykb._regular_file import SETTINGS, read_bytes
from pykb.commands.init import pin
from pykb.commands.options import Conflicts, NewApi, NewProject, NewWebhook, Updates
from pykb.commands.transition import GENERATED, style_of_controller, with_line_ends, with_styles
from pykb.commands.transition import merge as merge_lines
from pykb.diagnostics import NOTHING_WRITTEN, Diagnostics, Span
from pykb.diagnostics.codes import commands as codes
from pykb.diagnostics.codes.project import UNCHANGED
from pykb.diagnostics.model import Severity
from pykb.files.plan import Plan
from pykb.files.state import STATE
from pykb.plugins import Style
from pykb.plugins.registry import DEFAULT, MAKERS
from pykb.project import FILE_NAME, version_numbers
from pykb.project.file import Project
from pykb.project.options import ApiOptions, given, words
from pykb.project.resource import Resource
from pykb.project.settings import CONFIG, KEY, Minor, mentioning, oldest_supported, shown
from pykb.project.writer import with_options, with_value
from pykb.reading import yaml_text
from pykb.scaffold import license  # noqa: A004 - our module of that name
from pykb.scaffold import release as releases
from pykb.scaffold.license import boilerplate
from pykb.scaffold.locate import WHEEL
from pykb.scaffold.plan import PlanBuilder, breaks, project_files
from pykb.scaffold.release import HEADER, Recipe, Release, Step
from pykb.tools import git
from pykb.tools.git import File, Tree, merge
from pykb.tools.process import find_program


def recipe(project: Project, root: Path, header: str, oldest: Minor | None = None) -> Recipe:
    """The commands. The licence header is that of the project, and so is the oldest Kubernetes that it supports."""
    kubernetes = () if oldest is None else (f"--{KEY}={shown(oldest)}",)
    steps = [Step(("init",), words(_init(project, header)), kubernetes)]
    resources = with_styles(project, root).resources
    for number, resource in enumerate(resources):
        steps += _api(resource, resources[:number])
    for resource in project.resources:  # a conversion needs all versions
        steps += _webhook(resource, project)
    if numbers := words(project):
        steps.append(Step(("edit",), (), numbers, is_newer=True))
    return Recipe(tuple(steps), header)


def own_plugins(layout: Sequence[str]) -> list[str]:
    """The plugins of a layout that are pykb's and scaffold a project. Others are not part of a recipe."""
    return [key for key in layout if any(plugin.key.answers_to(key) for plugin in MAKERS)]


def _init(project: Project, header: str) -> NewProject:
    plugins = own_plugins(project.layout)
    owner = license.owner(header)
    known = license.header(license.License.APACHE2, owner=owner, file=None, year="", found=Diagnostics())
    return NewProject(
        domain=project.domain,
        project_name=project.project_name,
        plugins=() if plugins in ([], [str(DEFAULT.key)]) else tuple(plugins),
        multigroup=project.multigroup,
        namespaced=project.namespaced,
        license="apache2" if header else "none",
        license_file=None if header in ("", known) else Path(HEADER),
        owner=owner if header == known else "",
    )


def _api(resource: Resource, known: Sequence[Resource]) -> Iterator[Step]:
    """A command for types and the first controller, and one for each other controller."""
    names = resource.controller_names
    named = [("" if name == resource.singular else name, style_of_controller(resource, name)) for name in names]
    first = named.pop(0) if resource.api and named and not named[0][0] else None
    if resource.api:
        has_image = first is not None and resource.operand is not None
        options = NewApi(
            **_of(resource),
            plural=resource.plural,
            namespaced=resource.namespaced,
            controller=first is not None,
            style=first[1] if first else Style.RECONCILER,
            plugins=("deploy-image",) if has_image else (),
        )
        image = words(resource.operand) if has_image else ()
        yield Step(("create", "api"), (*words(options), *image, "--no-make"), words(_repeatable(resource, known)))
    for name, style in named:
        options = NewApi(**_of(resource), resource=False, controller_name=name, style=style)
        yield Step(("create", "api"), (*words(options), "--no-make"))


def _repeatable(resource: Resource, known: Sequence[Resource]) -> ApiOptions:
    """The options of a kind that can be repeated. Types can be copied only from a version that is still there."""
    sources = {each.version for each in known if each.api and each.is_same_kind(resource)}
    options = resource.options
    return options if options.from_version in sources else replace(options, from_version="")


def _webhook(resource: Resource, project: Project) -> Iterator[Step]:
    if resource.webhooks is not None:
        options = words(NewWebhook(**_of(resource), **asdict(resource.webhooks)))
        yield Step(("create", "webhook"), (*options, "--no-make"), (f"--certificates={project.issuer}",))


def _of(resource: Resource) -> dict[str, Any]:
    """The options that name a kind."""
    external = {"external_api_path": resource.path, "external_api_domain": resource.domain}
    named = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    return named | (external if resource.external else {})


_AVAILABILITY = "availability/manager_patch.yaml"
_LARGE = 1_000_000
"""Larger files of the user are not searched for renamed ones, in bytes."""
_SHOWN = 5
"""How many files a message lists."""


@dataclass(slots=True)
class Update:
    """The merged files.

    Attributes:
        files: All files after the update.
        conflicts: The files with conflicts that are left.
        deleted: The files that the user deleted and the scaffold changed.
        kept: The files that the user edited and the scaffold no longer has.
    """

    files: dict[str, File]
    conflicts: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)


def plan_update(options: Updates, project: Project, root: Path, *, writes: bool) -> tuple[Plan | None, Diagnostics]:
    """Plan the update. Without errors among the findings the plan may be applied.

    Args:
        options: The options of the command.
        project: PROJECT.
        root: The folder of the project.
        writes: Whether the plan is to be applied. Else the project need not be committed.
    """
    diagnostics = Diagnostics()
    plan = PlanBuilder(root)
    header = boilerplate(plan, diagnostics)
    if project.layout and not own_plugins(project.layout):
        message = "no plugin of pykb itself made the project, so pykb does not know its scaffold"
        diagnostics.report(codes.NOT_RENDERED, project.place("layout"), message, notes=NOTHING_WRITTEN)
    if writes:
        _check_committed(root, diagnostics)
    if diagnostics.has_errors():
        return None, diagnostics
    then = _origin(options, project, root, diagnostics)
    if then is None:
        return (None if diagnostics.has_errors() else plan.build()), diagnostics
    project = _with_replicas(project, plan)
    oldest = oldest_supported(root)
    before = releases.render(then, recipe(project, root, header, oldest), diagnostics)
    if SETTINGS in before and KEY.encode() not in before[SETTINGS].content:
        oldest = None  # the scaffold did not have the user's line then
    after = releases.render(releases.running(), recipe(project, root, header, oldest), diagnostics) if before else {}
    if diagnostics.has_errors():
        return None, diagnostics
    mine = dict(_files(plan, {*before, *after}))
    update = combine(_mentioning(before, plan.config), mine, _mentioning(after, plan.config))
    _change(plan, mine, update)
    _report(update, mine, diagnostics, is_error=writes and options.conflicts is Conflicts.REFUSE)
    plan.update(FILE_NAME, with_value(project, pykb.__version__, "cliVersion").text.encode())
    _pin(plan, then.version, diagnostics)
    if writes:
        _check_tracked(plan, diagnostics)
    diagnostics.extend(plan.diagnostics)
    built = plan.build()
    if not built.changes and not diagnostics:
        diagnostics.report(UNCHANGED, None, "nothing was changed: the project is up to date")
    return (None if diagnostics.has_errors() else built), diagnostics


def _with_replicas(project: Project, plan: PlanBuilder) -> Project:
    """PROJECT with the replicas of `config/availability`, if the project uses it.

    Earlier releases wrote this folder into all projects, and PROJECT did not say whether it is used.
    """
    used, patch = (_mapping(plan, f"config/{path}") for path in ("default/kustomization.yaml", _AVAILABILITY))
    replicas = (patch.get("spec") or {}).get("replicas")
    if any(given(project)) or "../availability" not in (used.get("components") or ()) or type(replicas) is not int:
        return project
    return with_options(project, {"replicas": replicas}) if replicas > 1 else project


def _mapping(plan: PlanBuilder, path: str) -> dict[str, Any]:
    """The content of a YAML file. Empty if it is none: kustomize reports it."""
    try:
        found = yaml_text.load(plan.text(path) or "")
    except yaml.MarkedYAMLError:
        return {}
    return found if isinstance(found, dict) else {}


def _mentioning(tree: Tree, config: str) -> Tree:
    """A scaffold whose words name the folder where the project has its manifests."""
    if config == CONFIG:
        return tree
    texts = {path: mentioning(file.content.decode("utf-8", "surrogateescape"), config) for path, file in tree.items()}
    return {path: File(texts[path].encode("utf-8", "surrogateescape"), file.executable) for path, file in tree.items()}


def combine(before: Tree, mine: Tree, after: Tree) -> Update:
    """Merge what changed from ``before`` to ``after`` into the files of the user."""
    before, after = ({path: file for path, file in tree.items() if path != GENERATED} for tree in (before, after))
    before, after = _with_line_ends(before, mine), _with_line_ends(after, mine)
    merged = merge(before, mine, after, label=f"pykb-{pykb.__version__}")
    update = Update(dict(merged.files))
    for path, states in merged.conflicts.items():
        if states == {"base", "theirs"}:
            update.files.pop(path, None)
            update.deleted.append(path)
        elif states == {"base", "mine"}:
            update.kept.append(path)
        elif states != {"base"} and not _is_resolved(path, before, mine, after, update):
            update.conflicts.append(path)
    clean = [path for path in sorted(update.files) if path in mine and path not in update.conflicts]
    update.conflicts += [path for path in clean if breaks(path, mine[path].content, update.files[path].content)]
    return update


def _is_resolved(path: str, before: Tree, mine: Tree, after: Tree, update: Update) -> bool:
    """Merge a file line by line: unlike git, also where an edit is beside a change, as in a list of dependencies."""
    if not all(path in tree for tree in (before, mine, after)):
        return False
    merged = merge_lines(mine[path].content, before[path].content, after[path].content)
    if merged.left_out:
        return False
    update.files[path] = File(merged.content, mine[path].executable)
    return True


def _with_line_ends(tree: Tree, mine: Tree) -> Tree:
    edited = {
        path: File(with_line_ends(tree[path].content, mine[path].content), tree[path].executable)
        for path in tree.keys() & mine.keys()
    }
    return {**tree, **edited}


def _origin(options: Updates, project: Project, root: Path, diagnostics: Diagnostics) -> Release | None:
    """The pykb that made the project. ``None``, with a finding, if it is this one or is not known."""
    named = options.origin or project.cli_version
    here = pykb.__version__
    if options.origin and (os.sep in named or named.endswith(".whl") or Path(named).is_dir()):
        return releases.given(Path(named), diagnostics)
    if not version_numbers(named):
        what = f"`--from {named}` is neither a version nor a wheel or a checkout" if options.origin else ""
        message = what or f"`cliVersion` in PROJECT does not say which pykb made the project: `{named}`"
        helps = () if what else ("name its version: `pykb update --from 0.1.0`",)
        span = None if what else project.place("cliVersion")
        diagnostics.report(codes.RELEASE_UNKNOWN, span, message, *helps, notes=NOTHING_WRITTEN)
    elif named == here:
        is_unreleased = (root / WHEEL).is_file()
        helps = (f"if an earlier build of this version made it: `pykb update --from {WHEEL}`",) if is_unreleased else ()
        diagnostics.report(UNCHANGED, None, f"nothing was changed: pykb {here} made the project", *helps)
    elif version_numbers(named) > version_numbers(here):
        message = f"the project was made by pykb {named}, this is the older {here}"
        helps = (f"to get it: `pip install 'pykubebuilder[cli]=={named}'`",)
        diagnostics.report(codes.RELEASE_UNKNOWN, None, message, *helps, notes=NOTHING_WRITTEN)
    else:
        return releases.published(named, root)
    return None


def _files(plan: PlanBuilder, scaffolded: set[str]) -> Iterator[tuple[str, File]]:
    """The files of the user: those that the scaffold has, and those that may be renamed ones."""
    for path in sorted(scaffolded):
        snapshot = plan.read(path)
        if snapshot is not None and snapshot.content is not None:
            yield path, File(snapshot.content, bool((snapshot.mode or 0) & 0o100))
    for path in project_files(plan):
        place = plan.root / plan.place(path)
        is_own = path not in scaffolded and place.name != ".git" and path != FILE_NAME and not place.is_symlink()
        if is_own and place.is_file() and place.stat().st_size < _LARGE:
            yield path, File(read_bytes(place), bool(place.stat().st_mode & 0o100))


def _change(plan: PlanBuilder, mine: Tree, update: Update) -> None:
    for path in sorted({*mine, *update.files}):
        before, after = mine.get(path), update.files.get(path)
        if after is None:
            plan.update(path, None)
        elif before is None:
            plan.create(path, after.content, mode=0o755 if after.executable else 0o644)
        elif before.content != after.content:
            plan.update(path, after.content)


def _report(update: Update, mine: Mapping[str, File], diagnostics: Diagnostics, *, is_error: bool) -> None:
    for number, path in enumerate(update.conflicts, 1):
        content = update.files[path].content if path in update.files else b""
        message = f"your edits of `{path}` and the new scaffold change the same lines"
        line = _conflict(content, mine[path].content) if path in mine else 0
        if not line:
            message = f"`{path}` has edits that do not go together with the new scaffold"
        helps: tuple[str, ...] = ()
        notes = ""
        if is_error and number == len(update.conflicts):
            markers = "writes all files, and git's conflict markers into those with conflicts"
            helps = ("`pykb update --diff` shows it", f"`pykb update --conflicts markers` {markers}")
            notes = NOTHING_WRITTEN
        severity = Severity.ERROR if is_error else Severity.WARNING
        span = Span(path, line or 1, 1) if path in mine else None
        diagnostics.report(codes.UPDATE_CONFLICT, span, message, *helps, notes=notes, severity=severity)
    for path in update.kept:
        message = f"the scaffold no longer has `{path}`; it has edits and stays"
        diagnostics.report(codes.UPDATE_KEPT, Span(path, 1, 1), message)
    for path in update.deleted:
        diagnostics.report(
            codes.UPDATE_DELETED, None, f"the scaffold changed `{path}`, which you deleted; it stays deleted"
        )


def _conflict(merged: bytes, mine: bytes) -> int:
    """The line of the user's file where the first conflict is; 0 without markers."""
    lines, own = merged.splitlines(), mine.splitlines()
    start = next((index for index, line in enumerate(lines) if line.startswith(b"<<<<<<< ")), None)
    if start is None:
        return 0
    wanted = next((line for line in lines[start + 1 :] if line and not line.startswith(b"=======")), b"")
    return own.index(wanted, 0) + 1 if wanted in own else min(start, len(own) - 1) + 1


def _pin(plan: PlanBuilder, version: str, diagnostics: Diagnostics) -> None:
    """Replace the wheel of a pykb that is on no index."""
    old = WHEEL.replace(f"-{pykb.__version__}-", f"-{version}-")
    if old != WHEEL and plan.current(old) is not None:
        plan.update(old, None)
    pin(plan, diagnostics)


def _check_committed(root: Path, diagnostics: Diagnostics) -> None:
    if find_program(git.NAME) is None:
        return  # the merge says so
    if not git.has_repository(root):
        message = "the project is not in a git repository, so the update could not be taken back"
        helps = ("`git init && git add --all && git commit`", "`--diff` shows what would be written")
        diagnostics.report(codes.UPDATE_NO_REPOSITORY, None, message, *helps, notes=NOTHING_WRITTEN)
        return
    changed = git.uncommitted(root)
    if changed:
        message = f"the project has changes that are not committed: {_listed(changed)}"
        helps = ("commit them, or put them aside: `git stash`", "`--diff` shows what would be written")
        diagnostics.report(codes.UPDATE_UNCOMMITTED, None, message, *helps, notes=NOTHING_WRITTEN)


def _check_tracked(plan: PlanBuilder, diagnostics: Diagnostics) -> None:
    """Report files that would change and that git does not have."""
    known = git.tracked(plan.root)
    others = (path for path in sorted(plan.changed) if plan.place(path) not in known)
    lost = [path for path in others if not path.startswith(f"{STATE}/") and plan.before(path) is not None]
    if lost:
        message = f"the update would change files that are not committed: {_listed(lost)}"
        diagnostics.report(
            codes.UPDATE_UNCOMMITTED, None, message, "commit them, or move them away", notes=NOTHING_WRITTEN
        )


def _listed(paths: list[str]) -> str:
    shown = ", ".join(f"`{path}`" for path in paths[:_SHOWN])
    return shown + (", ..." if len(paths) > _SHOWN else "")
