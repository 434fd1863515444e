"""Markers onto schemas: the keywords that each one sets, after a look at the type that it stands on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from pykb.diagnostics import Diagnostic, Diagnostics, Label, Severity, Span
from pykb.diagnostics.codes.crd import CONSTRAINT_CONFLICT, DEFAULT_VALUE, MARKER_TYPE
from pykb.gen.ir import Keyword, SchemaNode, read_rules
from pykb.gen.lower.constraints import IMMUTABLE
from pykb.gen.passes.names import canonical, unwrap
from pykb.gen.passes.one_of import ONE_OF, one_of_rule
from pykb.markers.model import Marker

_VALIDATION = "kubebuilder:validation:"


@dataclass(frozen=True, slots=True)
class Constraint:
    """A marker with one value that becomes one keyword on schemas of some types."""

    keyword: str
    types: tuple[str, ...]
    noun: str


_NUMERIC = ("integer", "number")
_CONSTRAINTS = {
    "Maximum": Constraint("maximum", _NUMERIC, "numbers"),
    "Minimum": Constraint("minimum", _NUMERIC, "numbers"),
    "ExclusiveMaximum": Constraint("exclusiveMaximum", _NUMERIC, "numbers"),
    "ExclusiveMinimum": Constraint("exclusiveMinimum", _NUMERIC, "numbers"),
    "MultipleOf": Constraint("multipleOf", _NUMERIC, "numbers"),
    "MaxLength": Constraint("maxLength", ("string",), "strings"),
    "MinLength": Constraint("minLength", ("string",), "strings"),
    "Pattern": Constraint("pattern", ("string",), "strings"),
    "MaxItems": Constraint("maxItems", ("array",), "lists"),
    "MinItems": Constraint("minItems", ("array",), "lists"),
    "UniqueItems": Constraint("uniqueItems", ("array",), "lists"),
    "MaxProperties": Constraint("maxProperties", ("object",), "objects"),
    "MinProperties": Constraint("minProperties", ("object",), "objects"),
    "Enum": Constraint("enum", (), ""),
    "Format": Constraint("format", (), ""),
    "Type": Constraint("type", (), ""),
    "XPreserveUnknownFields": Constraint("x-kubernetes-preserve-unknown-fields", (), ""),
    "XEmbeddedResource": Constraint("x-kubernetes-embedded-resource", (), ""),
}
_OTHERS = {
    "nullable": Constraint("nullable", (), ""),
    "kubebuilder:default": Constraint("default", (), ""),
    "default": Constraint("default", (), ""),
    "kubebuilder:example": Constraint("example", (), ""),
    "kubebuilder:title": Constraint("title", (), ""),
    # Whether they fit is judged on the finished schema, for each of their spellings.
    "listType": Constraint("x-kubernetes-list-type", (), ""),
    "mapType": Constraint("x-kubernetes-map-type", (), ""),
    "structType": Constraint("x-kubernetes-map-type", (), ""),
}
BY_NAME = {**{_VALIDATION + name: value for name, value in _CONSTRAINTS.items()}, **_OTHERS}
_SUGGESTIONS = {
    (
        "Minimum",
        "string",
    ): "for a lower bound on the length of a string, use `+kubebuilder:validation:MinLength={value}`",
    (
        "Maximum",
        "string",
    ): "for an upper bound on the length of a string, use `+kubebuilder:validation:MaxLength={value}`",
    ("MinLength", "integer"): "for a lower bound on a number, use `+kubebuilder:validation:Minimum={value}`",
    ("MaxLength", "integer"): "for an upper bound on a number, use `+kubebuilder:validation:Maximum={value}`",
    ("MinLength", "array"): "for the number of elements, use `+kubebuilder:validation:MinItems={value}`",
    ("MaxLength", "array"): "for the number of elements, use `+kubebuilder:validation:MaxItems={value}`",
    ("MinItems", "string"): "for the number of characters, use `+kubebuilder:validation:MinLength={value}`",
    ("MaxItems", "string"): "for the number of characters, use `+kubebuilder:validation:MaxLength={value}`",
    ("MinItems", "object"): "for the number of keys, use `+kubebuilder:validation:MinProperties={value}`",
    ("MaxItems", "object"): "for the number of keys, use `+kubebuilder:validation:MaxProperties={value}`",
}


@dataclass(frozen=True, slots=True)
class Target:
    """What markers are applied to.

    Attributes:
        what: How messages call it: ``the field `cpu```.
        span: Its type in the source, shown beside the marker.
    """

    what: str
    span: Span | None


def apply_markers(
    node: SchemaNode,
    markers: Iterable[Marker],
    effective: SchemaNode,
    target: Target,
    diagnostics: Diagnostics,
) -> SchemaNode:
    """The schema with the markers' keywords.

    Args:
        node: What to refine; may be a bare reference.
        markers: In the order of the source; those of lower priority number are applied first.
        effective: The same schema with references resolved.
        target: For messages.
        diagnostics: Gets markers that do not fit, and contradictions to the Python type.
    """
    given = list(unwrap(markers))
    if any(m.name == "k8s:unique" and m.value == "map" for m in given):  # the keys are for that tag alone
        given = [m for m in given if canonical(m) != "listMapKey"]
    ordered = sorted(given, key=lambda m: (m.definition.items_depth, m.definition.priority))
    if any(canonical(m) == _VALIDATION + "Schemaless" for m in ordered):
        kept = {k: v for k, v in node.keywords.items() if k == "description"}
        node = effective = SchemaNode(kept, node.span)
    said: dict[str, Keyword] = {}
    for marker in ordered:
        depth = marker.definition.items_depth
        node = _at_depth(node, effective, depth, marker, target, diagnostics, said if depth == 0 else {})
        effective = _seen(effective, node)
    return node


def _seen(effective: SchemaNode, node: SchemaNode) -> SchemaNode:
    """What later markers see: the type may have been set, or the schema turned into int-or-string."""
    if node.reference is None:
        return node if node.items is None or effective.items is None else replace(node, items=effective.items)
    kinds = {
        k: v for k, v in node.keywords.items() if k in {"type", "x-kubernetes-int-or-string"} or k.startswith("x-k")
    }
    return effective.put_all(kinds)


def _at_depth(
    node: SchemaNode,
    effective: SchemaNode,
    depth: int,
    marker: Marker,
    target: Target,
    diagnostics: Diagnostics,
    said: dict[str, Keyword],
) -> SchemaNode:
    if depth == 0:
        return _apply(node, effective, marker, target, diagnostics, said)
    if effective.type != "array" or effective.items is None:
        diagnostics.add(
            MARKER_TYPE.at(
                marker.span,
                f"`+{marker.name}` applies to the elements of a list, but {target.what} is {_a(effective.type_name)}",
                labels=_type_label(effective, target),
            ),
        )
        return node
    items = node.items if node.items is not None else SchemaNode()
    inner = replace(target, what=f"an element of {target.what}")
    return replace(node, items=_at_depth(items, effective.items, depth - 1, marker, inner, diagnostics, said))


def _apply(
    node: SchemaNode,
    effective: SchemaNode,
    marker: Marker,
    target: Target,
    diagnostics: Diagnostics,
    said: dict[str, Keyword],
) -> SchemaNode:
    name = canonical(marker)
    constraint = BY_NAME.get(name)
    if constraint is not None:
        if not _fits(constraint, marker, effective, target, diagnostics):
            return node
        if constraint.keyword == "default" and marker.value == "null" and marker.text.rstrip().endswith("=null"):
            diagnostics.add(_null_text(marker, target))
        return _set(node, constraint.keyword, _value(marker, effective), marker, diagnostics, said, target)
    special = _SPECIAL.get(name)
    return special(node, effective, marker, target, diagnostics) if special is not None else node


def _value(marker: Marker, effective: SchemaNode) -> object:
    value = marker.value
    if not marker.definition.arguments:
        return True
    # `{}` is an empty map in the grammar, and an empty list where the field is one.
    return [] if value == {} and effective.type == "array" else value


def _fits(
    constraint: Constraint, marker: Marker, effective: SchemaNode, target: Target, diagnostics: Diagnostics
) -> bool:
    if constraint.types and effective.type not in constraint.types:
        textual = constraint.types in {("string",), _NUMERIC}
        # A named struct that is not looked into (`Any`) has no type to contradict.
        if not (effective.is_int_or_string and textual):
            diagnostics.add(_misfit(constraint, marker, effective, target))
            return False
    value = marker.value
    whole = isinstance(value, float) and value.is_integer()
    if constraint.types == _NUMERIC and effective.type == "integer" and isinstance(value, float) and not whole:
        diagnostics.add(
            MARKER_TYPE.at(
                marker.span_of(),
                f"`+{marker.name}` takes a whole number here, found `{value}`: {target.what} is an integer",
                labels=_type_label(effective, target),
            ),
        )
        return False
    return True


def _misfit(constraint: Constraint, marker: Marker, effective: SchemaNode, target: Target) -> Diagnostic:
    short = marker.definition.base_name.removeprefix(_VALIDATION)
    hint = _SUGGESTIONS.get((short, effective.type or ""))
    return MARKER_TYPE.at(
        marker.span,
        f"`{short}` applies to {constraint.noun}, but {target.what} is {_a(effective.type_name)}",
        label="this marker",
        labels=_type_label(effective, target),
        help=(hint.format(value=marker.value),) if hint else (),
    )


def _type_label(effective: SchemaNode, target: Target) -> tuple[Label, ...]:
    return (Label(target.span, f"the schema of this type is `{effective.type_name}`"),) if target.span else ()


def _a(name: str) -> str:
    return f"an {name}" if name[0] in "aio" else f"a {name}"


def _set(
    node: SchemaNode,
    keyword: str,
    value: object,
    marker: Marker,
    diagnostics: Diagnostics,
    said: dict[str, Keyword],
    target: Target,
) -> SchemaNode:
    new = Keyword(value, marker.span, marker.text or f"+{marker.name}")
    old = node.keywords.get(keyword)
    first = said.get(keyword)
    if first is not None and first.value != value and keyword != "default":
        if (
            first.spelling.partition("=")[0] != new.spelling.partition("=")[0]
        ):  # one marker twice: said where it was read
            diagnostics.add(_conflict(new, first, target))
    elif old is not None and first is None and old.spelling and old.value != value:
        diagnostics.add(_conflict(new, old, target))
    said[keyword] = new
    if keyword == "type":
        node = node.without("format").retyped(str(value), new.span, new.spelling)
    return node.put_all({keyword: new})


def _conflict(new: Keyword, old: Keyword, target: Target) -> Diagnostic:
    at = old.span or target.span
    return CONSTRAINT_CONFLICT.at(
        new.span,
        f"`{new.spelling}` contradicts `{old.spelling}`",
        label=f"says {new.value!r}",
        labels=(Label(at, f"says {old.value!r}"),) if at else (),
        help=("keep one of the two, or make them agree",),
    )


def _null_text(marker: Marker, target: Target) -> Diagnostic:
    return DEFAULT_VALUE.at(
        marker.span_of(),
        f"the default of {target.what} is the text `null`, not the absence of a value",
        help=(f'+{marker.name}="null"', "or remove it: a field without a default is absent"),
        severity=Severity.WARNING,
    )


Special = Callable[[SchemaNode, SchemaNode, Marker, Target, Diagnostics], SchemaNode]


def _list_map_key(
    node: SchemaNode, effective: SchemaNode, marker: Marker, target: Target, diagnostics: Diagnostics
) -> SchemaNode:
    del effective
    old = node.keywords.get("x-kubernetes-list-map-keys")
    keys = list(old.value) if old is not None and isinstance(old.value, list) else []
    if marker.value in keys:
        return node
    if old is not None and old.spelling == "ListMap":
        diagnostics.add(_conflict(Keyword([marker.value], marker.span, marker.text), old, target))
        return node
    return node.put("x-kubernetes-list-map-keys", [*keys, marker.value], marker.span, marker.text)


def _x_validation(
    node: SchemaNode, effective: SchemaNode, marker: Marker, target: Target, diagnostics: Diagnostics
) -> SchemaNode:
    del effective
    (rule,) = read_rules([dict(marker.arguments)], marker.span) or ()
    for other in node.rules:
        if other.rule == rule.rule and other != rule:
            old = Keyword(other.parts, other.span, f'CEL("{rule.rule}", ...)')
            diagnostics.add(_conflict(Keyword(rule.parts, marker.span, marker.text), old, target))
            return node
    return node.add(rule)


def _one_of(
    node: SchemaNode, effective: SchemaNode, marker: Marker, target: Target, diagnostics: Diagnostics
) -> SchemaNode:
    members = marker.value if isinstance(marker.value, list) else [marker.value]
    rules = one_of_rule(
        canonical(marker), [str(m) for m in members], effective, marker.span_of(), target.what, diagnostics
    )
    return node.add(*(replace(rule, span=marker.span) for rule in rules))


def _immutable(
    node: SchemaNode, effective: SchemaNode, marker: Marker, target: Target, diagnostics: Diagnostics
) -> SchemaNode:
    del effective, target, diagnostics
    return node.add(replace(IMMUTABLE, span=marker.span))


def _int_or_string(
    node: SchemaNode, effective: SchemaNode, marker: Marker, target: Target, diagnostics: Diagnostics
) -> SchemaNode:
    del effective, target, diagnostics
    return node.without("type", "format").put("x-kubernetes-int-or-string", value=True, span=marker.span)


def _external_docs(
    node: SchemaNode, effective: SchemaNode, marker: Marker, target: Target, diagnostics: Diagnostics
) -> SchemaNode:
    del effective
    docs = {k: v for k, v in marker.arguments.items() if v is not None}
    return _set(node, "externalDocs", docs, marker, diagnostics, {}, target)


def _sorted_enum(
    node: SchemaNode, effective: SchemaNode, marker: Marker, target: Target, diagnostics: Diagnostics
) -> SchemaNode:
    values = effective.get("enum")
    if effective.type != "string" or not isinstance(values, list):
        diagnostics.add(
            MARKER_TYPE.at(
                marker.span,
                f"`+{marker.name}` stands on an enumeration of strings, but {target.what} is {_a(effective.type_name)}"
                + ("" if values else " without values"),
                labels=_type_label(effective, target),
                help=("class Phase(StrEnum): ...",),
            ),
        )
        return node
    return node.put("enum", sorted(values, key=lambda value: str(value).encode()), marker.span, marker.text)


_SPECIAL: dict[str, Special] = {
    "listMapKey": _list_map_key,
    _VALIDATION + "XValidation": _x_validation,
    _VALIDATION + "XIntOrString": _int_or_string,
    "k8s:immutable": _immutable,
    "k8s:enum": _sorted_enum,
    "kubebuilder:externalDocs": _external_docs,
    **dict.fromkeys(ONE_OF, _one_of),
}
APPLIED = frozenset({*BY_NAME, *_SPECIAL, _VALIDATION + "Schemaless"})
