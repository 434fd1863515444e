"""Checks ``allOf``, ``anyOf``, ``oneOf`` and ``not``. They may constrain values and must not define structure.

Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pykb.diagnostics import Code, Diagnostics, Span
from pykb.diagnostics.codes.crd import PATTERN, STRUCTURAL, UNIQUE_ITEMS
from pykb.gen.checks.patterns import pattern_problem
from pykb.gen.ir import RULES, SchemaNode
from pykb.gen.lower.patch import patched

JUNCTORS = ("allOf", "anyOf", "oneOf", "not")
_FORBIDDEN = (
    *("type", "default", "title", "description", "nullable", "x-kubernetes-preserve-unknown-fields"),
    *("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-map-keys"),
    *("x-kubernetes-list-type", "x-kubernetes-map-type"),
)
_EITHER = [{"type": "integer"}, {"type": "string"}]


def check_junctors(node: SchemaNode, what: str, at: Span | None, diagnostics: Diagnostics) -> None:
    """Check the schemas in the junctors of a schema.

    Args:
        node: The schema that defines the structure.
        what: How messages call its value.
        at: Where it is declared.
        diagnostics: Gets what is found.
    """
    for way, part, span in _nested(node, "", top=True):
        for code, message in _problems(part, node, way, what):
            diagnostics.add(code.at(span or at, message, help=_HELP if code is STRUCTURAL else ()))


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
        for step, schema in _parts(name, keyword.value):
            yield f"{way}{step}", patched(SchemaNode(span=keyword.span), schema, keyword.span), keyword.span


def _parts(name: str, value: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
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
