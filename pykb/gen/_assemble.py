"""Assembles the versions of a kind into one CRD.

Names, scope, subresources and columns come from the markers on the classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby

from pykb.api.annotations import Conversion, SchemaPatch, annotations_of
from pykb.diagnostics import Diagnostic, Diagnostics, Label, Span
from pykb.diagnostics.codes.crd import (
    CONFLICTING_VERSIONS,
    CONSTRAINT_CONFLICT,
    METADATA_FORM,
    NO_SERVED_VERSION,
    STORAGE_VERSION,
)
from pykb.diagnostics.codes.generate import DUPLICATE_KIND
from pykb.gen._kinds import Kind
from pykb.gen.draft import patched
from pykb.gen.ir import Crd, CrdVersion, Names, PrinterColumn, Scale, SchemaNode
from pykb.gen.lower.scalars import TOP_LEVEL_METADATA
from pykb.gen.passes.resolve import Resolver
from pykb.markers.model import Marker
from pykb.meta.gvk import CONVERT, GroupKind
from pykb.meta.names import pluralize

_RESOURCE = "kubebuilder:resource"


def assemble(
    kinds: Iterable[Kind],
    resolver: Resolver,
    diagnostics: Diagnostics,
    *,
    converted: frozenset[GroupKind],
) -> list[Crd]:
    """The CRDs of all kinds, sorted by kind and group.

    Args:
        kinds: All versions of all kinds.
        resolver: Gives their schemas.
        diagnostics: Gets what the apiserver would refuse in a CRD as a whole.
        converted: Kinds that have a conversion webhook.
    """
    crds: list[Crd] = []
    ordered = sorted(kinds, key=lambda kind: (str(kind.gvk.group_kind), kind.gvk.version))
    for group_kind, versions in groupby(ordered, key=lambda kind: kind.gvk.group_kind):
        crd = _crd(list(versions), resolver, diagnostics, converted=group_kind in converted)
        if crd is not None:
            crds.append(crd)
    diagnostics.extend(_check_plurals(crds))
    return crds


def _crd(kinds: list[Kind], resolver: Resolver, diagnostics: Diagnostics, *, converted: bool) -> Crd | None:
    kept = [kind for kind in kinds if not any(m.name == "kubebuilder:skipversion" for m in kind.named.markers)]
    versions = [_version(kind, resolver) for kind in kept]
    if not versions:
        diagnostics.add(_all_skipped(kinds))
        return None
    group_kind = kept[0].gvk.group_kind
    span = kept[0].named.span
    if len(versions) == 1:
        versions[0] = replace(versions[0], storage=True)
    diagnostics.extend(_check_versions(group_kind, versions, span))
    markers = [marker for kind in kept for marker in kind.named.markers]
    firsts = (next((m for m in kind.named.markers if m.name == _RESOURCE), None) for kind in kept)
    resources = [marker for marker in firsts if marker is not None]
    diagnostics.extend(_check_resources(group_kind.kind, resources))
    resource = resources[0] if resources else None
    return Crd(
        group=group_kind.group,
        names=_names(group_kind.kind, resource),
        scope=str((resource and resource.arguments.get("scope")) or "Namespaced"),
        versions=tuple(versions),
        span=resource.span if resource else span,
        annotations=_pairs(markers, "annotations", diagnostics),
        labels=_pairs(markers, "labels", diagnostics),
        conversion=_conversion(kept) or (_CONVERSION if converted and len(versions) > 1 else None),
    )


def _names(kind: str, resource: Marker | None) -> Names:
    """The names from the arguments of ``+kubebuilder:resource``."""
    if resource is None:
        return Names(kind, plural=pluralize(kind), singular=kind.lower())
    return Names(
        kind,
        plural=str(resource.arguments.get("path") or pluralize(kind)),
        singular=str(resource.arguments.get("singular") or kind.lower()),
        short_names=tuple(resource.texts("shortName")),
        categories=tuple(resource.texts("categories")),
    )


def _all_skipped(kinds: list[Kind]) -> Diagnostic:
    marker = next(m for m in kinds[0].named.markers if m.name == "kubebuilder:skipversion")
    return NO_SERVED_VERSION.at(
        marker.span,
        f"all versions of `{kinds[0].gvk.group_kind}` are skipped, so it has no CRD",
        "remove `+kubebuilder:skipversion` from one of them, or remove the class",
    )


# kubebuilder's names; kustomize prefixes them and sets the namespace.
_CONVERSION: dict[str, object] = {
    "strategy": "Webhook",
    "webhook": {
        "clientConfig": {"service": {"name": "webhook-service", "namespace": "system", "path": CONVERT}},
        "conversionReviewVersions": ["v1"],
    },
}


def _conversion(kinds: list[Kind]) -> dict[str, object] | None:
    """The conversion settings of the kind. One version with `Conversion` is enough."""
    said = [item for kind in kinds for item in annotations_of(kind.python) if isinstance(item, Conversion)]
    return dict(said[0].spec) if said else None


def _version(kind: Kind, resolver: Resolver) -> CrdVersion:
    schema = resolver.schema_of(kind.python)
    properties = dict(schema.properties or {})
    if "metadata" in properties:
        properties["metadata"] = replace(properties["metadata"], schema=_metadata(kind))
    schema = replace(schema, properties=properties)
    version = CrdVersion(kind.gvk.version, schema, kind.named.span)
    warning = kind.python.__dict__.get("__deprecated__")
    if isinstance(warning, str):  # PEP 702: `@deprecated("use v2")`
        version = replace(version, deprecated=True, deprecation_warning=warning or None)
    for marker in kind.named.markers:
        if marker.name == "kubebuilder:deprecatedversion" and version.deprecated:
            resolver.diagnostics.extend(_check_deprecation(marker, version))
        version = _applied(version, marker)
    return version


def _check_deprecation(marker: Marker, version: CrdVersion) -> Iterator[Diagnostic]:
    if _optional(marker.arguments.get("warning")) == version.deprecation_warning:
        return
    yield CONSTRAINT_CONFLICT.at(
        marker.span,
        f"`{marker.text}` contradicts `@deprecated({version.deprecation_warning!r})`",
        "remove one of the two, or make them equal",
        labels=(Label(version.span, "the class that is decorated"),) if version.span else (),
    )


def _metadata(kind: Kind) -> SchemaNode:
    """The schema of ``metadata``. The apiserver allows only constraints on the name in it."""
    said = [item.schema.get("properties") for item in annotations_of(kind.python) if isinstance(item, SchemaPatch)]
    for patch in said:
        if isinstance(patch, Mapping) and isinstance(patch.get("metadata"), Mapping):
            return patched(TOP_LEVEL_METADATA, patch["metadata"])
    return TOP_LEVEL_METADATA


def _applied(version: CrdVersion, marker: Marker) -> CrdVersion:
    given = marker.arguments
    match marker.name:
        case "kubebuilder:subresource:status":
            return replace(version, status=True)
        case "kubebuilder:subresource:scale":
            scale = Scale(
                str(given["specpath"]),
                str(given["statuspath"]),
                _optional(given.get("selectorpath")),
                marker.span,
            )
            return replace(version, scale=scale)
        case "kubebuilder:storageversion":
            return replace(version, storage=True, storage_span=marker.span)
        case "kubebuilder:unservedversion":
            return replace(version, served=False)
        case "kubebuilder:deprecatedversion":
            return replace(version, deprecated=True, deprecation_warning=_optional(given.get("warning")))
        case "kubebuilder:printcolumn":
            return replace(version, columns=(*version.columns, _column(marker)))
        case "kubebuilder:selectablefield":
            field_ = (str(given["JSONPath"]), marker.span_of("JSONPath"))
            return replace(version, selectable=(*version.selectable, field_))
    return version


def _column(marker: Marker) -> PrinterColumn:
    given = marker.arguments
    priority = given.get("priority")
    return PrinterColumn(
        name=str(given["name"]),
        type=str(given["type"]),
        json_path=str(given["JSONPath"]),
        description=_optional(given.get("description")),
        format=_optional(given.get("format")),
        priority=priority if isinstance(priority, int) else None,
        span=marker.span_of("JSONPath"),
    )


def _optional(value: object) -> str | None:
    return None if value is None else str(value)


def _check_resources(kind: str, markers: list[Marker]) -> Iterator[Diagnostic]:
    """Check the resource markers of a kind. All versions share names and scope."""
    for other in markers[1:]:
        if dict(other.arguments) != dict(markers[0].arguments):
            yield CONFLICTING_VERSIONS.at(
                other.span,
                f"the versions of `{kind}` have different `+{_RESOURCE}` markers",
                "use the same marker in all versions, or only in one of them",
                labels=(Label(markers[0].span, "the other one"),),
            )


def _pairs(markers: Iterable[Marker], argument: str, diagnostics: Diagnostics) -> dict[str, str]:
    """The annotations or labels of ``+kubebuilder:metadata`` markers."""
    pairs: dict[str, str] = {}
    for marker in markers:
        for text in marker.texts(argument) if marker.name == "kubebuilder:metadata" else ():
            key, equals, value = text.partition("=")
            pairs[key] = value
            if not equals or not key:
                diagnostics.report(
                    METADATA_FORM,
                    marker.span_of(argument),
                    f"expected `key=value` in `{argument}`, found `{text}`",
                    f'+kubebuilder:metadata:{argument}="{key or "key"}=value"',
                )
    return pairs


def _check_versions(group_kind: GroupKind, versions: list[CrdVersion], span: Span | None) -> Iterator[Diagnostic]:
    stored = [version for version in versions if version.storage]
    names = ", ".join(f"`{version.name}`" for version in versions)
    if not stored:
        yield STORAGE_VERSION.at(
            span,
            f"`{group_kind}` has the versions {names}, but none of them is the storage version",
            "put `# +kubebuilder:storageversion` above the class of one of them",
        )
    for other in stored[1:]:
        first = stored[0].storage_span
        yield STORAGE_VERSION.at(
            other.storage_span or other.span,
            f"`{group_kind}` has two storage versions, `{stored[0].name}` and `{other.name}`",
            "remove one of the two markers",
            labels=(Label(first, "the first one"),) if first else (),
        )
    if not any(version.served for version in versions):
        yield NO_SERVED_VERSION.at(
            span,
            f"no version of `{group_kind}` is served, of {names}",
            "remove `+kubebuilder:unservedversion` from one of them",
        )


def _check_plurals(crds: list[Crd]) -> Iterator[Diagnostic]:
    seen: dict[str, Crd] = {}
    for crd in crds:
        other = seen.setdefault(crd.name, crd)
        if other is not crd:
            yield DUPLICATE_KIND.at(
                crd.span,
                f"the kinds `{other.names.kind}` and `{crd.names.kind}` are both `{crd.name}`",
                "give one of them another plural: `+kubebuilder:resource:path=...`",
                labels=(Label(other.span, "the other one"),) if other.span else (),
            )
