"""Markers of a kind: names, scope, subresources, columns, versions, metadata of its CustomResourceDefinition."""

from __future__ import annotations

from pykb.markers.definition import (
    INTEGER,
    STRING,
    STRINGS,
    ArgumentDefinition,
    MarkerDefinition,
    MarkerTarget,
)

_CATEGORY = "CRD"
_TYPE = frozenset({MarkerTarget.TYPE})
_COLUMN_TYPES = ("integer", "number", "string", "boolean", "date")
_COLUMN_FORMATS = ("int32", "int64", "float", "double", "byte", "date", "date-time", "password")

DEFINITIONS = (
    MarkerDefinition(
        "kubebuilder:resource",
        _TYPE,
        (
            ArgumentDefinition("path", STRING, optional=True, summary="The plural name, as it stands in URLs."),
            ArgumentDefinition("singular", STRING, optional=True, summary="The singular name."),
            ArgumentDefinition(
                "scope",
                STRING,
                optional=True,
                summary="Whether objects live in namespaces.",
                choices=("Namespaced", "Cluster"),
            ),
            ArgumentDefinition("shortName", STRINGS, optional=True, summary="Abbreviations for kubectl."),
            ArgumentDefinition("categories", STRINGS, optional=True, summary="Groups of kinds such as `all`."),
        ),
        summary="Names and scope of the kind.",
        example="+kubebuilder:resource:path=machines,scope=Cluster,shortName=vm;vms,categories=all",
        category=_CATEGORY,
    ),
    MarkerDefinition(
        "kubebuilder:subresource:status",
        _TYPE,
        summary="Gives the kind a `/status` subresource, so that spec and status are written apart.",
        example="+kubebuilder:subresource:status",
        category=_CATEGORY,
    ),
    MarkerDefinition(
        "kubebuilder:subresource:scale",
        _TYPE,
        (
            ArgumentDefinition("specpath", STRING, summary="JSONPath of the wanted number of replicas."),
            ArgumentDefinition("statuspath", STRING, summary="JSONPath of the observed number of replicas."),
            ArgumentDefinition(
                "selectorpath", STRING, optional=True, summary="JSONPath of the label selector, a string in the status."
            ),
        ),
        summary="Gives the kind a `/scale` subresource, which `kubectl scale` and autoscalers use.",
        example="+kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas",
        category=_CATEGORY,
    ),
    MarkerDefinition(
        "kubebuilder:printcolumn",
        _TYPE,
        (
            ArgumentDefinition("name", STRING, summary="The heading of the column."),
            ArgumentDefinition("type", STRING, summary="The OpenAPI type of the value.", choices=_COLUMN_TYPES),
            ArgumentDefinition("JSONPath", STRING, summary="Where the value is in the object."),
            ArgumentDefinition("description", STRING, optional=True, summary="What the column shows."),
            ArgumentDefinition(
                "format", STRING, optional=True, summary="The OpenAPI format of the value.", choices=_COLUMN_FORMATS
            ),
            ArgumentDefinition(
                "priority",
                INTEGER,
                optional=True,
                summary="Above 0: only with `-o wide`.",
                minimum=0,
                maximum=2**31 - 1,
            ),
        ),
        summary="Adds a column to what `kubectl get` prints.",
        example="+kubebuilder:printcolumn:name=Age,type=date,JSONPath=`.metadata.creationTimestamp`",
        category=_CATEGORY,
        repeatable=True,
    ),
    MarkerDefinition(
        "kubebuilder:storageversion",
        _TYPE,
        summary="Objects are stored in this version; exactly one version of a kind has it.",
        example="+kubebuilder:storageversion",
        category=_CATEGORY,
    ),
    MarkerDefinition(
        "kubebuilder:unservedversion",
        _TYPE,
        summary="The API server does not serve this version, though objects may still be stored in it.",
        example="+kubebuilder:unservedversion",
        category=_CATEGORY,
    ),
    MarkerDefinition(
        "kubebuilder:deprecatedversion",
        _TYPE,
        (
            ArgumentDefinition(
                "warning", STRING, optional=True, summary="What clients are told; Kubernetes has a default text."
            ),
        ),
        summary="Clients that use this version get a warning.",
        example='+kubebuilder:deprecatedversion:warning="example.com/v1beta1 Foo is deprecated; use v1"',
        category=_CATEGORY,
    ),
    MarkerDefinition(
        "kubebuilder:skipversion",
        _TYPE,
        summary="Leaves this version out of the CRD.",
        example="+kubebuilder:skipversion",
        category=_CATEGORY,
    ),
    MarkerDefinition(
        "kubebuilder:selectablefield",
        _TYPE,
        (ArgumentDefinition("JSONPath", STRING, summary="Path of a string, boolean or integer field."),),
        summary="Lets clients select objects by this field (`kubectl get --field-selector`).",
        example="+kubebuilder:selectablefield:JSONPath=`.spec.host`",
        category=_CATEGORY,
        repeatable=True,
    ),
    MarkerDefinition(
        "kubebuilder:metadata",
        _TYPE,
        (
            ArgumentDefinition("annotations", STRINGS, optional=True, summary="`key=value` pairs."),
            ArgumentDefinition("labels", STRINGS, optional=True, summary="`key=value` pairs."),
        ),
        summary="Annotations and labels of the CustomResourceDefinition object.",
        example='+kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved"',
        category=_CATEGORY,
        repeatable=True,
    ),
)
