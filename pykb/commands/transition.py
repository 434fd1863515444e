"""The transition of a project: what it is scaffolded as before a change, what after it, and what the user has.

Every command that changes an existing project says what PROJECT and the plugins are before and after. The plugins
scaffold both, into records. What only the first has goes, what only the second has comes. A file that both have and
that has no edits becomes the new one. In an edited file, only what differs between the two is changed.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import partial
from itertools import permutations
from pathlib import Path

import yaml

from pykb.commands.init import variables
from pykb.diagnostics import NOTHING_WRITTEN, Diagnostics, Severity, Span
from pykb.diagnostics.codes.commands import EDITED_BY_HAND, LEFT_AS_EDITED, STILL_USED
from pykb.diagnostics.codes.project import VERSION_SOURCE
from pykb.meta.names import as_module_name
from pykb.plugins import Style
from pykb.plugins.deploy_image_v1 import DeployImageV1
from pykb.plugins.plugin import AnyPlugin, call, has_step
from pykb.plugins.request import ApiRequest, Controller, InitRequest, KindRequest, WebhookRequest, earlier
from pykb.project import FILE_NAME
from pykb.project.file import Project
from pykb.project.options import given
from pykb.project.resource import Resource, Webhooks
from pykb.project.writer import with_resource
from pykb.python_source import layout
from pykb.python_source.source import CodeStyle, Source
from pykb.python_source.uses import uses
from pykb.reading import yaml_text
from pykb.scaffold.insert import FragmentKind
from pykb.scaffold.license import HEADER, header_path
from pykb.scaffold.plan import OnExists, PlanBuilder, Recorder, Scaffold, breaks, project_files
from pykb.scaffold.template import built_in, render_tree
from pykb.scaffold.withdraw import exchange, on_disk, withdraw
from pykb.scaffold.withdraw import same as is_unedited

# The requests that scaffold an entry of PROJECT: one per API, controller and webhook, as the commands made them.
#
# PROJECT records the options. It does not record in which order the commands came, and what else the project had then.
# So there are several variants of a request where this changes a file.


Variant = tuple[KindRequest, ...]
"""Requests in order, later ones with the result of earlier ones."""


def variants(resource: Resource, project: Project, header: str) -> Iterator[Variant]:
    """The requests of an entry of PROJECT, as the commands may have made them."""
    yield from _api(resource, project, header)
    yield from _webhooks(resource, project, header)


def run(request: KindRequest, chain: Sequence[AnyPlugin], plan: Recorder) -> None:
    """Let the plugins carry out a request."""
    call(
        with_operand(chain, request),
        "create_api" if isinstance(request, ApiRequest) else "create_webhook",
        request,
        plan,
    )


def with_operand(chain: Sequence[AnyPlugin], request: KindRequest) -> Sequence[AnyPlugin]:
    """The plugins of a request. An image is an option of one that PROJECT's layout does not name."""
    added = request.resource.operand is not None and not any(isinstance(each, DeployImageV1) for each in chain)
    return (*chain, DeployImageV1()) if added else chain


def with_controller(request: ApiRequest, name: str, style: Style) -> ApiRequest:
    """The request with a controller.

    Args:
        request: The request without it.
        name: The controller's name; empty for that of the kind.
        style: The style of its code.
    """
    resource = request.resource
    stem = as_module_name(name) if name else resource.singular
    suffix = "controller" if style is Style.RECONCILER else "handlers"
    controller = Controller(
        module=request.module("controllers", f"{stem}_{suffix}"),
        name=f"{request.group_prefix}{name or resource.singular}" if request.project.multigroup else name,
        reconciler=reconciler_name(resource.kind, name),
        style=style,
    )
    return replace(request, controller=controller)


def reconciler_name(kind: str, controller_name: str) -> str:
    """The class name of a controller.

    >>> reconciler_name("Machine", ""), reconciler_name("Machine", "machine-cleaner")
    ('MachineReconciler', 'MachineCleanerReconciler')
    """
    stem = "".join(part[:1].upper() + part[1:] for part in controller_name.split("-")) if controller_name else kind
    return f"{stem}Reconciler"


