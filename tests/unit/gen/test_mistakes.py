"""Each mistake in types and markers is a diagnostic with its place; nothing is generated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from pykb.diagnostics import Severity
from pykb.diagnostics.render import Format, render
from pykb.gen.run import GenerateResult

Generate = Callable[..., GenerateResult]

KIND = "class Thing(CustomResource, group_version=GV):\n    spec: Spec\n"

CASES = [
    # code, place in the source below (line:column), part of the message, source of the class Spec
    ("marker-type", "2:7", "`MinLength` applies to strings, but the field `a` is an integer", "class Spec(Struct):\n    # +kubebuilder:validation:MinLength=3\n    a: int\n"),
    ("marker-type", "2:7", "`Minimum` applies to numbers", "class Spec(Struct):\n    # +kubebuilder:validation:Minimum=3\n    a: str\n"),
    ("marker-type", "2:39", "takes a whole number here, found `1.5`", "class Spec(Struct):\n    # +kubebuilder:validation:Minimum=1.5\n    a: int\n"),
    ("marker-type", "2:7", "applies to the elements of a list", "class Spec(Struct):\n    # +kubebuilder:validation:items:MinLength=1\n    a: str\n"),
    ("list-topology", "2:7", "`spec.a` has list keys, which belong to a list of type `map`", "class Spec(Struct):\n    # +listMapKey=x\n    a: list[Condition]\n"),
    ("list-topology", "2:7", "`+listType=set` applies to lists", "class Spec(Struct):\n    # +listType=set\n    a: str\n"),
    ("constraint-conflict", "2:7", "contradicts `Field(min_length=2)`", "class Spec(Struct):\n    # +kubebuilder:validation:MinLength=3\n    a: Annotated[str, Field(min_length=2)]\n"),
    ("constraint-conflict", "2:7", "contradicts `= 4`", "class Spec(Struct):\n    # +kubebuilder:default=3\n    a: int = 4\n"),
    ("marker-conflict", "3:7", "`+required` contradicts `+optional`", "class Spec(Struct):\n    # +optional\n    # +required\n    a: str\n"),
    ("enum-disjoint", "3:7", "no value is allowed by both", "class Spec(Struct):\n    mode: Literal['a', 'b']\n    # +kubebuilder:validation:Enum=c\n    a: Mode\n"),
    ("default-value", "2:7", 'expected an integer, found a string `"abc"`', "class Spec(Struct):\n    # +kubebuilder:default=abc\n    a: int\n"),
    ("default-value", "2:7", "there is no field `c`", "class Spec(Struct):\n    # +kubebuilder:default={c: 1}\n    a: Inner\n"),
    ("default-value", "2:8", "`3` breaks the rule `self > 3`", "class Spec(Struct):\n    a: Annotated[int, CEL('self > 3')] = 3\n"),
    ("default-value", "5:7", "the required field `b` is missing", "class Part(Struct):\n    # +required\n    b: int = 3\nclass Spec(Struct):\n    # +kubebuilder:default={}\n    a: Part\n"),
    ("default-value", "2:8", "is above the maximum `3`", "class Spec(Struct):\n    a: Annotated[int, Field(le=3)] = 4\n"),
    ("unsupported-constraint", "2:8", "`Field(ge='3')` bounds the field `a`: expected a number", "class Spec(Struct):\n    a: Annotated[int, Field(ge='3')]\n"),
    ("unsupported-constraint", "2:8", "expected a whole number from 0, found the str `'3'`", "class Spec(Struct):\n    a: Annotated[str, Field(min_length='3')]\n"),
    ("unsupported-constraint", "2:8", "expected a whole number from 0, found the float `2.5`", "class Spec(Struct):\n    a: Annotated[list[int], Field(max_length=2.5)]\n"),
    ("unsupported-constraint", "2:8", "expected a whole number from 0, found the int `-1`", "class Spec(Struct):\n    a: Annotated[str, Field(min_length=-1)]\n"),
    ("unsupported-constraint", "2:8", "expected a string, found the int `5`", "class Spec(Struct):\n    a: Annotated[str, Field(pattern=5)]\n"),
    ("unsupported-constraint", "2:8", "has flags that", "class Spec(Struct):\n    a: Annotated[str, Field(pattern=__import__('re').compile('a', 64))]\n"),
    ("unsupported-constraint", "2:8", "`WithJsonSchema` on the field `a` is ignored", "class Spec(Struct):\n    a: Annotated[str, __import__('pydantic').WithJsonSchema({})]\n"),
    ("enum-value", "2:7", "expected an integer, found a string", "class Spec(Struct):\n    # +kubebuilder:validation:Enum=a;b\n    a: int\n"),
    ("bounds", "2:8", "no value of `spec.a` is between", "class Spec(Struct):\n    a: Annotated[int, Field(ge=5, le=1)]\n"),
    ("bounds", "2:7", "excludes nothing", "class Spec(Struct):\n    # +kubebuilder:validation:ExclusiveMinimum=true\n    a: int\n"),
    ("pattern", "2:7", "is not a regular expression that the API server accepts", "class Spec(Struct):\n    # +kubebuilder:validation:Pattern=`(?=a)b`\n    a: str\n"),
    ("pattern", "2:7", "missing", 'class Spec(Struct):\n    # +kubebuilder:validation:Pattern="(abc"\n    a: str\n'),
    ("type-name", "2:7", "is not a type of JSON schema", "class Spec(Struct):\n    # +kubebuilder:validation:Type=strng\n    a: str\n"),
    ("unique-items", "2:7", "is refused by the API server", "class Spec(Struct):\n    # +kubebuilder:validation:UniqueItems=true\n    a: list[str]\n"),
    ("list-topology", "3:7", "`nope` is not a field of the elements", "class Spec(Struct):\n    # +listType=map\n    # +listMapKey=nope\n    a: list[Condition]\n"),
    ("list-topology", "3:7", "can be missing", "class Spec(Struct):\n    # +listType=map\n    # +listMapKey=b\n    a: list[Inner]\n"),
    ("list-topology", "2:7", "without a key", "class Spec(Struct):\n    # +listType=map\n    a: list[Inner]\n"),
    ("list-topology", "2:7", "not atomic values", "class Spec(Struct):\n    # +listType=set\n    a: list[Inner]\n"),
    ("cel-syntax", "2:7", "expected a value, found the end of the rule", 'class Spec(Struct):\n    # +kubebuilder:validation:XValidation:rule="self.foo((("\n    a: str\n'),
    ("cel-name", "1:1", "names the field `zzz`", '# +kubebuilder:validation:XValidation:rule="self.zzz > 0"\nclass Spec(Struct):\n    a: str\n'),
    ("cel-name", "2:7", "names the variable `sel`", 'class Spec(Struct):\n    # +kubebuilder:validation:XValidation:rule="sel > 0"\n    a: int\n'),
    ("cel-type", "2:7", "`size` does not apply to `int`", 'class Spec(Struct):\n    # +kubebuilder:validation:XValidation:rule="self.size() > 0"\n    a: int\n'),
    ("json-path", "2:7", "does not lead to a field", 'class Spec(Struct):\n    # +kubebuilder:validation:XValidation:rule="has(self.b)",fieldPath=".c"\n    a: Inner\n'),
    ("one-of-member", "1:40", "`zzz` is not a field", "# +kubebuilder:validation:ExactlyOneOf=a;zzz\nclass Spec(Struct):\n    a: str | None = None\n"),
    ("one-of-member", "1:39", "is required, so it cannot be a member of", "# +kubebuilder:validation:AtMostOneOf=a;b\nclass Spec(Struct):\n    a: str\n    b: str | None = None\n"),
    ("duplicate-name", "3:5", "both have the JSON name `aB`", "class Spec(Struct):\n    a_b: str\n    other: Annotated[str, Wire('aB')]\n"),
    ("float", "2:8", "is a float", "class Spec(Struct):\n    a: float\n"),
    ("map-key-type", "2:8", "map keys must be strings in a CRD", "class Spec(Struct):\n    a: dict[int, str]\n"),
    ("union", "2:8", "is the union `list | str`", "class Spec(Struct):\n    a: list[str] | str\n"),
    ("unsupported-type", "2:8", "has the type `complex`", "class Spec(Struct):\n    model_config = {'arbitrary_types_allowed': True}\n    a: complex\n"),
    ("unsupported-type", "2:8", "is the flag `F`, whose values combine", "class Spec(Struct):\n    a: F\nclass F(Flag):\n    R = 1\n"),
    ("hidden-method", "2:5", "the field `to_wire` hides the method `to_wire`", "class Spec(Struct):\n    to_wire: str = ''\n"),
    ("hidden-method", "2:5", "the field `model_dump` hides the method", "class Spec(Struct):\n    model_dump: str = ''\n"),
    ("default-not-json", "2:8", "has no JSON form", "class Spec(Struct):\n    a: int = 10**30\n"),
    ("default-not-json", "2:8", "making the default of the field `a` fails: ZeroDivisionError", "class Spec(Struct):\n    a: list[int] = Field(default_factory=lambda: 1 / 0)\n"),
    ("unsupported-constraint", "2:8", "expected a number, found the float `inf`", "class Spec(Struct):\n    a: Annotated[int, Field(le=float('inf'))]\n"),
    ("union", "2:8", "an enum has strings, integers or booleans", "class Spec(Struct):\n    a: Literal[b'x']\n"),
    ("unsupported-constraint", "2:8", "`RawSchema` on the field `a` takes a mapping of keywords, found the int `5`", "class Spec(Struct):\n    a: Annotated[str, RawSchema(5)]\n"),
    ("default-not-json", "2:8", "the value of `ServerDefault` on the field `a` has no JSON form", "class Spec(Struct):\n    a: Annotated[str, ServerDefault(object())]\n"),
    ("default-not-json", "2:8", "the value of `Field(examples=)` on the field `a` has no JSON form", "class Spec(Struct):\n    a: str = Field(examples=[object()])\n"),
    ("schema-keyword", "2:8", "`x-kubernetes-validations[0]` of `spec.a` has the wrong form: expected a mapping", "class Spec(Struct):\n    a: Annotated[str, RawSchema({'type': 'string', 'x-kubernetes-validations': [5]})]\n"),
    ("unsupported-constraint", "2:8", "`Immutable` on the field `a` is a class, which has no effect", "class Spec(Struct):\n    a: Annotated[str, Immutable]\n"),
    ("list-topology", "2:8", "is a list of type `map` without a key", "class Spec(Struct):\n    a: Annotated[list[Inner], ListMap()]\n"),
    ("recursive-type", "2:8", "the type `Spec` contains itself", "class Spec(Struct):\n    a: list[Spec] | None = None\n"),
    ("structural-schema", "2:7", "is an embedded resource, which must be an object", "class Spec(Struct):\n    # +kubebuilder:validation:EmbeddedResource\n    a: str\n"),
    ("text", "2:8", "the default of `spec.a` has half of a surrogate pair", "class Spec(Struct):\n    a: str = '\\ud800'\n"),
    ("text", "2:5", "the description of `spec.a` has half of a surrogate pair", "class Spec(Struct):\n    a: str\n    '\\udc00'\n"),
    ("import-failed", "2:5", "a group and a version are strings, found <class 'int'>", "class Spec(Struct):\n    GroupVersion('a', int)\n"),
    ("plain-alias", "2:22", "gets its JSON name from `alias=`", "class Spec(Struct):\n    a_b: str = Field(alias='aX')\n"),
    ("plain-alias", "2:45", "gets its JSON name from `serialization_alias=`", "class Spec(Struct):\n    a_b: Annotated[str, Field(min_length=1, serialization_alias='aX')]\n"),
    ("unsupported-constraint", "3:8", "`KnownValues` on the field `a` has no effect in a CRD", "from pykb.api.annotations import KnownValues\nclass Spec(Struct):\n    a: Annotated[str, KnownValues(('a',))]\n"),
    ("unsupported-type", "2:8", "which has no counterpart in a CRD", "class Spec(Struct):\n    a: list[1:2] | None = None\n"),
    ("union", "2:8", "is the union `dict | int", "class Spec(Struct):\n    a: dict[str, list[1:2]] | int | None = None\n"),
    ("unsupported-constraint", "2:8", "only strings, lists and maps have a length", "class Spec(Struct):\n    a: Annotated[bool, Field(min_length=1)]\n"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "place", "message", "source"), CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)]
)
def test_a_mistake_is_reported_at_its_place(
    code: str, place: str, message: str, source: str, generate_types: Generate, first_line: int
) -> None:
    """The code, the line and column, and what was found."""
    helpers = "class Inner(Struct):\n    b: str | None = None\nMode = NewType('Mode', Literal['a', 'b'])\n"
    result = generate_types(helpers + source + KIND)
    shown = render(result.diagnostics, style=Format.CONCISE)
    errors = [d for d in result.diagnostics if d.severity is Severity.ERROR]
    assert [d.code.slug for d in errors] == [code], shown
    assert message in errors[0].message, shown
    span = errors[0].span
    line = first_line + helpers.count("\n")
    assert span is not None
    assert f"{span.line - line + 1}:{span.column}" == place or code in {"unsupported-type", "cel-name"}, shown
    assert result.artifacts["crd"] == ()
    assert errors[0].message[-1] not in ".!"


def test_all_mistakes_are_found_in_one_run(generate_types: Generate) -> None:
    """A first mistake hides no other."""
    source = """
    class Spec(Struct):
        # +kubebuilder:validation:MinLength=3
        a: int
        # +kubebuilder:validation:Maxlength=3
        b: str
        c: float
    """
    result = generate_types(dedent(source) + KIND)
    assert [d.code.slug for d in result.diagnostics] == ["marker-type", "marker-unknown", "float"]


@pytest.mark.parametrize(
    ("source", "code", "message"),
    [
        (
            "class Spec(Struct):\n    copy: str = ''\n" + KIND,
            "hidden-method",
            "the field `copy` hides the method `copy`",
        ),
        (
            "class Spec(Struct):\n    a: int = 0\n" + KIND + "class Other(Thing):\n    b: int = 0\n",
            "no-group-version",
            "`Other` adds fields to the kind `Thing`, but no manifest has them",
        ),
    ],
)
def test_what_may_be_meant_is_a_warning(generate_types: Generate, source: str, code: str, message: str) -> None:
    """It works, but hardly as intended."""
    result = generate_types(source)
    (found,) = result.diagnostics
    assert (found.code.slug, found.severity) == (code, Severity.WARNING)
    assert found.message.startswith(message)
    assert result.artifacts["crd"]


def test_a_second_description_is_said(generate_types: Generate) -> None:
    """`Field(description=)` wins over the docstring, which then stands in no schema."""
    source = "class Spec(Struct):\n    a: str = Field(description='One.')\n    '''Two.'''\n"
    result = generate_types(source + KIND)
    assert [d.code.slug for d in result.diagnostics] == ["two-descriptions"]
    assert not result.diagnostics.has_errors()
    text = result.artifacts["crd"][0].render()
    assert "One." in text
    assert "Two." not in text


@pytest.mark.parametrize(
    ("metadata", "name"),
    [
        ("AfterValidator(str)", "`AfterValidator`"),
        ("BeforeValidator(str)", "`BeforeValidator`"),
        ("StringConstraints(to_lower=True, max_length=3)", "`to_lower=`"),
    ],
)
def test_what_only_python_knows_is_noted(generate_types: Generate, metadata: str, name: str) -> None:
    """A validator's or a normaliser's work is none of the API server's; everything else is generated."""
    result = generate_types(f"class Spec(Struct):\n    a: Annotated[str, __import__('pydantic').{metadata}]\n" + KIND)
    (found,) = result.diagnostics
    assert (found.code.slug, found.severity) == ("python-only", Severity.NOTE)
    assert found.message.startswith(f"{name} on the field `a` is known only to Python")
    assert result.artifacts["crd"]


