"""CEL rules: they parse, their names mean something, and they do not loop over what has no end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.crd import CEL_COST, CEL_NAME, CEL_OLD_SELF, CEL_REASON, CEL_SYNTAX, CEL_TYPE, JSON_PATH
from pykb.diagnostics.model import Severity
from pykb.diagnostics.suggest import closest
from pykb.gen.ir import SchemaNode

if TYPE_CHECKING:
    from pykb.gen.cel.resolve import Findings

REASONS = ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")
_LOOPS_TOO_DEEP = 2


def check_rules(
    node: SchemaNode, what: str, loops: int, diagnostics: Diagnostics, *, is_root: bool = False, has_old: bool = True
) -> None:
    """Check the rules of one schema.

    Args:
        node: The schema that has them.
        what: How messages call it.
        loops: How many lists and maps without a bound it lies in.
        diagnostics: Gets what is wrong.
        is_root: Whether it is a whole object.
        has_old: Whether the server can tell which old value belongs to it: not inside a list without keys.
    """
    keyword = node.keywords.get("x-kubernetes-validations")
    if keyword is None or not isinstance(keyword.value, list):
        return
    span = keyword.span or node.span
    for rule in keyword.value:
        if rule.get("reason") not in {None, *REASONS}:
            diagnostics.add(
                CEL_REASON.at(
                    span,
                    f"`{rule['reason']}` is no reason of a rule: expected one of "
                    + ", ".join(f"`{reason}`" for reason in REASONS),
                ),
            )
        path = rule.get("fieldPath")
        if isinstance(path, str):
            _check_field_path(path, node, what, diagnostics)
        for part in ("rule", "messageExpression"):
            text = rule.get(part)
            if isinstance(text, str):
                found = _check_text(text, node, what, loops, diagnostics, is_root=is_root)
                if part == "rule" and found is not None:
                    _check_old_self(rule, found, node, what, diagnostics, has_old=has_old)


def _check_field_path(path: str, node: SchemaNode, what: str, diagnostics: Diagnostics) -> None:
    """The field that a failure is reported at: names from here down, no list indices."""
    span = node.keywords["x-kubernetes-validations"].span or node.span
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
    rule: Mapping[str, object], found: Findings, node: SchemaNode, what: str, diagnostics: Diagnostics, *, has_old: bool
) -> None:
    span = node.keywords["x-kubernetes-validations"].span or node.span
    optional = rule.get("optionalOldSelf") is True
    if optional and not found.uses_old_self:
        diagnostics.add(
            CEL_OLD_SELF.at(
                span,
                f"the rule of {what} has `optionalOldSelf`, but does not use `oldSelf`",
                help=("remove `optionalOldSelf`",),
            ),
        )
    elif found.uses_old_self and not has_old and not optional:
        diagnostics.add(
            CEL_OLD_SELF.at(
                span,
                f"the rule of {what} uses `oldSelf` inside a list whose elements have no identity",
                notes=("only elements of a list of type `map` can be compared with what they were",),
                help=("+listType=map", "or put the rule on the list itself"),
            ),
        )


def _check_text(
    text: str, node: SchemaNode, what: str, loops: int, diagnostics: Diagnostics, *, is_root: bool
) -> Findings | None:
    from pykb.gen.cel.parser import parse
    from pykb.gen.cel.resolve import resolve_names
    from pykb.gen.cel.syntax import CelSyntaxError

    span = node.keywords["x-kubernetes-validations"].span or node.span
    try:
        tree = parse(text)
    except CelSyntaxError as error:
        diagnostics.add(
            CEL_SYNTAX.at(
                span,
                f"the rule of {what} is no CEL: {error}",
                notes=(f"{text}\n{' ' * error.offset}{'^' * min(error.length, max(1, len(text) - error.offset))}",),
            ),
        )
        return None
    found = resolve_names(tree, node, is_root=is_root)
    for unknown in found.unknown:
        diagnostics.add(
            CEL_NAME.at(
                span,
                f"the rule of {what} names the {unknown.what} `{unknown.name}`, which is not there",
                notes=(f"{text}\n{' ' * unknown.offset}{'^' * len(unknown.name)}",),
                help=(f"did you mean `{unknown.near}`?",) if unknown.near else (),
                # A newer API server may know more functions than we do.
                severity=Severity.WARNING if unknown.what == "function" else Severity.ERROR,
            ),
        )
    for misuse in found.misused:
        diagnostics.add(
            CEL_TYPE.at(
                span,
                f"the rule of {what} asks for the `{misuse.function}` of a value that is `{misuse.kind}`",
                notes=(f"{text}\n{' ' * misuse.offset}{'^' * len(misuse.function)}",),
            ),
        )
    if loops + found.loops >= _LOOPS_TOO_DEEP:
        diagnostics.add(
            CEL_COST.at(
                span,
                f"the rule of {what} runs inside {loops + found.loops} nested lists, maps or texts that have no bound",
                notes=(
                    "the API server's estimate of its cost is likely to exceed the budget, and the CRD to be refused",
                ),
                help=("bound them: `MaxItems` on lists, `MaxProperties` on maps, `MaxLength` on strings",),
            ),
        )
    return found
