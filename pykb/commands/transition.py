"""The transition of a project: what it is scaffolded as before a change, what after it, and what the user has.

Every command that changes an existing project says what PROJECT and the plugins are before and after. The plugins
scaffold both, into records. What only the first has goes, what only the second has comes. A file that both have and
that has no edits becomes the new one. In an edited file, only what differs between the two is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path

from pykb.commands.init import variables
from pykb.commands.remaining_uses import remaining_uses
from pykb.commands.requests import Variant, run, variants
from pykb.diagnostics import Diagnostics, Severity, Span
from pykb.diagnostics.codes.commands import EDITED_BY_HAND, LEFT_AS_EDITED, STILL_USED
from pykb.diagnostics.codes.project import VERSION_SOURCE
from pykb.plugins.plugin import AnyPlugin, call, has_step
from pykb.plugins.request import InitRequest
from pykb.project import FILE_NAME
from pykb.project.file import Project
from pykb.project.options import given
from pykb.project.resource import Resource
from pykb.python_source.source import CodeStyle
from pykb.scaffold.license import HEADER, header_path
from pykb.scaffold.merge import merge
from pykb.scaffold.plan import OnExists, PlanBuilder, Recorder, Scaffold, breaks
from pykb.scaffold.template import built_in, render_tree
from pykb.scaffold.withdraw import exchange, withdraw
from pykb.scaffold.withdraw import same as is_unedited

GENERATED = "config/rbac/role.yaml"
"""`pykb generate` writes it after the first permission."""
_NOTHING = ("nothing was written",)


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
    plan.update(path, after if rest.left_out else rest.content)
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
        diagnostics.add(LEFT_AS_EDITED.at(Span(path, 1, 1), message, f"it would have:\n{new}"))
        return content
    for line, wanted in merged.left_out:
        message = "the scaffold would change this line, but it was edited and stays"
        helps = (f"it would have:\n{wanted}",) if wanted else ()
        diagnostics.add(LEFT_AS_EDITED.at(_place(path, content, line), message, *helps))
    return merged.content


def say_lost(plan: PlanBuilder, gone: Scaffold, diagnostics: Diagnostics, *, force: bool) -> None:
    """Report edits that the plan loses, and lines that stay and use what goes. With ``force``, only the latter."""
    for edit in () if force else plan.edits:
        what = "this line" if edit.line else "the file"
        message = f"`{edit.path}` was edited by hand, and {what} would be deleted"
        helps = ("`--diff --force` shows what goes; `--force` deletes it and keeps a copy in `.pykb/backup`",)
        span = _place(edit.path, plan.before(edit.path) or b"", edit.line or 1, is_line=bool(edit.line))
        diagnostics.add(EDITED_BY_HAND.at(span, message, *helps, notes=_NOTHING))
    for span, name in remaining_uses(plan, gone):
        if force:
            diagnostics.add(STILL_USED.at(span, f"`{name}` was deleted", severity=Severity.WARNING))
            continue
        helps = ("change this line first; `--force` deletes anyway",)
        message = f"`{name}` would be deleted, but this line uses it"
        diagnostics.add(STILL_USED.at(span, message, *helps, notes=_NOTHING))


def _place(path: str, content: bytes, line: int, *, is_line: bool = True) -> Span:
    """The first word of a line."""
    text = content.decode("utf-8", "replace").splitlines()[line - 1 : line] if is_line else []
    return Span(path, line, len(text[0]) - len(text[0].lstrip()) + 1 if text else 1)