def test_the_description_of_a_field_wins_over_that_of_its_alias(generate_types: Generate) -> None:
    """A text inside an `Annotated` alias describes every use that has none of its own."""
    source = """\
Port = Annotated[int, Field(description="A port.")]
class Spec(Struct):
    plain: Port
    own: Port
    '''The main port.'''
    many: list[Port]
"""
    result = generate_types(source + KIND)
    assert not list(result.diagnostics)
    text = result.artifacts["crd"][0].render()
    assert text.count("A port.") == 2
    assert text.count("The main port.") == 1


@pytest.mark.parametrize(
    "source",
    [
        "# +kubebuilder:subresource:status\nclass Spec(Struct):\n    a: str\n",
        "# +kubebuilder:resource:scope=Cluster\nclass Base(CustomResource):\n    b: str\nclass Spec(Struct):\n    a: str\n",
        "# +kubebuilder:storageversion\nclass Unused(Struct):\n    b: str\nclass Spec(Struct):\n    a: str\n",
    ],
)
def test_a_marker_of_a_kind_on_another_class_is_an_error(source: str, generate_types: Generate) -> None:
    """controller-gen takes it in silence."""
    bases = "(Base, group_version=GV)" if "Base" in source else "(CustomResource, group_version=GV)"
    result = generate_types(source + KIND.replace("(CustomResource, group_version=GV)", bases))
    assert [d.code.slug for d in result.diagnostics] == ["marker-target"]


