"""A schema, node by node: values, bounds, patterns, lists, rules, structure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.crd import STRUCTURAL
from pykb.gen.checks.constraints import check_constraints
from pykb.gen.checks.lists import check_list
from pykb.gen.checks.rules import check_rules
from pykb.gen.ir import SchemaNode


@dataclass(frozen=True, slots=True)
class _Context:
    """Where a schema lies: inside how many lists and maps without a bound, and whether old values can be told."""

    loops: int = 0
    has_old: bool = True


@dataclass(slots=True)
class SchemaChecks:
    """Checks each part of a schema once, however often a type is used."""

    diagnostics: Diagnostics
    _seen: set[tuple[int, _Context]] = field(default_factory=set)
    _kept: list[SchemaNode] = field(default_factory=list)

    def check_root(self, schema: SchemaNode) -> None:
        """Check the schema of a kind."""
        check_rules(schema, "the object", 0, self.diagnostics, is_root=True)
        self._children(schema, "", _Context())

    def _visit(self, node: SchemaNode, path: str, context: _Context) -> None:
        # A type inside a list costs more than the same type outside, so the depth is part of what was seen.
        key = (id(node), context)
        if key in self._seen:
            return
        self._seen.add(key)
        self._kept.append(node)  # an identity is only one while its object lives
        what = f"`{path}`"
        check_constraints(node, what, self.diagnostics)
        if node.type == "array":
            check_list(node, what, self.diagnostics)
        check_rules(node, what, context.loops, self.diagnostics, has_old=context.has_old)
        self._structure(node, what)
        self._children(node, path, context)

    def _children(self, node: SchemaNode, path: str, context: _Context) -> None:
        for name, prop in (node.properties or {}).items():
            if prop.span is not None:  # built-in types are right by construction
                self._visit(prop.schema, f"{path}.{name}".lstrip("."), context)
        deeper = replace(context, loops=min(context.loops + 1, 2)) if node.is_unbounded else context
        if node.items is not None:
            keyed = node.get("x-kubernetes-list-type") == "map"
            self._visit(node.items, f"{path}[*]", replace(deeper, has_old=context.has_old and keyed))
        if node.values is not None:
            self._visit(node.values, f"{path}.*", deeper)

    def _structure(self, node: SchemaNode, what: str) -> None:
        open_ = node.get("x-kubernetes-preserve-unknown-fields")
        if node.type is None and not node.is_int_or_string and not open_:
            self.diagnostics.add(
                STRUCTURAL.at(
                    node.span,
                    f"{what} has no type in the schema, and a structural schema needs one everywhere",
                    help=(
                        "+kubebuilder:validation:Type=...",
                        "or keep anything: `+kubebuilder:pruning:PreserveUnknownFields`",
                    ),
                ),
            )
        if node.is_int_or_string and node.type is not None:
            self.diagnostics.add(
                STRUCTURAL.at(node.span, f"{what} is int-or-string, which has no type of its own, found `{node.type}`"),
            )
        if node.get("x-kubernetes-embedded-resource") and node.type != "object":
            self.diagnostics.add(
                STRUCTURAL.at(
                    node.span, f"{what} is an embedded resource, which is an object, found `{node.type_name}`"
                ),
            )
        elif node.get("x-kubernetes-embedded-resource") and not node.properties and not open_:
            self.diagnostics.add(
                STRUCTURAL.at(
                    node.span,
                    f"{what} is an embedded resource without fields: the API server would keep nothing of it",
                    help=("+kubebuilder:pruning:PreserveUnknownFields",),
                ),
            )
