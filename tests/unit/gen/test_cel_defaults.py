"""A default that breaks a rule is found when it is certain; the table was answered by a real API server."""

from __future__ import annotations

import pytest

from pykb.gen.cel.evaluate import verdict
from pykb.gen.checks.value import broken_rules, is_match
from pykb.gen.ir import PropertyNode, Rule, SchemaNode

STRING, INTEGER, NUMBER, BOOLEAN = (
    SchemaNode().put("type", name) for name in ("string", "integer", "number", "boolean")
)
TIME = STRING.put("format", "date-time")
EITHER = SchemaNode().put("x-kubernetes-int-or-string", value=True)
NUMBERS = SchemaNode(items=INTEGER).put("type", "array")
SET = NUMBERS.put("x-kubernetes-list-type", "set")
WORDS = SchemaNode(values=STRING).put("type", "object")
PART = SchemaNode(
    properties={
        name: PropertyNode(name, name, schema, required=False)
        for name, schema in (("a", INTEGER), ("b", INTEGER.put("default", 3)))
    }
).put("type", "object")

BROKEN = [
    (STRING, "size(self) > 3", "abc", ""),
    (STRING, "self.startsWith('a') && self.matches('^[a-z]+$')", "abC", ""),
    (STRING, "self in ['a','b']", "c", ""),
    (INTEGER, "self % 2 == 0", 3, ""),
    (INTEGER, "self > 5 || 1/0 > 2", 3, "division by zero"),
    (NUMBER, "self < 1.5", 2, ""),
    (NUMBERS, "self.all(x, x > 1)", [1, 2], ""),
    (NUMBERS, "self.filter(x, x > 1).map(y, y*2).size() == 2", [1, 2], ""),
    (NUMBERS, "self == [2,3]", [1, 2], ""),
    (PART, "has(self.a)", {}, ""),
    (PART, "has(self.b)", {}, ""),  # the default of an inner field is not there yet
    (PART, "self.b == 4", {}, "no such key: b"),
    (PART, "!has(self.a) || self.a > 1", {"a": 1}, ""),
    (PART, "self.a > 1", {}, "no such key: a"),
    (WORDS, "'x' in self", {"y": "1"}, ""),
    (WORDS, "self.all(k, self[k] != '1')", {"y": "1"}, ""),
    (STRING, r"self != r'a\d'", r"a\d", ""),
    (STRING, "self < 'b'", "c", ""),
    (BOOLEAN, "self", False, ""),
    (EITHER, "self == 3", 4, ""),
    (STRING, "self == 'a' ? true : false", "b", ""),
    (INTEGER, "self * 9223372036854775807 > 0", 3, "integer overflow"),
    (INTEGER, "-self > -3", 3, ""),
    (INTEGER, "1 < self && self < 3.5", 4, ""),
]
KEPT = [
    (STRING, "self.size() > 2", "abc"),
    (INTEGER, "self / 2 == -1", -3),
    (INTEGER, "self % 2 == -1", -3),
    (INTEGER, "self == oldSelf", 3),
    (INTEGER, "self > 5 || self < 4", 3),
    (INTEGER, "self > 5 && 1/0 > 2 || true", 3),
    (NUMBERS, "self.exists_one(x, x > 1)", [1, 2]),
    (SET, "self == [2,1]", [1, 2]),
    (STRING, r"self == 'a\tb'", "a\tb"),
    (BOOLEAN, "!self", False),
]
UNKNOWN = [
    (TIME, "self > timestamp('2030-01-01T00:00:00Z')", "2024-01-01T00:00:00Z"),
    (TIME, "self == '2024'", "2024-01-01T00:00:00Z"),
    (EITHER, "type(self) == int ? self > 3 : self != ''", 3),
    (STRING, "quantity(self).isGreaterThan(quantity('1'))", "1"),
    (PART, "self.__a__ == 3", {"a": 1}),
    (PART, "self.?a.orValue(1) == 2", {}),
    (STRING, "self.foo(((", "a"),
    (STRING, "self ==", "a"),
    (SchemaNode(all_of=(STRING,)), "self == 'b'", "a"),
]


@pytest.mark.parametrize(("schema", "rule", "value", "reason"), BROKEN, ids=[rule for _, rule, _, _ in BROKEN])
def test_a_broken_rule_is_found(schema: SchemaNode, rule: str, value: object, reason: str) -> None:
    """False, or an error, which the server takes for a broken rule as well."""
    assert verdict(rule, value, schema, matches=is_match) == reason


@pytest.mark.parametrize(("schema", "rule", "value"), KEPT + UNKNOWN, ids=[rule for _, rule, _ in KEPT + UNKNOWN])
def test_nothing_is_said_of_what_holds_or_cannot_be_told(schema: SchemaNode, rule: str, value: object) -> None:
    """A finding that is wrong is worse than none."""
    assert verdict(rule, value, schema, matches=is_match) is None


def test_rules_of_inner_values_count_too() -> None:
    """In fields, lists and maps, with the way there."""
    rule = INTEGER.add(Rule("self > 1"))
    part = SchemaNode(
        properties={"a": PropertyNode("a", "a", SchemaNode(items=rule).put("type", "array"), required=False)}
    )
    values = SchemaNode(values=part.put("type", "object")).put("type", "object")
    (found,) = broken_rules({"x": {"a": [2, 1]}}, values)
    assert str(found) == "`1` at `x.a[1]` breaks the rule `self > 1`"