def test_schema_markers_outside_of_what_kinds_use_are_a_warning(generate_types: Generate, tmp_path: Path) -> None:
    """Once for a file; the types of a file that a kind uses count wherever it is."""
    marked = "from pykb.api import Struct\nclass NAME(Struct):\n    # +kubebuilder:validation:MaxLength=3\n    b: str\n"
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "stray.py").write_text(marked.replace("NAME", "Stray"), encoding="utf-8")
    (tmp_path / "shop" / "shared.py").write_text(marked.replace("NAME", "Shared"), encoding="utf-8")
    result = generate_types("from shop.shared import Shared\nclass Spec(Struct):\n    a: Shared\n" + KIND)
    (warning,) = result.diagnostics
    assert (warning.code.slug, warning.span and warning.span.path) == ("marker-unread", "shop/stray.py")
    assert "maxLength: 3" in result.artifacts["crd"][0].render()


@pytest.mark.parametrize(("written", "codes"), [("null", ["default-value"]), ('"null"', []), ("nullable", [])])
def test_a_bare_null_is_a_text_and_said_to_be(written: str, codes: list[str], generate_types: Generate) -> None:
    """As in controller-gen, which says nothing."""
    source = f"class Spec(Struct):\n    # +kubebuilder:default={written}\n    a: str | None = None\n"
    result = generate_types(source + KIND)
    assert [d.code.slug for d in result.diagnostics] == codes
    assert not result.diagnostics.has_errors()