def style_of_controller(resource: Resource, name: str) -> Style:
    """The style of a controller of an entry of PROJECT."""
    return Style.HANDLERS if name in resource.handlers else Style.RECONCILER


def with_styles(project: Project, root: Path) -> Project:
    """PROJECT with the styles of the controllers. An older one does not record them, so the names of files tell."""
    for resource in project.resources:
        request = _request(resource, project, "")
        unknown = [name for name in resource.controller_names if name not in resource.handlers]
        found = [name for name in unknown if _has_only_handlers(request, name, root)]
        if found:
            project = with_resource(project, replace(resource, handlers=(*resource.handlers, *found)))
    return project


def _has_only_handlers(request: ApiRequest, name: str, root: Path) -> bool:
    made = {style: with_controller(request, name, style).controller for style in Style}
    present = {style for style, each in made.items() if each and (root / each.path).is_file()}
    return present == {Style.HANDLERS}


def _api(resource: Resource, project: Project, header: str) -> Iterator[Variant]:
    request = _request(resource, project, header)
    if resource.api:
        copied = [replace(request, source=other) for other in project.other_versions(resource)]
        recorded = [each for each in copied if each.source and each.source.version == resource.options.from_version]
        yield from ((each,) for each in recorded or (request, *copied))  # an older PROJECT does not say it
    # A controller of an API was made with the API or later.
    alone = replace(request, resource=replace(request.resource, api=False), make_resource=False)
    for name in resource.controller_names:
        names = ["", name] if name == resource.singular else [name]  # the first of several gets its name later
        # The controller of a kind that deploys an image may have been made later, as any other.
        made = [request, alone, *(_plain(each) for each in (request, alone) if resource.operand)]
        style = style_of_controller(resource, name)
        yield from ((with_controller(each, n, style),) for n in names for each in made)


def _request(resource: Resource, project: Project, header: str) -> ApiRequest:
    return ApiRequest(
        project=project,
        resource=replace(resource, controller=False, controllers=(), webhooks=None),
        boilerplate=header,
        force=True,
        known=None,
        source=None,
        make_resource=resource.api,
        controller=None,
    )


def _plain(request: ApiRequest) -> ApiRequest:
    """The request without the image."""
    return replace(request, resource=replace(request.resource, operand=None))


def _webhooks(resource: Resource, project: Project, header: str) -> Iterator[Variant]:
    """The webhooks in any order of creation, and with any names."""
    webhooks = resource.webhooks or Webhooks()
    for then in earlier(project, resource):
        then = replace(then, certificates=project.issuer)  # noqa: PLW2901 - an earlier one may not say it
        for order in permutations(_parts_of(webhooks)):
            yield tuple(
                WebhookRequest(
                    project=then,
                    resource=resource,
                    boilerplate=header,
                    force=not number,
                    made=part,
                    named=part.spoke,
                )
                for number, part in enumerate(order)
            )


def _parts_of(webhooks: Webhooks) -> list[Webhooks]:
    """The webhooks one by one. Converters stay together."""
    found = []
    if webhooks.defaulting:
        found.append(Webhooks(defaulting=True, defaulting_path=webhooks.defaulting_path))
    if webhooks.validation:
        found.append(Webhooks(validation=True, validation_path=webhooks.validation_path))
    if webhooks.conversion:
        found.append(Webhooks(conversion=True, spoke=webhooks.spoke))
    return found


# Merges the change of a scaffold into a file with edits: text in, text out.


@dataclass(frozen=True, slots=True)
class Merged:
    """A file with changes of its scaffold.

    Attributes:
        content: The file.
        left_out: The changes that were left out, since the lines were edited: the number of the line before the merge,
            and what the scaffold has there.
    """

    content: bytes
    left_out: tuple[tuple[int, str], ...] = ()


