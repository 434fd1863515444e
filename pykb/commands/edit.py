"""Plans `edit`: changes the options of a project, with all files that depend on them, and its plugins.

Most options change a few lines of many files. `--multigroup` also moves files.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from pykb._regular_file import is_bytecode, read_text
from pykb.commands.init import check_ranges, wanted_numbers
from pykb.commands.options import Edits
from pykb.commands.transition import State, between, carry_out, merged, module_of, python_files, say_lost, with_styles
from pykb.diagnostics import NOTHING_WRITTEN, Diagnostics, Severity, Span
from pykb.diagnostics.codes.cli import FLAG_REQUIRED
from pykb.diagnostics.codes.commands import CLUSTER_WIDE, GROUPS_FIXED, MOVED_MENTION, NOT_FOLLOWED, SHARDS_UNSET
from pykb.diagnostics.codes.project import NOTHING_TO_DO, PLUGIN_KEPT
from pykb.diagnostics.codes.scaffold import FILE_MISSING
from pykb.files.plan import Plan
from pykb.plugins import PluginKey
from pykb.plugins.plugin import call
from pykb.plugins.registry import MAKERS, in_process, keys, resolve
from pykb.plugins.request import CommandLine, EditRequest
from pykb.project import FILE_NAME, Certificates
from pykb.project.file import Project
from pykb.project.options import ProjectOptions, options_of
from pykb.project.resource import Resource
from pykb.project.writer import with_certificates, with_layout, with_options, with_resource, with_value
from pykb.python_source.source import CodeStyle, Source
from pykb.python_source.uses import Module, Renames, Rewritten, rewrite
from pykb.reading import yaml_text
from pykb.scaffold import license, naming  # noqa: A004 - our module of that name
from pykb.scaffold.insert import FragmentKind, with_renamed_items
from pykb.scaffold.license import boilerplate
from pykb.scaffold.plan import PlanBuilder, Scaffold, project_files

# Plans `edit --multigroup`: gives each API group its own folders, and moves what the project has into them.
#
# `--no-multigroup` is the same in the other direction, for a project with one group.
#
# The paths before and after come from the plugins: they scaffold each entry of PROJECT in both layouts. A file without
# edits becomes the file of the new layout. In an edited file, only what differs between the two is changed.


_LARGE = 1_000_000
"""Larger files are not searched for mentions, in bytes."""


@dataclass(slots=True)
class Layout:
    """What the plugins scaffold in both layouts.

    Attributes:
        moves: The paths before and after. One that is shared by several groups has several.
        contents: The contents before and after, by both paths, as far as PROJECT tells.
        packages: The packages of groups, which only one of the layouts has: paths with contents.
        items: Members of lists before and after, by file.
    """

    moves: dict[str, list[str]] = field(default_factory=dict)
    contents: dict[tuple[str, str], list[tuple[bytes, bytes]]] = field(default_factory=dict)
    packages: dict[str, bytes] = field(default_factory=dict)
    items: dict[str, dict[str, str]] = field(default_factory=dict)


def regroup(plan: PlanBuilder, before: State, after: State, diagnostics: Diagnostics) -> None:
    """Plan the moves. Reports code that cannot be followed."""
    layout, is_grouped = _layout(before, after, plan.root), after.project.multigroup
    packages = {} if is_grouped else layout.packages
    going = {path: each for path, each in packages.items() if plan.before(path) is not None}
    renames = Renames({**{module_of(path): _above(path) for path in going}, **dict(_modules(layout, plan.root))})
    style = CodeStyle(before.project.package, plan.width)
    targets = _targets(plan, layout, renames, going, diagnostics)
    for path, new in targets.items():
        content = _rewritten(plan, path, new[0], layout, renames, style, diagnostics)
        if content is None:
            continue
        if new[0] != path:
            plan.move(path, new[0], content)
        else:
            plan.update(path, content)
        for other in new[1:]:
            plan.update(other, layout.contents[path, other][0][1])
    for path, content in layout.packages.items() if is_grouped else ():
        plan.once(path, lambda content=content: content)  # type: ignore[misc]
    for path, content in going.items():
        _remove_package(plan, path, content, diagnostics)
    for path, items in layout.items.items():
        plan.edit(path, lambda text, items=items: with_renamed_items(text, items))  # type: ignore[misc]
    _mentions(plan, set(targets), renames, diagnostics)


def _above(path: str) -> str:
    """The package around that of an ``__init__.py``."""
    return module_of(path).rpartition(".")[0]


def _remove_package(plan: PlanBuilder, path: str, scaffolded: bytes, diagnostics: Diagnostics) -> None:
    if plan.before(path) == scaffolded:
        plan.update(path, None)
        return
    message = f"`{path}` has edits, and a project without folders of groups has no such file"
    helps = ("move them to another module first",)
    diagnostics.report(NOT_FOLLOWED, Span(path, 1, 1), message, *helps, notes=NOTHING_WRITTEN)


def moved(resource: Resource, project: Project) -> Resource:
    """An entry of PROJECT whose module is where the layout of the project has it."""
    own, group = f"{project.package}.api.", f"{resource.group_package}."
    if not resource.api or not resource.path.startswith(own):
        return resource
    module = resource.path.removeprefix(own).removeprefix(group)
    return replace(resource, path=f"{own}{group if project.multigroup else ''}{module}")


def _layout(before: State, after: State, root: Path) -> Layout:
    """Scaffold every entry in both layouts, twice: files are read from where they are once this is known."""
    layout = Layout()
    groups = {each.group_package for each in before.project.resources}
    for _ in range(2):
        places = {new[0]: path for path, new in layout.moves.items()}
        layout = Layout()
        for old, new in between(before, after, root, places=places).pairs:
            _add(layout, old, new, groups, multigroup=after.project.multigroup)
    return layout


def _add(layout: Layout, old: Scaffold, new: Scaffold, groups: Collection[str], *, multigroup: bool) -> None:
    """Add what a request scaffolds in both layouts, in the same order, but for the packages of groups."""
    grouped, moving = new if multigroup else old, []
    for side in (old, new):
        packages = [path for path in side.files if _is_package_of(path, groups)] if side is grouped else []
        layout.packages |= {path: side.files[path][0] for path in packages}
        moving.append([path for path in side.files if path not in packages])
    for path, target in zip(*moving, strict=True):
        known = layout.moves.setdefault(path, [])
        known += [target] if target not in known else []
        layout.contents.setdefault((path, target), []).append((old.files[path][0], new.files[target][0]))
    for (path, item), (_, renamed) in zip(old.fragments, new.fragments, strict=True):
        if item.kind is FragmentKind.LIST_ITEM and item.text != renamed.text:
            layout.items.setdefault(path, {})[item.text] = renamed.text


def _is_package_of(path: str, groups: Collection[str]) -> bool:
    pure = PurePosixPath(path)
    return pure.name == "__init__.py" and pure.parent.name in groups


def _modules(layout: Layout, root: Path) -> Iterator[tuple[str, str]]:
    """The modules that move. A package that moves as a whole stands for its modules."""
    packages = {}
    for path, new in layout.moves.items():
        if PurePosixPath(path).name == "__init__.py" and path != new[0] and len(new) == 1:
            packages[module_of(path)] = module_of(new[0])
    yield from packages.items()
    for path, new in layout.moves.items():
        module, target = module_of(path), module_of(new[0])
        is_inside = any(module.startswith(f"{package}.") for package in packages)
        is_package = PurePosixPath(path).name == "__init__.py"
        if module == target or is_inside or is_package or path.startswith("tests/") or not path.endswith(".py"):
            continue
        if (root / path).is_file():
            yield module, target


def _targets(
    plan: PlanBuilder, layout: Layout, renames: Renames, going: Container[str], diagnostics: Diagnostics
) -> dict[str, list[str]]:
    """Every file to move or to rewrite, with its new paths."""
    targets = {path: new for path, new in layout.moves.items() if plan.current(path) is not None}
    for path in python_files(plan):
        if path not in targets:
            module = module_of(path)
            suffix = "/__init__.py" if path.endswith("/__init__.py") else ".py"
            new = renames.new(module)
            targets[path] = [path if new == module else new.replace(".", "/") + suffix]
    for package, new in renames.modules.items():
        old_folder, new_folder = package.replace(".", "/"), new.replace(".", "/")
        for path in map(plan.place, _files(plan.root, old_folder)):
            targets.setdefault(path, [path.replace(old_folder, new_folder, 1)])
    targets = {path: new for path, new in targets.items() if path not in going}
    sources: dict[str, str] = {}
    for path, (target, *_) in targets.items():
        there = target if plan.current(target) is not None else sources.setdefault(target, path)
        if path in (target, there):
            continue
        if there != target and _is_scaffolded(plan, path, target, layout):  # groups share the packages of versions
            plan.update(path, None)
            continue
        message = f"`{path}` would move to `{target}`, which exists"
        if there != target:
            message = f"`{there}` and `{path}` would both move to `{target}`"
        diagnostics.report(NOT_FOLLOWED, Span(there, 1, 1), message, "move it away", notes=NOTHING_WRITTEN)
    return {path: new for path, new in targets.items() if plan.current(path) is not None}


def _is_scaffolded(plan: PlanBuilder, path: str, target: str, layout: Layout) -> bool:
    return any(before == plan.current(path) for before, _ in layout.contents.get((path, target), ()))


def _files(root: Path, folder: str) -> Iterator[str]:
    """The files below a folder of the project, but no bytecode."""
    for each in sorted((root / folder).rglob("*")) if (root / folder).is_dir() else ():
        if each.is_file() and not is_bytecode(each):
            yield each.relative_to(root).as_posix()


def _rewritten(
    plan: PlanBuilder,
    path: str,
    new: str,
    layout: Layout,
    renames: Renames,
    style: CodeStyle,
    diagnostics: Diagnostics,
) -> bytes | None:
    """The content of a file in the new layout; ``None`` when it stays as it is."""
    content = plan.current(path) or b""
    fresh = layout.contents.get((path, new), [])
    exact = next((after for before, after in fresh if before == content), None)
    if exact is not None:
        return exact
    if not path.endswith(".py"):
        return merged(path, content, fresh, diagnostics) if fresh else content
    text = _followed(path, new, content, renames, style, diagnostics)
    before = [(_quiet(a, path, new, renames, style), b) for a, b in fresh]
    return merged(path, text, before, diagnostics) if before else text


def _followed(
    path: str,
    new: str,
    content: bytes,
    renames: Renames,
    style: CodeStyle,
    diagnostics: Diagnostics,
) -> bytes:
    """The file with new imports. Reports what cannot be followed."""
    try:
        source = Source.parse(content.decode("utf-8"))
    except (SyntaxError, UnicodeDecodeError) as error:
        if renames.mentioned(content.decode("utf-8", "replace")):
            span, why = Span(path, 1, 1), "is not encoded in UTF-8"
            if isinstance(error, SyntaxError):
                span, why = Span(path, error.lineno or 1, error.offset or 1), f"does not parse ({error.msg})"
            message = f"`{path}` {why}, and may use modules that would move"
            diagnostics.report(NOT_FOLLOWED, span, message, "correct the file first", notes=NOTHING_WRITTEN)
        return content
    rewritten = _rewrite(source, path, new, renames, style)
    for line, why in sorted(set(rewritten.problems)):
        text = source.lines[line - 1]
        span = Span(path, line, len(text) - len(text.lstrip()) + 1)
        helps = ("pykb does not rewrite it: change the line first",)
        diagnostics.report(NOT_FOLLOWED, span, why, *helps, notes=NOTHING_WRITTEN)
    return rewritten.text.encode()


def _quiet(content: bytes, path: str, new: str, renames: Renames, style: CodeStyle) -> bytes:
    """A scaffolded file with new imports."""
    return _rewrite(Source.parse(content.decode()), path, new, renames, style).text.encode()


def _rewrite(source: Source, path: str, new: str, renames: Renames, style: CodeStyle) -> Rewritten:
    return rewrite(source, Module(module_of(path), module_of(new), path.endswith("__init__.py")), renames, style)


def _mentions(plan: PlanBuilder, handled: set[str], renames: Renames, diagnostics: Diagnostics) -> None:
    """Warn of other files that name what moves."""
    folders = {name.replace(".", "/"): new.replace(".", "/") for name, new in renames.modules.items()}
    for path in project_files(plan):
        if path in handled or path.endswith(".py") or path == FILE_NAME:
            continue
        for number, line in enumerate(_text(plan.root / plan.place(path)).splitlines(), 1):
            name = next((name for name in folders if name in line), "")
            module = renames.mentioned(line)
            if name or module:
                old, new = (name, folders[name]) if name else (module, renames.new(module))
                diagnostics.report(MOVED_MENTION, Span(path, number, 1), f"`{old}` is now `{new}`")


def _text(path: Path) -> str:
    """The text of a file; empty when it is large or cannot be read."""
    try:
        return read_text(path, most=_LARGE)
    except (OSError, UnicodeDecodeError):
        return ""


_RBAC = re.compile(r"\s*#\s*\+kubebuilder:rbac:(?!.*\bnamespace=)")
_APACHE = "Apache License, Version 2.0"


def plan_edit(options: Edits, project: Project, root: Path, *, year: str = "") -> tuple[Plan | None, Diagnostics]:
    """Plan the changes. Without errors among the findings the plan may be applied.

    Args:
        options: The options of the command.
        project: PROJECT.
        root: The folder of the project.
        year: The year that replaces ``YEAR`` in a licence file.
    """
    diagnostics = Diagnostics()
    plan = PlanBuilder(root)
    chain = in_process(project.layout, diagnostics)
    header = boilerplate(plan, diagnostics)
    project = with_styles(project, root)
    before = State(project, chain, header, "apache2" if _APACHE in header else "none")
    _check(options, project, diagnostics)
    after = None if diagnostics.has_errors() else _wanted(options, before, year, diagnostics)
    if after is None or diagnostics.has_errors():
        return None, diagnostics
    if after != before:
        _rescaffold(plan, before, after, diagnostics, force=options.force)
    if options.shards is not None:
        _check_shards(plan, after.project, diagnostics)
    changed = after.project
    if options.multigroup not in (None, project.multigroup):
        changed = _regrouped(after.project, multigroup=options.multigroup)
        regroup(plan, after, replace(after, project=changed), diagnostics)
    if options.certificates not in (None, project.issuer):
        present, changed = changed, _reissued(changed, options.certificates)
        _reissue(plan, replace(after, project=present), changed, diagnostics, force=options.force)
    if options.removed_plugins:
        now = replace(after, project=changed)
        changed = _remove_plugins(options.removed_plugins, now, plan, diagnostics, force=options.force)
    if options.plugins:
        changed = _add_plugins(options.plugins, options.args, changed, plan, diagnostics, force=options.force)
    if changed is not project:
        plan.update(FILE_NAME, changed.text.encode())
    if changed.namespaced and not project.namespaced:
        _say_cluster_wide(plan, project, diagnostics)
    diagnostics.extend(plan.diagnostics)
    return (None if diagnostics.has_errors() else plan.build()), diagnostics


def _check(options: Edits, project: Project, diagnostics: Diagnostics) -> None:
    if not (options.is_about_files or options.plugins or options.removed_plugins):
        numbers = "".join(f"`{each.flag}`, " for each in options_of(ProjectOptions).values())
        flags = f"`--multigroup`, `--namespaced`, {numbers}`--certificates`"
        more = "`--license`, `--license-file` or `--owner`"
        helps = (flags, more, "`--plugins helm` or `--remove-plugins helm`")
        diagnostics.report(NOTHING_TO_DO, None, "no change was given", *helps)
    kinds = [kind for _, kind in {(each.group, each.kind) for each in project.resources}]
    groups = sorted({each.group for each in project.resources if each.api or kinds.count(each.kind) > 1})
    if options.multigroup is False and project.multigroup and len(groups) > 1:
        message = f"the project has {len(groups)} API groups, which need folders of their own: {', '.join(groups)}"
        diagnostics.report(GROUPS_FIXED, project.place("multigroup"), message, notes=NOTHING_WRITTEN)
    naming.check_owner(options.owner, diagnostics)


def _wanted(options: Edits, before: State, year: str, diagnostics: Diagnostics) -> State:
    """The options after the command."""
    project = before.project
    if options.namespaced is not None and options.namespaced != project.namespaced:
        project = with_value(project, options.namespaced, "namespaced")
    numbers = wanted_numbers(options, project, diagnostics)
    if numbers:
        project = with_options(project, numbers)
    if not (options.license or options.license_file or options.owner):
        return replace(before, project=project)
    if not options.license and not options.license_file and before.license == "none":
        message = "`--owner` is written into a licence header, but the project has none that pykb knows"
        diagnostics.report(FLAG_REQUIRED, None, message, "`--license apache2`, or `--license-file FILE`")
    owner = options.owner or license.owner(before.header)
    name = options.license or before.license
    header = license.header(name, owner=owner, file=options.license_file, year=year, found=diagnostics)
    return replace(before, project=project, header=header.strip(), license="" if options.license_file else name)


def _rescaffold(plan: PlanBuilder, before: State, after: State, diagnostics: Diagnostics, *, force: bool) -> None:
    """Plan the changes. Warns of lines that would change but were edited."""
    change = between(before, after, plan.root, init=diagnostics)
    gone = carry_out(plan, change, before.project, diagnostics, force=force)
    if before.header != after.header:
        _rehead(plan, before.header, after.header, set(change.contents()))
    if gone.files:
        say_lost(plan, gone, diagnostics, force=force)


def _rehead(plan: PlanBuilder, old: str, new: str, known: set[str]) -> None:
    """Replace the header of the user's own files that have it."""
    for path in python_files(plan) if old else ():
        text = (plan.text(path) if path not in known else None) or ""
        for end in ("\n", "\r\n"):
            here, there = (f"{header}\n".replace("\n", end) for header in (old, new))
            if text.startswith(here):
                rest = text.removeprefix(here)
                plan.update(path, (there + rest if new else rest.lstrip(end)).encode())


