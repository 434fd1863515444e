"""CEL rules are parsed as the language says, and their names are looked up in the schema."""

from __future__ import annotations

import pytest

from pykb.gen.cel.parser import parse
from pykb.gen.cel.resolve import resolve_names
from pykb.gen.cel.syntax import CelSyntaxError
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
        ("'\\d'", 1, "is no escape"),
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
        ("self.open.whatever.there == 1", []),
        ("self.text.startWith('x')", ["startWith"]),
        ("sel.a", ["sel"]),
        ("self.__namespace__ == 'x'", []),
        ("self.namespace == 'x'", ["namespace"]),
        ("self.items.map(i, i.name).exists(n, n == m)", ["m"]),
        ("self.items.filter(i, i.name == '').all(j, j.nope)", ["nope"]),
        ("cel.bind(x, self.inner, x.b > x.c)", ["c"]),
        ("self.?inner.?c.orValue(1) == 1", ["c"]),
        ("quantity('1Gi').isGreaterThan(quantity(self.text))", []),
        ("oldSelf.a == self.a", []),
    ],
)
def test_names_are_looked_up(text: str, unknown: list[str]) -> None:
    """Fields through lists, maps and macros; variables; functions."""
    assert [u.name for u in resolve_names(parse(text), SCHEMA, is_root=False).unknown] == unknown


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        ("self.a > 0", 0),
        ("self.few.all(x, x > 0)", 0),
        ("self.items.all(i, i.name == 'x')", 1),
        ("self.items.all(i, i.tags.all(t, t == 'x'))", 2),
        ("self.items.all(i, self.items.exists(j, i.name == j.name))", 2),
        ("self.text.matches('x')", 1),
        ("self.short.matches('x')", 0),
        ("self.items.all(i, self.text.matches('x'))", 2),
        ("self.text == oldSelf.text", 1),
    ],
)
def test_loops_over_what_has_no_bound_are_counted(text: str, loops: int) -> None:
    """The API server's estimate of the cost grows with each."""
    assert resolve_names(parse(text), SCHEMA, is_root=False).loops == loops


def test_the_metadata_of_an_object_has_a_name_only() -> None:
    """Rules at the root see apiVersion, kind, metadata.name and metadata.generateName."""
    root = struct(apiVersion=TEXT, kind=TEXT, metadata=node_of({"type": "object"}), spec=struct(a=NUMBER))
    found = resolve_names(parse("self.metadata.name != self.metadata.labels"), root, is_root=True)
    assert [u.name for u in found.unknown] == ["labels"]
