"""Markers of a package: its group and version, and what holds for all its types."""

from __future__ import annotations

from pykb.markers.definition import STRING, ArgumentDefinition, MarkerDefinition, MarkerTarget

_CATEGORY = "Package"
_PACKAGE = frozenset({MarkerTarget.PACKAGE})

DEFINITIONS = (
    MarkerDefinition(
        "groupName",
        _PACKAGE,
        (ArgumentDefinition("", STRING, "The API group, for example `infra.example.com`.", optional=True),),
        summary="The API group of the kinds in this package.",
        example="+groupName=infra.example.com",
        category=_CATEGORY,
    ),
    MarkerDefinition(
        "versionName",
        _PACKAGE,
        (ArgumentDefinition("", STRING, "The API version, for example `v1alpha1`."),),
        summary="The API version of the kinds in this package. Defaults to the name of the package.",
        example="+versionName=v1alpha1",
        category=_CATEGORY,
    ),
    MarkerDefinition(
        "kubebuilder:skip",
        _PACKAGE,
        summary="Leaves the package out: no manifests are generated from its types.",
        example="+kubebuilder:skip",
        category=_CATEGORY,
    ),
)
