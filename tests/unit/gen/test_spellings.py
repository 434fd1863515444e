"""Every constraint has two spellings that mean the same, a marker and a Python one; where they differ, both are shown."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import indent

import pytest

from pykb.diagnostics import Severity
from pykb.diagnostics.render import Format, render
from pykb.gen.run import GenerateResult

Generate = Callable[..., GenerateResult]

KIND = "class Thing(CustomResource, group_version=GV):\n    spec: Spec\n"
HELPERS = """\
from uuid import UUID
from ipaddress import IPv4Address
from typing_extensions import deprecated
T = TypeVar("T")
class Part(Struct):
    name: str
    zone: str | None = None
class Mode(StrEnum):
    FAST = "Fast"
    SLOW = "Slow"
"""
V = "+kubebuilder:validation:"


def fields(*spellings: str) -> list[str]:
    """A struct `Spec` for each spelling of its field `a`; markers stand before a bar."""
    found = []
    for spelling in spellings:
        *markers, attribute = spelling.split(" | # ") if " | # " in spelling else spelling.split(" ## ")
        body = "".join(f"# {marker}\n" for marker in markers) + attribute + "\n"
        found.append("class Spec(Struct):\n" + indent(body, "    "))
    return found


# On fields: markers, then the attribute, all parts separated by ` ## `; every spelling of a row gives the same bytes.
FIELDS = [
    (f"{V}Minimum=1 ## a: int", "a: Annotated[int, Field(ge=1)]", "a: int = Field(ge=1)", "+k8s:minimum=1 ## a: int"),
    (f"{V}Maximum=9 ## a: int", "a: Annotated[int, Field(le=9)]", "+k8s:maximum=9 ## a: int"),
    (f"{V}Minimum=1 ## {V}ExclusiveMinimum=true ## a: int", "a: Annotated[int, Field(gt=1)]"),
    (f"{V}Maximum=9 ## {V}ExclusiveMaximum=true ## a: int", "a: Annotated[int, Field(lt=9)]"),
    ("a: Annotated[int, Field(gt=3)]", "a: Annotated[int, Field(gt=3, ge=2)]", "a: Annotated[Annotated[int, Field(ge=3)], Field(gt=3, ge=1)]"),
    ("a: Annotated[int, Field(le=3)]", "a: Annotated[int, Field(le=3, lt=9)]", "a: Annotated[Annotated[int, Field(le=7)], Field(le=3)]"),
    ("a: Annotated[str, Field(min_length=3, max_length=5)]", "a: Annotated[Annotated[str, Field(min_length=3, max_length=9)], Field(min_length=1, max_length=5)]"),
    ("a: Annotated[str, Field(pattern='(?is)^a')]", "a: Annotated[str, Field(pattern=__import__('re').compile('^a', 18))]"),
    (f"{V}Type=object ## a: Any", "a: Annotated[Any, Type('object')]", f"{V}Type=object ## a: dict[str, Any]", "a: dict[str, Any]"),
    (f"{V}items:Type=object ## a: list[Any]", f"{V}items:Type=object ## {V}items:XPreserveUnknownFields ## a: list[Any]", "a: list[dict[str, Any]]"),
    (f"{V}MultipleOf=5 ## a: int", "a: Annotated[int, Field(multiple_of=5)]"),
    (f"{V}MinLength=1 ## a: str", "a: Annotated[str, Field(min_length=1)]", "+k8s:minLength=1 ## a: str"),
    (f"{V}MaxLength=9 ## a: str", "a: Annotated[str, Field(max_length=9)]", "+k8s:maxLength=9 ## a: str"),
    (f"{V}Pattern=`^[a-z]+$` ## a: str", "a: Annotated[str, Field(pattern='^[a-z]+$')]"),
    (f"{V}MinItems=1 ## a: list[str]", "a: Annotated[list[str], Field(min_length=1)]", "+k8s:minItems=1 ## a: list[str]"),
    (f"{V}MaxItems=9 ## a: list[str]", "a: Annotated[list[str], Field(max_length=9)]", "+k8s:maxItems=9 ## a: list[str]"),
    (f"{V}MinItems=3 ## {V}MaxItems=3 ## a: list[int]", "a: tuple[int, int, int]"),
    ("a: list[int]", "a: tuple[int, ...]", "a: Sequence[int]"),
    (f"{V}MinProperties=1 ## a: dict[str, str]", "a: Annotated[dict[str, str], Field(min_length=1)]", "+k8s:minProperties=1 ## a: dict[str, str]"),
    (f"{V}MaxProperties=9 ## a: dict[str, str]", "a: Annotated[dict[str, str], Field(max_length=9)]", "+k8s:maxProperties=9 ## a: dict[str, str]"),
    (f"{V}Enum=Fast;Slow ## a: str", "a: Literal['Fast', 'Slow']", "a: Mode"),
    (f"{V}Enum=1;2 ## a: int", "a: Literal[1, 2]"),
    (f"{V}Format=ipv4 ## a: str", "a: Annotated[str, Format('ipv4')]", "a: IPv4Address"),
    (f"{V}Format=date-time ## a: str", "a: datetime", "a: Time"),
    (f"{V}Format=date ## a: str", "a: date"),
    (f"{V}Format=byte ## a: str", "a: bytes"),
    (f"{V}Format=uuid ## a: str", "a: UUID"),
    (f"{V}Format=int32 ## a: int", "a: Int32", "a: Annotated[int, Format('int32')]"),
    ("a: str", "a: timedelta", "a: Duration"),
    (f"{V}Type=string ## a: int", "a: Annotated[int, Type('string')]"),
    (f"{V}XPreserveUnknownFields ## a: Part", "+kubebuilder:pruning:PreserveUnknownFields ## a: Part", "a: Annotated[Part, PreserveUnknown()]"),
    (f"{V}XPreserveUnknownFields ## a: dict[str, str]", "a: Annotated[dict[str, str], PreserveUnknown()]"),
    (f"{V}EmbeddedResource ## a: dict[str, Any]", f"{V}XEmbeddedResource ## a: dict[str, Any]", "a: Annotated[dict[str, Any], EmbeddedResource()]"),
    (f"{V}XIntOrString ## a: str", "a: Annotated[str, XIntOrString()]"),
    (f"{V}Schemaless ## {V}XPreserveUnknownFields ## a: Part", "a: Any", "a: Annotated[Part, Schemaless(), PreserveUnknown()]", "a: JSON"),
    (f'{V}XValidation:rule="self > 1",message="no",reason=FieldValueForbidden ## a: int', "a: Annotated[int, CEL('self > 1', message='no', reason='FieldValueForbidden')]"),
    (f"{V}XValidation:rule=\"self > 1\",messageExpression=\"'no'\" ## a: int", "a: Annotated[int, CEL('self > 1', message_expression=\"'no'\")]"),
    (f'{V}XValidation:rule="has(self.zone)",fieldPath=".zone" ## a: Part', "a: Annotated[Part, CEL('has(self.zone)', field_path='.zone')]"),
    (f'{V}XValidation:rule="!oldSelf.hasValue()",optionalOldSelf=true ## a: int', "a: Annotated[int, CEL('!oldSelf.hasValue()', optional_old_self=True)]"),
    ("+optional ## a: str", "+k8s:optional ## a: str", f"{V}Optional ## a: str", "a: str | None = None", "a: Optional[str] = None", "a: str | None = Field(None)", "a: str | None = Field(default=None)"),
    ("+required ## a: str | None = None", f"{V}Required ## a: str | None = None", "a: str"),
    ("+nullable ## a: str", "a: Annotated[str, Nullable()]", "a: str | None"),
    ("+nullable ## a: str | None = None", "a: Annotated[str | None, Nullable()] = None"),
    ("+kubebuilder:default=3 ## a: int | None = None", "+default=3 ## a: int | None = None", "a: int = 3", "a: int = Field(default=3)", "a: int = Field(default_factory=lambda: 3)", "a: Annotated[int | None, ServerDefault(3)] = None"),
    ("+kubebuilder:default=Fast ## a: Mode | None = None", "a: Mode = Mode.FAST"),
    ('+default={"name": "x"} ## a: Part | None = None', "a: Part = Part(name='x')", "a: Part = Field(default_factory=lambda: Part(name='x'))"),
    ("+kubebuilder:example=web ## a: str", "a: Annotated[str, Field(examples=['web', 'db'])]", "a: str = Field(examples=['web'])"),
    ('+kubebuilder:title="A title" ## a: str', "a: str = Field(title='A title')", "a: Annotated[str, Field(title='A title')]"),
    ('+kubebuilder:externalDocs:url="https://example.com",description="more" ## a: str', "a: Annotated[str, ExternalDocs('https://example.com', 'more')]"),
    ("+k8s:immutable ## a: str", "a: Annotated[str, Immutable()]", "a: str = Field(frozen=True)", "a: Annotated[str, Field(frozen=True)]"),
    ("+k8s:immutable ## a: str | None = None", "a: Annotated[str | None, Immutable()] = None", "a: str | None = Field(None, frozen=True)"),
    ("+listType=set ## a: list[str]", "+k8s:listType=set ## a: list[str]", "a: set[str]", "a: frozenset[str]", "a: Annotated[list[str], ListSet()]"),
    ("+listType=atomic ## a: list[str]", "a: Annotated[list[str], ListAtomic()]"),
    ("+listType=map ## +listMapKey=name ## a: list[Part]", "+k8s:listType=map ## +k8s:listMapKey=name ## a: list[Part]", "a: Annotated[list[Part], ListMap('name')]"),
    ("+mapType=atomic ## a: dict[str, str]", "a: Annotated[dict[str, str], MapAtomic()]"),
    ("+mapType=granular ## a: dict[str, str]", "a: Annotated[dict[str, str], MapGranular()]"),
    ("+structType=atomic ## a: Part", "a: Annotated[Part, MapAtomic()]"),
    (f"{V}items:MinLength=1 ## a: list[str]", "a: list[Annotated[str, Field(min_length=1)]]", "+k8s:eachVal=+k8s:minLength=1 ## a: list[str]"),
    (f"{V}items:items:Maximum=3 ## a: list[list[int]]", "a: list[list[Annotated[int, Field(le=3)]]]"),
    (f"{V}items:Enum=a;b ## a: list[str]", "a: list[Literal['a', 'b']]"),
    ("+k8s:eachVal=+k8s:maxLength=3 ## a: dict[str, str]", "a: dict[str, Annotated[str, Field(max_length=3)]]"),
    ("a: IntOrString", "a: int | str"),
    ("# A text. ## a: str".removeprefix("# "), "a: str = Field(description='A text.')", "a: Annotated[str, Field(description='A text.')]", "a: str\n'''A text.'''", "a: str\n'''\nA text.\n'''"),
    ("Old. ##  ## Deprecated: Use b. ## a: str", "Old. ## a: str = Field(deprecated='Use b.')"),
]  # fmt: skip


@pytest.mark.parametrize("row", FIELDS, ids=lambda row: row[-1])
def test_all_spellings_on_a_field_give_the_same_bytes(row: tuple[str, ...], generate_types: Generate) -> None:
    """The marker's and each of Python's."""
    made = {source: manifest(generate_types(HELPERS + source + KIND)) for source in fields(*row)}
    assert len(set(made.values())) == 1, "\n".join(f"{source}{text}" for source, text in made.items())


# On classes and aliases: whole modules.
TYPES = {
    "alias": (
        f"# {V}MaxLength=3\nName = NewType('Name', str)\nclass Spec(Struct):\n    a: Name\n",
        f"# {V}MaxLength=3\nName = Annotated[str, 'name']\nclass Spec(Struct):\n    a: Name\n",
        "Name = Annotated[str, Field(max_length=3)]\nclass Spec(Struct):\n    a: Name\n",
        "Name = NewType('Name', Annotated[str, Field(max_length=3)])\nclass Spec(Struct):\n    a: Name\n",
    ),
    "rule": (
        f'# {V}XValidation:rule="self.a < self.b",message="no"\nclass Spec(Struct):\n    a: int\n    b: int\n',
        "@annotate(CEL('self.a < self.b', message='no'))\nclass Spec(Struct):\n    a: int\n    b: int\n",
    ),
    "two rules": (
        f'# {V}XValidation:rule="self.a > 0"\n# {V}XValidation:rule="self.a > 1"\nclass Spec(Struct):\n    a: int\n',
        "@annotate(CEL('self.a > 0'), CEL('self.a > 1'))\nclass Spec(Struct):\n    a: int\n",
        "@annotate(CEL('self.a > 0'))\n@annotate(CEL('self.a > 1'))\nclass Spec(Struct):\n    a: int\n",
        (
            f'# {V}XValidation:rule="self.a > 0"\n# {V}XValidation:rule="self.a > 1"\n'
            "@annotate(CEL('self.a > 0'))\nclass Spec(Struct):\n    a: int\n"
        ),
    ),
    **{
        group: (
            f"# {V}{group}=a;bC\nclass Spec(Struct):\n    a: int | None = None\n    b_c: int | None = None\n",
            f"@annotate({group}('a', 'b_c'))\nclass Spec(Struct):\n    a: int | None = None\n    b_c: int | None = None\n",
        )
        for group in ("AtMostOneOf", "ExactlyOneOf", "AtLeastOneOf")
    },
    "open": (
        "# +kubebuilder:pruning:PreserveUnknownFields\nclass Spec(Struct):\n    a: int\n",
        "@annotate(PreserveUnknown())\nclass Spec(Struct):\n    a: int\n",
    ),
    "atomic": (
        "# +structType=atomic\nclass Spec(Struct):\n    a: int\n",
        "@annotate(MapAtomic())\nclass Spec(Struct):\n    a: int\n",
    ),
    "properties": (
        f"# {V}MinProperties=1\nclass Spec(Struct):\n    a: int | None = None\n",
        "@annotate(Field(min_length=1))\nclass Spec(Struct):\n    a: int | None = None\n",
    ),
    "title": (
        '# +kubebuilder:title="A title"\nclass Spec(Struct):\n    a: int\n',
        "@annotate(Field(title='A title'))\nclass Spec(Struct):\n    a: int\n",
    ),
    "documentation": (
        '# +kubebuilder:externalDocs:url="https://example.com"\nclass Spec(Struct):\n    a: int\n',
        "@annotate(ExternalDocs('https://example.com'))\nclass Spec(Struct):\n    a: int\n",
    ),
    "frozen": (
        "class Spec(Struct):\n    # +k8s:immutable\n    a: int\n    # +k8s:immutable\n    b: int | None = None\n",
        "class Spec(Struct, frozen=True):\n    a: int\n    b: int | None = None\n",
        "class Spec(Struct):\n    model_config = {'frozen': True}\n    a: int\n    b: int | None = None\n",
    ),
    "description": (
        "# A text.\nclass Spec(Struct):\n    a: int\n",
        "class Spec(Struct):\n    '''A text.'''\n    a: int\n",
        "# A text.\n# +optional-looking prose is none\nclass Spec(Struct):\n    '''A text.'''\n    a: int\n",
    ),
    "generic": (
        "class Spec(Struct):\n    a: int\n    b: list[int]\n",
        "class Box(Struct, Generic[T]):\n    a: T\n    b: list[T]\nclass Spec(Box[int]):\n    pass\n",
    ),
    "inherited": (
        "class Spec(Struct):\n    a: int\n    b: int\n",
        "class Base(Struct):\n    a: int\nclass Other(Struct):\n    b: int\nclass Spec(Other, Base):\n    pass\n",
    ),
    "recursion": (
        "class Spec(Struct):\n    # +kubebuilder:pruning:PreserveUnknownFields\n    a: Spec | None = None\n",
        "class Spec(Struct):\n    a: Annotated[Spec | None, PreserveUnknown()] = None\n",
    ),
}


@pytest.mark.parametrize("name", TYPES)
def test_all_spellings_on_a_type_give_the_same_bytes(name: str, generate_types: Generate) -> None:
    """On classes and aliases, and what classes give to each other."""
    made = {source: manifest(generate_types(HELPERS + source + KIND)) for source in TYPES[name]}
    assert len(set(made.values())) == 1, "\n".join(f"{source}{text}" for source, text in made.items())


def test_a_deprecated_version_has_two_spellings(generate_types: Generate) -> None:
    """The marker with its warning, and PEP 702."""
    marker = '# +kubebuilder:deprecatedversion:warning="use v2"\n'
    spec = "class Spec(Struct):\n    a: int\n"
    assert manifest(generate_types(HELPERS + spec + marker + KIND)) == manifest(
        generate_types(HELPERS + spec + "@deprecated('use v2')\n" + KIND)
    )


def test_two_warnings_of_one_version_are_a_conflict(generate_types: Generate) -> None:
    """The marker's and the decorator's."""
    marker = '# +kubebuilder:deprecatedversion:warning="use v3"\n@deprecated("use v2")\n'
    result = generate_types(HELPERS + "class Spec(Struct):\n    a: int\n" + marker + KIND)
    assert [d.code.slug for d in result.diagnostics] == ["constraint-conflict"]


CONFLICTS = [
    f"{V}Minimum=2 ## a: Annotated[int, Field(ge=1)]",
    f"{V}Maximum=2 ## a: Annotated[int, Field(le=1)]",
    f"{V}Minimum=2 ## a: Annotated[int, Field(gt=1)]",
    f"{V}Minimum=1 ## {V}ExclusiveMinimum=false ## a: Annotated[int, Field(gt=1)]",
    f"{V}MultipleOf=2 ## a: Annotated[int, Field(multiple_of=3)]",
    f"{V}MinLength=2 ## a: Annotated[str, Field(min_length=1)]",
    f"{V}MaxLength=2 ## a: Annotated[str, Field(max_length=1)]",
    "+k8s:maxLength=2 ## a: Annotated[str, Field(max_length=1)]",
    f"{V}Pattern=b ## a: Annotated[str, Field(pattern='a')]",
    f"{V}MinItems=2 ## a: Annotated[list[str], Field(min_length=1)]",
    f"{V}MaxItems=2 ## a: tuple[int, int, int]",
    f"{V}MinProperties=2 ## a: Annotated[dict[str, str], Field(min_length=1)]",
    f"{V}Enum=a;b ## a: Literal['a']",
    f"{V}Enum=a;b ## a: list[Literal['a']]".replace("Enum", "items:Enum"),
    f"{V}Format=ipv6 ## a: Annotated[str, Format('ipv4')]",
    f"{V}Format=date-time ## a: bytes",
    f"{V}Format=date ## a: datetime",
    f"{V}Format=int64 ## a: Int32",
    f"{V}Pattern=`^a` ## a: Quantity",
    "+listType=atomic ## a: set[str]",
    "+listType=atomic ## a: Annotated[list[str], ListSet()]",
    "+listType=map ## +listMapKey=zone ## a: Annotated[list[Part], ListMap('name')]",
    "+mapType=granular ## a: Annotated[dict[str, str], MapAtomic()]",
    "+structType=granular ## a: Annotated[Part, MapAtomic()]",
    "+kubebuilder:default=4 ## a: int = 3",
    "+default=4 ## a: int = 3",
    "+kubebuilder:default=4 ## a: Annotated[int | None, ServerDefault(3)] = None",
    "+kubebuilder:title=Other ## a: Annotated[str, Field(title='One')]",
    "+kubebuilder:example=other ## a: Annotated[str, Field(examples=['one'])]",
    '+kubebuilder:externalDocs:url="https://example.org" ## a: Annotated[str, ExternalDocs("https://example.com")]',
    f"{V}items:MinLength=2 ## a: list[Annotated[str, Field(min_length=1)]]",
    f'{V}XValidation:rule="self > 1",message="no" ## a: Annotated[int, CEL("self > 1", message="yes")]',
    f"{V}Type=boolean ## a: Annotated[int, Type('string')]",
]


@pytest.mark.parametrize("spelling", CONFLICTS)
def test_spellings_that_differ_are_shown_with_both_places(spelling: str, generate_types: Generate) -> None:
    """An error at the marker that points to the annotation, too."""
    (source,) = fields(spelling)
    result = generate_types(HELPERS + source + KIND)
    shown = render(result.diagnostics, style=Format.CONCISE)
    errors = [d for d in result.diagnostics if d.severity is Severity.ERROR]
    error = errors[0]
    assert error.code.slug == "constraint-conflict", shown
    assert error.span is not None
    assert error.labels, shown
    assert error.span.line != error.labels[0].span.line


@pytest.mark.parametrize(
    "markers",
    ["+kubebuilder:validation:Enum=Fast", "+k8s:enum ## +kubebuilder:validation:Enum=Fast"],
)
def test_an_enum_of_fewer_values_contradicts_its_class(markers: str, generate_types: Generate) -> None:
    """The class says what Python takes; a marker on it that takes less is a mistake."""
    comments = "".join(f"# {marker}\n" for marker in markers.split(" ## "))
    source = comments + "class Speed(StrEnum):\n    FAST = 'Fast'\n    SLOW = 'Slow'\n"
    result = generate_types(HELPERS + source + "class Spec(Struct):\n    a: Speed\n" + KIND)
    assert [d.code.slug for d in result.diagnostics] == ["constraint-conflict"]


def test_a_format_leaves_a_bound_that_the_field_tightens(generate_types: Generate) -> None:
    """The field says its own bound beside that of its type, so the tag of the field has none to set."""
    source = "# +kubebuilder:validation:MaxLength=63\nName = NewType('Name', str)\n"
    field = "class Spec(Struct):\n    # +k8s:format=k8s-uuid\n    a: Annotated[Name, Field(max_length=30)]\n"
    result = generate_types(HELPERS + source + field + KIND)
    assert not list(result.diagnostics)


@pytest.mark.parametrize("wrapped", ["+k8s:listType=map", '+k8s:beta(since: "1.36")=+k8s:listType=map'])
def test_two_markers_that_disagree_are_one_finding(wrapped: str, generate_types: Generate) -> None:
    """Also where one of them is inside of a tag that only wraps it."""
    field = (
        f"class Spec(Struct):\n    # +listType=atomic\n    # {wrapped}\n    # +listMapKey=name\n    a: list[Inner]\n"
    )
    inner = "class Inner(Struct):\n    name: str\n"
    result = generate_types(HELPERS + inner + field + KIND)
    assert [d.code.slug for d in result.diagnostics if "listType=atomic" in d.message][:1] == ["marker-conflict"]
    assert "constraint-conflict" not in {d.code.slug for d in result.diagnostics}


def manifest(result: GenerateResult) -> str:
    """The CRD as text."""
    assert not result.diagnostics.has_errors(), render(result.diagnostics, style=Format.CONCISE)
    (artifact,) = result.artifacts["crd"]
    return artifact.render()


def test_a_generic_alias_is_what_it_stands_for(generate_types: Generate) -> None:
    """With its arguments put in, however they are ordered."""
    aliases = """\
from typing_extensions import TypeAliasType
A, B = TypeVar("A"), TypeVar("B")
Two = TypeAliasType("Two", dict[str, list[B] | A], type_params=(A, B))
Same = TypeAliasType("Same", A, type_params=(A,))
"""
    spelled = aliases + "class Spec(Struct):\n    a: Two[None, int]\n    b: Same[Two[None, Same[str]]]\n"
    plain = "class Spec(Struct):\n    a: dict[str, list[int] | None]\n    b: dict[str, list[str] | None]\n"
    texts = [generate_types(source + KIND).artifacts["crd"][0].render() for source in (spelled, plain)]
    assert texts[0] == texts[1]


def test_a_generic_alias_that_contains_itself_is_said(generate_types: Generate) -> None:
    """As for any recursive type; Python makes a new object at each turn."""
    source = (
        "from typing_extensions import TypeAliasType\nA = TypeVar('A')\n"
        "Tree = TypeAliasType('Tree', dict[str, 'Tree[A]'], type_params=(A,))\n"
        "class Spec(Struct):\n    a: Tree[int]\n"
    )
    result = generate_types(source + KIND)
    assert [d.code.slug for d in result.diagnostics] == ["recursive-type"]
