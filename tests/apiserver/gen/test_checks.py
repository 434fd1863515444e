"""What the checks call an error a real API server refuses, and what they let pass it accepts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.render import Format, render

pytestmark = pytest.mark.apiserver

V = "# +kubebuilder:validation:"


def field(*lines: str) -> str:
    """A type of the spec with a field `a`, whose last line declares it."""
    return "class Spec(Struct):\n" + "".join(f"    {line}\n" for line in lines)


def rule(text: str, kind: str = "int", **more: str) -> str:
    """A rule on the field `a`."""
    extra = "".join(f", {name}={value!r}" for name, value in more.items())
    return field(f"a: Annotated[{kind}, CEL({text!r}{extra})]")


def on_kind(*markers: str) -> str:
    """Markers on the kind, whose spec has fields of several types."""
    return "".join(f"# +kubebuilder:{marker}\n" for marker in markers)


SCHEMAS = {
    "plain": field("a: str"),
    "minimum above maximum": field("a: Annotated[int, Field(ge=5, le=1)]"),
    "default below minimum": field(f"{V}Minimum=3", "# +kubebuilder:default=1", "a: int"),
    "default of a nested field": field("# +kubebuilder:default={b: x}", "a: Inner"),
    "default with a wrong nested field": field("# +kubebuilder:default={b: 3}", "a: Inner"),
    "default with an unknown field": field("# +kubebuilder:default={zz: 3}", "a: Inner"),
    "default in a list": field('# +default=["a", 1]', "a: list[str]"),
    "default in a map": field('# +default={"x": 1}', "a: dict[str, str]"),
    "default of another format": field(f"{V}Format=date-time", "# +kubebuilder:default=monday", "a: str"),
    "default that breaks a pattern": field("a: Annotated[str, Field(pattern='^a+$')] = 'b'"),
    "default that keeps a pattern": field("a: Annotated[str, Field(pattern='^a+$')] = 'aa'"),
    "default that ends in a line break": field('# +default="a\\n"', "a: Annotated[str, Field(pattern='^a$')]"),
    "default that is too long": field("a: Annotated[str, Field(max_length=1)] = 'bb'"),
    "default that is none of the enum": field(f"{V}Enum=x;y", "# +kubebuilder:default=z", "a: str"),
    "default null": field("# +default=null", "a: str"),
    "default that breaks a rule": field("# +kubebuilder:default=1", "a: Annotated[int, CEL('self > 3')]"),
    "default that keeps a rule": field("# +kubebuilder:default=5", "a: Annotated[int, CEL('self % 2 == 1')]"),
    "default that keeps a rule on old values": field("a: Annotated[int, CEL('self == oldSelf')] = 5"),
    "default that breaks a rule on old values": field("a: Annotated[int, CEL('self != oldSelf')] = 5"),
    "default that needs another old value": field("a: Annotated[int, CEL('self > oldSelf')] = 5"),
    "default with an optional old value": field(
        "a: Annotated[int, CEL('!oldSelf.hasValue() || self == 5', optional_old_self=True)] = 5"
    ),
    "default that is no optional": field("a: Annotated[IntOrString, CEL('self.?b == self')] = 'x'"),
    "default that divides by zero": field("a: Annotated[int, CEL('5 / self > 0')] = 0"),
    "default that breaks a rule of texts": field(
        "a: Annotated[str, CEL(\"self.startsWith('a') && self.matches('^[a-z]+$')\"), Field(max_length=9)] = 'aB'"
    ),
    "default that breaks a rule of lists": field(
        "# +default=[1, 2]", "a: Annotated[list[int], CEL('self.all(x, x > 1)'), Field(max_length=9)]"
    ),
    "default that breaks a rule of maps": field(
        '# +default={"x": "1"}',
        "a: Annotated[dict[str, Annotated[str, Field(max_length=9)]], CEL(\"self.all(k, self[k] != '1')\"), "
        "Field(max_length=9)]",
    ),
    "default without a field of a rule": field("# +default={}", "a: Annotated[Inner, CEL(\"self.b == 'x'\")]"),
    "default without a field that has a default": "class Defaulted(Struct):\n    # +required\n    b: int = 3\n"
    + field("# +kubebuilder:default={}", "a: Defaulted"),
    "default of a set with duplicates": field('# +default=["a","a"]', "# +listType=set", "a: list[str]"),
    "default of a map list with duplicates": field(
        '# +default=[{"name":"x"},{"name":"x"}]', "# +listType=map", "# +listMapKey=name", "a: list[Keyed]"
    ),
    "default without a list key": field("# +default=[{}]", "# +listType=map", "# +listMapKey=name", "a: list[Keyed]"),
    "multiple of": field("a: Annotated[int, Field(multiple_of=5)] = 7"),
    "multiple of zero": field(f"{V}MultipleOf=0", "a: int"),
    "exclusive without a bound": field(f"{V}ExclusiveMaximum=true", "a: int"),
    "enum of another type": field(f"{V}Enum=1;2", "a: str"),
    "enum twice the same": field(f"{V}Enum=a;a", "a: str"),
    "enum that breaks a pattern": field(f"{V}Enum=a;b", f"{V}Pattern=^a$", "a: str"),
    "pattern with look-ahead": field("a: Annotated[str, Field(pattern='(?=a)b')]"),
    "pattern with a Perl class": field(r"a: Annotated[str, Field(pattern=r'^\d+\pL$')]"),
    "pattern with a huge count": field("a: Annotated[str, Field(pattern='a{1001}')]"),
    "pattern with a nested count": field("a: Annotated[str, Field(pattern='(a{100}){100}')]"),
    "pattern with named group": field("a: Annotated[str, Field(pattern='(?P<x>a)')]"),
    "pattern with an atomic group": field("a: Annotated[str, Field(pattern='(?>a)')]"),
    "pattern with \\Z": field(r"a: Annotated[str, Field(pattern=r'^a\Z')]"),
    "pattern with \\z": field(f"{V}Pattern=`^a\\z`", "a: str"),
    "pattern with \\Q": field(f"{V}Pattern=`^\\Qa+\\E$`", "a: str"),
    "pattern with a POSIX class": field(f"{V}Pattern=`^[[:alpha:]]$`", "a: str"),
    "unknown format": field(f"{V}Format=zzz", "a: str"),
    "unknown type": field(f"{V}Type=strng", "a: str"),
    "unique items": field(f"{V}UniqueItems=true", "a: list[str]"),
    "set of texts": field("# +listType=set", "a: list[str]"),
    "set of objects": field("# +listType=set", "a: list[Inner]"),
    "set of atomic objects": field("# +listType=set", "a: list[Annotated[Inner, MapAtomic()]]"),
    "set of lists": field("# +listType=set", "a: list[list[str]]"),
    "set of atomic lists": field("# +listType=set", "a: list[Annotated[list[str], ListAtomic()]]"),
    "set of maps": field("# +listType=set", "a: list[dict[str, str]]"),
    "set of nullable texts": field("# +listType=set", "a: list[Annotated[str | None, Nullable()]]"),
    "map list": field("# +listType=map", "# +listMapKey=name", "a: list[Keyed]"),
    "map list without a key": field("# +listType=map", "a: list[Keyed]"),
    "map list of texts": field("# +listType=map", "# +listMapKey=name", "a: list[str]"),
    "map list with an unknown key": field("# +listType=map", "# +listMapKey=nope", "a: list[Keyed]"),
    "map list with an optional key": field("# +listType=map", "# +listMapKey=value", "a: list[Keyed]"),
    "map list with a defaulted key": field("# +listType=map", "# +listMapKey=c", "a: list[Inner]"),
    "map list with a key twice": field("a: Annotated[list[Keyed], ListMap('name', 'name')]"),
    "embedded resource": field("a: Annotated[dict[str, Any], EmbeddedResource()]"),
    "embedded text": field(f"{V}EmbeddedResource", "a: str"),
    "embedded empty": field(f"{V}EmbeddedResource", "a: dict[str, str]"),
    "any": field("a: Any"),
    "preserved text": field("# +kubebuilder:pruning:PreserveUnknownFields", "a: str"),
    "no type": field(f"{V}Schemaless", "a: str"),
    "int or string": field("a: IntOrString"),
    "int or string with a type": field(f"{V}XIntOrString", "a: int"),
    "list of any": field("a: list[Any]"),
    "pod template": field("a: PodTemplateSpec"),
    "atomic struct": field("# +structType=atomic", "a: Inner"),
    "nullable default": field("# +default=null", "# +nullable", "a: str"),
    "negative length": field("a: Annotated[str, Field(max_length=-1)]"),
    "default on a required field": field(f"{V}Required", "a: str = 'x'"),
    "minimum above maximum of another": field(f"{V}MinLength=5", "a: Short"),
}
KINDS = {
    "column": on_kind("printcolumn:name=A,type=string,JSONPath=.spec.text"),
    "column without a name": on_kind('printcolumn:name="",type=string,JSONPath=.spec.text'),
    "column with a filter": on_kind(
        'printcolumn:name=A,type=string,JSONPath=`.spec.conditions[?(@.type=="Ready")].status`'
    ),
    "selectable": on_kind("selectablefield:JSONPath=.spec.text"),
    "selectable number": on_kind("selectablefield:JSONPath=.spec.number"),
    "selectable object": on_kind("selectablefield:JSONPath=.spec.inner"),
    "selectable list": on_kind("selectablefield:JSONPath=.spec.texts"),
    "selectable in a list": on_kind("selectablefield:JSONPath=.spec.texts[0]"),
    "selectable without a dot": on_kind("selectablefield:JSONPath=spec.text"),
    "selectable in a map": on_kind("selectablefield:JSONPath=.spec.map.x"),
    "selectable metadata": on_kind("selectablefield:JSONPath=.metadata.name"),
    "selectable date": on_kind("selectablefield:JSONPath=.spec.time"),
    "selectable int-or-string": on_kind("selectablefield:JSONPath=.spec.either"),
    "selectable twice": on_kind("selectablefield:JSONPath=.spec.text", "selectablefield:JSONPath=.spec.text"),
    "selectable nine times": on_kind(*[f"selectablefield:JSONPath=.spec.t{i}" for i in range(9)]),
    "selectable eight times": on_kind(*[f"selectablefield:JSONPath=.spec.t{i}" for i in range(8)]),
    "scale": on_kind("subresource:scale:specpath=.spec.number,statuspath=.status.number"),
    "scale with a selector": on_kind(
        "subresource:scale:specpath=.spec.number,statuspath=.status.number,selectorpath=.status.text"
    ),
    "scale of the wrong part": on_kind("subresource:scale:specpath=.status.number,statuspath=.status.number"),
    "scale in a list": on_kind("subresource:scale:specpath=.spec.texts[0],statuspath=.status.number"),
    "bad plural": on_kind("resource:path=Things"),
    "bad short name": on_kind("resource:shortName=A_b"),
    "short name like the plural": on_kind("resource:shortName=things"),
    "short name twice": on_kind("resource:shortName=t;t"),
    "bad category": on_kind("resource:categories=A_b"),
    "singular like the plural": on_kind("resource:singular=things"),
    "bad label": on_kind('metadata:labels="a=b c"'),
    "bad label name": on_kind('metadata:labels="a b=c"'),
    "bad annotation name": on_kind('metadata:annotations="a b=c"'),
    "annotation": on_kind('metadata:annotations="a.b/c=d e"'),
    "deprecated": on_kind('deprecatedversion:warning="gone soon"'),
    "deprecated by a long text": on_kind(f'deprecatedversion:warning="{"x" * 257}"'),
    "deprecated by an empty text": on_kind('deprecatedversion:warning=""'),
    "deprecated by a line break": on_kind('deprecatedversion:warning="a\\nb"'),
}
RULES = {
    "number": rule("self > 3"),
    "no boolean": rule("self + 3"),
    "no boolean, a text": rule("self", "str"),
    "text against number": rule("self > 'a'"),
    "number against text": rule("self == 3", "str"),
    "number against fraction": rule("self > 3.5"),
    "fraction against number": rule("self > 3", "float"),
    "sum of number and fraction": rule("self + 1 > 3", "float"),
    "sum of text and number": rule("self + 1 == 'a1'", "str"),
    "logic on a number": rule("self && true"),
    "not of a text": rule("!self", "str"),
    "minus of a text": rule("-self == 'a'", "str"),
    "conditional": rule("self > 3 ? true : false"),
    "conditional on a number": rule("self ? true : false"),
    "conditional of two types": rule("self > 3 ? true : 'a'"),
    "size of a text": rule("self.size() > 3", "str"),
    "size of a number": rule("size(self) > 3"),
    "size of an object": rule("size(self) > 3", "Inner"),
    "unknown field": rule("self.zz == 'x'", "Inner"),
    "unknown variable": rule("sel > 3"),
    "unknown function": rule("self.foo()", "str"),
    "field of a text": rule("self.b == 'x'", "str"),
    "has of an optional field": rule("has(self.b)", "Inner"),
    "has of a required field": rule("has(self.c)", "Inner"),
    "has of an unknown field": rule("has(self.zz)", "Inner"),
    "has of a value": rule("has(self)", "Inner"),
    "all": rule("self.all(x, x > 3)", "Annotated[list[int], Field(max_length=9)]"),
    "all of texts as numbers": rule(
        "self.all(x, x > 3)", "Annotated[list[Annotated[str, Field(max_length=9)]], Field(max_length=9)]"
    ),
    "all without a condition": rule("self.all(x, x)", "Annotated[list[int], Field(max_length=9)]"),
    "all over a number": rule("self.all(x, x > 3)"),
    "exists over a map": rule("self.exists(k, k == 'a')", "Annotated[dict[str, str], Field(max_length=9)]"),
    "map values": rule("self['a'] == 'b'", "Annotated[dict[str, str], Field(max_length=9)]"),
    "map values as numbers": rule("self['a'] == 3", "Annotated[dict[str, str], Field(max_length=9)]"),
    "list by text": rule("self['a'] == 3", "Annotated[list[int], Field(max_length=9)]"),
    "list by number": rule("self[0] == 3", "Annotated[list[int], Field(max_length=9)]"),
    "in a list": rule("self in ['a', 'b']", "Annotated[str, Field(max_length=9)]"),
    "in a list of numbers": rule("self in [1, 2]", "Annotated[str, Field(max_length=9)]"),
    "in a text": rule("'a' in self", "Annotated[str, Field(max_length=9)]"),
    "mixed list": rule("self in [1, 'a']"),
    "time": rule("self > timestamp('2020-01-01T00:00:00Z')", "datetime"),
    "time against text": rule("self > '2020-01-01T00:00:00Z'", "datetime"),
    "duration": rule("self > duration('1h')", "Annotated[str, Format('duration')]"),
    "Go's duration is a text": rule("self > duration('1h')", "timedelta"),
    "int or string": rule("type(self) == int ? self > 3 : self == 'a'", "IntOrString"),
    "int or string alone": rule("self > 3", "IntOrString"),
    "quantity": rule("quantity(self).isGreaterThan(quantity('1'))", "Quantity"),
    "quantity of a text": rule("isQuantity(self)", "Annotated[str, Field(max_length=9)]"),
    "null": rule("self == null", "str"),
    "null of nullable": rule("self == null", "Annotated[str | None, Nullable()]"),
    "old value": rule("self == oldSelf"),
    "old value of another type": rule("oldSelf == 'a'"),
    "optional old value": rule("oldSelf.hasValue() || self > 3", optional_old_self=True),
    "optional old value as it is": rule("oldSelf == 3", optional_old_self=True),
    "optional old value unused": rule("self > 3", optional_old_self=True),
    "old value in a list": field("a: Annotated[list[Annotated[int, CEL('self == oldSelf')]], Field(max_length=9)]"),
    "old value in a map list": field(
        "a: Annotated[list[Annotated[Keyed, CEL('self == oldSelf')]], ListMap('name'), Field(max_length=9)]"
    ),
    "old value in a map": field("a: Annotated[dict[str, Annotated[int, CEL('self == oldSelf')]], Field(max_length=9)]"),
    "message expression": rule("self > 3", message_expression="'found ' + string(self)"),
    "message expression that is no text": rule("self > 3", message_expression="self"),
    "message expression that does not parse": rule("self > 3", message_expression="'a' +"),
    "message expression with an unknown name": rule("self > 3", message_expression="zz"),
    "message with a line break": rule("self > 3", message="a\nb"),
    "message that is empty": rule("self > 3", message=""),
    "message that is blank": rule("self > 3", message=" "),
    "rule over two lines": rule("self > 3 &&\nself < 9"),
    "rule over two lines with a message": rule("self > 3 &&\nself < 9", message="x"),
    "rule that is empty": rule(""),
    "rule that is blank": rule(" "),
    "reason": rule("self > 3", reason="FieldValueInvalid"),
    "reason that does not exist": rule("self > 3", reason="Bad"),
    "field path": rule("has(self.b)", "Inner", field_path=".b"),
    "field path to nowhere": rule("has(self.b)", "Inner", field_path=".zz"),
    "field path without a dot": rule("has(self.b)", "Inner", field_path="b"),
    "field path into a list": rule("has(self.name)", "Keyed", field_path=".name[0]"),
    "regular expression": rule("self.matches('^a$')", "Annotated[str, Field(max_length=9)]"),
    "regular expression that does not compile": rule("self.matches('(a')", "Annotated[str, Field(max_length=9)]"),
    "escaped field": field("namespace: str") + "    model_config = {}\n",
    "keyword as a field": "class Odd(Struct):\n    namespace: str\n" + rule("self.namespace == 'a'", "Odd"),
    "keyword as a field, escaped": "class Odd(Struct):\n    namespace: str\n"
    + rule("self.__namespace__ == 'a'", "Odd"),
    "bytes": rule("self == b'a'", "Annotated[bytes, Field(max_length=9)]"),
    "bytes against text": rule("self == 'a'", "Annotated[bytes, Field(max_length=9)]"),
    "any": rule("self == 3", "Any"),
    "free object": rule("self.x == 3", "dict[str, Any]"),
    "name of the object": "# +kubebuilder:validation:XValidation:rule=\"self.metadata.name == 'x'\"\n"
    + field("a: str"),
    "two rules": field("a: Annotated[int, CEL('self > 1'), CEL('self < 9')]"),
    "string of too many arguments": rule("self.startsWith('a', 'b')", "Annotated[str, Field(max_length=9)]"),
    "text function on a number": rule("self.startsWith('a')"),
    "lower case": rule("self.lowerAscii() == 'a'", "Annotated[str, Field(max_length=9)]"),
    "comparison of lists": rule("self == [1]", "Annotated[list[int], Field(max_length=9)]"),
    "comparison of lists of others": rule("self == ['a']", "Annotated[list[int], Field(max_length=9)]"),
    "a map literal": rule("{'a': 1}['a'] == self"),
    "sum of list": rule("self.sum() > 3", "Annotated[list[int], Field(max_length=9)]"),
    "sum of texts": rule("self.sum() > 3", "Annotated[list[Annotated[str, Field(max_length=9)]], Field(max_length=9)]"),
    "bind": rule("cel.bind(x, self, x > 3)"),
    "uint": rule("self > 3u"),
    "integer division": rule("self / 2 == 1"),
    "remainder of a fraction": rule("self % 2.0 == 1.0", "float"),
}


def whole(source: str, markers: str = "") -> str:
    """A module with the kind below its spec."""
    return (
        "Short = NewType('Short', Annotated[str, Field(max_length=3)])\n"
        f"{source}{markers}class Thing(CustomResource, group_version=GV):\n    spec: Spec\n    status: Spec | None = None\n"
    )


WIDE = field(
    "text: str | None = None",
    "number: int | None = None",
    "inner: Inner | None = None",
    "texts: list[str] | None = None",
    "map: dict[str, str] | None = None",
    "time: datetime | None = None",
    "either: IntOrString | None = None",
    "conditions: list[Condition] | None = None",
    *[f"t{i}: str | None = None" for i in range(9)],
)
CASES: dict[str, str] = {
    **{f"schema: {name}": whole(source) for name, source in SCHEMAS.items()},
    **{f"kind: {name}": whole(WIDE, markers) for name, markers in KINDS.items()},
    **{f"rule: {name}": whole(source) for name, source in RULES.items()},
}


# What the server lets pass, and we do not: no value, or no sensible one, is possible.
STRICTER = {
    "schema: minimum above maximum": "no object could be valid",
    "schema: minimum above maximum of another": "no object could be valid",
    "schema: negative length": "no object could be valid",
    "schema: default null": "the server prunes it, so that it has no effect",
    "schema: default of a set with duplicates": "no object could be created without the field",
    "schema: default of a map list with duplicates": "no object could be created without the field",
    "schema: multiple of zero": "the keyword has no effect",
    "schema: exclusive without a bound": "the keyword has no effect",
    "schema: enum of another type": "the value could never be given",
    "schema: enum twice the same": "one of them is a slip",
    "schema: enum that breaks a pattern": "the value could never be given",
    "kind: scale in a list": "the documentation forbids it, and scaling fails",
}
# What the server refuses, and we only warn of, or cannot know.
LAXER = {
    "rule: unknown function": "a warning: a newer server may have it",
    "rule: message expression": "a warning: the budget differs by server",
}


@pytest.mark.parametrize("name", CASES)
def test_the_checks_and_the_server_agree(name: str, judge: Callable[[str], tuple[Diagnostics, Any]]) -> None:
    """An error here is a refusal there, and the other way; differences are listed with their reason."""
    found, answer = judge(CASES[name])
    shown = f"{render(found, style=Format.CONCISE)}\nserver: {answer.message}"
    assert (found.has_errors() and answer.ok) == (name in STRICTER), shown
    assert (not found.has_errors() and not answer.ok) == (name in LAXER), shown
