"""What hostile projects are made of: plausible and odd pieces of types, annotations, defaults, rules and paths."""

from __future__ import annotations

HEADER = """\
from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from ipaddress import IPv4Address
from typing import Annotated, Any, Generic, Literal, NewType, TypeVar
from uuid import UUID

from pydantic import AnyUrl, SecretStr

from pykb.api import *
from pykb.api.annotations import SchemaOnly, SchemaRequired
from pykb.api.core.v1 import Container, EnvVar, ObjectReference, PodSpec, PodTemplateSpec, Probe, ResourceRequirements, Toleration
from pykb.api.meta.v1 import Condition, LabelSelector, ObjectMeta

GV = GroupVersion("hostile.example.com", "{version}")
T = TypeVar("T")


class Color(StrEnum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 3


class Inner(Struct):
    a: str | None = None
    b: int = 1
    n: Annotated[int | None, Nullable()] = None


class Keyed(Struct):
    name: str
    value: str | None = None
    port: int = 80
    tags: list[str] = []
    hint: Annotated[str | None, Nullable()] = None
    either: IntOrString = 1


class Boxed(Struct, Generic[T]):
    content: T
    also: list[T] = []


class Cat(Struct):
    kind: Literal["cat"]
    lives: int


class Dog(Struct):
    kind: Literal["dog"]
    tail: str


class Node(Struct):
    name: str
    children: list[Annotated[Node, PreserveUnknown()]] = []


Name = NewType("Name", Annotated[str, Field(min_length=1, max_length=63)])
Port = NewType("Port", Annotated[int, Field(ge=1, le=65535)])
Names = Annotated[list[Name], ListSet(), Field(max_length=8)]


"""

SCALARS = [
    *("str", "str", "str", "int", "int", "bool", "float", "bytes", "datetime", "date", "timedelta", "UUID", "IPv4Address"),
    *("Quantity", "IntOrString", "int | str", "Int32", "Int64", "Decimal", "AnyUrl", "SecretStr", "Color", "Level", "Duration"),
    *('Literal["a", "b"]', "Literal[1, 2]", "Literal[True]", 'Literal["a", None]', "Name", "Port", "MicroTime", "Time"),
]  # fmt: skip
OBJECTS = [
    *("Inner", "Inner", "Keyed", "Node", "Cat | Dog", 'Annotated[Cat | Dog, Field(discriminator="kind")]', "Boxed[int]"),
    *("Boxed[Inner]", "ObjectMeta", "PodSpec", "PodTemplateSpec", "Container", "EnvVar", "ResourceRequirements", "Probe"),
    *("LabelSelector", "Condition", "ObjectReference", "Toleration", "dict[str, Any]", "RawExtension"),
]  # fmt: skip
OPEN = ["Any", "JSON", "object", "dict", "list", "list[Any]", "Names", "tuple[int, int]", "tuple[str, ...]"]
NUMBERS = ["0", "1", "2", "3", "10", "-1", "5", "100", "1.5", "2.0", "0.1", "2**31", "2**63", "2**64", "1e3", "1e300"]
COUNTS = ["0", "1", "2", "3", "5", "10", "63", "100", "1000", "100000", "2**31", "2**63"]
PATTERNS = [
    *("^[a-z]+$", "a|b", r"^\d+$", r"^\w*$", "(?i)^yes$", "[^x]", "(", "(?=a)", r"\p{Greek}", "[[:alpha:]]", "^.{0,1000}$", ""),
    *("a{1001}", r"\Z", r"\z", r"^\x41$", r"\u0041", "(?P<a>b)", "(?<a>b)", "a++", r"\Qa.b\E", r"\C", "[a-Z]", "é+", "x*?"),
    *("(a{500}){500}", "(?s).", "(?m)^a$", "(?x) a", "\\", "[]a]", "[a", "a)", "a**", r"\1", "(?#c)a", "a{2,1}", "a{,3}"),
]  # fmt: skip
FORMATS = [
    *("date-time", "date", "duration", "email", "uri", "ipv4", "ipv6", "cidr", "uuid", "hostname", "mac", "byte", "int32"),
    *("int64", "float", "double", "password", "k8s-short-name", "nonsense", "", "datetime", "hexcolor", "isbn"),
]  # fmt: skip
TYPES = ["string", "integer", "number", "boolean", "array", "object", "null", "text", ""]

