"""A schema, node by node: values, bounds, patterns, lists, rules, structure."""

from __future__ import annotations

from dataclasses import dataclass, field

from pykb.diagnostics import Diagnostics, Span
from pykb.diagnostics.codes.crd import STRUCTURAL
from pykb.gen.cel.types import element_bound
from pykb.gen.checks.constraints import check_constraints
from pykb.gen.checks.lists import check_list
from pykb.gen.checks.rules import check_rules
from pykb.gen.checks.text import check_text
from pykb.gen.ir import SchemaNode


@dataclass(frozen=True, slots=True)
class _Context:
    """Where a schema lies: how often it can occur (``None``: no bound), and whether old values can be told."""

    occurrences: int | None = 1
    has_old: bool = True

    def inside(self, node: SchemaNode) -> int | None:
        """How often an element of a list or map in this place can occur."""
        bound = element_bound(node)
        return None if self.occurrences is None or bound is None else self.occurrences * bound


@dataclass(slots=True)
class SchemaChecks:
    """Checks each part of a schema once, however often a type is used; adds up what its rules cost."""

    diagnostics: Diagnostics
    _seen: dict[tuple[int, _Context], int] = field(default_factory=dict)
    _kept: list[SchemaNode] = field(default_factory=list)

    def check_root(self, schema: SchemaNode) -> int:
        """Check the schema of a kind; gives the worst-case cost of all its rules."""
        check_text(schema, "the object", schema.span, self.diagnostics)
        cost = check_rules(schema, "the object", 1, self.diagnostics, is_root=True)
        return cost + self._children(schema, "", _Context())

    def _visit(self, node: SchemaNode, path: str, context: _Context, at: Span | None) -> int:
        # A type inside a list costs more than the same type outside, so the place is part of what was seen.
        key = (id(node), context)
        if key in self._seen:
            return self._seen[key]
        self._seen[key] = 0
        self._kept.append(node)  # an identity is only one while its object lives
        what = f"`{path}`"
        check_text(node, what, node.span or at, self.diagnostics)
        check_constraints(node, what, self.diagnostics)
        if node.type == "array":
            check_list(node, what, self.diagnostics)
        cost = check_rules(node, what, context.occurrences, self.diagnostics, has_old=context.has_old)
        self._structure(node, what, node.span or at)
        self._seen[key] = cost + self._children(node, path, context, at)
        return self._seen[key]

    def _children(self, node: SchemaNode, path: str, context: _Context, at: Span | None = None) -> int:
        cost = 0
        for name, prop in (node.properties or {}).items():
            if prop.span is not None:  # built-in types are right by construction
                cost += self._visit(prop.schema, f"{path}.{name}".lstrip("."), context, prop.span)
        if node.items is not None:
            has_old = context.has_old and node.get("x-kubernetes-list-type") == "map"
            cost += self._visit(node.items, f"{path}[*]", _Context(context.inside(node), has_old), at)
        if node.values is not None:
            cost += self._visit(node.values, f"{path}.*", _Context(context.inside(node), context.has_old), at)
        return cost

    def _structure(self, node: SchemaNode, what: str, at: Span | None) -> None:
        open_ = node.get("x-kubernetes-preserve-unknown-fields")
        if node.type is None and not node.is_int_or_string and not open_:
            self.diagnostics.add(
                STRUCTURAL.at(
                    at,
                    f"{what} has no type in the schema, and a structural schema needs one everywhere",
                    help=(
                        "+kubebuilder:validation:Type=...",
                        "or keep anything: `+kubebuilder:pruning:PreserveUnknownFields`",
                    ),
                ),
            )
        if node.is_int_or_string and node.type is not None:
            self.diagnostics.add(
                STRUCTURAL.at(at, f"{what} is int-or-string, which has no type of its own, found `{node.type}`"),
            )
        if node.get("x-kubernetes-embedded-resource") and node.type != "object":
            self.diagnostics.add(
                STRUCTURAL.at(at, f"{what} is an embedded resource, which is an object, found `{node.type_name}`"),
            )
        elif node.get("x-kubernetes-embedded-resource") and not node.properties and not open_:
            self.diagnostics.add(
                STRUCTURAL.at(
                    at,
                    f"{what} is an embedded resource without fields: the API server would keep nothing of it",
                    help=("+kubebuilder:pruning:PreserveUnknownFields",),
                ),
            )
