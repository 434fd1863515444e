"""The form of a CRD, with the API server's rules for its names. The rest of pykb can then rely on them."""

from __future__ import annotations

from pykb.gen.checks.form import FLAG, INTEGER, SCHEMA, TEXT, TEXT_MAP, Anything, Many, Object, Text
from pykb.meta.names import is_rfc_1035_label, is_subdomain


def _one_of(*texts: str) -> Text:
    return Text(" or ".join(f"`{text}`" for text in texts if text), frozenset(texts).__contains__)


def _is_kind(text: str) -> bool:
    return text.isascii() and text.isidentifier() and is_rfc_1035_label(text.lower())


# The rules of the API server. A kind is also the name of a class here, so hyphens are not possible.
_LABEL = Text("a DNS label (lower-case letters, digits and `-`, a letter first, at most 63)", is_rfc_1035_label)
_LABEL_OR_NOTHING = Text(_LABEL.noun, lambda text: not text or is_rfc_1035_label(text))
_KIND = Text("a name in letters and digits, a letter first, at most 63", lambda text: not text or _is_kind(text))
_GROUP = Text("a domain name with a dot", lambda text: not text or (is_subdomain(text) and "." in text))
_COLUMN = Object(
    {
        **dict.fromkeys(("name", "jsonPath", "description"), TEXT),
        "type": _one_of("boolean", "date", "integer", "number", "string"),
        "format": _one_of("", "byte", "date", "date-time", "double", "float", "int32", "int64", "password"),
        "priority": INTEGER,
    },
    ("name", "type", "jsonPath"),
)
_SCALE = Object(
    dict.fromkeys(("specReplicasPath", "statusReplicasPath", "labelSelectorPath"), TEXT),
    ("specReplicasPath", "statusReplicasPath"),
)
_VERSION = Object(
    {
        "name": _LABEL,
        "deprecationWarning": TEXT,
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
                "group": _GROUP,
                "scope": _one_of("Cluster", "Namespaced"),
                "names": Object(
                    {
                        **dict.fromkeys(("kind", "listKind"), _KIND),
                        "plural": _LABEL,
                        "singular": _LABEL_OR_NOTHING,
                        **dict.fromkeys(("shortNames", "categories"), Many("a list of strings", list, _LABEL)),
                    },
                ),
                "conversion": Object(
                    {"strategy": _one_of("None", "Webhook"), "webhook": Many("a mapping", dict, Anything())}
                ),
                "preserveUnknownFields": FLAG,
                "versions": Many("a list of versions", list, _VERSION),
            },
        ),
    },
)