# Python values as defaults: right for some type, wrong for others.
VALUES = [
    *('"a"', '"red"', '""', '"b"', '"2026-01-01T00:00:00Z"', '"10Gi"', '"1h"', "1", "0", "80", "-1", "1.5", "True", "False"),
    *("None", "[]", "{}", '["a"]', '["a", "a"]', "[1]", "[1, 1]", "[None]", '{"a": 1}', '{"a": "x"}', '{"name": "x"}', "[{}]"),
    *('[{"name": "x"}]', '[{"name": "x"}, {"name": "x"}]', '{"nope": 1}', "{1}", '{"a"}', "set()", "(1, 2)", "ObjectMeta()"),
    *('ObjectMeta(name="x")', "Inner()", 'Inner(a="x")', 'Keyed(name="k")', '[Keyed(name="k")]', "Color.RED", "Level.HIGH"),
    *('Quantity("1Gi")', "timedelta(hours=1)", "b'x'", "2**40", "2**63", "{'a': None}", "{'a': [1]}", "Inner(b=7)", '"cat"'),
    *("Field(default=1)", 'Field(default="a")', "Field(default_factory=list)", "Field(default_factory=Inner)", "[[1]]"),
    *("Field(default_factory=lambda: [1])", 'Field(default_factory=lambda: {"a": "b"})', "datetime(2026, 1, 1)", "..."),
    *('UUID("12345678-1234-5678-1234-567812345678")', 'Container(name="c")', '[Container(name="c")]', 'Decimal("1.5")'),
    *('EnvVar(name="A", value="b")', "LabelSelector()", 'ObjectMeta(labels={"a b": "c"})', 'ObjectMeta(name="Not A Name")'),
]  # fmt: skip
# Values of markers that take any: in their grammar, not in Python's.
MARKER_VALUES = [
    *("1", "0", "a", '"a"', "true", "{}", "{a: 1}", '{a: "x"}', "{name: x}", "{1,2}", "{a,a}", "a;b", "1;2", "null", '"null"', "1.5"),
    *('""', "{{name: x},{name: x}}", "-1", "red", "10Gi", '"2026-01-01T00:00:00Z"', "9223372036854775807", "{b: 1}", "{nope: 1}"),
]  # fmt: skip
JSON_VALUES = [
    *("1", '"a"', "true", "null", "{}", "[]", '["a"]', '["a","a"]', "[1,2]", '{"a":"x"}', '{"b":1}', '[{"name":"x"}]', "1.5"),
    *('{"name":"x"}', '[{"name":"x"},{"name":"x"}]', '""', '{"a":null}', "[null]", "1e2", "-5", '"10Gi"', '{"nope":1}'),
]  # fmt: skip
SCHEMAS = [
    '{"type": "string"}',
    '{"type": "object"}',
    '{"type": "array"}',
    '{"type": "array", "items": {"type": "string"}}',
    '{"type": "array", "items": [{"type": "string"}]}',
    '{"type": "object", "properties": {"a": {"type": "string"}}}',
    '{"type": "object", "properties": {"a": {}}}',
    '{"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}',
    '{"type": "object", "additionalProperties": {"type": "integer"}}',
    '{"type": "object", "additionalProperties": True}',
    '{"type": "object", "additionalProperties": False}',
    '{"type": "object", "required": ["a"]}',
    '{"type": "object", "x-kubernetes-preserve-unknown-fields": True}',
    '{"x-kubernetes-preserve-unknown-fields": True}',
    '{"x-kubernetes-preserve-unknown-fields": False}',
    '{"x-kubernetes-preserve-unknown-fields": None}',
    '{"x-kubernetes-int-or-string": True}',
    '{"x-kubernetes-int-or-string": True, "type": "string"}',
    '{"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}',
    '{"anyOf": [{"type": "integer"}, {"type": "string"}]}',
    '{"type": "string", "anyOf": [{"pattern": "^a"}, {"pattern": "b$"}]}',
    '{"type": "string", "anyOf": [{"type": "string"}]}',
    '{"allOf": [{"type": "string"}]}',
    '{"allOf": [{"minLength": 1}]}',
    '{"allOf": [{"pattern": "("}]}',
    '{"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}',
    '{"oneOf": [{"properties": {"a": {"minLength": 1}}}]}',
    '{"oneOf": [{"properties": {"zz": {"minLength": 1}}}]}',
    '{"not": {"enum": ["x"]}}',
    '{"not": {"type": "string"}}',
    '{"not": {"nullable": True}}',
    '{"not": {"properties": {"metadata": {"required": ["a"]}}}}',
    '{"anyOf": [{"default": 1}]}',
    '{"anyOf": [{"description": "x"}]}',
    '{"anyOf": [{"additionalProperties": {"minLength": 1}}]}',
    '{"anyOf": [{"items": {"minLength": 1}}]}',
    '{"anyOf": []}',
    '{"allOf": [{"x-kubernetes-validations": [{"rule": "true"}]}]}',
    '{"minLength": 1.5}',
    '{"minLength": "1"}',
    '{"maxLength": -1}',
    '{"minimum": "1"}',
    '{"minimum": 1}',
    '{"maximum": 1e300}',
    '{"pattern": 5}',
    '{"pattern": "("}',
    '{"enum": []}',
    '{"enum": "a"}',
    '{"enum": ["a", None]}',
    '{"nullable": True}',
    '{"nullable": "yes"}',
    '{"format": "nonsense"}',
    '{"format": 3}',
    '{"default": 1}',
    '{"default": None}',
    '{"default": {"a": {"b": 1}}}',
    '{"example": {"a": 1}}',
    '{"uniqueItems": True}',
    '{"uniqueItems": False}',
    '{"required": "a"}',
    '{"required": ["a", "a"]}',
    '{"required": ["zz"]}',
    '{"required": [1]}',
    '{"properties": {"a": None}}',
    '{"properties": {"a": {"type": "integer"}}}',
    '{"properties": {"z": {"type": "integer"}}}',
    '{"properties": {"z": {"minimum": 1}}}',
    '{"properties": {"metadata": {"type": "string"}}}',
    '{"properties": {"kind": {"type": "integer"}}}',
    '{"properties": []}',
    '{"items": {"type": "string"}}',
    '{"items": None}',
    '{"items": {"nullable": True}}',
    '{"additionalProperties": None}',
    '{"additionalProperties": True}',
    '{"additionalProperties": {"type": "string"}}',
    '{"additionalProperties": {"default": 1}}',
    '{"type": None}',
    '{"type": "integer"}',
    '{"type": ["string", "null"]}',
    '{"type": "null"}',
    '{"$ref": "#/definitions/x"}',
    '{"id": "x"}',
    '{"$schema": "x"}',
    '{"definitions": {"x": {"type": "string"}}}',
    '{"patternProperties": {"a": {"type": "string"}}}',
    '{"dependencies": {"a": ["b"]}}',
    '{"additionalItems": True}',
    '{"foo": 1}',
    '{"const": 1}',
    '{"readOnly": True}',
    '{"x-foo": 1}',
    '{"title": 3}',
    '{"title": "x"}',
    '{"description": 3}',
    '{"externalDocs": {"url": "https://x.y"}}',
    '{"externalDocs": "x"}',
    '{"x-kubernetes-list-type": "set"}',
    '{"x-kubernetes-list-type": "map"}',
    '{"x-kubernetes-list-type": "bag"}',
    '{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}',
    '{"x-kubernetes-list-map-keys": ["name"]}',
    '{"x-kubernetes-list-map-keys": "name"}',
    '{"x-kubernetes-map-type": "atomic"}',
    '{"x-kubernetes-map-type": "loose"}',
    '{"x-kubernetes-embedded-resource": True}',
    '{"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}',
    '{"x-kubernetes-validations": [{"rule": "true"}]}',
    '{"x-kubernetes-validations": [{"rule": "true", "foo": 1}]}',
    '{"x-kubernetes-validations": [{"message": "x"}]}',
    '{"x-kubernetes-validations": [{"rule": "self == oldSelf", "optionalOldSelf": "x"}]}',
    '{"x-kubernetes-validations": {"rule": "true"}}',
    '{"maxItems": 3}',
    '{"minProperties": 2}',
    '{"multipleOf": 0}',
    '{"multipleOf": 0.5}',
    '{"exclusiveMinimum": 3}',
    '{"exclusiveMinimum": True}',
]
FIELDS = [
    "a",
    "b",
    "c",
    "name",
    "spec_field",
    "namespace",
    "size",
    "phase",
    "replicas",
    "items",
    "metadata",
    "kind_",
    "value",
]
KEYS = ["name", "port", "value", "hint", "tags", "either", "nope", "a", "b", "n", ""]
PATHS = [
    *(".spec.a", ".spec.b", ".spec.name", ".spec.replicas", ".status.replicas", ".status.phase", ".spec", ".status", ".metadata.name"),
    *(".metadata.creationTimestamp", ".spec.items[0]", ".spec.items[*].name", '.status.conditions[?(@.type=="Ready")].status', "spec.a"),
    *("", " .spec.a", ".spec.nope", ".spec.value.a", "..spec", ".", ".spec.", ".spec['a']", "{.spec.a}", ".spec.size", ".spec.specField"),
    *(".spec.a b", ".spec.namespace", ".metadata.labels.x", ".kind", ".spec.value.name", ".spec.c", ".status.size", ".metadata"),
]  # fmt: skip
NAMES = [
    "things",
    "Things",
    "a",
    "a-b",
    "a_b",
    "a.b",
    "-a",
    "1a",
    "x" * 63,
    "x" * 64,
    "thing",
    "t",
    "all",
    "é",
    "",
    " ",
]
PAIRS = ["a=b", "a.b/c=d", "a b=c", "a=b c", "a", "=b", "a/b/c=d", "A=B", "a=" + "x" * 64, "é=a", "a=é", "a=", "_a=b"]
HOSTS = [
    "example.com",
    "example.com:8443",
    "a b.c",
    "exa mple.com",
    "[::1]",
    "[::1",
    "localhost",
    "10.0.0.1",
    "user@example.com",
    "",
    "é.com",
]
WEBHOOK_WORDS = {
    "name": ["mfoo-v1.kb.io", "a.b", "A.b.c", "a.b.c.", "a..b.c", "x" * 64 + ".b.c", "vthing-v1.kb.io", "a_b.c.d", ""],
    "path": ["/mutate-a", "/validate-a", "mutate", "/a//b", "/", "/a/b/", "/a b", "/A", "/a?b", "", "/.a", "/-a"],
    "groups": ["apps", "hostile.example.com", '""', "*", "apps;batch", "*;apps", "A", "core", "a b", "a_b.c"],
    "resources": ["things", "*", "*/*", "pods;pods/status", "pods/*", "*/status", "things;*", "/status", "a/b/c", "Things", "pods/", "*;pods", "*/*;pods/log"],
    "verbs": ["create", "create;update", "*", "*;create", "create;create", "CONNECT", "delete"],
    "versions": ["v1", "*", "v1;v2", "*;v1", "v1;v1", '""', "1", "V1"],
    "admissionReviewVersions": ["v1", "v1;v1beta1", "v2", "v1;v1", "v1;V2", "v1beta1", '""', "v1;a_b"],
    "sideEffects": ["None", "NoneOnDryRun", "none"],
    "timeoutSeconds": ["1", "10", "30"],
    "serviceName": ["svc", "Svc", "1svc", "a.b", ""],
    "serviceNamespace": ["ns", "1ns", "a.b", "Ns", ""],
    "servicePort": ["443", "8443", "1", "65535"],
    "patch": [
        *('`{"matchPolicy":"Exact"}`', '`{"matchPolicy":"exact"}`', '`{"failurePolicy":"x"}`', '`{"rules":[]}`', '`{"rules":[{}]}`'),
        *('`{"namespaceSelector":{"matchLabels":{"a":"b"}}}`', '`{"namespaceSelector":{"matchLabels":{"a b":"c d"}}}`', "`{}`"),
        *('`{"namespaceSelector":{"matchExpressions":[{"key":"a","operator":"In"}]}}`', '`{"objectSelector":{}}`', '`{"name":"x"}`'),
        *('`{"objectSelector":{"matchExpressions":[{"key":"a","operator":"Exists","values":["b"]}]}}`', '`{"sideEffects":"Some"}`'),
        *('`{"matchConditions":[{"name":"a","expression":"true"}]}`', '`{"matchConditions":[{"name":"a b","expression":"true"}]}`'),
        *('`{"matchConditions":[{"name":"a","expression":"1"}]}`', '`{"clientConfig":{"url":"https://a.b"}}`', '`{"timeoutSeconds":31}`'),
        *('`{"clientConfig":{"caBundle":"!"}}`', '`{"clientConfig":{"service":{"port":0}}}`', '`{"admissionReviewVersions":["v3"]}`'),
        *('`{"rules":[{"operations":["CREATE"],"apiGroups":["a"],"apiVersions":["v1"],"resources":["x"],"scope":"All"}]}`', '`{"clientConfig":{}}`'),
    ],
}  # fmt: skip
