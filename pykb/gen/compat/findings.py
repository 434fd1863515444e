"""Reports incompatible changes at the field, class or marker that the user wrote."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pykb.diagnostics import Diagnostic, Severity, Span
from pykb.diagnostics.codes.generate import BREAKING_CHANGE
from pykb.gen.compat._change import ITEM, Incompatibility
from pykb.gen.compat._definition import compare_definitions
from pykb.gen.emit.crd import crd_object
from pykb.gen.ir import Crd, CrdVersion, SchemaNode

Documents = Mapping[str, Mapping[str, object]]
"""CustomResourceDefinitions as plain data, by name."""


def find_breaking_changes(old: Documents, new: Mapping[str, Crd], *, severity: Severity) -> Iterator[Diagnostic]:
    """Find what the new definitions break, in the order found.

    Args:
        old: The definitions to compare with.
        new: The definitions of the project. A name that is missing here is not generated any more.
        severity: The severity of changes that matter to objects or requests. Changes of the display are notes.
    """
    for name, document in sorted(old.items()):
        crd = new.get(name)
        yield from (_finding(change, name, crd, severity) for change in _changes(document, crd))


def _changes(document: Mapping[str, object], crd: Crd | None) -> list[Incompatibility]:
    try:
        return list(compare_definitions(document, None if crd is None else crd_object(crd)))
    except (TypeError, AttributeError, LookupError, ValueError, ArithmeticError):
        return []  # edited by hand; no API server can have accepted it


def _finding(change: Incompatibility, name: str, crd: Crd | None, severity: Severity) -> Diagnostic:
    kind = f"`{name}`" if crd is None else f"`{crd.names.kind}`"
    owner = f"{kind} {change.version}".rstrip()
    subject = f"`{change.place}` of {owner}" if change.path else owner
    return BREAKING_CHANGE.at(
        None if crd is None else _place(change, crd),
        f"{subject} {change.what}",
        notes=(change.effect.consequence,),
        help=change.effect.ways,
        severity=severity if change.effect.matters else Severity.NOTE,
    )


def _place(change: Incompatibility, crd: Crd) -> Span | None:
    version = next((each for each in crd.versions if each.name == change.version), None)
    if version is None:
        return crd.span
    if change.keyword == "storage":
        return version.storage_span or version.span
    return _span(change, version) or version.span


def _span(change: Incompatibility, version: CrdVersion) -> Span | None:
    """The nearest place in the user's source: the keyword, the field, or the class."""
    node: SchemaNode = version.schema
    span = version.span
    for part in change.path:
        if part == ITEM:
            found = node.items or node.values
            if found is None:
                return span
            node = found
            continue
        field = (node.properties or {}).get(part)
        if field is None:
            return _class_of(node) or span
        node, span = field.schema, field.span or span
    keyword = node.keywords.get(change.keyword)
    return (keyword.span if keyword else None) or span


def _class_of(node: SchemaNode) -> Span | None:
    return node.origin.type.span if node.origin else None
