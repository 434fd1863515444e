"""CEL rules: their message, reason, field path and use of old values; what they say is for `expressions`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pykb.diagnostics import Diagnostics, Span
from pykb.diagnostics.codes.crd import CEL_MESSAGE, CEL_OLD_SELF, CEL_REASON, JSON_PATH
from pykb.diagnostics.suggest import closest
from pykb.gen.ir import Rule, SchemaNode

if TYPE_CHECKING:
    from pykb.gen.cel.findings import Findings

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
        node: The schema that has them.
        what: How messages call it.
        occurrences: How many values of it an object can have; ``None`` when a list or map around it has no bound.
        diagnostics: Gets what is wrong.
        is_root: Whether it is a whole object.
        has_old: Whether the server can tell which old value belongs to it: not inside a list without keys.

    Returns:
        What all of them cost at worst.
    """
    if not node.rules:
        return 0
    from pykb.gen.cel.cost import RULE_BUDGET
    from pykb.gen.checks.expressions import Place, check_expression

    total = 0
    for rule in node.rules:
        span = rule.span or node.span
        place = Place(node, what, span, occurrences, is_root=is_root)
        _check_reason(rule, span, diagnostics)
        _check_message(rule, what, span, diagnostics)
        if rule.field_path is not None:
            _check_field_path(rule.field_path, node, what, span, diagnostics)
        for part, text in (("rule", rule.rule), ("messageExpression", rule.message_expression)):
            if text is not None:
                optional = rule.optional_old_self is True
                found = check_expression(text, part, place, diagnostics, optional_old_self=optional)
                # A rule beyond its own budget is said there; it is no news that all of them are, too.
                total += min(found.cost, RULE_BUDGET) if found is not None else 0
                if part == "rule" and found is not None:
                    _check_old_self(rule, found, what, span, diagnostics, has_old=has_old)
    return total


def _check_reason(rule: Rule, span: Span | None, diagnostics: Diagnostics) -> None:
    if rule.reason is not None and rule.reason not in REASONS:
        near = closest(rule.reason, REASONS)
        diagnostics.add(
            CEL_REASON.at(
                span,
                f"`{rule.reason}` is no reason of a rule: expected one of "
                + ", ".join(f"`{reason}`" for reason in REASONS),
                help=(f"did you mean `{near}`?",) if near else (),
            ),
        )


def _check_message(rule: Rule, what: str, span: Span | None, diagnostics: Diagnostics) -> None:
    message = rule.message or ""
    if message and not message.strip():
        diagnostics.add(CEL_MESSAGE.at(span, f"the message of a rule of {what} is blank"))
    elif "\n" in message.strip():
        diagnostics.add(CEL_MESSAGE.at(span, f"the message of a rule of {what} has a line break, expected one line"))
    elif "\n" in rule.rule.strip() and not message:
        diagnostics.add(
            CEL_MESSAGE.at(
                span,
                f"a rule of {what} has several lines and no message",
                notes=("without a message the API server shows the rule itself, and takes only one line for that",),
                help=('message="..."',),
            ),
        )


def _check_field_path(path: str, node: SchemaNode, what: str, span: Span | None, diagnostics: Diagnostics) -> None:
    """The field that a failure is reported at: names from here down, no list indices."""
    current: SchemaNode | None = node
    at = 0
    while at < len(path) and current is not None:
        match = _PATH_STEP.match(path, at)
        name = (match["name"] or match["quoted"]) if match else ""
        properties = current.properties or {}
        following = properties[name].schema if name in properties else current.values
        if match is None or following is None:
            near = closest(name, properties) if name else None
            diagnostics.add(
                JSON_PATH.at(
                    span,
                    f"the `fieldPath` of a rule of {what}, `{path}`, leads to no field",
                    help=(f"did you mean `.{near}`?",) if near else ("for example `.spec.replicas`",),
                ),
            )
            return
        current, at = following, match.end()


_PATH_STEP = re.compile(r"\.(?P<name>[A-Za-z_][A-Za-z0-9_]*)|\['(?P<quoted>[^']+)'\]")


def _check_old_self(
    rule: Rule,
    found: Findings,
    what: str,
    span: Span | None,
    diagnostics: Diagnostics,
    *,
    has_old: bool,
) -> None:
    if rule.optional_old_self is not None and not found.uses_old_self:
        diagnostics.add(
            CEL_OLD_SELF.at(
                span,
                f"the rule of {what} has `optionalOldSelf`, but does not use `oldSelf`",
                help=("remove `optionalOldSelf`",),
            ),
        )
    elif found.uses_old_self and not has_old and not rule.optional_old_self:
        diagnostics.add(
            CEL_OLD_SELF.at(
                span,
                f"the rule of {what} uses `oldSelf` inside a list whose elements have no identity",
                notes=("only elements of a list of type `map` can be compared with what they were",),
                help=("+listType=map", "or put the rule on the list itself"),
            ),
        )
