"""Plans changes of options that most files depend on: what the scaffold changes is changed in the project's files.

The plugins scaffold the project with the options before and after. A file without edits becomes the new one. In an
edited file, only what differs between the two is changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pykb.commands.init import variables
from pykb.commands.regroup import merged
from pykb.commands.remaining_uses import python_files
from pykb.commands.requests import run, variants
from pykb.diagnostics import Diagnostics
from pykb.plugins.plugin import EditPlugin, Plugin
from pykb.plugins.request import InitRequest, KindRequest
from pykb.project import FILE_NAME
from pykb.project.file import Project
from pykb.scaffold import tree
from pykb.scaffold.plan import PlanBuilder
from pykb.scaffold.record import Recorder

GENERATED = "config/rbac/role.yaml"
"""`pykb generate` writes it after the first permission."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a scaffold: those in PROJECT, the licence header, the name of the licence."""

    project: Project
    header: str
    license: str


def rescaffold(plan: PlanBuilder, before: Options, after: Options, chain: Sequence[Plugin], found: Diagnostics) -> None:
    """Plan the changes. Warns of lines that would change but were edited."""
    fresh: dict[str, list[tuple[bytes, bytes]]] = {}
    for path, old, new in _contents(before, after, chain, plan.root, found):
        fresh.setdefault(path, []).append((old, new))
    for path, pairs in fresh.items():
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


def _contents(
    before: Options, after: Options, chain: Sequence[Plugin], root: Path, found: Diagnostics
) -> Iterator[tuple[str, bytes, bytes]]:
    """Each scaffolded file with its contents before and after."""
    old, new = Recorder(root), Recorder(root)
    for options, recorder in ((before, old), (after, new)):
        about = {"owner": "", "license": options.license, "boilerplate": options.header, "year": ""}
        files = tree.render(tree.built_in(), variables(options.project, about), found)
        for plugin in chain:
            if not isinstance(plugin, EditPlugin):  # others can be run again, such as the one of the Helm chart
                plugin.init(InitRequest(options.project, files), recorder)
    yield from _pairs(old, new)
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
    for path in python_files(plan.root):
        text = plan.text(path) if path not in known else None
        if text is not None and old and text.startswith(f"{old}\n"):
            rest = text.removeprefix(f"{old}\n")
            plan.update(path, (f"{new}\n{rest}" if new else rest.lstrip("\n")).encode())
