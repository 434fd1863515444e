"""Which declaration a marker belongs to, and that none is lost by its position."""

from __future__ import annotations

import sys
import textwrap

import pytest

from pykb.diagnostics import Diagnostics, Severity
from pykb.markers.collect import collect, scan
from pykb.markers.model import Marker, SourceFile, TypeKind
from pykb.markers.registry import builtin_registry


def read(text: str) -> tuple[SourceFile, Diagnostics]:
    """The declarations of an indented source text."""
    diagnostics = Diagnostics()
    source = collect(textwrap.dedent(text), "api.py", registry=builtin_registry(), diagnostics=diagnostics)
    return source, diagnostics


def names(markers: tuple[Marker, ...]) -> list[str]:
    """Their names."""
    return [m.name for m in markers]


def errors(diagnostics: Diagnostics) -> list[tuple[str, int, int]]:
    """Code, line and column of each error."""
    return [
        (d.code.slug, d.span.line, d.span.column)
        for d in diagnostics
        if d.severity is Severity.ERROR and d.span is not None
    ]


def test_markers_stand_directly_above_one_blank_line_away_or_between_decorators() -> None:
    """The block directly above, the next one, and comments between decorators and the class all count, in order."""
    source, diagnostics = read(
        """
        # +kubebuilder:storageversion

        # +kubebuilder:subresource:status
        @first
        # +kubebuilder:resource:path=foos
        @second
        class Foo(CustomResource):
            # +optional

            # +kubebuilder:validation:MinLength=1
            name: str
        """
    )
    assert len(diagnostics) == 0
    foo = source.types["Foo"]
    assert names(foo.markers) == [
        "kubebuilder:storageversion",
        "kubebuilder:subresource:status",
        "kubebuilder:resource",
    ]
    assert names(foo.fields["name"].markers) == ["optional", "kubebuilder:validation:MinLength"]
    assert (foo.kind, foo.bases, foo.span.line, foo.span.column) == (TypeKind.CLASS, ("CustomResource",), 8, 7)


def test_module_blocks_are_the_package() -> None:
    """At the top, between declarations, above a function, at the end of the file."""
    source, diagnostics = read(
        """
        # +groupName=a.example.com
        # +versionName=v1
        import os

        # +kubebuilder:validation:Optional

        # +kubebuilder:resource:path=foos
        class Foo: ...

        # +kubebuilder:rbac:urls=/a,verbs=get
        def main(): ...

        # +kubebuilder:rbac:urls=/b,verbs=get
        """
    )
    assert len(diagnostics) == 0
    assert [m.text for m in source.package_markers] == [
        "+groupName=a.example.com",
        "+versionName=v1",
        "+kubebuilder:validation:Optional",
        "+kubebuilder:rbac:urls=/a,verbs=get",
        "+kubebuilder:rbac:urls=/b,verbs=get",
    ]
    assert names(source.types["Foo"].markers) == ["kubebuilder:resource"]


