"""Checks CEL rules: their expressions (syntax, names, types, cost), messages, reasons, field paths, and old values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pykb.diagnostics import Code, Diagnostic, Diagnostics, Severity, Span
from pykb.diagnostics.codes.crd import (
    CEL_COST,
    CEL_MESSAGE,
    CEL_NAME,
    CEL_OLD_SELF,
    CEL_REASON,
    CEL_SYNTAX,
    CEL_TYPE,
    JSON_PATH,
    PATTERN,
)
from pykb.diagnostics.suggest import did_you_mean
from pykb.gen._since import OLD_SELF, WORDS_AS_FIELDS, missing, report
from pykb.gen.cel.resolve import resolve
from pykb.gen.cel.syntax import CelSyntaxError, parse
from pykb.gen.cel.types import CRD_BUDGET, RULE_BUDGET, Findings, most_occurrences, times
from pykb.gen.checks.value import pattern_problem
from pykb.gen.ir import CrdVersion, Rule, SchemaNode
from pykb.project.settings import OLDEST, Minor

_RESULTS = {"rule": "bool", "messageExpression": "string"}
_NAMES = {"rule": "rule", "messageExpression": "`messageExpression`"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where an expression is.

    Attributes:
        node: The schema that the expression validates.
        what: The name of the value in messages.
        span: The place of the expression in the source.
        occurrences: How many such values an object can have. ``None`` when a list or map around it has no bound.
        diagnostics: Gets what is wrong.
        is_root: Whether the value is a whole object.
        oldest: The oldest Kubernetes that must accept the expression, if the project names one.
    """

    node: SchemaNode
    what: str
    span: Span | None
    occurrences: int | None
    diagnostics: Diagnostics
    is_root: bool
    oldest: Minor | None = None

    def report(
        self,
        code: Code,
        message: str,
        *help_: str,
        notes: tuple[str, ...] = (),
        severity: Severity | None = None,
    ) -> None:
        """Report a problem with the rule."""
        self.diagnostics.report(code, self.span, message, *help_, notes=notes, severity=severity)


def check_expression(text: str, part: str, place: Place, *, optional_old_self: bool) -> Findings | None:
    """Check a rule or its ``messageExpression``.

    Returns the findings, with the cost for a whole object.
    """
    name = f"the {_NAMES[part]} of {place.what}"
    try:
        found = resolve(parse(text), place.node, is_root=place.is_root, optional_old_self=optional_old_self)
    except CelSyntaxError as error:
        place.report(CEL_SYNTAX, f"{name} is not CEL: {error}", notes=(_marked(text, error.offset, error.length),))
        return None
    if found is None:
        message = f"{name} is on a value that has no type in the schema, and the API server cannot check such a rule"
        place.report(CEL_TYPE, message, "put the rule on a field that has a type")
        return None
    _check_names(found, text, name, place)
    _check_types(found, text, part, name, place)
    for feature, offset, length in missing(found.uses, place.oldest):
        notes = (_marked(text, offset, length),)
        place.diagnostics.extend(report(feature, name, place.oldest, place.span, notes=notes))
    most = most_occurrences(place.node) if place.occurrences is None else place.occurrences
    found = replace(found, cost=times(most, found.cost))
    if found.cost > RULE_BUDGET:
        message = f"{name} may cost {factor(found.cost, RULE_BUDGET)} what the API server allows"
        place.report(CEL_COST, message, _BOUND_THEM, notes=(text, _WORST_CASE))
    return found


