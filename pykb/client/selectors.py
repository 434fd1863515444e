"""Label and field selectors: the text form of queries, the structured form, and matching on the client's side.

Caches and the in-memory API server match. Queries have selectors as text.

Sources: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors and
https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from pykb.api.struct import Struct

_SET = re.compile(r"^(\S+)\s+(in|notin)\s*\(([^()]*)\)$")
_EQUALITY = re.compile(r"^([^\s=!]+)\s*(==|=|!=)\s*([^\s=!]*)$")
_EXISTENCE = re.compile(r"^(!?)\s*([^\s=!(),]+)$")


class Operator(StrEnum):
    """The operator that compares a label."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet the condition. A missing label meets ``NotIn``."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A list of requirements that must all be met. An empty selector matches everything.

    ::

        selector = LabelSelector.parse("app=web,tier!=db")
        assert selector.matches({"app": "web"})
        pods = await client.list(Pod, namespace="default", labels=selector)
    """

    requirements: tuple[Requirement, ...] = ()

    @classmethod
    def parse(cls, text: str) -> LabelSelector:
        """Parse the query form: ``app=web,tier!=db,env in (a,b),!legacy``.

        Raises:
            ValueError: The text is not a label selector.
        """
        return _label_selector(text)

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> LabelSelector:
        """Make a selector that requires exactly these labels."""
        return cls(tuple(Requirement(k, Operator.IN, frozenset((v,))) for k, v in sorted(labels.items())))

    @classmethod
    def from_wire(cls, selector: Mapping[str, Any]) -> LabelSelector:
        """Parse the structured form: ``matchLabels`` and ``matchExpressions``."""
        by_label = cls.from_labels(selector.get("matchLabels") or {}).requirements
        by_expression = tuple(
            Requirement(x["key"], Operator(x["operator"]), frozenset(x.get("values") or ()))
            for x in selector.get("matchExpressions") or ()
        )
        return cls(by_label + by_expression)

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Whether an object with these labels is selected."""
        present = labels or {}
        return all(requirement.matches(present) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(_text(requirement) for requirement in self.requirements)


@lru_cache(maxsize=256)
def _label_selector(text: str) -> LabelSelector:
    return LabelSelector(tuple(_requirement(part) for part in _split(text)))


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for position, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    last = text[start:].strip()
    return [*parts, last] if parts or last else []


def _requirement(part: str) -> Requirement:
    if match := _SET.match(part):
        key, word, values = match.groups()
        operator = Operator.IN if word == "in" else Operator.NOT_IN
        return Requirement(key, operator, frozenset(value.strip() for value in values.split(",")))
    if match := _EQUALITY.match(part):
        key, sign, value = match.groups()
        return Requirement(key, Operator.NOT_IN if sign == "!=" else Operator.IN, frozenset((value,)))
    if match := _EXISTENCE.match(part):
        absent, key = match.groups()
        return Requirement(key, Operator.DOES_NOT_EXIST if absent else Operator.EXISTS)
    raise ValueError(f"`{part}` is not a valid requirement of a label selector")


def _text(requirement: Requirement) -> str:
    values = ",".join(sorted(requirement.values))
    match requirement.operator:
        case Operator.EXISTS:
            return requirement.key
        case Operator.DOES_NOT_EXIST:
            return f"!{requirement.key}"
        case Operator.IN if len(requirement.values) == 1:
            return f"{requirement.key}={values}"
        case Operator.NOT_IN if len(requirement.values) == 1:
            return f"{requirement.key}!={values}"
        case Operator.IN:
            return f"{requirement.key} in ({values})"
        case Operator.NOT_IN:
            return f"{requirement.key} notin ({values})"


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One field and the value that it must or must not have."""

    path: str
    value: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """A list of requirements that must all be met. An empty selector matches everything."""

    requirements: tuple[FieldRequirement, ...] = ()

    @classmethod
    def parse(cls, text: str) -> FieldSelector:
        r"""Parse the query form: ``metadata.name=web,status.phase!=Running``. In a value, ``\`` escapes ``,=\``.

        Raises:
            ValueError: The text is not a field selector.
        """
        return _field_selector(text)

    def matches(self, obj: Mapping[str, Any]) -> bool:
        """Whether an object in wire form is selected. A missing field counts as the empty string."""
        return all((field_text(obj, r.path) == r.value) != r.negated for r in self.requirements)

    @property
    def equalities(self) -> dict[str, str] | None:
        """The requirements as a mapping, or ``None`` if one is negated or repeated."""
        found = {r.path: r.value for r in self.requirements if not r.negated}
        return found if len(found) == len(self.requirements) else None


@lru_cache(maxsize=256)
def _field_selector(text: str) -> FieldSelector:
    parts = [part for part in re.findall(r"(?:\\.|[^,\\])+", text) if part.strip()]
    return FieldSelector(tuple(_field_requirement(part) for part in parts))


def field_text(obj: Mapping[str, Any], path: str) -> str:
    """The value at a dotted path, as a selector compares it. Empty if there is none."""
    value: Any = obj
    for step in path.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _field_requirement(part: str) -> FieldRequirement:
    match = re.fullmatch(r"\s*([^=!\\\s]+)\s*(==|!=|=)((?:\\.|[^\\=])*)", part)
    if match is None:
        raise ValueError(
            f"`{part}` is not a valid requirement of a field selector, expected `path=value` or `path!=value`"
        )
    path, sign, value = match.groups()
    return FieldRequirement(path, re.sub(r"\\(.)", r"\1", value), negated=sign == "!=")


Labels = str | Mapping[str, str] | Struct | LabelSelector
"""``"app=web,tier!=db"``, ``{"app": "web"}``, a ``metav1.LabelSelector``, or a parsed selector."""

Fields = str | Mapping[str, str]
"""``"status.phase=Running"`` or ``{"status.phase": "Running"}``."""


def as_selector(labels: Labels | None) -> LabelSelector | None:
    """Convert any form of a label selector.

    Raises:
        ValueError: The text is not a label selector, or a ``metav1.LabelSelector`` has an operator
            that does not exist.
    """
    match labels:
        case None | LabelSelector():
            return labels
        case str():
            return LabelSelector.parse(labels)
        case Struct():
            return LabelSelector.from_wire(labels.to_wire())
        case _:
            return LabelSelector.from_labels(labels)


def label_query(labels: Labels | None) -> str | None:
    """Return the text of a label selector. ``None`` selects everything.

    Raises:
        ValueError: A ``metav1.LabelSelector`` with an operator that does not exist.
    """
    text = labels if labels is None or isinstance(labels, str) else str(as_selector(labels))
    return text or None


def field_query(fields: Fields | None) -> str | None:
    """Return the text of a field selector. ``None`` selects everything."""
    if fields is None or isinstance(fields, str):
        return fields or None
    return ",".join(f"{path}={_escaped(value)}" for path, value in sorted(fields.items())) or None


def query_pairs(labels: Labels | None, fields: Fields | None, **others: Any) -> tuple[tuple[str, str], ...]:
    """Return the query of a list, a watch or a deletion of a collection. ``None`` and empty values are left out."""
    pairs = {"labelSelector": label_query(labels), "fieldSelector": field_query(fields), **others}
    return tuple((name, str(value)) for name, value in pairs.items() if value not in (None, ""))


def _escaped(value: str) -> str:
    # https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/ ; apimachinery's EscapeValue.
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