def merge(content: bytes, before: bytes, after: bytes) -> Merged:
    """Make the change of a scaffold in a file. Lines that were edited stay as they are, and so do line ends."""
    before, after = (with_line_ends(each, content) for each in (before, after))
    lines, old, new = (text.splitlines(keepends=True) for text in (content, before, after))
    places: dict[int, int] = {}
    for block in SequenceMatcher(None, old, lines, autojunk=False).get_matching_blocks():
        places |= {block.a + offset: block.b + offset for offset in range(block.size)}
    places |= {-1: -1, len(old): len(lines)}
    left_out: list[tuple[int, str]] = []
    result = list(lines)
    for start, end, new_start, new_end in reversed([*_changes(old, new)]):
        around = [places.get(at) for at in range(start - 1, end + 1)]
        first = around[0]
        inner = [places.get(at) for at in range(start, end)]
        if _is_there(lines, around, new[new_start:new_end]):
            continue
        if first is not None and around == list(range(first, first + len(around))):
            result[first + 1 : first + 1 + len(inner)] = new[new_start:new_end]
        elif inner and inner[0] is not None and inner == list(range(inner[0], inner[0] + len(inner))):
            result[inner[0] : inner[0] + len(inner)] = new[new_start:new_end]
        else:
            above = max(there for at, there in places.items() if at < start)
            wanted = b"".join(new[new_start:new_end]).decode("utf-8", "replace").strip()
            left_out.append((min(above + 2, max(len(lines), 1)), wanted))
    return Merged(b"".join(result), tuple(sorted(left_out)))


def with_line_ends(scaffolded: bytes, content: bytes) -> bytes:
    """A scaffolded file with the line ends of the user's. If those are mixed, they are edits like others."""
    if b"\r\n" in content and content.count(b"\n") == content.count(b"\r\n"):
        return scaffolded.replace(b"\n", b"\r\n")
    return scaffolded


def _is_there(lines: list[bytes], around: list[int | None], wanted: list[bytes]) -> bool:
    """Whether a file has the new lines already, between the lines around them, of which one may have been edited."""
    above, *inner, below = around
    if above is not None and below is not None:
        return bool(wanted) and lines[above + 1 : below] == wanted
    if not wanted or not inner or any(place is not None for place in inner):
        return False
    after = above is not None and lines[above + 1 : above + 1 + len(wanted)] == wanted
    return after or (below is not None and lines[max(below - len(wanted), 0) : below] == wanted)


def _changes(old: list[bytes], new: list[bytes]) -> Iterator[tuple[int, int, int, int]]:
    """The ranges of lines that differ. Of as many new lines as old ones, each is a change of its own."""
    for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "replace" and end - start == new_end - new_start:
            yield from ((start + at, start + at + 1, new_start + at, new_start + at + 1) for at in range(end - start))
        elif tag != "equal":
            yield start, end, new_start, new_end


# Finds code that stays and uses modules or names that a plan removes, and kustomizations that use files.


_KUSTOMIZATION = "kustomization.yaml"


def remaining_uses(plan: PlanBuilder, gone: Scaffold) -> Iterator[tuple[Span, str]]:
    """The uses, with the places in the files on disk."""
    removed = _removed(plan, gone)
    for path in python_files(plan):
        source = _source(plan.current(path))
        if source is None:
            continue
        found = _by_line(source, path, removed)
        before = (plan.before(path) or b"").decode("utf-8", "replace")
        if source.text != before:
            found = {**dict(_unbound(Source.parse(before), source)), **found}
        for line, name in sorted(found.items()):
            text = source.lines[line - 1]
            yield Span(path, on_disk(plan, path, source.text, line), len(text) - len(text.lstrip()) + 1), name
    yield from _kustomizations(plan, {path for path in gone.files if plan.current(path) is None})


def _removed(plan: PlanBuilder, gone: Scaffold) -> set[str]:
    """The modules that are removed, and the names that packages no longer export."""
    removed = {module_of(path) for path in gone.files if path.endswith(".py") and plan.current(path) is None}
    for path, fragment in gone.fragments:
        if fragment.kind is FragmentKind.IMPORT and path.endswith("/__init__.py"):
            wanted = layout.parse_import(fragment.text)
            removed |= {f"{module_of(path)}.{name.rpartition(' as ')[2]}" for name in wanted.names}
    return removed