def _reissued(project: Project, certificates: Certificates) -> Project:
    """PROJECT with another issuer. Without webhooks, the default needs no mention."""
    if project.has_webhooks or certificates is not Project().issuer:
        return with_certificates(project, certificates)
    return with_certificates(project, None)


def _reissue(plan: PlanBuilder, before: State, after: Project, diagnostics: Diagnostics, *, force: bool) -> None:
    """Plan the manifests of another issuer. Reports edits that would be lost, unless ``force`` is set.

    Nothing that a user edited is left as it is: half of a change would leave webhooks that the API server does not
    trust.
    """
    change = between(before, replace(before, project=after), plan.root, kinds=_in_order(plan, before.project))
    gone = carry_out(plan, change, before.project, diagnostics, force=force, strict=True)
    say_lost(plan, gone, diagnostics, force=force)


def _in_order(plan: PlanBuilder, project: Project) -> list[Resource]:
    """The entries in the order in which the manifests of the certificates name their CRDs."""
    paths = ("config/default/kustomization.yaml", "config/certificates/conversion_role.yaml")
    text = "\n".join(plan.text(path) or "" for path in paths)
    return sorted(project.resources, key=lambda each: text.find(f"{each.plural}.{each.api_group}"))


def _regrouped(project: Project, *, multigroup: bool) -> Project:
    after = with_value(project, multigroup, "multigroup")
    for resource in project.resources:
        after = with_resource(after, moved(resource, after))
    return after


