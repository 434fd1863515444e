"""Marks the storage version of a kind. With two or more versions, one must have the marker."""

from __future__ import annotations

from collections.abc import Sequence

from pykb.plugins.rendering import types_file
from pykb.plugins.request import DeleteRequest
from pykb.project.resource import Resource
from pykb.python_source.source import Source
from pykb.scaffold.plan import PlanBuilder

MARKER = "+kubebuilder:storageversion"


def mark(plan: PlanBuilder, files: Sequence[str], kind: str) -> None:
    """Mark the oldest version of a kind, unless one is marked. Stored objects then stay as they are.

    Args:
        plan: Gets the change.
        files: The modules of its versions, in the order of creation.
        kind: The name of the class.
    """
    texts = {path: text for path in files if (text := plan.text(path)) is not None}
    if any(MARKER in text for text in texts.values()):
        return
    for path, text in texts.items():
        marked = _marked(text, kind)
        if marked is not None:
            plan.update(path, marked.encode())
            return


def move(plan: PlanBuilder, hub: str, others: Sequence[str], kind: str) -> None:
    """Make a version the storage version. Conversion then handles objects stored in another one.

    Args:
        plan: Gets the changes.
        hub: The module of the new storage version.
        others: The modules of the other versions.
        kind: The name of the class.
    """
    clear(plan, others, kind)
    text = plan.text(hub) or ""
    if not is_marked(text, kind):
        marked = _marked(text, kind)
        if marked is not None:
            plan.update(hub, marked.encode())


def clear(plan: PlanBuilder, files: Sequence[str], kind: str) -> None:
    """Remove the marker from versions. A kind with one version does not need it."""
    for path in files:
        text = plan.text(path) or ""
        for line in _marker_lines(text, kind):
            text = Source.parse(text).without_line(line).text
            plan.update(path, text.encode())


def choose_again(request: DeleteRequest, kind: Resource, plan: PlanBuilder) -> None:
    """Let one version be stored, as `create` does: the hub of a conversion, else the oldest version."""
    before, after = request.project.versions(kind), request.after.versions(kind)
    if not after or before == after:
        return
    files = [types_file(each) for each in after]
    was_converted, is_converted = request.project.hub(kind), request.after.hub(kind)
    if len(after) == 1:
        clear(plan, files, kind.kind)
    elif was_converted and not is_converted:
        move(plan, files[0], files[1:], kind.kind)
    elif len(after) < len(before):
        mark(plan, files, kind.kind)


def is_marked(text: str, kind: str) -> bool:
    """Whether a module marks its version of a kind as the storage version."""
    return bool(_marker_lines(text, kind))


def _marker_lines(text: str, kind: str) -> list[int]:
    """The indices of the marker's lines in the comments above a class, the last one first."""
    source = Source.attempt(text)
    definition = source and source.find_class(kind)
    if not source or not definition:
        return []
    return [at for at in source.comments_above(definition) if source.lines[at].lstrip("# \t").rstrip() == MARKER]


def _marked(text: str, kind: str) -> str | None:
    source = Source.attempt(text)
    definition = source and source.find_class(kind)
    return source.with_lines(source.start(definition), f"# {MARKER}").text if source and definition else None
