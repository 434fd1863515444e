"""Finds names declared twice. Python keeps one declaration, and the markers of the other would be lost."""

from __future__ import annotations

from collections.abc import Sequence

from pykb.diagnostics import Diagnostics, Label
from pykb.diagnostics.codes.markers import DECLARED_TWICE
from pykb.markers.source import FieldDeclaration, TypeDeclaration


def check_types(found: Sequence[TypeDeclaration], diagnostics: Diagnostics) -> None:
    """Report types with the same name, if markers depend on which of them Python keeps."""
    first: dict[str, TypeDeclaration] = {}
    for declaration in found:
        other = first.setdefault(declaration.qualname, declaration)
        if other is not declaration and (_has_markers(other) or _has_markers(declaration)):
            diagnostics.add(
                DECLARED_TWICE.at(
                    declaration.span,
                    f"`{declaration.name}` is declared twice, and the markers of one of the two would be lost",
                    labels=(Label(other.span, "the first one"),),
                    help=("give them different names",),
                ),
            )


def check_fields(found: Sequence[tuple[FieldDeclaration, int]], diagnostics: Diagnostics) -> None:
    """Report fields with the same name in one class.

    Args:
        found: The fields, each with the number of its block: each branch of an ``if`` is a block of its own.
        diagnostics: Gets the findings.
    """
    first: dict[str, tuple[FieldDeclaration, int]] = {}
    for declaration, block in found:
        other, other_block = first.setdefault(declaration.name, (declaration, block))
        if other is not declaration and (block == other_block or other.markers or declaration.markers):
            diagnostics.add(
                DECLARED_TWICE.at(
                    declaration.span,
                    f"the field `{declaration.name}` is declared twice, but only one of them applies",
                    labels=(Label(other.span, "the first one"),),
                    help=("remove one of the two",),
                ),
            )


def _has_markers(declaration: TypeDeclaration) -> bool:
    return bool(declaration.markers) or any(field.markers for field in declaration.fields.values())
