"""Finds markers without an effect: those for kinds on another class, those in files that are not read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pykb.diagnostics import Diagnostic, Diagnostics
from pykb.diagnostics.codes.crd import MARKER_UNREAD
from pykb.diagnostics.codes.markers import MARKER_TARGET
from pykb.gen._kinds import Kind
from pykb.gen.declare import Declarations
from pykb.markers.model import Marker
from pykb.markers.source import SourceFile, TypeDeclaration


def check_placement(
    files: Iterable[SourceFile], declarations: Declarations, kinds: Iterable[Kind], diagnostics: Diagnostics
) -> None:
    """Find markers without an effect.

    Args:
        files: All files with markers.
        declarations: Knows which files' types were read.
        kinds: The kinds that were found in them.
        diagnostics: Gets what is found.
    """
    declared = {id(kind.named.declaration) for kind in kinds}
    read = declarations.read_files()
    for file in files:
        package = declarations.package_markers(declarations.path(file).parent)
        if any(marker.name == "kubebuilder:skip" for marker in package):
            continue
        if file.path not in read:
            unread = next(_of_schemas(file), None)
            if unread is not None:
                diagnostics.add(_unread(unread, file))
            continue
        for declaration in file.types.values():
            if id(declaration) not in declared:
                diagnostics.extend(_no_kind(m, declaration) for m in declaration.markers if _is_of_kinds(m))


def _is_of_kinds(marker: Marker) -> bool:
    return marker.definition.category == "CRD"


def _of_schemas(file: SourceFile) -> Iterator[Marker]:
    for declaration in file.types.values():
        for markers in (declaration.markers, *(field.markers for field in declaration.fields.values())):
            yield from (marker for marker in markers if "crd" in marker.definition.generators)


def _no_kind(marker: Marker, declaration: TypeDeclaration) -> Diagnostic:
    return MARKER_TARGET.at(
        marker.span,
        f"`+{marker.name}` applies to kinds, but `{declaration.name}` is not a kind",
        label="has no effect here",
        notes=("a kind is derived from `CustomResource` and has its own group and version",),
        help=(f"put it above the kind, or: class {declaration.name}(CustomResource, group_version=GROUP_VERSION)",),
    )


def _unread(marker: Marker, file: SourceFile) -> Diagnostic:
    return MARKER_UNREAD.at(
        marker.span,
        f"`+{marker.name}` has no effect: no kind uses the types of `{file.path}`",
        help=("pykb looks for kinds in `api` packages; to read another file, use `--paths`",),
    )
