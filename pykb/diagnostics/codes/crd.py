"""Mistakes in API types and the CRD schemas: what no CRD can express, and what markers and types make together."""

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


ENUM_DISJOINT = Code(
    "enum-disjoint",
    "A field and its type allow no common value",
    "The `enum` of a named type and the `enum` of a field of this type both apply. Only values in both lists are "
    "allowed.",
)
TYPE_CONFLICT = Code(
    "type-conflict",
    "Two declarations of one field have different types",
    "A field's own schema refines the schema of its named type. Both must have the same JSON type.",
)
CONSTRAINT_CONFLICT = Code(
    "constraint-conflict",
    "A marker and a Pydantic constraint disagree",
    "You can write a constraint with Pydantic, which Python checks as well, or with a marker. You can use both if "
    "they agree. If they do not, Python and the API server would accept different values.",
)
MARKER_TYPE = Code(
    "marker-type",
    "A marker does not fit the type it is applied to",
    "Length and pattern markers apply to strings, bounds to numbers, item counts to lists, property counts to objects.",
)
STORAGE_VERSION = Code(
    "storage-version",
    "A kind needs exactly one storage version",
    "Objects are stored in one version. If a kind has several versions, mark the storage version with "
    "`+kubebuilder:storageversion`.",
)
NO_SERVED_VERSION = Code(
    "no-served-version",
    "No version of a kind is served",
    "The API server rejects a CRD without a served version.",
)
VERSIONS_DIFFER = warning(
    "versions-differ",
    "Two versions of a kind have different fields, and nothing converts between them",
    "Without a conversion webhook, the API server only changes `apiVersion` when a client uses another version than "
    "the stored one, and drops the fields that this version does not know. Values of another type stay, and are not "
    "valid there. Create a converter, give all served versions the same fields, or stop serving the version.",
)

SAMPLE_REFUSED = warning(
    "sample-refused",
    "A sample does not fit the schema of its kind",
    "`kubectl apply -k config/samples` would fail with the quoted error, and so would the test that applies the "
    "sample. The manifests were written. Change the sample or the type. Until then, `pykb generate --check` fails, "
    "and so does `make`.",
)

SAMPLE_BROKEN = Code(
    "sample-broken",
    "A sample is not a manifest of a kind that exists",
    "Each document in `config/samples` is an object with an `apiVersion` and a `kind`. If its group is one of the "
    "project's, a class of the project has to define the kind in this version. Of other groups, only misspelt kinds of "
    "Kubernetes are found. Kinds that PROJECT lists without a class are not checked. Correct the sample, or delete it "
    "if the kind or the version is gone.",
)