def _say_cluster_wide(plan: PlanBuilder, project: Project, diagnostics: Diagnostics) -> None:
    """Warn of permissions in the whole cluster, which the scaffold does not have any more."""
    for path in python_files(plan):
        text = (plan.current(path) or b"").decode("utf-8", "replace")
        for number, line in enumerate(text.splitlines(), 1):
            if _RBAC.match(line):
                message = "this marker still gives a permission in the whole cluster"
                helps = (f"for the manager's namespace only: `,namespace={project.project_name}-system` at its end",)
                diagnostics.report(CLUSTER_WIDE, Span(path, number, line.index("#") + 1), message, *helps)


def _add_plugins(
    named: Sequence[str],
    args: tuple[str, ...],
    project: Project,
    plan: PlanBuilder,
    diagnostics: Diagnostics,
    *,
    force: bool,
) -> Project:
    """Let plugins change the project. Returns PROJECT with those that were not in its layout."""
    chain = resolve(named, (), plan.root, diagnostics)
    if diagnostics.has_errors():
        return project
    request = EditRequest(project, force, CommandLine(args, keys(chain)))
    call(chain, "edit", request, plan)
    added = [str(plugin.key) for plugin in chain if str(plugin.key) not in project.layout]
    return with_layout(project, (*project.layout, *added)) if added else project


