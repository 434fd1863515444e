"""Mistakes in CRDs and their schemas that show once markers and types come together."""

from __future__ import annotations

from pykb.diagnostics.model import Code, Severity

ENUM_DISJOINT = Code(
    "enum-disjoint",
    "A field and its type allow no common value",
    "A named type's `enum` and that of a field of this type both hold, so only values in both lists are allowed.",
)
TYPE_CONFLICT = Code(
    "type-conflict",
    "Two declarations of one field have different types",
    "A field's own schema refines that of its named type; their JSON types must be the same.",
)
CONSTRAINT_CONFLICT = Code(
    "constraint-conflict",
    "A marker and a Pydantic constraint disagree",
    "Every constraint has a Pydantic spelling, which Python checks as well, and a marker spelling. Giving both "
    "is fine as "
    "long as they agree; otherwise what Python accepts and what the API server accepts would differ.",
)
MARKER_TYPE = Code(
    "marker-type",
    "A marker does not fit the type it is applied to",
    "Length and pattern markers apply to strings, bounds to numbers, item counts to lists, property counts to objects.",
)
STORAGE_VERSION = Code(
    "storage-version",
    "A kind needs exactly one storage version",
    "Objects are stored in one version; with several, mark it by `+kubebuilder:storageversion`.",
)
NO_SERVED_VERSION = Code(
    "no-served-version",
    "No version of a kind is served",
    "The API server refuses a CRD without a served version.",
)
SAMPLE_REFUSED = Code(
    "sample-refused",
    "A sample does not fit the schema of its kind",
    "`kubectl apply -k config/samples` would end in the error that is quoted, and so would the test that applies the "
    "sample. The manifests were written: change the sample, or the type. `pykb generate --check`, and with it `make`, "
    "fail until then.",
    Severity.WARNING,
)