def _by_line(source: Source, path: str, removed: set[str]) -> dict[int, str]:
    """The lines that use what is removed, each with the longest name of it."""
    found: dict[int, str] = {}
    for use in uses(source, module_of(path), is_package=path.endswith("__init__.py")):
        name = next((name for name in (use.target, use.module) if name in removed), "")
        if len(name) > len(found.get(use.line, "")):
            found[use.line] = name
    return found


def _kustomizations(plan: PlanBuilder, removed: set[str]) -> Iterator[tuple[Span, str]]:
    """The places in kustomizations that name a removed file, or a folder without its kustomization."""
    folders = {path.removesuffix(f"/{_KUSTOMIZATION}") for path in removed if path.endswith(f"/{_KUSTOMIZATION}")}
    for path in project_files(plan) if removed else ():
        content = plan.current(path) if path.endswith(f"/{_KUSTOMIZATION}") else None
        text = (content or b"").decode("utf-8", "replace")
        for node in _scalars(text):
            name = posixpath.normpath(posixpath.join(posixpath.dirname(path), node.value))
            if name in removed | folders:
                line = on_disk(plan, path, text, node.start_mark.line + 1)
                yield Span(path, line, node.start_mark.column + 1), name


def _scalars(text: str) -> Iterator[yaml.ScalarNode]:
    """The scalars of a document, in order."""
    try:
        nodes: list[object] = [yaml_text.compose(text)]
    except yaml.MarkedYAMLError:  # kustomize reports it
        return
    while nodes:
        node = nodes.pop()
        if isinstance(node, yaml.ScalarNode):
            yield node
        inner = node.value if isinstance(node, yaml.CollectionNode) else node if isinstance(node, tuple) else ()
        nodes += reversed(inner)


