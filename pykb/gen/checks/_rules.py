"""Checks CEL rules: message, reason, field path, and use of old values. ``_expressions`` checks the expressions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pykb.diagnostics import Code, Diagnostics
from pykb.diagnostics.codes.crd import CEL_MESSAGE, CEL_OLD_SELF, CEL_REASON, JSON_PATH
from pykb.diagnostics.suggest import closest
from pykb.gen.ir import Rule, SchemaNode

if TYPE_CHECKING:
    from pykb.gen.cel.findings import Findings

_Problem = tuple[Code, str, tuple[str, ...], tuple[str, ...]]
"""The code of the mistake, the problem, notes, and what to type."""
REASONS = ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")


def check_rules(
    node: SchemaNode,
    what: str,
    occurrences: int | None,
    diagnostics: Diagnostics,
    *,
    is_root: bool = False,
    has_old: bool = True,
) -> int:
    """Check the rules of one schema.

    Args:
        node: The schema with the rules.
        what: The name of its value in messages.
        occurrences: How many values of it an object can have. ``None`` when a list or map around it has no bound.
        diagnostics: Gets what is wrong.
        is_root: Whether the value is a whole object.
        has_old: Whether the server can find the old value. It cannot inside a list without keys.

    Returns:
        The worst-case cost of all rules together.
    """
    if not node.rules:
        return 0
    from pykb.gen.cel.cost import RULE_BUDGET
    from pykb.gen.checks._expressions import Place, check_expression

    total = 0
    for rule in node.rules:
        place = Place(node, what, rule.span or node.span, occurrences, diagnostics, is_root=is_root)
        for code, message, notes, help_ in (*_of_texts(rule, what), *_of_field_path(rule, node, what)):
            place.report(code, message, *help_, notes=notes)
        optional = rule.optional_old_self is True
        for part, text in (("rule", rule.rule), ("messageExpression", rule.message_expression)):
            found = check_expression(text, part, place, optional_old_self=optional) if text is not None else None
            if found is not None:
                # Capped, since a rule over its own budget was already reported.
                total += min(found.cost, RULE_BUDGET)
                for code, message, notes, help_ in _of_old_self(rule, found, what, has_old) if part == "rule" else ():
                    place.report(code, message, *help_, notes=notes)
    return total


def _of_texts(rule: Rule, what: str) -> Iterator[_Problem]:
    if rule.reason is not None and rule.reason not in REASONS:
        near = closest(rule.reason, REASONS)
        expected = ", ".join(f"`{reason}`" for reason in REASONS)
        message = f"`{rule.reason}` is not a valid reason of a rule: expected one of {expected}"
        yield CEL_REASON, message, (), (f"did you mean `{near}`?",) if near else ()
    said = rule.message or ""
    if said and not said.strip():
        yield CEL_MESSAGE, f"the message of a rule of {what} is blank", (), ()
    elif "\n" in said.strip():
        yield CEL_MESSAGE, f"the message of a rule of {what} has a line break, expected one line", (), ()
    elif "\n" in rule.rule.strip() and not said:
        note = "without a message, the API server shows the rule itself, which must then be one line"
        yield CEL_MESSAGE, f"a rule of {what} has several lines and no message", (note,), ('message="..."',)


def _of_field_path(rule: Rule, node: SchemaNode, what: str) -> Iterator[_Problem]:
    """Check ``fieldPath``, where a violation is reported. It has names of fields and no list indices."""
    path = rule.field_path or ""
    current: SchemaNode | None = node
    at = 0
    while at < len(path) and current is not None:
        match = _PATH_STEP.match(path, at)
        name = (match["name"] or match["quoted"]) if match else ""
        properties = current.properties or {}
        following = properties[name].schema if name in properties else current.values
        if match is None or following is None:
            near = closest(name, properties) if name else None
            help_ = f"did you mean `.{near}`?" if near else "for example `.spec.replicas`"
            yield JSON_PATH, f"the `fieldPath` of a rule of {what}, `{path}`, does not lead to a field", (), (help_,)
            return
        current, at = following, match.end()


_PATH_STEP = re.compile(r"\.(?P<name>[A-Za-z_][A-Za-z0-9_]*)|\['(?P<quoted>[^']+)'\]")


def _of_old_self(rule: Rule, found: Findings, what: str, has_old: bool) -> Iterator[_Problem]:
    if rule.optional_old_self is not None and not found.uses_old_self:
        message = f"the rule of {what} has `optionalOldSelf`, but does not use `oldSelf`"
        yield CEL_OLD_SELF, message, (), ("remove `optionalOldSelf`",)
    elif found.uses_old_self and not has_old and not rule.optional_old_self:
        note = "only elements of a list of type `map` can be compared with their old value"
        message = f"the rule of {what} uses `oldSelf` inside a list whose elements have no identity"
        yield CEL_OLD_SELF, message, (note,), ("+listType=map", "or put the rule on the list itself")
