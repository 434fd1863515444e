"""Checks a schema, node by node: values, bounds, patterns, lists, rules, structure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pykb.diagnostics import Diagnostics, Span
from pykb.gen.cel.types import element_bound
from pykb.gen.checks._constraints import check_constraints
from pykb.gen.checks._junctors import check_junctors
from pykb.gen.checks._keywords import check_keywords
from pykb.gen.checks._lists import check_list
from pykb.gen.checks._rules import check_rules
from pykb.gen.checks._structure import check_structure, check_whole
from pykb.gen.checks._text import check_text
from pykb.gen.ir import SchemaNode


@dataclass(frozen=True, slots=True)
class _Context:
    """Where a schema is: how often it can occur (``None`` means unbounded), and whether its old value is known."""

    occurrences: int | None = 1
    has_old: bool = True

    def inside(self, node: SchemaNode) -> int | None:
        """How often an element of a list or map can occur here."""
        bound = element_bound(node)
        return None if self.occurrences is None or bound is None else self.occurrences * bound


@dataclass(slots=True)
class SchemaChecks:
    """Checks each part of a schema once, however often its type is used. Adds up the cost of its rules."""

    diagnostics: Diagnostics
    _seen: dict[tuple[int, _Context], int] = field(default_factory=dict)
    _kept: list[SchemaNode] = field(default_factory=list)

    def check_root(self, schema: SchemaNode, *, has_status: bool) -> int:
        """Check the schema of a kind. Returns the worst-case cost of all its rules."""
        cost = self._node(schema, "the object", _Context(), schema.span, is_root=True)
        check_whole(schema, has_status=has_status, diagnostics=self.diagnostics)
        return cost + self._children(schema, "", _Context())

    def _visit(self, node: SchemaNode, path: str, context: _Context, at: Span | None) -> int:
        # A type costs more inside a list than outside. The context is part of the key for that reason.
        key = (id(node), context)
        if key in self._seen:
            return self._seen[key]
        self._seen[key] = 0
        self._kept.append(node)  # an id is unique only while its object lives
        cost = self._node(node, f"`{path}`", context, node.span or at)
        self._seen[key] = cost + self._children(node, path, context, at)
        return self._seen[key]

    def _node(self, node: SchemaNode, what: str, context: _Context, at: Span | None, *, is_root: bool = False) -> int:
        """Check a schema without its sub-schemas. Returns the cost of its rules."""
        check_text(node, what, at, self.diagnostics)
        right = [check_keywords(part, what, at, self.diagnostics) for part in (node, *node.all_of)]
        if not all(right):
            return 0
        check_structure(node, what, at, self.diagnostics)
        check_junctors(node, what, at, self.diagnostics)
        check_constraints(node, what, self.diagnostics)
        check_list(node, what, self.diagnostics)
        return check_rules(node, what, context.occurrences, self.diagnostics, is_root=is_root, has_old=context.has_old)

    def _children(self, node: SchemaNode, path: str, context: _Context, at: Span | None = None) -> int:
        cost = 0
        # An atomic value is replaced as a whole. Its parts have no old values.
        inner = replace(context, has_old=context.has_old and node.get("x-kubernetes-map-type") != "atomic")
        for name, prop in (node.properties or {}).items():
            if prop.span is not None:  # built-in types need no check
                cost += self._visit(prop.schema, f"{path}.{name}".lstrip("."), inner, prop.span)
        if node.items is not None:
            has_old = context.has_old and node.get("x-kubernetes-list-type") == "map"
            cost += self._visit(node.items, f"{path}[*]", _Context(context.inside(node), has_old), at)
        if node.values is not None:
            cost += self._visit(node.values, f"{path}.*", _Context(context.inside(node), context.has_old), at)
        return cost
