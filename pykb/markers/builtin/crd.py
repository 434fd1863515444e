"""Markers of a kind and its package: group, version, names, scope, subresources, columns, metadata of its CRD."""

from __future__ import annotations

from pykb.markers.definition import (
    INTEGER,
    STRING,
    STRINGS,
    Argument,
    MarkerDefinition,
    MarkerTarget,
)

_PACKAGE_CATEGORY = "Package"
_PACKAGE = frozenset({MarkerTarget.PACKAGE})

_PACKAGE_DEFINITIONS = (
    MarkerDefinition(
        "groupName",
        _PACKAGE,
        (Argument("", STRING, "The API group, for example `infra.example.com`.", optional=True),),
        summary="The API group of the kinds in this package.",
        example="+groupName=infra.example.com",
        category=_PACKAGE_CATEGORY,
    ),
    MarkerDefinition(
        "versionName",
        _PACKAGE,
        (Argument("", STRING, "The API version, for example `v1alpha1`."),),
        summary="The API version of the kinds in this package. Defaults to the name of the package.",
        example="+versionName=v1alpha1",
        category=_PACKAGE_CATEGORY,
    ),
    MarkerDefinition(
        "kubebuilder:skip",
        _PACKAGE,
        summary="Leaves the package out: no manifests are generated from its types.",
        example="+kubebuilder:skip",
        category=_PACKAGE_CATEGORY,
    ),
)


_COLUMN_TYPES = ("integer", "number", "string", "boolean", "date")
_COLUMN_FORMATS = ("int32", "int64", "float", "double", "byte", "date", "date-time", "password")


def _kind(
    name: str, summary: str, *arguments: Argument, example: str = "", repeatable: bool = False
) -> MarkerDefinition:
    name = f"kubebuilder:{name}"
    return MarkerDefinition(
        name,
        frozenset({MarkerTarget.TYPE}),
        arguments,
        summary=summary,
        example=f"+{name}{example}",
        category="CRD",
        repeatable=repeatable,
    )


DEFINITIONS = (
    *_PACKAGE_DEFINITIONS,
    _kind(
        "resource",
        "Names and scope of the kind.",
        Argument("path", STRING, "The plural name, as in URLs.", optional=True),
        Argument("singular", STRING, "The singular name.", optional=True),
        Argument("scope", STRING, "Whether the kind is namespaced.", optional=True, choices=("Namespaced", "Cluster")),
        Argument("shortName", STRINGS, "Abbreviations for kubectl.", optional=True),
        Argument("categories", STRINGS, "Groups of kinds such as `all`.", optional=True),
        example=":path=machines,scope=Cluster,shortName=vm;vms,categories=all",
    ),
    _kind(
        "subresource:status", "Gives the kind a `/status` subresource, so that spec and status are written separately."
    ),
    _kind(
        "subresource:scale",
        "Gives the kind a `/scale` subresource, which `kubectl scale` and autoscalers use.",
        Argument("specpath", STRING, "JSONPath of the desired number of replicas."),
        Argument("statuspath", STRING, "JSONPath of the observed number of replicas."),
        Argument("selectorpath", STRING, "JSONPath of the label selector, a string in the status.", optional=True),
        example=":specpath=.spec.replicas,statuspath=.status.replicas",
    ),
    _kind(
        "printcolumn",
        "Adds a column to what `kubectl get` prints.",
        Argument("name", STRING, "The heading of the column."),
        Argument("type", STRING, "The OpenAPI type of the value.", choices=_COLUMN_TYPES),
        Argument("JSONPath", STRING, "Where the value is in the object."),
        Argument("description", STRING, "What the column shows.", optional=True),
        Argument("format", STRING, "The OpenAPI format of the value.", optional=True, choices=_COLUMN_FORMATS),
        Argument(
            "priority",
            INTEGER,
            "If above 0, the column is shown only with `-o wide`.",
            optional=True,
            minimum=0,
            maximum=2**31 - 1,
        ),
        example=":name=Age,type=date,JSONPath=`.metadata.creationTimestamp`",
        repeatable=True,
    ),
    _kind("storageversion", "Objects are stored in this version. Exactly one version of a kind has this marker."),
    _kind("unservedversion", "The API server does not serve this version, though objects may still be stored in it."),
    _kind(
        "deprecatedversion",
        "Clients that use this version get a warning.",
        Argument("warning", STRING, "The text of the warning. Kubernetes has a default text.", optional=True),
        example=':warning="example.com/v1beta1 Foo is deprecated; use v1"',
    ),
    _kind("skipversion", "Leaves this version out of the CRD."),
    _kind(
        "selectablefield",
        "Lets clients select objects by this field (`kubectl get --field-selector`).",
        Argument("JSONPath", STRING, "Path of a string, boolean or integer field."),
        example=":JSONPath=`.spec.host`",
        repeatable=True,
    ),
    _kind(
        "metadata",
        "Annotations and labels of the CustomResourceDefinition object.",
        Argument("annotations", STRINGS, "`key=value` pairs.", optional=True),
        Argument("labels", STRINGS, "`key=value` pairs.", optional=True),
        example=':annotations="api-approved.kubernetes.io=unapproved"',
        repeatable=True,
    ),
)
