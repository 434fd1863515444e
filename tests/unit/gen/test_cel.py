"""CEL rules are parsed as the language says, and their names are looked up in the schema."""

from __future__ import annotations

import pytest

from pykb.gen.cel.resolve import resolve
from pykb.gen.cel.syntax import CelSyntaxError, parse
from pykb.gen.cel.types import RULE_BUDGET, Findings
from pykb.gen.ir import Keyword, PropertyNode, SchemaNode, object_node
from pykb.gen.lower.scalars import node_of

TEXT, NUMBER = node_of({"type": "string"}), node_of({"type": "integer"})
SHORT = node_of({"type": "string", "maxLength": 10})


def struct(**fields: SchemaNode) -> SchemaNode:
    """An object of these fields."""
    return object_node([PropertyNode(name, name, schema, required=False) for name, schema in fields.items()], None)


def array(items: SchemaNode, most: int | None = None) -> SchemaNode:
    """A list."""
    bound = {} if most is None else {"maxItems": Keyword(most)}
    return SchemaNode({"type": Keyword("array"), **bound}, items=items)


SCHEMA = struct(
    a=NUMBER,
    text=TEXT,
    short=SHORT,
    namespace=SHORT,
    inner=struct(b=NUMBER),
    items=array(struct(name=SHORT, tags=array(SHORT))),
    few=array(NUMBER, 3),
    labels=SchemaNode({"type": Keyword("object")}, values=SHORT),
    open=node_of({"x-kubernetes-preserve-unknown-fields": True}),
)


@pytest.mark.parametrize(
    "text",
    [
        "self.a > 0", "has(self.a) ? 1 : 0", "self.?a.orValue('') == ''", "self.`x-y` == 1", "optional.of(1)", "!!self.a",
        "'a'.matches('^\\\\d')", "r'\\d'", 'b"x" == b\'x\'', "[?self.?a]", "{?'a': self.?b}", "self.a.b[0].c['d']",
        "self.a ? b : c ? d : e", "1.5e3 + .5 + 0x1fu", "'''a\nb'''", "[1, 2,]", "{'a': 1,}", "x.y.Z{a: 1}", "-1 < 2",
        "self.all(x, x > 0) && self.exists(k, v, v > 1)", "a in b || c", "1 // a comment", "self.namespace",
    ],
)  # fmt: skip
def test_expressions_are_parsed(text: str) -> None:
    """The whole grammar."""
    parse(text)


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("self.a > 0 &&", 13, "expected a value, found the end of the rule"),
        ("self.foo(((", 11, "expected a value, found the end of the rule"),
        ("'\\d'", 1, "is not an escape"),
        ("'abc", 0, "this text has no end"),
        ("a b", 2, "expected the end of the rule, found `b`"),
        ("namespace", 0, "is reserved"),
        ("self.a & b", 7, "has no meaning here"),
        ("f(1,)", 4, "expected an argument"),
        ("self.", 5, "expected the name of a field or method"),
        ("(" * 200, 100, "nested too deeply"),
    ],
)
def test_what_is_no_expression_is_said_with_its_place(text: str, offset: int, message: str) -> None:
    """Where reading stopped, and what was expected."""
    with pytest.raises(CelSyntaxError, match=message) as caught:
        parse(text)
    assert caught.value.offset == offset


def look_at(text: str, schema: SchemaNode = SCHEMA, *, is_root: bool = False) -> Findings:
    """What is seen in a rule on a schema."""
    found = resolve(parse(text), schema, is_root=is_root)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("self.a > self.inner.b", []),
        ("self.zzz > 0", ["zzz"]),
        ("self.inner.c > 0", ["c"]),
        ("self.items.all(i, i.name != '' && i.nam == '')", ["nam"]),
        ("self.items[0].nome", ["nome"]),
        ("self.labels.all(k, k.size() < 3 && self.labels[k] != '')", []),
        ("self.labels.anything == 'x'", []),
        ("self.open.whatever == 1", ["open"]),
        ("self.text.startWith('x')", ["startWith"]),
        ("sel.a", ["sel"]),
        ("self.__namespace__ == 'x'", []),
        ("self.items.map(i, i.name).exists(n, n == m)", ["m"]),
        ("self.items.filter(i, i.name == '').all(j, j.nope)", ["nope"]),
        ("cel.bind(x, self.inner, x.b)", ["bind", "cel", "x", "x"]),
        ("self.?inner.?c.orValue(1) == 1", ["c"]),
        ("quantity('1Gi').isGreaterThan(quantity(self.text))", []),
        ("oldSelf.a == self.a", []),
    ],
)
def test_names_are_looked_up(text: str, unknown: list[str]) -> None:
    """Fields through lists, maps and macros; variables; functions."""
    assert sorted(u.name for u in look_at(text).unknown) == unknown


