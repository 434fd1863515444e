"""Checks keywords: each is known to CRDs, and its value has the right form.

Source: JSONSchemaProps of apiextensions.k8s.io/v1, and its validation.
"""

from __future__ import annotations

from pykb.diagnostics import Diagnostics, Span
from pykb.diagnostics.codes.crd import SCHEMA_KEYWORD
from pykb.diagnostics.suggest import closest
from pykb.gen.checks.form import SCHEMA, unknown_fields
from pykb.gen.ir import Keyword, SchemaNode

_UNSUPPORTED = ("$ref", "$schema", "id", "definitions", "dependencies", "patternProperties", "additionalItems")


def check_keywords(node: SchemaNode, what: str, at: Span | None, diagnostics: Diagnostics) -> bool:
    """Check that keywords are known and have values of the right form. Returns whether all are.

    Args:
        node: The schema. Its sub-schemas are checked separately.
        what: How messages call its value.
        at: Where it is declared.
        diagnostics: Gets what is found.
    """
    found = [
        (keyword, problem) for name, keyword in node.keywords.items() if (problem := _problem(name, keyword, what))
    ]
    for keyword, (message, *help_) in found:
        diagnostics.add(SCHEMA_KEYWORD.at(keyword.span or at, message, help=tuple(help_)))
    return not found


def _problem(name: str, keyword: Keyword, what: str) -> tuple[str, ...]:
    if name in _UNSUPPORTED or (name == "items" and isinstance(keyword.value, list)):
        kind = "a list of schemas as `items`" if name == "items" else f"`{name}`"
        return (f"the schema of {what} has {kind}, which the API server refuses in a CRD",)
    for path, unknown, known in unknown_fields({name: keyword.value}):
        near = closest(unknown, known)
        return (
            f"the schema of {what} has `{path}{unknown}`, which is not a schema keyword of a CRD",
            *((f"did you mean `{near}`?",) if near else ()),
        )
    form = SCHEMA.fields[name]
    if keyword.value is None:
        return ()
    fault = next(form.faults(keyword.value, name), None)
    return (f"`{fault.path}` of {what} has the wrong form: {fault.message}",) if fault is not None else ()
