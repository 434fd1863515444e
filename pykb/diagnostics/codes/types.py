"""Mistakes in API types: Python that a CRD cannot express."""

from __future__ import annotations

from pykb.diagnostics.model import Code, note, warning

UNSUPPORTED_TYPE = Code(
    "unsupported-type",
    "A type has no counterpart in a CRD",
    "A field can have the types str, int, bool, bytes, datetime, timedelta, Quantity, IntOrString, Any, enums, "
    "literals, lists, maps with string keys, and classes derived from `Struct`.",
)
FLOAT = Code(
    "float",
    "Floats are not allowed in API types",
    "Clients and languages do not all preserve floats exactly, and the Kubernetes API conventions advise against "
    "them. Use `Quantity`, an integer of a smaller unit, or a string. To allow floats, pass `--allow-dangerous-types`.",
)
MAP_KEY = Code(
    "map-key-type",
    "Map keys must be strings",
    "A map becomes a JSON object, whose keys are strings.",
)
UNION = Code(
    "union",
    "A structural schema cannot express this union",
    "A structural schema has one type for each value. `X | None` is an optional field. `int | str` is int-or-string. "
    "A discriminated union of structs is one object with the fields of all.",
)
RECURSION = Code(
    "recursive-type",
    "A type contains itself",
    "A CRD's schema has no references, so the schema of a recursive type would be infinite. Add `Annotated[..., "
    "PreserveUnknown()]` to the field that refers back to the type.",
)
UNRESOLVED = Code(
    "unresolved-type",
    "An annotation refers to an unknown name",
    "The annotation could not be evaluated in its module.",
)
ALIAS = Code(
    "plain-alias",
    "A JSON name is set with `alias=`",
    "Type checkers use an alias as the name of the constructor's argument. `Wire(...)` keeps the name of the "
    "attribute.",
)
PLAIN_MODEL = Code(
    "plain-model",
    "A model is not a Struct",
    "`Struct` keeps unknown fields, uses JSON names and writes only the fields that were set. A plain Pydantic model "
    "does not.",
)
CONSTRAINT = Code(
    "unsupported-constraint",
    "A CRD cannot express a Pydantic constraint",
    "Python and the API server would accept different values.",
)
PYTHON_ONLY = note(
    "python-only",
    "Only Python checks this value",
    "A validator runs only in the manager. The API server stores values that the validator rejects, and the manager "
    "then cannot read them. If a schema can express the check, add it as a constraint or a CEL rule as well.",
)
HIDDEN_METHOD = Code(
    "hidden-method",
    "A field hides a method",
    "Classes of API types have methods of pykb (`to_wire`, ...) and of Pydantic (`model_dump`, ...). Type checkers "
    "also know older methods of Pydantic (`copy`, `json`, `schema`). A field with such a name hides the method. "
    "Rename the attribute, and keep the name in the API with `Wire`.",
)
DEFAULT_NOT_JSON = Code(
    "default-not-json",
    "A default value cannot be written as JSON",
    "A Python default becomes the default in the schema, so it must be valid JSON.",
)
DESCRIPTION_CONFLICT = warning(
    "two-descriptions",
    "A field has two descriptions",
    "The schema has one description of a field. It is the docstring below the field, a comment above it, or "
    "`Field(description=)`.",
)
TEXT = Code(
    "text",
    "A text contains half of a character",
    "Python strings can contain half of a surrogate pair, which cannot be encoded. A description, default, enum value "
    "or JSON name with one cannot be written to a manifest.",
)