def test_reserved_words_as_fields_are_understood_and_told() -> None:
    """Newer servers take them as they are, older ones only escaped."""
    found = look_at("self.namespace == 'x'")
    assert ([u.near for u in found.reserved], found.unknown) == (["__namespace__"], [])


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("self.a > 0", "bool"),
        ("self.a + 1", "int"),
        ("self.text + 'x'", "string"),
        ("self.items.map(i, i.name)", "list(string)"),
        ("self.items.filter(i, has(i.name))", "list(object)"),
        ("self.labels", "map(string, string)"),
        ("self.labels['x']", "string"),
        ("self.few[0]", "int"),
        ("self.?a", "optional(int)"),
        ("self.?a.orValue(3)", "int"),
        ("self.?inner.?b.hasValue()", "bool"),
        ("self.a > 0 ? 'x' : self.text", "string"),
        ("[1, 2]", "list(int)"),
        ("{'a': 1.5}", "map(string, double)"),
        ("1u", "uint"),
        ("b'x'", "bytes"),
        ("null", "null"),
        ("timestamp('x') - timestamp('y')", "duration"),
        ("duration('1h').getHours()", "int"),
        ("url(self.text).getQuery()", "map(string, list(string))"),
        ("quantity(self.text).add(3)", "quantity"),
        ("self.text.split(',')", "list(string)"),
        ("type(self.a) == int", "bool"),
        ("dyn(self.a)", "dyn"),
    ],
)
def test_each_expression_has_a_type(text: str, type_: str) -> None:
    """From literals and the schema through operators, functions and macros."""
    found = look_at(text)
    assert (str(found.type), found.mistyped, found.unknown) == (type_, [], [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("self.a == 'x'", "`==` does not apply to `int` and `string`"),
        ("self.text > 3", "`>` does not apply to `string` and `int`"),
        ("self.a.size() > 3", "`size` does not apply to `int`"),
        ("self.inner.size() > 3", "`size` does not apply to `object`"),
        ("self.few.all(x, x)", "`all` takes a condition, found `int`"),
        ("self.a.all(x, true)", "`all` ranges over lists and maps, found `int`"),
        ("self.few['x'] == 1", "`list(int)` is indexed by `int`, found `string`"),
        ("self.a[0] == 1", "`int` has no elements"),
        ("[1, 'a'] == []", "the elements of a list have one type, found `int` and `string`"),
        ("self.text.startsWith(3)", "`startsWith` does not apply to `string` with `int`"),
        ("!self.a", "`!` does not apply to `int`"),
        ("has(self)", "`has` takes one field"),
        ("self.text == null", "`==` does not apply to `string` and `null`"),
    ],
)
def test_what_does_not_fit_is_said(text: str, message: str) -> None:
    """Once, in the words of the rule."""
    (found,) = look_at(text).mistyped
    assert message in found.message


@pytest.mark.parametrize(
    ("text", "too_much"),
    [
        ("self.a > 0", False),
        ("self.few.all(x, x > 0)", False),
        ("self.items.all(i, i.name == 'x')", False),
        ("self.items.all(i, self.items.exists(j, i.name == j.name))", True),
        ("self.text.matches('x')", False),
        ("self.items.all(i, self.text.matches('x'))", True),
        ("self.text.contains(self.text)", True),
    ],
)
def test_the_worst_case_is_held_against_the_budget(text: str, too_much: bool) -> None:
    """What has no bound counts as long as a request can be."""
    assert (look_at(text).cost > RULE_BUDGET) == too_much


def test_a_value_of_which_the_schema_says_nothing_has_no_rules() -> None:
    """The API server cannot make a type of it either."""
    assert resolve(parse("self == 1"), node_of({"x-kubernetes-preserve-unknown-fields": True}), is_root=False) is None


def test_the_metadata_of_an_object_has_a_name_only() -> None:
    """Rules at the root see apiVersion, kind, metadata.name and metadata.generateName."""
    root = struct(apiVersion=TEXT, kind=TEXT, metadata=node_of({"type": "object"}), spec=struct(a=NUMBER))
    found = look_at("self.metadata.name != self.metadata.labels", root, is_root=True)
    assert [u.name for u in found.unknown] == ["labels"]
