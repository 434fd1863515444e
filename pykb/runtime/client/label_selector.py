"""Label selectors, in the text form of queries and the structured form of ``metav1.LabelSelector``.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


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
    """A list of requirements that must all be met. An empty selector matches everything."""

    requirements: tuple[Requirement, ...] = ()

    @classmethod
    def parse(cls, text: str) -> LabelSelector:
        """Parse the query form: ``app=web,tier!=db,env in (a,b),!legacy``.

        Raises:
            ValueError: The text is not a label selector.
        """
        return cls(tuple(_requirement(part) for part in _split(text)))

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


_SET = re.compile(r"^(\S+)\s+(in|notin)\s*\(([^()]*)\)$")
_EQUALITY = re.compile(r"^([^\s=!]+)\s*(==|=|!=)\s*([^\s=!]*)$")
_EXISTENCE = re.compile(r"^(!?)\s*([^\s=!(),]+)$")


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
    if found := _SET.match(part):
        key, word, values = found.groups()
        operator = Operator.IN if word == "in" else Operator.NOT_IN
        return Requirement(key, operator, frozenset(value.strip() for value in values.split(",")))
    if found := _EQUALITY.match(part):
        key, sign, value = found.groups()
        return Requirement(key, Operator.NOT_IN if sign == "!=" else Operator.IN, frozenset((value,)))
    if found := _EXISTENCE.match(part):
        absent, key = found.groups()
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
