"""Finds kinds, classes derived from ``CustomResource`` with a group and version, and markers that no kind uses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pykb.api.object import CustomResource
from pykb.diagnostics import Diagnostic, Diagnostics, Label, Severity
from pykb.diagnostics.codes.crd import MARKER_UNREAD
from pykb.diagnostics.codes.generate import DUPLICATE_KIND, NO_GROUP
from pykb.diagnostics.codes.markers import MARKER_CONFLICT, MARKER_TARGET
from pykb.gen._load import LoadedModule
from pykb.gen.declare import Declarations, NamedType
from pykb.markers.collect import check_presence
from pykb.markers.model import Marker, SourceFile, TypeDeclaration
from pykb.meta.gvk import GroupVersionKind


@dataclass(frozen=True, slots=True)
class Kind:
    """One version of one kind."""

    gvk: GroupVersionKind
    python: type[CustomResource]
    named: NamedType


def find_kinds(
    modules: Iterable[LoadedModule],
    declarations: Declarations,
    diagnostics: Diagnostics,
) -> list[Kind]:
    """Find all kinds, sorted by group, kind and version.

    Args:
        modules: Imported API modules.
        declarations: The source of the classes, and the markers of their packages, such as ``+groupName``,
            ``+versionName`` and ``+kubebuilder:skip``.
        diagnostics: Gets kinds without a group and kinds declared twice.
    """
    classes = list(dict.fromkeys(_classes(modules)))
    extended = {base for _, python in classes for base in python.__mro__[1:]}
    kinds: dict[GroupVersionKind, Kind] = {}
    for module, python in classes:
        named = declarations.named(python)
        package = declarations.package_markers(module.path.parent)
        markers = {m.name: m.value for m in reversed(package)}
        if "kubebuilder:skip" in markers:
            continue
        gvk = _identity(python, markers, module.path.parent.name)
        _check_package(package, gvk, named, diagnostics)
        if gvk is not None:
            kind = Kind(gvk, python, named)
            other = kinds.setdefault(gvk, kind)
            if other is not kind:
                diagnostics.report(
                    DUPLICATE_KIND,
                    named.span,
                    f"the kind `{gvk.kind}` of `{gvk.api_version}` is declared twice",
                    "rename one of the classes, or give it another version",
                    labels=(Label(other.named.span, "the first one"),) if other.named.span else (),
                )
        elif "gvk" not in dir(python):
            if python not in extended:
                diagnostics.report(
                    NO_GROUP,
                    named.span,
                    f"the kind `{named.name}` has no group and version",
                    f"class {named.name}(CustomResource, group_version=GROUP_VERSION): ...",
                )
        elif declarations.annotated(python):
            base = python.gvk.kind
            diagnostics.report(
                NO_GROUP,
                named.span,
                f"`{named.name}` adds fields to the kind `{base}`, but no manifest has them, because it is not a "
                "separate kind",
                f"class {named.name}({base}, group_version=GROUP_VERSION): ...",
                "for fields that several kinds share, derive them from a class without `group_version`",
                severity=Severity.WARNING,
            )
    return [kinds[gvk] for gvk in sorted(kinds, key=lambda g: (g.kind, g.group, g.version))]


def _classes(modules: Iterable[LoadedModule]) -> Iterator[tuple[LoadedModule, type[CustomResource]]]:
    """The classes of kinds that are defined in a module, not imported into it."""
    for module in modules:
        for python in vars(module.python).values():
            is_kind = isinstance(python, type) and issubclass(python, CustomResource)
            if is_kind and python.__module__ == module.python.__name__:
                yield module, python


def _identity(python: type[CustomResource], markers: Mapping[str, object], package: str) -> GroupVersionKind | None:
    own: GroupVersionKind | None = python.__dict__.get("gvk")
    if own is not None:
        return own
    if "groupName" not in markers or "gvk" in dir(python):
        return None
    return GroupVersionKind(
        str(markers["groupName"] or ""), str(markers.get("versionName") or package), python.__name__
    )


def _check_package(
    package: Sequence[Marker], gvk: GroupVersionKind | None, named: NamedType, diagnostics: Diagnostics
) -> None:
    """Check that the files of a package agree with each other and with the class."""
    diagnostics.extend(check_presence(package))
    first: dict[str, Marker] = {}
    for marker in package:
        if marker.name not in {"groupName", "versionName"}:
            continue
        earlier = first.setdefault(marker.name, marker)
        if earlier.value != marker.value:
            diagnostics.report(
                MARKER_CONFLICT,
                marker.span,
                f"`{marker.text}` contradicts `{earlier.text}` in another file of the package",
                "remove one of the two: a package is one group and version",
                labels=(Label(earlier.span, "the other one"),),
            )
    for name, said in (("groupName", gvk.group if gvk else None), ("versionName", gvk.version if gvk else None)):
        declared = first.get(name)
        if declared is not None and said is not None and declared.value and declared.value != said:
            diagnostics.report(
                MARKER_CONFLICT,
                declared.span,
                f"`{declared.text}` contradicts the class `{named.name}`, whose `group_version` says `{said}`",
                "remove the marker: `group_version=GROUP_VERSION` says it in Python",
                labels=(Label(named.span, "this class"),) if named.span else (),
            )


def check_placement(
    files: Iterable[SourceFile], declarations: Declarations, kinds: Iterable[Kind]
) -> Iterator[Diagnostic]:
    """Find markers without an effect.

    Args:
        files: All files with markers.
        declarations: Knows which files' types were read.
        kinds: The kinds that were found in them.
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
                yield MARKER_UNREAD.at(
                    unread.span,
                    f"`+{unread.name}` has no effect: no kind uses the types of `{file.path}`",
                    "pykb looks for kinds in `api` packages; to read another file, use `--paths`",
                )
            continue
        for declaration in file.types.values():
            if id(declaration) not in declared:
                yield from (_no_kind(m, declaration) for m in declaration.markers if m.definition.category == "CRD")


def _of_schemas(file: SourceFile) -> Iterator[Marker]:
    for declaration in file.types.values():
        for markers in (declaration.markers, *(field.markers for field in declaration.fields.values())):
            yield from (marker for marker in markers if "crd" in marker.definition.generators)


def _no_kind(marker: Marker, declaration: TypeDeclaration) -> Diagnostic:
    return MARKER_TARGET.at(
        marker.span,
        f"`+{marker.name}` applies to kinds, but `{declaration.name}` is not a kind",
        f"put it above the kind, or: class {declaration.name}(CustomResource, group_version=GROUP_VERSION)",
        label="has no effect here",
        notes="a kind is derived from `CustomResource` and has its own group and version",
    )