def _remove_plugins(
    named: Sequence[str], before: State, plan: PlanBuilder, diagnostics: Diagnostics, *, force: bool
) -> Project:
    """Plan to remove plugins. Returns PROJECT without them. Reports edits that would be lost, unless forced."""
    going = _going(named, before.project, diagnostics)
    if diagnostics.has_errors():
        return before.project
    project, layout = before.project, before.project.layout
    left = [key for key in layout if key not in going]
    for key in going:
        plugins = in_process([key], diagnostics)
        if not plugins and not diagnostics.has_errors():
            message = f"the files of the external plugin `{key}` stay: PROJECT does not record what it wrote"
            diagnostics.report(PLUGIN_KEPT, None, message, severity=Severity.NOTE)
        call(plugins, "remove", EditRequest(project, force), plan)
    now, then = (replace(before, chain=in_process(keys, diagnostics)) for keys in (layout, left))
    gone = carry_out(plan, between(now, then, plan.root, init=diagnostics), project, diagnostics, force=force)
    say_lost(plan, gone, diagnostics, force=force)
    return with_layout(project, left)


def _going(named: Sequence[str], project: Project, diagnostics: Diagnostics) -> list[str]:
    """The keys of the layout that go."""
    going: list[str] = []
    for word in named:
        keys = [key for key in project.layout if PluginKey.parse(key).answers_to(word)]
        if not keys:
            layout = ", ".join(f"`{key}`" for key in project.layout)
            message = f"the project does not have the plugin `{word}`"
            diagnostics.report(PLUGIN_KEPT, project.place("layout"), message, f"it has {layout}")
        elif any(str(each.key) in keys for each in MAKERS):
            message = f"the plugin `{word}` makes the project, and cannot be removed from it"
            diagnostics.report(PLUGIN_KEPT, project.place("layout"), message, notes=NOTHING_WRITTEN)
        going += [key for key in keys if key not in going]
    return going


