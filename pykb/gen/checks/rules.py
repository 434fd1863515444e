"""CEL rules: they parse, their names mean something, and they do not loop over what has no end."""

from __future__ import annotations

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.crd import CEL_COST, CEL_NAME, CEL_REASON, CEL_SYNTAX
from pykb.diagnostics.model import Severity
from pykb.gen.ir import SchemaNode

REASONS = ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")
_LOOPS_TOO_DEEP = 2


def check_rules(node: SchemaNode, what: str, loops: int, diagnostics: Diagnostics, *, is_root: bool) -> None:
    """Check the rules of one schema.

    Args:
        node: The schema that has them.
        what: How messages call it.
        loops: How many lists and maps without a bound it lies in.
        diagnostics: Gets what is wrong.
        is_root: Whether it is a whole object.
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
                    f"`{rule['reason']}` is no reason of a rule: expected one of {', '.join(map('`{}`'.format, REASONS))}",
                ),
            )
        for part in ("rule", "messageExpression"):
            text = rule.get(part)
            if isinstance(text, str) and text not in _TRUSTED:
                _check_text(text, node, what, loops, diagnostics, is_root=is_root)


# Rules of our own making.
_TRUSTED = frozenset({"self == oldSelf"})


def _check_text(text: str, node: SchemaNode, what: str, loops: int, diagnostics: Diagnostics, *, is_root: bool) -> None:
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
        return
    found = resolve_names(tree, node, is_root=is_root)
    for unknown in found.unknown:
        of = f" of {what}" if unknown.what == "field" else ""
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
        del of
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