CRD_TOO_LARGE = warning(
    "crd-size",
    "A CRD is too large",
    "Client-side `kubectl apply` stores the whole object in an annotation of at most 262144 bytes. etcd rejects "
    "objects larger than 1.5 MiB. Shorten descriptions with `--max-desc-len`, or use server-side apply.",
)
PROTECTED_GROUP = Code(
    "protected-group",
    "A group under k8s.io or kubernetes.io needs an approval annotation",
    "The API server rejects CRDs of the groups `*.k8s.io` and `*.kubernetes.io` without the annotation "
    "`api-approved.kubernetes.io`. Its value is the URL of the approval, or a reason that starts with `unapproved`.",
)
COLUMN_TYPE = warning(
    "column-type",
    "A printer column does not match the type of its field",
    "A column of type integer, number or boolean shows only values of that type. A column of type date shows a time "
    "written as text. Other cells stay empty. A column of type string shows any value.",
)
JSON_PATH = Code(
    "json-path",
    "A JSONPath does not lead to a field",
    "Printer columns, the scale subresource and selectable fields refer to fields with a JSONPath such as "
    "`.spec.replicas`. The path must lead to a field of the schema. For a scale subresource this is a warning, "
    "because the API server accepts such a path and scaling then has no effect.",
)
DUPLICATE_NAME = Code(
    "duplicate-name",
    "Two fields have the same JSON name",
    "Each field of an object needs its own JSON name.",
)
METADATA_FORM = Code(
    "metadata-form",
    "An annotation or label is not in the form `key=value`",
    '`+kubebuilder:metadata:annotations="key=value"` takes pairs. Each is split at the first `=`.',
)
CONFLICTING_VERSIONS = Code(
    "conflicting-versions",
    "Versions of one kind disagree about a shared property",
    "Names, scope, short names and categories belong to the whole CRD. Declare them in one version, or identically in "
    "all versions.",
)
LIST_TOPOLOGY = Code(
    "list-topology",
    "List type and list keys do not match the list",
    "A `map` list holds objects and has at least one key. Each key is a scalar field that is required or has a "
    "default. A `set` list holds scalars, or atomic objects or lists.",
)
DEFAULT_VALUE = Code(
    "default-value",
    "A default does not match the field's schema",
    "The API server validates defaults against the schema and rejects the CRD if one does not match. A Python default "
    "that matches the schema but not the Python type (`None` for an `int`, a time without a zone) is a warning.",
)
ENUM_VALUE = Code(
    "enum-value",
    "An enum value does not match the field's type",
    "A field can never have a value of another type.",
)
BOUNDS = Code(
    "bounds",
    "No value satisfies the bounds",
    "A minimum above the maximum, or a negative length, allows no value.",
)
PATTERN = Code(
    "pattern",
    "The API server does not accept a pattern",
    "The API server uses RE2, which has no look-around, back-references, possessive quantifiers or atomic groups.",
)
FORMAT = warning(
    "format",
    "The API server does not check a format",
    "The API server accepts but ignores formats that apiextensions does not know. This is rarely intended.",
)
TYPE_NAME = Code(
    "type-name",
    "A JSON type that does not exist",
    "JSON schema has the types string, integer, number, boolean, array and object.",
)
UNIQUE_ITEMS = Code(
    "unique-items",
    "`uniqueItems: true` is forbidden in CRDs",
    "The check has quadratic cost, so the API server rejects it. For scalars, `x-kubernetes-list-type: set` has the "
    "same effect.",
)
CEL_SYNTAX = Code(
    "cel-syntax",
    "A CEL rule cannot be parsed",
    "Rules are written in the Common Expression Language. `self` is the value, `oldSelf` the value before the update.",
)
CEL_NAME = Code(
    "cel-name",
    "A CEL rule names a field that does not exist",
    "The API server type-checks rules. It rejects the CRD if a rule names an unknown field or variable.",
)
CEL_COST = warning(
    "cel-cost",
    "A CEL rule may cost more than the API server allows",
    "The API server estimates the worst-case cost of each rule. It rejects a CRD that exceeds its budgets: 10 million "
    "units per rule, 100 million for all rules. A value without `maxItems`, `maxProperties` or `maxLength` counts as "
    "large as a request can be. pykb's estimate is the same in most cases. Servers of different versions differ.",
)
CEL_REASON = Code(
    "cel-reason",
    "The API server does not know the reason of a CEL rule",
    "The API server knows FieldValueRequired, FieldValueInvalid, FieldValueForbidden and FieldValueDuplicate.",
)
ONE_OF_MEMBER = Code(
    "one-of-member",
    "A member of a one-of group is not an optional field of the object",
    "Members are optional fields of the same object. Use their JSON names.",
)
STRUCTURAL = Code(
    "structural-schema",
    "The schema is not structural",
    "The API server needs a type for every field, list element and map value, unless unknown fields are preserved. "
    "`properties` and `additionalProperties` cannot be used together. `allOf`, `anyOf`, `oneOf` and `not` can "
    "restrict values, but cannot declare types or fields. At the root of the object, even fewer keywords are allowed.",
)
SCHEMA_KEYWORD = Code(
    "schema-keyword",
    "A schema has a keyword that the API server does not accept",
    "`RawSchema` and `SchemaPatch` write keywords unchanged. A CRD accepts the keywords of JSONSchemaProps, each with "
    "a value of one form. It does not accept `$ref`, `id`, `definitions`, `dependencies`, `patternProperties` and "
    "`additionalItems`.",
)
BARE_METADATA = warning(
    "embedded-metadata",
    "Embedded metadata has no fields in the schema",
    "In a command line in controller-gen's form, `generateEmbeddedObjectMeta` defaults to false, as it does in "
    "controller-gen. Then `metadata` inside a type, for example in a pod template, has no fields in the schema, and "
    "the API server drops its labels and annotations. Set the option explicitly: "
    "`crd:generateEmbeddedObjectMeta=true` keeps them.",
)
EMPTY_STATUS = warning(
    "status-subresource",
    "The status subresource has no `status` field",
    "With `+kubebuilder:subresource:status`, the API server ignores everything except `status` in writes to the "
    "status subresource.",
)
CRD_NAME = Code(
    "crd-name",
    "A name in a CRD is not a DNS name",
    "Plural, singular, short names, categories and versions are DNS labels. The group is a domain name.",
)
CEL_TYPE = Code(
    "cel-type",
    "A CEL rule does not match the types of its values",
    "The API server knows the type of each field from the schema and type-checks the rules. It rejects the CRD if an "
    "operator or function does not accept its operands. A rule returns `bool`, a `messageExpression` returns `string`.",
)
CEL_OLD_SELF = Code(
    "cel-old-self",
    "A CEL rule cannot use `oldSelf` here, or does not use it",
    "A rule with `oldSelf` works where the API server can match a new value to its old value. It cannot do so below "
    "the elements of a list with the type `set` or `atomic`, or without a list type.",
)
TAG_NOT_EXPRESSIBLE = Code(
    "tag-not-expressible",
    "A declarative validation tag has no counterpart in a CRD",
    "Kubernetes validates its own types with generated Go code. A CRD has schema keywords and CEL rules, which cannot "
    "express every tag in every place.",
)
EXTERNAL_DOCS = Code(
    "external-docs",
    "The address of external documentation is not a URL",
    "`externalDocs` refers to documentation with an absolute URL, such as `https://example.com/docs`.",
)
CEL_MESSAGE = Code(
    "cel-message",
    "The API server rejects the message of a CEL rule",
    "A message is a single line and not blank. A rule with several lines needs a message.",
)
DEPRECATION_WARNING = Code(
    "deprecation-warning",
    "The API server rejects the warning of a deprecated version",
    "kubectl shows the warning. It must be one line of printable characters, 1 to 256 bytes long. Without it, the API "
    "server uses a default text.",
)
NULLABLE_ENUM = warning(
    "nullable-enum",
    "A field with an enum is nullable",
    "The API server looks for null among the values of the enum. It never finds it, even if the enum lists null. "
    "Python and the API server would accept different values.",
)
FRACTION_BOUND = warning(
    "fraction-bound",
    "The API server ignores the fraction of a bound for whole numbers",
    "If a bound or step of a number has a fraction, the API server uses the fraction only for values with a fraction. "
    "It compares a whole number with the whole part of the bound. Python and the API server would accept different "
    "values.",
)
MARKER_UNREAD = warning(
    "marker-unread",
    "no kind uses the type that a marker is on",
    "Schemas are generated from the kinds in `api` packages and from the types that they use, wherever those are "
    "declared. A marker on another type has no effect.",
)