CRD_TOO_LARGE = Code(
    "crd-size",
    "A CRD is too large",
    "Client-side `kubectl apply` stores the whole object in an annotation of at most 262144 bytes, and etcd "
    "refuses objects "
    "beyond 1.5 MiB. Shorten descriptions with `--max-desc-len`, or use server-side apply.",
    Severity.WARNING,
)
PROTECTED_GROUP = Code(
    "protected-group",
    "A group under k8s.io or kubernetes.io needs an approval annotation",
    "The API server refuses CRDs of the groups `*.k8s.io` and `*.kubernetes.io` unless the annotation "
    "`api-approved.kubernetes.io` gives the URL of the approval, or a reason that starts with `unapproved`.",
)
COLUMN_TYPE = Code(
    "column-type",
    "A printer column does not fit the field that it shows",
    "A column of type integer, number or boolean shows such values only, one of type date a time as text; other cells "
    "stay empty. A column of type string shows any value.",
    Severity.WARNING,
)
JSON_PATH = Code(
    "json-path",
    "A JSONPath leads to no field",
    "Printer columns, the scale subresource and selectable fields name fields by a JSONPath such as "
    "`.spec.replicas`; it "
    "must lead to a field of the schema. Of a scale subresource this is a warning: the API server takes such a path, "
    "and scaling does nothing.",
)
DUPLICATE_NAME = Code(
    "duplicate-name",
    "Two fields have one name on the wire",
    "Each field of an object needs a JSON name of its own.",
)
METADATA_FORM = Code(
    "metadata-form",
    "An annotation or label is not in the form `key=value`",
    '`+kubebuilder:metadata:annotations="key=value"` takes pairs split at the first `=`.',
)
CONFLICTING_VERSIONS = Code(
    "conflicting-versions",
    "Versions of one kind disagree about what they share",
    "Names, scope, short names and categories belong to the whole CRD; say them in one version or alike in all.",
)
LIST_TOPOLOGY = Code(
    "list-topology",
    "List type and keys do not fit the list",
    "`map` lists hold objects and name at least one key; each key is a scalar field that is required or has a default. "
    "`set` lists hold scalars, or objects and lists that are atomic.",
)
DEFAULT_VALUE = Code(
    "default-value",
    "A default does not fit the field's schema",
    "The API server validates defaults against the schema, and refuses the CRD when one does not fit. A default in "
    "Python that fits the schema but not the type (`None` for an `int`, a time without a zone) is a warning.",
)
ENUM_VALUE = Code(
    "enum-value",
    "An enum value does not fit the field's type",
    "A value of another type can never be given.",
)
BOUNDS = Code(
    "bounds",
    "No value lies within the bounds",
    "A minimum above its maximum, or a negative length, allows nothing.",
)
PATTERN = Code(
    "pattern",
    "A pattern is no regular expression of the API server",
    "The API server uses RE2: no look-around, no back-references, possessive quantifiers or atomic groups.",
)
FORMAT = Code(
    "format",
    "A format that the API server does not check",
    "Formats outside the list of apiextensions are accepted and ignored, which is seldom meant.",
    Severity.WARNING,
)
TYPE_NAME = Code(
    "type-name",
    "A JSON type that does not exist",
    "JSON schema knows string, integer, number, boolean, array and object.",
)
UNIQUE_ITEMS = Code(
    "unique-items",
    "`uniqueItems: true` is forbidden in CRDs",
    "Its cost is quadratic, so the API server refuses it; `x-kubernetes-list-type: set` does the same for scalars.",
)
CEL_SYNTAX = Code(
    "cel-syntax",
    "A CEL rule cannot be parsed",
    "Rules are in the Common Expression Language; `self` is the value, `oldSelf` the value before the update.",
)
CEL_NAME = Code(
    "cel-name",
    "A CEL rule names a field that is not there",
    "The API server type-checks rules and refuses the CRD when one names an unknown field or variable.",
)
CEL_COST = Code(
    "cel-cost",
    "A CEL rule may cost more than the API server allows",
    "The API server estimates the worst case of each rule and refuses a CRD beyond its budgets, 10 million units for a "
    "rule and 100 million for all. What has no `maxItems`, `maxProperties` or `maxLength` counts as long as a request "
    "can be. The estimate made here is the same in most cases; servers differ by version.",
    Severity.WARNING,
)
CEL_REASON = Code(
    "cel-reason",
    "The reason of a CEL rule is not one that the API server knows",
    "Known are FieldValueRequired, FieldValueInvalid, FieldValueForbidden and FieldValueDuplicate.",
)
ONE_OF_MEMBER = Code(
    "one-of-member",
    "A member of a one-of group cannot take part",
    "Members are optional fields of the same object, by their wire names.",
)
STRUCTURAL = Code(
    "structural-schema",
    "The schema is not structural",
    "The API server needs a type for every field, list element and map value, unless unknown fields are preserved; and "
    "`properties` and `additionalProperties` exclude each other. `allOf`, `anyOf`, `oneOf` and `not` restrict values "
    "of parts that the schema has; they say nothing of its structure. The whole object says even less.",
)
SCHEMA_KEYWORD = Code(
    "schema-keyword",
    "A schema has a keyword that the API server does not take",
    "`RawSchema` and `SchemaPatch` write keywords word for word. A CRD knows those of JSONSchemaProps, each with a "
    "value of one form. It has no `$ref`, `id`, `definitions`, `dependencies`, `patternProperties`, `additionalItems`.",
)
BARE_METADATA = Code(
    "embedded-metadata",
    "Embedded metadata has no fields in the schema",
    "On a command line in controller-gen's words, `generateEmbeddedObjectMeta` is false where nothing else is said, as "
    "it is there. Then `metadata` inside of a type, for example in a pod template, has no fields in the schema, and "
    "the API server drops its labels and annotations. Say which of the two you want: "
    "`crd:generateEmbeddedObjectMeta=true` keeps them.",
    Severity.WARNING,
)
EMPTY_STATUS = Code(
    "status-subresource",
    "The status subresource has no `status` field",
    "With `+kubebuilder:subresource:status` the API server drops everything but `status` from writes to it.",
    Severity.WARNING,
)
CRD_NAME = Code(
    "crd-name",
    "A name of a CRD is no DNS name",
    "Plural, singular, short names, categories and versions are DNS labels; the group is a domain name.",
)
CEL_TYPE = Code(
    "cel-type",
    "A CEL rule does not fit the types of its values",
    "The API server knows the type of each field from the schema, checks rules by it, and refuses the CRD where an "
    "operator or function does not take what it is given. A rule gives `bool`, a `messageExpression` gives `string`.",
)
CEL_OLD_SELF = Code(
    "cel-old-self",
    "A CEL rule cannot use `oldSelf` here, or does not use it",
    "Rules that compare with the old value work where the API server can tell which old value belongs to a new one: "
    "not "
    "below the elements of lists of type `set` or `atomic`, or without a list type.",
)
TAG_NOT_EXPRESSIBLE = Code(
    "tag-not-expressible",
    "A tag of declarative validation has no counterpart in a CRD",
    "Kubernetes' own types are validated by generated Go code; a CRD has schema keywords and CEL rules, "
    "which cannot say "
    "everything in every place.",
)
EXTERNAL_DOCS = Code(
    "external-docs",
    "The address of external documentation is no URL",
    "`externalDocs` points to documentation by an absolute URL, such as `https://example.com/docs`.",
)
CEL_MESSAGE = Code(
    "cel-message",
    "The message of a CEL rule is refused by the API server",
    "A message is one line and not blank; a rule that has several lines needs one.",
)
DEPRECATION_WARNING = Code(
    "deprecation-warning",
    "The warning of a deprecated version is refused by the API server",
    "The warning is shown by kubectl: one line of printable characters, 1 to 256 bytes. Without it the server writes "
    "its own.",
)
NULLABLE_ENUM = Code(
    "nullable-enum",
    "Null is allowed beside an enum",
    "The API server looks for null among the values of the enum and never finds it, not even where it is one of them. "
    "What Python accepts and what the API server accepts would differ.",
    Severity.WARNING,
)
FRACTION_BOUND = Code(
    "fraction-bound",
    "The API server judges whole numbers by a bound without its fraction",
    "A bound or step of a number that has a fraction holds for values with a fraction. A whole number is compared with "
    "the whole part alone, so that Python and the API server differ about it.",
    Severity.WARNING,
)
MARKER_UNREAD = Code(
    "marker-unread",
    "a marker in a file whose types no kind uses",
    "Schemas are made from the kinds in `api` packages, and from the types that these use, wherever they are declared. "
    "A marker on another type changes nothing.",
    Severity.WARNING,
)
