"""Renders markers as text for ``pykb explain``: one of them, or a list."""

from __future__ import annotations

from collections.abc import Iterable

from pykb.markers.definition import Argument, Grammar, MarkerDefinition, MarkerTarget
from pykb.markers.registry import MarkerRegistry


def remarks_of(definition: MarkerDefinition) -> str:
    """What else there is to say of where a marker counts."""
    remarks = []
    if definition.anywhere:
        remarks.append("anywhere in a file")
    if definition.repeatable:
        remarks.append("may be repeated")
    if definition.alias_of:
        remarks.append(f"another spelling of `+{definition.alias_of}`")
    if definition.go_only:
        remarks.append("no effect in Python")
    return "".join(f"; {r}" for r in remarks)


def meaning_of(argument: Argument) -> str:
    """What an argument says, and its values."""
    parts = [argument.summary] if argument.summary else []
    if argument.choices:
        parts.append(
            " or ".join(f"`{c}`" for c in argument.choices) + ("" if argument.folded else " (case counts)") + "."
        )
    if argument.minimum is not None and argument.maximum is not None:
        parts.append(f"From {argument.minimum} to {argument.maximum}.")
    elif argument.minimum is not None:
        parts.append(f"At least {argument.minimum}.")
    return " ".join(parts).replace("|", "\\|")


def targets_of(definition: MarkerDefinition) -> str:
    """The kinds of declaration that a marker may describe, in words."""
    words = {MarkerTarget.PACKAGE: "packages", MarkerTarget.TYPE: "types", MarkerTarget.FIELD: "fields"}
    return _joined(words[t] for t in MarkerTarget if t in definition.targets)


def _joined(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def explain_marker(definition: MarkerDefinition) -> str:
    """The output of ``pykb explain +<marker>``: summary, targets, arguments, an example."""
    lines = [f"+{definition.name}", "", definition.summary]
    lines += [f"On {targets_of(definition)}{remarks_of(definition)}.", "", f"    # {definition.example}"]
    if definition.arguments:
        lines.append("")
        names = [a.name or "(value)" for a in definition.arguments]
        width = max(len(n) for n in names)
        for name, argument in zip(names, definition.arguments, strict=True):
            optional = ", optional" if argument.optional else ""
            lines.append(f"  {name:<{width}}  {argument.type}{optional}. {meaning_of(argument)}".rstrip())
    if definition.grammar is Grammar.DECLARATIVE and not definition.go_only:
        lines += ["", "A comment may follow after ` #`."]
    return "\n".join(lines) + "\n"


def list_markers(registry: MarkerRegistry) -> str:
    """One line per marker, for ``pykb explain markers``."""
    shown = [d for d in registry if not d.items_depth]
    width = max(len(d.name) for d in shown) + 1
    return "".join(f"{'+' + d.name:<{width}}  {d.summary}\n" for d in shown)