def _unbound(before: Source, after: Source) -> Iterator[tuple[int, str]]:
    """The uses of names whose imports were removed."""
    lost = {called for *_, called in before.aliases()} - {called for *_, called in after.aliases()}
    for node in ast.walk(after.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in lost:
            yield node.lineno, node.id


def _source(content: bytes | None) -> Source | None:
    try:
        return None if content is None else Source.parse(content.decode("utf-8"))
    except (SyntaxError, UnicodeDecodeError):  # the generator reports it
        return None


def module_of(path: str) -> str:
    """The dotted name of a file's module."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def python_files(plan: PlanBuilder) -> Iterator[str]:
    """The Python files of a project."""
    return (path for path in project_files(plan) if path.endswith(".py"))


GENERATED = "config/rbac/role.yaml"
"""`pykb generate` writes it after the first permission."""


@dataclass(frozen=True, slots=True)
class State:
    """What decides what a project is scaffolded as: PROJECT, the plugins, the licence header and the licence's name."""

    project: Project
    chain: Sequence[AnyPlugin]
    header: str
    license: str = "none"

    @property
    def settings(self) -> tuple[object, ...]:
        """What the files of all kinds depend on."""
        own = self.project
        return own.multigroup, own.namespaced, [*given(own)], own.issuer, self.header, self.license, [*self.chain]


@dataclass(frozen=True, slots=True)
class Transition:
    """What the plugins scaffold before and after a change.

    Attributes:
        before: Everything before it.
        after: Everything after it.
        pairs: What one request scaffolds before and after it.
    """

    before: Scaffold = field(default_factory=Scaffold)
    after: Scaffold = field(default_factory=Scaffold)
    pairs: list[tuple[Scaffold, Scaffold]] = field(default_factory=list)

    def add(self, old: Recorder, new: Recorder) -> None:
        """Add what a request scaffolds."""
        self.before.add(old.scaffold)
        self.after.add(new.scaffold)
        if all(each.code is not VERSION_SOURCE for each in (*old.diagnostics, *new.diagnostics)):  # it cannot be copied
            self.pairs.append((old.scaffold, new.scaffold))

    def contents(self) -> dict[str, list[tuple[bytes, bytes]]]:
        """The contents of each file before and after. There are several where PROJECT does not tell which it is."""
        found: dict[str, list[tuple[bytes, bytes]]] = {}
        for old, new in self.pairs:
            for path in old.files.keys() & new.files.keys():
                found.setdefault(path, []).append((old.files[path][0], new.files[path][0]))
        return {path: found[path] for path in sorted(found)}


def between(
    before: State,
    after: State,
    root: Path,
    *,
    kinds: Iterable[Resource] | None = None,
    init: Diagnostics | None = None,
    places: Mapping[str, str] | None = None,
) -> Transition:
    """The transition from one state of a project to another.

    Args:
        before: The state before the change.
        after: The state after it.
        root: The project.
        kinds: The entries of PROJECT before the change, in another order.
        init: Takes the findings of `init`. Without it, the change concerns only what was scaffolded for kinds.
        places: Where files are now that the state after the change has in another path.
    """
    result = Transition()
    fresh = partial(Recorder, root, read={})
    if init is not None:
        result.add(_of_init(before, fresh(), init), _of_init(after, fresh(), init))
    then = {each.identity: each for each in after.project.resources}
    for resource in kinds or before.project.resources:
        there = then.pop(resource.identity, None)
        made = [*variants(resource, before.project, before.header)]
        new = [*variants(there, after.project, after.header)] if there else []
        if there == resource and before.settings == after.settings:
            _record((result.before, result.after), new, after, fresh)
        elif there and replace(there, path=resource.path) == resource and len(made) == len(new):
            for one, other in zip(made, new, strict=True):
                result.add(_of(one, before, fresh()), _of(other, after, fresh(places)))
        else:
            _record((result.before,), made, before, fresh)
            _record((result.after,), new, after, fresh)
    for resource in then.values():
        _record((result.after,), variants(resource, after.project, after.header), after, fresh)
    return result


def _record(into: Iterable[Scaffold], made: Iterable[Variant], state: State, fresh: Callable[[], Recorder]) -> None:
    for variant in made:
        recorded = _of(variant, state, fresh()).scaffold
        for scaffold in into:
            scaffold.add(recorded)


def _of(variant: Variant, state: State, recorder: Recorder) -> Recorder:
    for request in variant:
        run(request, state.chain, recorder)
    return recorder


def _of_init(state: State, recorder: Recorder, diagnostics: Diagnostics) -> Recorder:
    """What the plugins scaffold for a project without kinds."""
    about = {"owner": "", "license": state.license, "boilerplate": state.header, "year": ""}
    files = render_tree(built_in(), variables(state.project, about), diagnostics)
    # Those that remove their files themselves are left out. That of the Helm chart would read those of config/.
    recorded = [plugin for plugin in state.chain if not has_step(plugin, "remove")]
    call(recorded, "init", InitRequest(state.project, files), recorder)
    return recorder


def carry_out(
    plan: PlanBuilder,
    change: Transition,
    project: Project,
    diagnostics: Diagnostics,
    *,
    force: bool,
    strict: bool = False,
) -> Scaffold:
    """Plan a transition in which no file moves. Returns what goes.

    Args:
        plan: The plan.
        change: The transition.
        project: PROJECT.
        diagnostics: Takes the findings.
        force: Whether files that the user wrote may be overwritten.
        strict: Whether an edit must not keep a part of the change away: then it is lost, not left.
    """
    header = header_path(plan, diagnostics)
    for known, pairs in change.contents().items():
        path = header if known == HEADER else known
        content = plan.current(path)
        if content is None or path == FILE_NAME or all(old == new for old, new in pairs):
            continue
        unedited = [new for old, new in pairs if old == content or (strict and is_unedited(path, content, old))]
        if unedited:
            plan.update(path, unedited[0])
        elif strict:
            _replace(plan, path, content, *pairs[0])
        elif path != GENERATED:
            plan.update(path, merged(path, content, pairs, diagnostics))
    gone, come = change.before.without(change.after), change.after.without(change.before)
    if strict:
        gone = replace(_in_place(plan, gone, come), shared=set())  # nobody shares what does not fit the rest
    withdraw(plan, gone, CodeStyle(project.package, plan.width))
    _add(plan, come, force=force)
    return gone


def _replace(plan: PlanBuilder, path: str, content: bytes, before: bytes, after: bytes) -> None:
    """Make the change in a file. Edits that are in its way are lost, with those of the whole file."""
    rest = merge(content, before, after)
    plan.update(path, with_line_ends(after, content) if rest.left_out else rest.content)
    for line, _ in rest.left_out:
        plan.lose(path, line)


def _in_place(plan: PlanBuilder, gone: Scaffold, come: Scaffold) -> Scaffold:
    """Put members in the places of others of the same list. Returns what is still to go."""
    rest = dict(gone.members)
    for path, member in gone.members:
        places = [each for there, each in come.members if there == path and each.key == member.key]
        if member.key != "replacements" and places:
            exchange(plan, path, member, places[0])
            del rest[path, member]
    return replace(gone, members=rest)


def _add(plan: PlanBuilder, come: Scaffold, *, force: bool) -> None:
    for path, contents in come.files.items():
        beside = f"{path.rpartition('/')[0]}/kustomization.yaml"
        if path in come.shared:
            plan.once(path, lambda contents=contents: contents[0])  # type: ignore[misc]
        elif beside in come.files or plan.current(beside) is not None:  # users delete folders that they do not need
            plan.create(path, contents[0], on_exists=OnExists.OVERWRITE if force else OnExists.REFUSE)
    for path, member in come.members:
        plan.extend(path, member)
    for path, fragment in come.fragments:
        plan.insert(path, fragment)


def merged(path: str, content: bytes, fresh: Sequence[tuple[bytes, bytes]], diagnostics: Diagnostics) -> bytes:
    """The file with the changes of the scaffold in lines that the user did not change."""
    before, after = max(fresh, key=lambda pair: SequenceMatcher(None, pair[0], content).quick_ratio())
    merged = merge(content, before, after)
    if breaks(path, content, merged.content):
        message = "the scaffold would change this file, but that does not go together with its edits"
        known = before.splitlines()
        new = b"\n".join(line for line in after.splitlines() if line not in known).decode("utf-8", "replace")
        diagnostics.report(LEFT_AS_EDITED, Span(path, 1, 1), message, f"it would have:\n{new}")
        return content
    for line, wanted in merged.left_out:
        message = "the scaffold would change this line, but it was edited and stays"
        helps = (f"it would have:\n{wanted}",) if wanted else ()
        diagnostics.report(LEFT_AS_EDITED, _place(path, content, line), message, *helps)
    return merged.content


def say_lost(plan: PlanBuilder, gone: Scaffold, diagnostics: Diagnostics, *, force: bool) -> None:
    """Report edits that the plan loses, and lines that stay and use what goes. With ``force``, only the latter."""
    for edit in () if force else plan.edits:
        what = "this line" if edit.line else "the file"
        message = f"`{edit.path}` was edited by hand, and {what} would be deleted"
        helps = ("`--diff --force` shows what goes; `--force` deletes it and keeps a copy in `.pykb/backup`",)
        span = _place(edit.path, plan.before(edit.path) or b"", edit.line or 1, is_line=bool(edit.line))
        diagnostics.report(EDITED_BY_HAND, span, message, *helps, notes=NOTHING_WRITTEN)
    for span, name in remaining_uses(plan, gone):
        if force:
            diagnostics.report(STILL_USED, span, f"`{name}` was deleted", severity=Severity.WARNING)
            continue
        helps = ("change this line first; `--force` deletes anyway",)
        message = f"`{name}` would be deleted, but this line uses it"
        diagnostics.report(STILL_USED, span, message, *helps, notes=NOTHING_WRITTEN)


def _place(path: str, content: bytes, line: int, *, is_line: bool = True) -> Span:
    """The first word of a line."""
    text = content.decode("utf-8", "replace").splitlines()[line - 1 : line] if is_line else []
    return Span(path, line, len(text[0]) - len(text[0].lstrip()) + 1 if text else 1)