def test_rbac_and_webhook_markers_count_wherever_they_stand() -> None:
    """In the module, above a class or field, in a class body, above a method, in its body, in the order of the file."""
    source, diagnostics = read(
        """
        # +kubebuilder:rbac:urls=/1,verbs=get
        class Foo:
            # +kubebuilder:rbac:urls=/2,verbs=get
            name: str

            # +kubebuilder:rbac:urls=/3,verbs=get
            async def reconcile(self):
                # +kubebuilder:rbac:urls=/4,verbs=get
                if True:
                    pass
                    # +kubebuilder:rbac:urls=/5,verbs=get

            # +kubebuilder:rbac:urls=/6,verbs=get
        """
    )
    assert len(diagnostics) == 0
    assert [m.arguments["urls"] for m in source.package_markers] == [[f"/{i}"] for i in range(1, 7)]
    assert source.types["Foo"].markers == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("class A:\n    x: int  # +optional\n", ("marker-detached", 2, 15)),
        ("def f():\n    # +optional\n    pass\n", ("marker-detached", 2, 7)),
        ("class A:\n    x: int\n    # +optional\n", ("marker-detached", 3, 7)),
        ("class A:\n    # +optional\n    def f(self): ...\n", ("marker-detached", 2, 7)),
        ("class A:\n    # +optional\n    X = 1\n", ("marker-detached", 2, 7)),
        ("class A:\n    # +optional\n\n    # b\n\n    # c\n    x: int\n", ("marker-detached", 2, 7)),
        ("class A:\n  # +optional\n    # c\n    x: int\n", ("marker-detached", 2, 5)),
        ("class A:\n    # +nullable\n    '''Text.'''\n", ("marker-detached", 2, 7)),
        ("class A:\n    '''Text.\n\n    +kubebuilder:validation:MinLength=1\n    '''\n", ("marker-detached", 4, 5)),
        ("# +optional\nclass A: ...\n", ("marker-target", 1, 3)),
        ("# +optional\nx = 1\n", ("marker-target", 1, 3)),
        ("# +groupName=a.b\nclass A: ...\n", ("marker-target", 1, 3)),
        (
            "class A:\n    # +kubebuilder:printcolumn:name=a,type=string,JSONPath=.x\n    x: int\n",
            ("marker-target", 2, 7),
        ),
        ("x = 1 # +kubebuilder:rbac:urls=/a,verbs=get\n", ("marker-detached", 1, 9)),
        ("class A:\n    # +optional foo\n    x: int\n", ("marker-syntax", 2, 17)),
        ("class A:\n    # +kubebuilder:validation:MinLength = 3\n    x: str\n", ("marker-syntax", 2, 40)),
        ("class A:\n    # + kubebuilder:validation:MinLength=3\n    x: str\n", ("marker-syntax", 2, 7)),
        ('class A:\n    # +kubebuilder:validation:XValidation:rule:="a"\n    x: str\n', ("marker-syntax", 2, 47)),
        ("class A:\n    # +kubebuilder:validation:Maxlength=3\n    größe: str\n", ("marker-unknown", 2, 7)),
        ("class A:\n    # +required\n    # +optional\n    x: str\n", ("marker-conflict", 3, 7)),
        ("class A:\n    # +nullable\n    # +nullable\n    x: str\n", ("marker-repeated", 3, 7)),
        (
            "class A:\n    # +kubebuilder:validation:MinLength=3\n    # +k8s:minLength=4\n    x: str\n",
            ("marker-conflict", 3, 7),
        ),
        (
            "class A:\n    # +kubebuilder:validation:Minimum=3\n    # +kubebuilder:validation:Maximum=2\n    x: int\n",
            ("marker-conflict", 2, 7),
        ),
        ("class A:\n    x: int = \n", ("source-syntax", 2, 14)),
        ("# +groupName=a.b\n# +groupName=c.d\n", ("marker-repeated", 2, 3)),
    ],
)
def test_what_belongs_nowhere_is_an_error_with_its_place(text: str, expected: tuple[str, int, int]) -> None:
    """Each of these is dropped by controller-gen without a word, or would be by a careless port."""
    _, diagnostics = read(text)
    assert errors(diagnostics) == [expected]


def test_all_mistakes_of_a_file_come_in_one_run() -> None:
    """One finding each, in the order of the file."""
    _, diagnostics = read(
        """
        # +kubebuilder:resource:shortname=a
        class A:
            # +kubebuilder:validation:MinLength=x
            # +kubebuilder:validation:Pattern="open
            # +nulable
            x: str
            y: str  # +optional
        """
    )
    assert [line for _, line, _ in errors(diagnostics)] == [2, 4, 5, 6, 8]


def test_markers_of_another_tool_are_a_warning() -> None:
    """They have no effect, and that is said; the run goes on."""
    source, diagnostics = read("class A:\n    # +mytool:thing=1\n    x: int\n")
    assert [(d.code.slug, d.severity) for d in diagnostics] == [("marker-foreign", Severity.WARNING)]
    assert source.types["A"].fields["x"].markers == ()


def test_go_only_markers_are_accepted_with_a_note() -> None:
    """A ported file stays valid."""
    _, diagnostics = read(
        "# +kubebuilder:object:generate=true\n\n# +kubebuilder:object:root=true\n# +genclient\nclass A: ...\n"
    )
    assert [(d.code.slug, d.severity) for d in diagnostics] == [("marker-go-only", Severity.NOTE)] * 3


def test_aliases_and_new_types_are_types() -> None:
    """`NewType`, `Annotated`, unions and `TypeAlias`, with their markers and the comment above as description."""
    source, diagnostics = read(
        """
        # A port of a host.
        # +kubebuilder:validation:Minimum=1
        Port = NewType("Port", int)

        # +kubebuilder:validation:MaxLength=63
        Name = Annotated[str, Field(min_length=1)]

        Either = int | str

        Other: TypeAlias = "Name"

        VERSION = GroupVersion("a", "v1")
        """
    )
    assert len(diagnostics) == 0
    assert {n: t.kind for n, t in source.types.items()} == {
        "Port": TypeKind.NEW_TYPE,
        "Name": TypeKind.ALIAS,
        "Either": TypeKind.ALIAS,
        "Other": TypeKind.ALIAS,
    }
    assert source.types["Port"].description == "A port of a host."
    assert source.types["Port"].markers[0].value == 1
    assert source.types["Name"].markers[0].value == 63


@pytest.mark.parametrize(
    "statement",
    [
        'Port = NewType("Port", int)',
        "Port: TypeAlias = int",
        *(["type Port = int"] if sys.version_info >= (3, 12) else []),
    ],
)
def test_every_spelling_of_an_alias_takes_markers(statement: str) -> None:
    """The statement of Python 3.12 included, where it can be parsed."""
    source, diagnostics = read(f"# A port.\n# +kubebuilder:validation:Minimum=1\n{statement}\n")
    assert len(diagnostics) == 0
    assert source.types["Port"].description == "A port."
    assert names(source.types["Port"].markers) == ["kubebuilder:validation:Minimum"]


