"""Checks the rules of structural schemas: keywords by type, the root of a kind, embedded resources, junctors.

Junctors (``allOf``, ``anyOf``, ``oneOf`` and ``not``) may constrain values and must not define structure.

Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
and the validation of CustomResourceDefinitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pykb.diagnostics import Code, Diagnostic, Span
from pykb.diagnostics.codes.crd import PATTERN, STRUCTURAL, UNIQUE_ITEMS
from pykb.gen.checks.value import pattern_problem
from pykb.gen.draft import patched
from pykb.gen.ir import RULES, SchemaNode

PRESERVE = "x-kubernetes-preserve-unknown-fields"
EMBEDDED = "x-kubernetes-embedded-resource"
MAP_TYPE = "x-kubernetes-map-type"
_KEEP = "+kubebuilder:pruning:PreserveUnknownFields"
# With a status subresource, the server validates the status separately. The root may have only these keywords then.
_OF_A_WHOLE = frozenset(
    [
        *("description", "type", "format", "title", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"),
        *("maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "required"),
        *("externalDocs", "example", PRESERVE),
    ],
)
_Problem = tuple[str, str, tuple[str, ...]]
"""The keyword, if there is one, the message, and what to type."""


def check_structure(node: SchemaNode, what: str, at: Span | None) -> Iterator[Diagnostic]:
    """Check one schema. Its sub-schemas are checked separately.

    Args:
        node: Without references.
        what: How messages call its value.
        at: Where it is declared.
    """
    yield from _report(_of_types(node, what), node, at)
    yield from _report(_of_objects(node, what), node, at)
    if node.get(EMBEDDED):
        yield from _report(_of_embedded(node, what), node, at)


def check_whole(node: SchemaNode, *, has_status: bool) -> Iterator[Diagnostic]:
    """Check the rules that apply only to the root schema of a kind."""
    yield from _report(_of_a_whole(node), node, node.span)
    if has_status:
        yield from _report(_beside_status(node), node, node.span)
    yield from _report(_of_metadata(node, "the object"), node, node.span)


def _report(problems: Iterator[_Problem], node: SchemaNode, at: Span | None) -> Iterator[Diagnostic]:
    for name, message, help_ in problems:
        keyword = node.keywords.get(name)
        yield STRUCTURAL.at((keyword.span if keyword else None) or at, message, help=help_)


def _of_types(node: SchemaNode, what: str) -> Iterator[_Problem]:
    open_ = node.get(PRESERVE)
    if node.type is None and not node.is_int_or_string and not open_:
        message = f"{what} has no type in the schema, but a structural schema needs one everywhere"
        yield "", message, ("+kubebuilder:validation:Type=...", f"or keep anything: `{_KEEP}`")
    if node.is_int_or_string:
        if node.type is not None:
            yield "", f"{what} is int-or-string, which cannot have a type, found `{node.type}`", ()
        elif node.properties or node.items is not None or node.values is not None:
            yield "x-kubernetes-int-or-string", f"{what} is int-or-string, which cannot have fields or elements", ()
        elif open_:
            message = f"{what} is int-or-string, which has no unknown fields to keep"
            yield PRESERVE, message, (f"remove `{node.keywords[PRESERVE].spelling or PRESERVE}`",)
    if node.type == "array" and node.items is None:
        message = f"{what} is a list, but its schema has no `items`"
        yield "type", message, ("list[str]", "+kubebuilder:validation:items:Type=...")


def _of_objects(node: SchemaNode, what: str) -> Iterator[_Problem]:
    if node.get(MAP_TYPE) is not None and node.type != "object":
        spelling = node.keywords[MAP_TYPE].spelling or MAP_TYPE
        message = f"`{spelling}` applies to objects and maps, but {what} is `{node.type_name}`"
        yield (
            MAP_TYPE,
            message,
            ("for lists: `ListAtomic()`, `ListSet()`, `ListMap(...)`",) if node.type == "array" else (),
        )
    elif node.get(MAP_TYPE) not in {None, "atomic", "granular"}:
        yield MAP_TYPE, f"`{node.get(MAP_TYPE)}` is not a valid map type of {what}: expected `atomic` or `granular`", ()
    if node.properties and (node.values is not None or node.get("additionalProperties") is False):
        message = f"{what} has `properties` and `additionalProperties`, which exclude each other"
        yield "additionalProperties", message, (f"for an object that may have other fields: `{_KEEP}`",)
    if PRESERVE in node.keywords and not node.get(PRESERVE):
        yield PRESERVE, f"`{PRESERVE}` of {what} is `false`: it must be `true` or absent", ("remove it",)


def _of_embedded(node: SchemaNode, what: str) -> Iterator[_Problem]:
    if node.type != "object":
        yield EMBEDDED, f"{what} is an embedded resource, which must be an object, found `{node.type_name}`", ()
        return
    if node.values is not None or "additionalProperties" in node.keywords:
        message = f"{what} is an embedded resource, which must have its own fields, found a map"
        yield EMBEDDED, message, ("dict[str, Any]",)
    elif not node.properties and not node.get(PRESERVE):
        message = f"{what} is an embedded resource without fields, so the API server would drop its content"
        yield EMBEDDED, message, (_KEEP,)
    yield from _of_metadata(node, what)


def _of_metadata(node: SchemaNode, what: str) -> Iterator[_Problem]:
    """Check that ``metadata`` is not redefined."""
    for name, kind in (("apiVersion", "string"), ("kind", "string"), ("metadata", "object")):
        prop = (node.properties or {}).get(name)
        if prop is None:
            continue
        if prop.schema.type != kind:
            yield "", f"the field `{name}` of {what} is `{kind}` in every object, found `{prop.schema.type_name}`", ()
        if any(part.get(EMBEDDED) for part in _parts(prop.schema)):
            yield "", f"the field `{name}` of {what} contains an embedded resource, which is not allowed", ()


def _of_a_whole(node: SchemaNode) -> Iterator[_Problem]:
    if node.type not in {"object", None}:
        yield "type", f"a kind must be an object, found `{node.type}`", ()
    if node.get("nullable"):
        yield "nullable", "a whole object cannot be null", ()
    if node.values is not None or "additionalProperties" in node.keywords:
        yield "additionalProperties", "a kind has fields, so it cannot be a map: `additionalProperties`", ()
    for name in ("apiVersion", "kind", "metadata"):
        prop = (node.properties or {}).get(name)
        if prop is not None and any("default" in part.keywords for part in _parts(prop.schema)):
            yield "", f"the field `{name}` of the object cannot have a default", ()
    metadata = (node.properties or {}).get("metadata")
    if metadata is not None and not _is_bare(metadata.schema):
        yield "", "the schema of `metadata` can restrict only `name` and `generateName`", ()


def _beside_status(node: SchemaNode) -> Iterator[_Problem]:
    other = [name for name in node.keywords if name not in _OF_A_WHOLE] + (["allOf"] if node.all_of else [])
    for name in other:
        keyword = node.keywords.get(name)
        spelling = keyword.spelling if keyword is not None and keyword.spelling else name
        message = f"`{spelling}` cannot be on a kind with a status subresource: the API server splits its schema"
        yield name, message, ("put it on the class of the spec or the status", "or use a rule: `CEL(...)`")


def _is_bare(node: SchemaNode) -> bool:
    rest = not node.all_of and node.values is None and node.items is None
    return rest and set(node.keywords) <= {"type", "default"} and set(node.properties or {}) <= {"name", "generateName"}


def _parts(node: SchemaNode) -> Iterator[SchemaNode]:
    yield node
    for prop in (node.properties or {}).values():
        yield from _parts(prop.schema)
    for part in (node.items, node.values):
        if part is not None:
            yield from _parts(part)


JUNCTORS = ("allOf", "anyOf", "oneOf", "not")
_FORBIDDEN = (
    *("type", "default", "title", "description", "nullable", "x-kubernetes-preserve-unknown-fields"),
    *("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys"),
    *("x-kubernetes-list-type", "x-kubernetes-map-type"),
)
_EITHER = [{"type": "integer"}, {"type": "string"}]


def check_junctors(node: SchemaNode, what: str, at: Span | None) -> Iterator[Diagnostic]:
    """Check the schemas in the junctors of a schema.

    Args:
        node: The schema that defines the structure.
        what: How messages call its value.
        at: Where it is declared.
    """
    for way, part, span in _nested(node, "", top=True):
        for code, message in _problems(part, node, way, what):
            yield code.at(span or at, message, help=_HELP if code is STRUCTURAL else ())


_HELP = ("put it into the schema itself, next to `allOf`, `anyOf`, `oneOf` and `not`",)


def _nested(node: SchemaNode, way: str, *, top: bool = False) -> Iterator[tuple[str, SchemaNode, Span | None]]:
    """The schemas in the junctors of a schema, each with its path. With ``top``, without those of an int-or-string."""
    for index, part in enumerate(node.all_of):
        if not (top and index == 0 and not part.all_of and _is_either(part)):
            yield f"{way}allOf[{index}]", part, part.span
    for name in JUNCTORS[1:]:
        keyword = node.keywords.get(name)
        if keyword is None or (top and name == "anyOf" and keyword.value == _EITHER):
            continue
        for step, schema in _schemas_of(name, keyword.value):
            yield f"{way}{step}", patched(SchemaNode(span=keyword.span), schema, keyword.span), keyword.span


def _schemas_of(name: str, value: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The schemas of a junctor as plain objects, each with its path. Others are reported elsewhere."""
    if name == "not":
        listed = [(name, value)]
    else:
        listed = [(f"{name}[{index}]", part) for index, part in enumerate(value if isinstance(value, list) else ())]
    for step, part in listed:
        if isinstance(part, Mapping):
            yield step, part


