"""The form of the parts of a CustomResourceDefinition that an import reads. Source: apiextensions.k8s.io/v1."""

from __future__ import annotations

from pykb.gen.checks.form import FLAG, INTEGER, SCHEMA, TEXT, TEXT_MAP, TEXTS, Anything, Many, Object

_COLUMN = Object(
    {**dict.fromkeys(("name", "type", "jsonPath", "format", "description"), TEXT), "priority": INTEGER},
    ("name", "type", "jsonPath"),
)
_SCALE = Object(
    dict.fromkeys(("specReplicasPath", "statusReplicasPath", "labelSelectorPath"), TEXT),
    ("specReplicasPath", "statusReplicasPath"),
)
_VERSION = Object(
    {
        **dict.fromkeys(("name", "deprecationWarning"), TEXT),
        **dict.fromkeys(("served", "storage", "deprecated"), FLAG),
        "schema": Object({"openAPIV3Schema": SCHEMA}),
        "subresources": Object({"status": Object({}), "scale": _SCALE}),
        "additionalPrinterColumns": Many("a list of columns", list, _COLUMN),
        "selectableFields": Many("a list of fields", list, Object({"jsonPath": TEXT}, ("jsonPath",))),
    },
    ("name",),
)
DEFINITION = Object(
    {
        "metadata": Object({"name": TEXT, "labels": TEXT_MAP, "annotations": TEXT_MAP}),
        "spec": Object(
            {
                **dict.fromkeys(("group", "scope"), TEXT),
                "names": Object(
                    {
                        **dict.fromkeys(("kind", "listKind", "plural", "singular"), TEXT),
                        **dict.fromkeys(("shortNames", "categories"), TEXTS),
                    },
                ),
                "conversion": Object({"strategy": TEXT, "webhook": Many("a mapping", dict, Anything())}),
                "preserveUnknownFields": FLAG,
                "versions": Many("a list of versions", list, _VERSION),
            },
        ),
    },
)
