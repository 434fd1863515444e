"""Plans changes of options that most files depend on: what the scaffold changes is changed in the project's files.

The plugins scaffold the project with the options before and after. A file without edits becomes the new one. In an
edited file, only what differs between the two is changed. The issuer of the webhooks' certificates is replaced in the
same way, but nothing that a user edited is changed: half of it would leave webhooks that the API server does not trust.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pykb.commands.delete import say_edited, say_used
from pykb.commands.init import variables
from pykb.commands.regroup import merged
from pykb.commands.remaining_uses import python_files
from pykb.commands.requests import run, scaffold_of, variants
from pykb.diagnostics import Diagnostics
from pykb.plugins.plugin import EditPlugin, Plugin
from pykb.plugins.rendering import style_of
from pykb.plugins.request import InitRequest, KindRequest
from pykb.project import FILE_NAME, Certificates
from pykb.project.file import Project
from pykb.project.resource import Resource
from pykb.project.writer import with_certificates
from pykb.python_source.source import CodeStyle
from pykb.scaffold.license import HEADER, header_path
from pykb.scaffold.merge import merge
from pykb.scaffold.plan import OnExists, PlanBuilder, Recorder, Scaffold
from pykb.scaffold.template import built_in, render_tree
from pykb.scaffold.withdraw import exchange, same, withdraw

GENERATED = "config/rbac/role.yaml"
"""`pykb generate` writes it after the first permission."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a scaffold: those in PROJECT, the licence header, the name of the licence."""

    project: Project
    header: str
    license: str


def rescaffold(
    plan: PlanBuilder, before: Options, after: Options, chain: Sequence[Plugin], found: Diagnostics, *, force: bool
) -> None:
    """Plan the changes. Warns of lines that would change but were edited."""
    fresh: dict[str, list[tuple[bytes, bytes]]] = {}
    start, end = (_of_init(options, chain, plan.root, found) for options in (before, after))
    for path, old, new in (*_pairs(start, end), *_of_kinds(before, after, chain, plan.root)):
        fresh.setdefault(path, []).append((old, new))
    header = header_path(plan, found)
    for known, pairs in fresh.items():
        path = header if known == HEADER else known
        content = plan.current(path)
        if content is None or path == FILE_NAME:
            continue
        exact = next((new for old, new in pairs if old == content), None)
        if exact is not None:
            plan.update(path, exact)
        elif path != GENERATED:
            plan.update(path, merged(path, content, pairs, found))
    if before.header != after.header:
        _rehead(plan, before.header, after.header, set(fresh))
    _exchange(plan, start.scaffold, end.scaffold, style_of(plan.root, before.project), found, force=force)


def _exchange(
    plan: PlanBuilder, old: Scaffold, new: Scaffold, style: CodeStyle, found: Diagnostics, *, force: bool
) -> None:
    """Remove and add the files of a project that only one of the scaffolds has."""
    gone, come = old.without(new), new.without(old)
    for path, (content,) in come.files.items():
        beside = f"{path.rpartition('/')[0]}/kustomization.yaml"
        if beside in come.files or plan.current(beside) is not None:  # users delete folders that they do not need
            plan.create(path, content, on_exists=OnExists.OVERWRITE if force else OnExists.REFUSE)
    if gone.files:
        withdraw(plan, gone, style)
        say_edited(plan, found, force=force)
        say_used(plan, gone, found, force=force)


def _of_init(options: Options, chain: Sequence[Plugin], root: Path, found: Diagnostics) -> Recorder:
    """What the plugins scaffold for a project without kinds."""
    recorder = Recorder(root)
    about = {"owner": "", "license": options.license, "boilerplate": options.header, "year": ""}
    files = render_tree(built_in(), variables(options.project, about), found)
    for plugin in chain:
        if not isinstance(plugin, EditPlugin):  # others can be run again, such as the one of the Helm chart
            plugin.init(InitRequest(options.project, files), recorder)
    return recorder


