"""Mistakes in API types: what Python can say and a CRD cannot."""

from __future__ import annotations

from pykb.diagnostics.model import Code, Severity

UNSUPPORTED_TYPE = Code(
    "unsupported-type",
    "A type has no counterpart in a CRD",
    "Fields are made of str, int, bool, bytes, datetime, timedelta, Quantity, IntOrString, Any, enums, literals, "
    "lists, "
    "maps with string keys, and classes derived from `Struct`.",
)
FLOAT = Code(
    "float",
    "Floats are not allowed in API types",
    "Floats do not survive a round trip through every client and language; the Kubernetes API conventions advise "
    "against "
    "them. Use `Quantity`, an integer of a smaller unit, or a string; or pass `--allow-dangerous-types`.",
)
MAP_KEY = Code(
    "map-key-type",
    "Map keys must be strings",
    "A map becomes a JSON object, whose keys are strings.",
)
UNION = Code(
    "union",
    "A union of types that a structural schema cannot express",
    "A structural schema has one type for each value. `X | None` is an optional field, `int | str` is "
    "int-or-string, and a "
    "discriminated union of structs is one object with the fields of all.",
)
RECURSION = Code(
    "recursive-type",
    "A type contains itself",
    "A CRD's schema has no references, so a recursive type would be infinite. Cut it with "
    "`Annotated[..., PreserveUnknown()]` where it returns to itself.",
)
UNRESOLVED = Code(
    "unresolved-type",
    "An annotation names something that does not exist",
    "The annotation could not be evaluated in its module.",
)
ALIAS = Code(
    "plain-alias",
    "A wire name given by `alias=`",
    "Type checkers take an alias for the name of the constructor's argument; `Wire(...)` keeps the attribute's name.",
)
PLAIN_MODEL = Code(
    "plain-model",
    "A model that is not a Struct",
    "`Struct` keeps unknown fields, uses wire names and writes only what was set; a plain Pydantic model does not.",
)
CONSTRAINT = Code(
    "unsupported-constraint",
    "A Pydantic constraint that a CRD cannot express",
    "What Python accepts and what the API server accepts would differ.",
)
PYTHON_ONLY = Code(
    "python-only",
    "A check of values that only Python makes",
    "A validator runs in the manager, and nowhere else: the API server stores what it refuses, and the manager then "
    "cannot read it. What a schema can say belongs there as well, as a constraint or a CEL rule.",
    Severity.NOTE,
)
HIDDEN_METHOD = Code(
    "hidden-method",
    "A field hides a method",
    "Classes of API types have methods: pykb's (`to_wire`, ...), Pydantic's (`model_dump`, ...), and old ones of "
    "Pydantic's that type checkers still know (`copy`, `json`, `schema`). A field of that name takes the place of the "
    "method. Give the attribute another name; `Wire` keeps the name that users of the API see.",
)
DEFAULT_NOT_JSON = Code(
    "default-not-json",
    "A default value that has no JSON form",
    "A Python default becomes the schema's default, so it must be expressible in JSON.",
)
DESCRIPTION_CONFLICT = Code(
    "two-descriptions",
    "A field is described twice",
    "One description goes into the schema: the docstring below the field, a comment above it, or "
    "`Field(description=)`.",
    Severity.WARNING,
)
TEXT = Code(
    "text",
    "A text has half of a character",
    "Python strings can hold half of a surrogate pair, which no encoding has. A description, a default, a value of an "
    "enum or a wire name with one cannot be written into a manifest.",
)
