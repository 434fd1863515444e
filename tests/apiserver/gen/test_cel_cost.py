"""What we warn of as too costly a real API server refuses for its cost, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from pykb.diagnostics import Diagnostics

pytestmark = pytest.mark.apiserver


def rule(text: str, kind: str = "int", **more: str) -> str:
    """A rule on the field `a`."""
    extra = "".join(f", {name}={value!r}" for name, value in more.items())
    return field(f"a: Annotated[{kind}, CEL({text!r}{extra})]")


def field(line: str) -> str:
    """A type of the spec with a field `a`."""
    return f"class Spec(Struct):\n    {line}\n"


def texts(length: int, count: int) -> str:
    """A list of so many texts of such a length."""
    return f"Annotated[list[Annotated[str, Field(max_length={length})]], Field(max_length={count})]"


COSTS = {
    "number": rule("self > 3"),
    "text equal": rule("self == oldSelf", "str"),
    "text startsWith": rule("self.startsWith('a')", "str"),
    "text matches": rule("self.matches('^[a-z]+$')", "str"),
    "text matches long": rule("self.matches('^[a-z]+$%s')" % ("x" * 100), "str"),
    "text matches 1000": rule("self.matches('^[a-z]+$')", "Annotated[str,Field(max_length=1000)]"),
    "text contains text": rule("self.contains(self)", "str"),
    "text contains 1000": rule("self.contains(self)", "Annotated[str,Field(max_length=1000)]"),
    "list all": rule("self.all(x, x > 3)", "list[int]"),
    "list exists": rule("self.exists(x, x > 3)", "list[int]"),
    "list all self.exists": rule("self.all(x, self.exists_one(y, x == y))", "list[int]"),
    "list all exists 100": rule(
        "self.all(x, self.exists_one(y, x == y))", "Annotated[list[int],Field(max_length=100)]"
    ),
    "list all exists 1000": rule(
        "self.all(x, self.exists_one(y, x == y))", "Annotated[list[int],Field(max_length=1000)]"
    ),
    "list all exists 2000": rule(
        "self.all(x, self.exists_one(y, x == y))", "Annotated[list[int],Field(max_length=2000)]"
    ),
    "texts unique 100x100": rule("self.all(x, self.exists_one(y, x == y))", texts(100, 100)),
    "texts unique 1000x100": rule("self.all(x, self.exists_one(y, x == y))", texts(1000, 100)),
    "texts unique 63x1000": rule("self.all(x, self.exists_one(y, x == y))", texts(63, 1000)),
    "list of texts all": rule("self.all(x, x == 'abc')", "list[str]"),
    "list of texts all matches": rule("self.all(x, x.matches('abc'))", "list[str]"),
    "list of texts bounded all matches": rule("self.all(x, x.matches('abc'))", texts(63, 1000)),
    "in list": rule("'a' in self", "list[str]"),
    "in map": rule("'a' in self", "dict[str,str]"),
    "map all": rule("self.all(k, k.size() < 10)", "dict[str,str]"),
    "map all value": rule("self.all(k, self[k].size() < 10)", "dict[str,str]"),
    "map all matches": rule("self.all(k, k.matches('^a'))", "dict[str,str]"),
    "element rule": field("a: list[Annotated[int, CEL('self > 3')]]"),
    "element rule text": field("a: list[Annotated[str, CEL('self.startsWith(\"a\")')]]"),
    "element text eq": field("a: list[Annotated[str, CEL('self == \"abc\"')]]"),
    "element text eq old": field("a: dict[str, Annotated[str, CEL('self == oldSelf')]]"),
    "element text matches bounded": field("a: list[Annotated[str, Field(max_length=63), CEL('self.matches(\"^a\")')]]"),
    "element of bounded": field(
        "a: Annotated[list[Annotated[str, Field(max_length=63), CEL('self.matches(\"^a\")')]], Field(max_length=1000)]"
    ),
    "nested lists": field("a: list[Annotated[list[int], CEL('self.all(x, x>3)')]]"),
    "nested 100": field(
        "a: Annotated[list[Annotated[list[int], Field(max_length=100), CEL('self.all(x, x>3)')]],Field(max_length=100)]"
    ),
    "object equal": rule("self == oldSelf", "Inner"),
    "object list equal": rule("self == oldSelf", "list[Keyed]"),
    "list equal": rule("self == oldSelf", "list[int]"),
    "pod equal": rule("self == oldSelf", "PodTemplateSpec"),
    "object in list": field("a: list[Annotated[Keyed, CEL('self.name != self.value')]]"),
    "has in list": field("a: list[Annotated[Keyed, CEL('has(self.value)')]]"),
    "map values": rule("self.map(x, x.name).exists(y, y == 'a')", "list[Keyed]"),
    "filter size": rule("self.filter(x, x.name == 'a').size() < 2", "list[Keyed]"),
    "filter keyed 100": rule(
        "self.filter(x, x.name == 'a').size() < 2", "Annotated[list[Keyed],Field(max_length=100)]"
    ),
    "concat": rule("self + 'a' == 'b'", "str"),
    "concat bounded": rule("(self + 'a').startsWith('b')", "Annotated[str,Field(max_length=100)]"),
    "split": rule("self.split(',').all(x, x != '')", "str"),
    "split bounded": rule("self.split(',').all(x, x != '')", "Annotated[str,Field(max_length=100)]"),
    "split 2000": rule("self.split(',').all(x, x.startsWith('abc'))", "Annotated[str,Field(max_length=2000)]"),
    "lower": rule("self.lowerAscii() == 'a'", "str"),
    "lower self": rule("self.lowerAscii() == self", "str"),
    "replace": rule("self.replace('a','b') == self", "Annotated[str,Field(max_length=1000)]"),
    "url": rule("url(self).getHost() == 'a'", "str"),
    "quantity": rule("quantity(self).isGreaterThan(quantity('1'))", "Annotated[str,Field(max_length=1000)]"),
    "quantity any": rule("quantity(self).isGreaterThan(quantity('1'))", "Quantity"),
    "date in list": field("a: list[Annotated[datetime, CEL('self > timestamp(\"2020-01-01T00:00:00Z\")')]]"),
    "enum in list": field("a: list[Annotated[Literal['aa','b'], CEL('self == \"aa\"')]]"),
    "conditions": rule("self.all(c, c.type != 'x' || c.status == 'True')", "list[Condition]"),
    "sum": rule("self.sum() > 3", "list[int]"),
    "sorted texts": rule("self.isSorted()", "list[str]"),
    "string(int)": rule("string(self) == 'a'"),
    "string(int).startsWith": rule("string(self).startsWith('a')"),
    "string(int) + ": rule("string(self) + 'b' == 'a'"),
    "msgexpr text": rule("self != ''", "Annotated[str,Field(max_length=100)]", message_expression="'found ' + self"),
    "msgexpr %": rule("self > 3", message_expression="'found %d'.format([self])"),
    "sets": rule("sets.contains(self,[1,2])", "list[int]"),
    "sets self": rule("sets.equivalent(self,oldSelf)", "list[int]"),
    "sets bounded": rule("sets.equivalent(self,oldSelf)", "Annotated[list[int],Field(max_length=1000)]"),
    "conditional": rule("self.size() > 3 ? self.matches('abc') : self == 'a'", "Annotated[str,Field(max_length=1000)]"),
    "find": rule("self.find('abc') == 'a'", "str"),
    "ip": rule("isIP(self)", "str"),
    "optMap": rule("self.?b.orValue('') == 'a'", "Inner"),
    "whole object": field("a: str") + "# +kubebuilder:validation:XValidation:rule=\"self.metadata.name != ''\"\n",
    "pods all": rule("self.all(p, p.metadata.name == 'a')", "list[PodTemplateSpec]"),
    "resource all": rule(
        "self.all(p, p.metadata.name.matches('^a'))", "list[Annotated[dict[str,Any], EmbeddedResource()]]"
    ),
    "resource eq": rule("self.all(p, p.metadata.name == p.kind)", "list[Annotated[dict[str,Any], EmbeddedResource()]]"),
    "map keys eq": rule("self.all(k, k == self[k])", "dict[str,str]"),
    "map exists all": rule("self.all(k, self.exists(j, k == j))", "dict[str,str]"),
    "two lists": rule("self.all(k, k.value in ['a','b','c'])", "list[Keyed]"),
    "join": rule("self.join(',').size() < 10", "list[str]"),
    "string list eq": rule("self == ['a']", "list[str]"),
    "string list concat": rule("(self + ['a']).all(x, x.startsWith('a'))", "list[str]"),
    "map list bounded": rule("self.map(x, x.lowerAscii()).all(y, y.matches('a'))", texts(100, 100)),
    "size": rule("self.size() > 1", "str"),
    "duration el": field("a: list[Annotated[str, Format('duration'), CEL('self > duration(\"1h\")')]]"),
    "either equal": rule("self == oldSelf", "list[IntOrString]"),
    "either in list": rule("self.all(x, self.exists_one(y, x == y))", "list[IntOrString]"),
    "either in bounded list": rule(
        "self.all(x, self.exists_one(y, x == y))",
        "Annotated[list[Annotated[IntOrString, SchemaPatch({'maxLength': 9})]], Field(max_length=100)]",
    ),
    "map entry": rule("self['a'] <= self['b']", "dict[str, IntOrString]"),
    "map entry by name": rule("self.a <= self.b", "dict[str, IntOrString]"),
    "lists of lists unique": rule("self.all(x, self.exists_one(y, x == y))", "list[list[bool]]"),
    "many rules": field(
        "a: Annotated[list[Annotated[int, "
        + ", ".join(f"CEL('self > {i}')" for i in range(3))
        + "]], Field(max_length=9)]"
    ),
}


@pytest.mark.parametrize("name", COSTS)
def test_the_estimate_and_the_server_agree(
    name: str, judge: Callable[[str], tuple[Diagnostics, Any]], server_minor: int
) -> None:
    """A warning here is a refusal for the cost there, and the other way; nothing else is wrong with these rules."""
    found, answer = judge(f"{COSTS[name]}class Thing(CustomResource, group_version=GV):\n    spec: Spec\n")
    assert {finding.code.slug for finding in found} <= {"cel-cost"}
    exceeded = re.search(r"factor of (?:more than )?([0-9.]+)x", answer.message)
    assert answer.ok or exceeded, answer.message
    is_wary = name == "either in bounded list" and server_minor < 34  # older servers ignore such a `maxLength`
    assert (len(found) > 0 or is_wary) == (exceeded is not None), answer.message


def test_a_rule_on_a_name_is_judged_as_by_older_servers(
    judge: Callable[[str], tuple[Diagnostics, Any]], server_minor: int
) -> None:
    """Kubernetes 1.37 takes it, since a name is short; 1.36 refuses it for its cost."""
    rule = "self.metadata.name.matches('^[a-z]+$%s')" % ("x" * 200)
    kind = "class Thing(CustomResource, group_version=GV):\n    spec: Spec\n"
    found, answer = judge(field("a: str") + f'# +kubebuilder:validation:XValidation:rule="{rule}"\n' + kind)
    assert [finding.code.slug for finding in found] == ["cel-cost"]
    assert answer.ok == (server_minor >= 37), answer.message