def _of_kinds(
    before: Options, after: Options, chain: Sequence[Plugin], root: Path
) -> Iterator[tuple[str, bytes, bytes]]:
    """Each file that was scaffolded for a kind, with its contents before and after."""
    for resource in before.project.resources:
        for variant in variants(resource, before.project, root, before.header):
            old, new = Recorder(root), Recorder(root)
            for request in variant:
                run(request, chain, old)
                run(_with(request, after), chain, new)
            yield from _pairs(old, new)


def _pairs(old: Recorder, new: Recorder) -> Iterator[tuple[str, bytes, bytes]]:
    files = new.scaffold.files
    for path, (content,) in old.scaffold.files.items():
        if path in files:
            yield path, content, files[path][0]


def _with(request: KindRequest, after: Options) -> KindRequest:
    project = replace(request.project, namespaced=after.project.namespaced)
    return replace(request, project=project, boilerplate=after.header)


def _rehead(plan: PlanBuilder, old: str, new: str, known: set[str]) -> None:
    """Replace the header of the user's own files that have it."""
    for path in python_files(plan):
        text = plan.text(path) if path not in known else None
        if text is not None and old and text.startswith(f"{old}\n"):
            rest = text.removeprefix(f"{old}\n")
            plan.update(path, (f"{new}\n{rest}" if new else rest.lstrip("\n")).encode())


def reissued(project: Project, certificates: Certificates) -> Project:
    """PROJECT with another issuer. Without webhooks, the default needs no mention."""
    if project.has_webhooks or certificates is not Project().issuer:
        return with_certificates(project, certificates)
    return with_certificates(project, None)


def reissue(
    plan: PlanBuilder,
    project: Project,
    after: Project,
    chain: Sequence[Plugin],
    header: str,
    found: Diagnostics,
    *,
    force: bool,
) -> None:
    """Plan the manifests of another issuer. Reports edits that would be lost, unless ``force`` is set.

    The plugins scaffold the webhooks with both issuers. What only the old one needs goes, what only the new one needs
    comes.
    """
    old, new = Scaffold(), Scaffold()
    for resource in _in_order(plan, project):
        for each, scaffold in ((project, old), (after, new)):
            scaffold.add(scaffold_of(resource, each, chain, plan.root, header))
    for path in sorted(old.files.keys() & new.files.keys()):
        _replace(plan, path, old.files[path], new.files[path])
    gone, come = old.without(new), new.without(old)
    gone = replace(_in_place(plan, gone, come), shared=set())  # with another issuer, nobody shares them
    withdraw(plan, gone, style_of(plan.root, project))
    for path, contents in come.files.items():
        plan.once(path, lambda contents=contents: contents[0])  # type: ignore[misc]
    for path, member in come.members:
        plan.extend(path, member)
    for path, fragment in come.fragments:
        plan.insert(path, fragment)
    say_edited(plan, found, force=force)
    say_used(plan, gone, found, force=force)


def _in_order(plan: PlanBuilder, project: Project) -> list[Resource]:
    """The kinds with webhooks, in the order in which the manifests name their CRDs."""
    kinds = [each for each in project.resources if each.webhooks]
    paths = ("config/default/kustomization.yaml", "config/certificates/conversion_role.yaml")
    text = "\n".join(plan.text(path) or "" for path in paths)
    return sorted(kinds, key=lambda each: text.find(f"{each.plural}.{each.api_group}"))


def _replace(plan: PlanBuilder, path: str, old: list[bytes], new: list[bytes]) -> None:
    """Replace a file that both issuers have."""
    content = plan.current(path)
    if content is None or old == new:
        return
    exact = next((after for before, after in zip(old, new, strict=True) if same(path, content, before)), None)
    if exact is not None:
        plan.update(path, exact)
        return
    rest = merge(content, old[0], new[0])
    plan.update(path, new[0] if rest.left_out else rest.content)
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