def _marked(text: str, offset: int, length: int) -> str:
    """The line of the text, with the place marked on the line below."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line = text[start : end if end >= 0 else len(text)]
    at = offset - start
    return f"{line}\n{' ' * at}{'^' * max(1, min(length, len(line) - at))}"


def _check_names(found: Findings, text: str, name: str, place: Place) -> None:
    for unknown in found.unknown:
        place.report(
            CEL_NAME,
            f"{name} names the {unknown.what} `{unknown.name}`, which does not exist",
            f"did you mean `{unknown.near}`?" if unknown.near else "",
            notes=(_marked(text, unknown.offset, len(unknown.name)),),
            # A newer API server may have more functions.
            severity=Severity.WARNING if unknown.what == "function" else Severity.ERROR,
        )
    for word in found.reserved if (place.oldest or OLDEST) < WORDS_AS_FIELDS else ():
        place.report(
            CEL_NAME,
            f"{name} names the field `{word.name}`, a word that older API servers reserve",
            f"write `{word.near}`, which all API servers accept",
            notes=(_marked(text, word.offset, len(word.name)),),
            severity=Severity.WARNING,
        )


def _check_types(found: Findings, text: str, part: str, name: str, place: Place) -> None:
    for misfit in found.mistyped:
        message = f"in {name}, {misfit.message}"
        place.report(CEL_TYPE, message, notes=(_marked(text, misfit.offset, misfit.length),))
    for pattern, offset in found.patterns:
        problem = pattern_problem(pattern)
        if problem is not None:
            message = f"`{pattern}` in {name} is not a regular expression that the API server accepts: {problem}"
            place.report(PATTERN, message, notes=(_marked(text, offset, len(pattern) + 2),))
    wanted = _RESULTS[part]
    if found.type.kind != wanted and not found.mistyped and not found.unknown:
        help_ = (f"{wanted}(...)",) if found.type.kind == "dyn" else ()
        place.report(CEL_TYPE, f"{name} has the type `{found.type}`, expected `{wanted}`", *help_, notes=(text,))


_BOUND_THEM = "limit them: `MaxItems` on lists, `MaxProperties` on maps, `MaxLength` on strings"
_WORST_CASE = (
    "the API server estimates the worst case, in which a list, map or string without a limit fills a whole request, "
    "and it refuses the CRD"
)


def check_total(cost: int, version: CrdVersion) -> Iterator[Diagnostic]:
    """Check the budget of all rules of a version together."""
    if cost > CRD_BUDGET:
        yield CEL_COST.at(
            version.span,
            f"the rules of version `{version.name}` may cost {factor(cost, CRD_BUDGET)} what the API server allows for "
            "all of them",
            "limit the lists, maps and strings in the rules: `MaxItems`, `MaxProperties`, `MaxLength`",
        )


def factor(cost: int, budget: int) -> str:
    """By which factor a budget is exceeded."""
    times_ = cost / budget
    return "more than 100 times" if times_ > 100 else f"{times_:.1f} times"


REASONS = ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")


def check_rules(place: Place, *, has_old: bool) -> int:
    """Check the rules of one schema.

    Args:
        place: The schema with the rules.
        has_old: Whether the server can find the old value. It cannot inside a list without keys.

    Returns:
        The worst-case cost of all rules together.
    """
    total = 0
    outer = place
    for rule in outer.node.rules:
        place = replace(outer, span=rule.span or outer.node.span)
        _check_texts(rule, place)
        _check_field_path(rule, place)
        optional = rule.optional_old_self is True
        if rule.optional_old_self is not None:
            place.diagnostics.extend(report(OLD_SELF, f"the rule of {place.what}", place.oldest, place.span))
        for part, text in (("rule", rule.rule), ("messageExpression", rule.message_expression)):
            found = check_expression(text, part, place, optional_old_self=optional) if text is not None else None
            if found is not None:
                # Capped, since a rule over its own budget was already reported.
                total += min(found.cost, RULE_BUDGET)
                if part == "rule":
                    _check_old_self(rule, found, place, has_old)
    return total


def _check_texts(rule: Rule, place: Place) -> None:
    what = place.what
    if rule.reason is not None and rule.reason not in REASONS:
        expected = ", ".join(f"`{reason}`" for reason in REASONS)
        message = f"`{rule.reason}` is not a valid reason of a rule: expected one of {expected}"
        place.report(CEL_REASON, message, *did_you_mean(rule.reason, REASONS))
    said = rule.message or ""
    if said and not said.strip():
        place.report(CEL_MESSAGE, f"the message of a rule of {what} is blank")
    elif "\n" in said.strip():
        place.report(CEL_MESSAGE, f"the message of a rule of {what} has a line break, expected one line")
    elif "\n" in rule.rule.strip() and not said:
        note = "without a message, the API server shows the rule itself, which must then be one line"
        place.report(CEL_MESSAGE, f"a rule of {what} has several lines and no message", 'message="..."', notes=(note,))


def _check_field_path(rule: Rule, place: Place) -> None:
    """Check ``fieldPath``, where a violation is reported. It has names of fields and no list indices."""
    path = rule.field_path or ""
    current: SchemaNode | None = place.node
    at = 0
    while at < len(path) and current is not None:
        match = _PATH_STEP.match(path, at)
        name = (match["name"] or match["quoted"]) if match else ""
        properties = current.properties or {}
        following = properties[name].schema if name in properties else current.values
        if match is None or following is None:
            near = did_you_mean(name, properties, ".") if name else ()
            message = f"the `fieldPath` of a rule of {place.what}, `{path}`, does not lead to a field"
            place.report(JSON_PATH, message, *(near or ("for example `.spec.replicas`",)))
            return
        current, at = following, match.end()


_PATH_STEP = re.compile(r"\.(?P<name>[A-Za-z_][A-Za-z0-9_]*)|\['(?P<quoted>[^']+)'\]")


def _check_old_self(rule: Rule, found: Findings, place: Place, has_old: bool) -> None:
    if rule.optional_old_self is not None and not found.uses_old_self:
        message = f"the rule of {place.what} has `optionalOldSelf`, but does not use `oldSelf`"
        place.report(CEL_OLD_SELF, message, "remove `optionalOldSelf`")
    elif found.uses_old_self and not has_old and not rule.optional_old_self:
        place.report(
            CEL_OLD_SELF,
            f"the rule of {place.what} uses `oldSelf` inside a list whose elements have no identity",
            "+listType=map",
            "or put the rule on the list itself",
            notes=("only elements of a list of type `map` can be compared with their old value",),
        )