def test_nested_and_local_types_have_their_qualified_names() -> None:
    """As ``__qualname__`` has them."""
    source, _ = read(
        """
        class A:
            class B:
                # +optional
                x: int
        def f():
            class C:
                y: int
        if True:
            class D: ...
        """
    )
    assert list(source.types) == ["A", "A.B", "f.<locals>.C", "D"]
    assert names(source.types["A.B"].fields["x"].markers) == ["optional"]


def test_columns_count_characters() -> None:
    """`ast` counts UTF-8 bytes; spans do not."""
    source, _ = read("class Größe:\n    äöü: int; größe: Annotated[str, 'ß'] = ''\n")
    first, second = source.types["Größe"].fields.values()
    assert (first.span.column, first.span.end_column) == (5, 8)
    assert (second.span.column, second.span.end_column) == (15, 20)
    assert (second.annotation_span.column, second.annotation_span.end_column) == (22, 41)


@pytest.mark.parametrize(
    "text",
    [
        "x = '# +kubebuilder:nonsense'\n",
        'x = """\n# +kubebuilder:nonsense\n"""\n',
        "x = '''it's\n# +kubebuilder:nonsense\n'''\n",
        r'x = r"\\" + f"{1}# +kubebuilder:nonsense"' + "\n",
        'x = "a\\\n# +kubebuilder:nonsense"\n',
        'f"""\n{x}\n# +kubebuilder:nonsense\n"""\n',
    ],
)
def test_text_in_strings_is_no_comment(text: str) -> None:
    """A plus sign after a hash inside a string literal means nothing."""
    source, diagnostics = read(text)
    assert len(diagnostics) == 0
    assert source.package_markers == ()


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_platform_are_understood(newline: str) -> None:
    """Values have no carriage return, and lines are counted alike."""
    text = newline.join(["", "class A:", "    # +kubebuilder:validation:Pattern=^a$", "    x: str", ""])
    source, diagnostics = read(text)
    assert len(diagnostics) == 0
    marker = source.types["A"].fields["x"].markers[0]
    assert (marker.value, marker.span.line, marker.span.column) == ("^a$", 3, 7)


def test_a_file_without_marker_comments_costs_no_parse() -> None:
    """`scan` gives nothing for it, even when it is no Python at all."""
    diagnostics = Diagnostics()
    assert scan("{{ template }}\n# a + b\n", "x.py", registry=builtin_registry(), diagnostics=diagnostics) is None
    assert len(diagnostics) == 0


def test_a_file_that_does_not_parse_has_no_declarations() -> None:
    """Only the syntax error is reported."""
    source, diagnostics = read("# +kubebuilder:nonsense\nclass A(:\n")
    assert source == SourceFile("api.py", (), {})
    assert [d.code.slug for d in diagnostics] == ["source-syntax"]


def test_a_repeatable_marker_adds_up() -> None:
    """Rules, columns and keys may be given several times."""
    source, diagnostics = read(
        """
        # +kubebuilder:printcolumn:name=a,type=string,JSONPath=.a
        # +kubebuilder:printcolumn:name=b,type=string,JSONPath=.b
        # +kubebuilder:validation:XValidation:rule="a"
        # +kubebuilder:validation:XValidation:rule="b"
        class A: ...
        """
    )
    assert len(diagnostics) == 0
    assert len(source.types["A"].markers) == 4


def test_a_declaration_that_python_drops_loses_no_marker_in_silence() -> None:
    """Of two in one scope only one counts; which, the source does not say. Without markers nothing can be lost."""
    _, diagnostics = read(
        """
        if new:
            class A(Struct):
                x: int
        else:
            class A(Struct):
                x: int
        class B(Struct):
            if new:
                x: int
            else:
                x: str
            # +optional
            y: int
            if new:
                y: str
            def one(self):
                class C: ...
            def two(self):
                # +kubebuilder:validation:MinProperties=1
                class C: ...
        """,
    )
    assert errors(diagnostics) == [("declared-twice", 16, 9)]


@pytest.mark.parametrize(
    "statement", ['Port = Annotated[int, "x"]', 'Port = NewType("Port", int)', "Port = int | None"]
)
def test_the_text_below_an_alias_describes_it(statement: str) -> None:
    """As below a field; the comment above is what counts else."""
    source, _ = read(f"""
        # A comment.
        {statement}
        '''A port.'''
        Other = Annotated[int, "x"]
        x = 1
        '''Not a text of the alias.'''
        """)
    assert source.types["Port"].description == "A port."
    assert source.types["Other"].description is None