_FILE = "config/manager/manager.yaml"
_MANAGER = "manager"


def _check_shards(plan: PlanBuilder, project: Project, diagnostics: Diagnostics) -> None:
    """Report if the manager's Deployment, as planned, does not have the shards of PROJECT.

    The scaffold sets its flag. If a user edited that place, the files would no longer agree on whether the replicas
    share the objects. So the command stops there.
    """
    text, before = plan.text(_FILE), (plan.before(_FILE) or b"").decode("utf-8", "replace")
    if text is None:
        message = f"`{_FILE}` does not exist, so pykb cannot set the flags of the manager"
        diagnostics.report(
            FILE_MISSING, None, message, "bring it back, then run the command again", notes=NOTHING_WRITTEN
        )
        return
    wanted = f"--shards={project.shards}" if project.shards else ""
    args, replicas = _setting(text, "args")[0], _setting(text, "replicas")[0]
    flags = [each for each in args if str(each).startswith("--shards")] if isinstance(args, list) else None
    if flags != ([wanted] if wanted else []):
        message = f"pykb cannot {'set' if wanted else 'remove'} `--shards` in the arguments of the manager"
        old = (flags or ["--leader-elect"])[0]
        what = f"put `{wanted or '--leader-elect'}` in place of `{old}`, then run the command again"
        diagnostics.report(SHARDS_UNSET, _setting(before, "args")[1], message, what, notes=NOTHING_WRITTEN)
    if isinstance(replicas, int):
        check_ranges(project, replicas, _setting(before, "replicas")[1], diagnostics)


def _setting(text: str, key: str) -> tuple[Any, Span]:
    """The arguments of the manager, or the number of its replicas, and the place of the nearest value in the file."""
    with suppress(yaml.MarkedYAMLError):  # the check of the plan reports it
        for document in yaml_text.documents(text):
            with suppress(KeyError, TypeError, ValueError):
                containers = document.content["spec"]["template"]["spec"]["containers"]
                number = [each["name"] for each in containers].index(_MANAGER)
                is_argument = key == "args"
                path = ("spec", "template", "spec", "containers", number, key) if is_argument else ("spec", key)
                mark = [node for node, _ in yaml_text.follow(document.node, path)][-1].start_mark
                value = (containers[number] if is_argument else document.content["spec"]).get(key)
                return value, Span(_FILE, mark.line + 1, mark.column + 1)
    return None, Span(_FILE, 1, 1)
