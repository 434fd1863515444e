"""The ``+k8s:`` tags of Kubernetes' declarative validation that have no kubebuilder twin, as keywords and CEL rules.

Source: KEP-5073.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from pykb.diagnostics import Diagnostic, Diagnostics, Label
from pykb.diagnostics.codes.crd import MARKER_TYPE, TAG_NOT_EXPRESSIBLE
from pykb.gen.ir import PropertyNode, Rule, SchemaNode
from pykb.gen.passes.apply_markers import APPLIED, Target, apply_markers
from pykb.gen.passes.expressions import FORMATS, expression, literal_text, selector
from pykb.gen.passes.names import canonical, unwrap
from pykb.markers.model import Marker


@dataclass(frozen=True, slots=True)
class _Tag:
    """One tag being applied."""

    marker: Marker
    effective: SchemaNode
    target: Target
    diagnostics: Diagnostics
    siblings: tuple[Marker, ...] = ()

    def refuse(self, message: str, *help_: str) -> None:
        labels = (Label(self.target.span, f"`{self.effective.type_name}`"),) if self.target.span else ()
        self.diagnostics.add(MARKER_TYPE.at(self.marker.span, message, labels=labels, help=help_))


def apply_declarative(
    node: SchemaNode,
    markers: Iterable[Marker],
    effective: SchemaNode,
    target: Target,
    diagnostics: Diagnostics,
) -> SchemaNode:
    """The schema with what the tags add.

    Args:
        node: What to refine; may be a bare reference.
        markers: All markers of the declaration; others than these tags are passed over.
        effective: The same schema with references resolved.
        target: For messages.
        diagnostics: Gets tags that do not fit.
    """
    tags = tuple(unwrap(markers))
    for marker in tags:
        apply = _TAGS.get(marker.name)
        if apply is not None:
            node = apply(node, _Tag(marker, effective, target, diagnostics, tags))
    return node


def _nested(node: SchemaNode, tag: _Tag, effective: SchemaNode, what: str) -> SchemaNode:
    """Apply a tag inside a tag to a part of the schema."""
    inner = tag.marker.value
    if not isinstance(inner, Marker):
        return node
    target = Target(what, tag.target.span)
    node = apply_markers(node, [inner], effective, target, tag.diagnostics)
    node = apply_declarative(node, [inner], effective, target, tag.diagnostics)
    if canonical(inner) not in APPLIED and inner.name not in _TAGS:
        tag.diagnostics.add(_not_expressible(tag.marker, inner))
    return node


def _not_expressible(marker: Marker, inner: Marker) -> Diagnostic:
    return TAG_NOT_EXPRESSIBLE.at(
        inner.span,
        f"`+{inner.name}` cannot be said inside `+{marker.name}` in a CRD",
        help=('say it by a CEL rule: `+kubebuilder:validation:XValidation:rule="..."`',),
    )


def add_rule(node: SchemaNode, rule: str, message: str, marker: Marker) -> SchemaNode:
    """The schema with one more CEL rule."""
    return node.add(Rule(rule, message, span=marker.span))


_LEAST = {"string": "minLength", "array": "minItems", "object": "minProperties"}


def _required(node: SchemaNode, tag: _Tag) -> SchemaNode:
    """For the declarative validation of Kubernetes an empty value is a missing one."""
    keyword = _LEAST.get(tag.effective.type or "")
    if keyword is None or tag.effective.get(keyword) is not None or node.get(keyword) is not None:
        return node
    return node.put(keyword, 1, tag.marker.span, tag.marker.text)


def _format(node: SchemaNode, tag: _Tag) -> SchemaNode:
    if tag.effective.type != "string":
        tag.refuse(f"`k8s:format` applies to strings, but {tag.target.what} is `{tag.effective.type_name}`")
        return node
    rule = FORMATS[str(tag.marker.value)]
    if rule.pattern:
        if node.get("pattern") is None:
            node = node.put("pattern", rule.pattern, tag.marker.span, tag.marker.text)
        else:
            pattern = literal_text(rule.pattern)
            node = add_rule(node, f"self.matches({pattern})", f"must be in the format {tag.marker.value}", tag.marker)
    if rule.longest and node.get("maxLength") is None and tag.effective.get("maxLength") is None:
        node = node.put("maxLength", rule.longest, tag.marker.span, tag.marker.text)
    if rule.rule:
        node = add_rule(node, rule.rule.format("self"), f"must be in the format {tag.marker.value}", tag.marker)
    return node


def _neq(node: SchemaNode, tag: _Tag) -> SchemaNode:
    rule = expression(tag.marker, "self") or ""
    return add_rule(node, rule, f"must not be {tag.marker.value}", tag.marker)


def _max_bytes(node: SchemaNode, tag: _Tag) -> SchemaNode:
    if tag.effective.type != "string":
        tag.refuse(f"`k8s:maxBytes` applies to strings, but {tag.target.what} is `{tag.effective.type_name}`")
        return node
    if node.get("maxLength") is None and tag.effective.get("maxLength") is None:
        # No text of n bytes has more than n characters; the bound also keeps the rule cheap.
        node = node.put("maxLength", tag.marker.value, tag.marker.span, tag.marker.text)
    rule = expression(tag.marker, "self") or ""
    return add_rule(node, rule, f"must be at most {tag.marker.value} bytes long", tag.marker)


def _unique(node: SchemaNode, tag: _Tag) -> SchemaNode:
    if tag.effective.type != "array":
        tag.refuse(f"`k8s:unique` applies to lists, but {tag.target.what} is `{tag.effective.type_name}`")
        return node
    if tag.marker.value == "set":
        return add_rule(node, "self.all(x, self.exists_one(y, x == y))", "elements must be unique", tag.marker)
    keys = [str(m.value) for m in tag.siblings if canonical(m) == "listMapKey"]
    if not keys:
        tag.refuse("`k8s:unique=map` needs the keys of the elements", "+k8s:listMapKey=name")
        return node
    same = " && ".join(f"x.{selector(key)} == y.{selector(key)}" for key in keys)
    message = f"elements must be unique by {', '.join(keys)}"
    return add_rule(node, f"self.all(x, self.exists_one(y, {same}))", message, tag.marker)


def _each_value(node: SchemaNode, tag: _Tag) -> SchemaNode:
    what = f"an element of {tag.target.what}"
    if tag.effective.type == "array" and tag.effective.items is not None:
        inner = node.items if node.items is not None else SchemaNode()
        return replace(node, items=_nested(inner, tag, tag.effective.items, what))
    if tag.effective.values is not None:
        inner = node.values if node.values is not None else SchemaNode()
        return replace(node, values=_nested(inner, tag, tag.effective.values, what))
    tag.refuse(f"`k8s:eachVal` applies to lists and maps, but {tag.target.what} is `{tag.effective.type_name}`")
    return node


def _each_key(node: SchemaNode, tag: _Tag) -> SchemaNode:
    if tag.effective.values is None:
        tag.refuse(f"`k8s:eachKey` applies to maps, but {tag.target.what} is `{tag.effective.type_name}`")
        return node
    inner = tag.marker.value
    if not isinstance(inner, Marker):
        return node
    rule = expression(inner, "key")
    if rule is None:
        tag.diagnostics.add(_not_expressible(tag.marker, inner))
        return node
    return add_rule(node, f"self.all(key, {rule})", f"each key must fulfil {inner.text}", tag.marker)


def _subfield(node: SchemaNode, tag: _Tag) -> SchemaNode:
    name, inner = str(tag.marker.arguments.get("field")), tag.marker.value
    prop = (tag.effective.properties or {}).get(name)
    if prop is None:
        tag.refuse(f"{tag.target.what} has no field `{name}`")
        return node
    if not isinstance(inner, Marker):
        return node
    if inner.name == "k8s:forbidden":
        return add_rule(node, f"!has(self.{selector(name)})", f"field {name} is forbidden", tag.marker)
    said = (node.properties or {}).get(name)
    refined = said or PropertyNode(name, prop.attribute, SchemaNode(), required=prop.required, span=prop.span)
    if inner.name in {"k8s:required", "k8s:optional"}:
        refined = replace(refined, required=prop.required or inner.name == "k8s:required")
        return replace(node, properties={**(node.properties or {}), name: refined})
    schema = _nested(refined.schema, tag, prop.schema, f"the field `{name}` of {tag.target.what}")
    return replace(node, properties={**(node.properties or {}), name: replace(refined, schema=schema)})


def _item(node: SchemaNode, tag: _Tag) -> SchemaNode:
    inner = tag.marker.value
    keys = {name: value for name, value in tag.marker.arguments.items() if name}
    if tag.effective.type != "array" or not keys:
        tag.refuse(f"`k8s:item` applies to lists with keys, but {tag.target.what} is `{tag.effective.type_name}`")
        return node
    if not isinstance(inner, Marker):
        return node
    match = " && ".join(f"item.{selector(name)} == {literal_text(str(value))}" for name, value in keys.items())
    which = ", ".join(f"{name}={value}" for name, value in keys.items())
    if inner.name == "k8s:immutable":
        rule = f"self.filter(item, {match}) == oldSelf.filter(item, {match})"
        return add_rule(node, rule, f"the element with {which} is immutable", tag.marker)
    if inner.name == "k8s:required":
        return add_rule(node, f"self.exists(item, {match})", f"an element with {which} is required", tag.marker)
    if inner.name == "k8s:forbidden":
        return add_rule(node, f"!self.exists(item, {match})", f"an element with {which} is forbidden", tag.marker)
    tag.diagnostics.add(_not_expressible(tag.marker, inner))
    return node


def _update(node: SchemaNode, tag: _Tag) -> SchemaNode:
    match tag.marker.value:
        case "NoModify":
            return add_rule(node, "self == oldSelf", "field cannot be modified", tag.marker)
        case "NoAddItem":
            return add_rule(node, "self.all(x, x in oldSelf)", "elements cannot be added", tag.marker)
        case "NoRemoveItem":
            return add_rule(node, "oldSelf.all(x, x in self)", "elements cannot be removed", tag.marker)
    return node  # NoSet and NoUnset are rules of the object around it


def _monotonic(node: SchemaNode, tag: _Tag) -> SchemaNode:
    if tag.effective.type not in {"integer", "number"}:
        tag.refuse(f"`k8s:monotonic` applies to numbers, but {tag.target.what} is `{tag.effective.type_name}`")
        return node
    return add_rule(node, "self >= oldSelf", "must not decrease", tag.marker)


_TAGS: dict[str, Callable[[SchemaNode, _Tag], SchemaNode]] = {
    "k8s:required": _required,
    "k8s:format": _format,
    "k8s:neq": _neq,
    "k8s:maxBytes": _max_bytes,
    "k8s:unique": _unique,
    "k8s:eachVal": _each_value,
    "k8s:eachKey": _each_key,
    "k8s:subfield": _subfield,
    "k8s:item": _item,
    "k8s:update": _update,
    "k8s:monotonic": _monotonic,
}