def _is_either(part: SchemaNode) -> bool:
    found = part.get("anyOf")
    return isinstance(found, list) and found == _EITHER


def _problems(part: SchemaNode, node: SchemaNode | None, way: str, what: str) -> Iterator[tuple[Code, str]]:
    for name in _structure(part):
        yield STRUCTURAL, f"`{way}` of {what} has `{name}`, which is allowed only in the schema itself"
    if part.get("uniqueItems"):
        yield UNIQUE_ITEMS, f"`uniqueItems: true` in `{way}` of {what} is refused by the API server"
    pattern = part.get("pattern")
    problem = pattern_problem(pattern) if isinstance(pattern, str) else None
    if problem is not None:
        yield (
            PATTERN,
            (
                f"the pattern of `{way}` of {what}, `{pattern}`, is not a regular expression that the API server "
                f"accepts: {problem}"
            ),
        )
    if part.items is not None:
        yield from _missing(node.items if node else None, part.items, f"{way}.items", what)
    known = (node.properties if node else None) or {}
    for name, prop in (part.properties or {}).items():
        if name == "metadata":
            yield STRUCTURAL, f"`{way}` of {what} restricts `metadata`, which is not allowed"
        beside = known[name].schema if name in known else None
        yield from _missing(beside, prop.schema, f"{way}.properties.{name}", what)
    for inner, nested, _ in _nested(part, f"{way}."):
        yield from _problems(nested, node, inner, what)


def _structure(part: SchemaNode) -> Iterator[str]:
    """The keywords of a part that define structure."""
    yield from (name for name in _FORBIDDEN if part.get(name))
    if part.rules or part.get(RULES):
        yield RULES
    if part.values is not None or "additionalProperties" in part.keywords:
        yield "additionalProperties"


def _missing(node: SchemaNode | None, part: SchemaNode, way: str, what: str) -> Iterator[tuple[Code, str]]:
    if node is None:
        yield STRUCTURAL, f"`{way}` of {what} restricts a part that the schema itself does not have"
    yield from _problems(part, node, way, what)
