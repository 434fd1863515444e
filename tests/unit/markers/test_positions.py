"""Wherever a marker stands, it describes what is there or is reported with its place; it is never lost."""

from __future__ import annotations

import pytest

from pykb.diagnostics import Diagnostics
from pykb.markers.collect import collect
from pykb.markers.registry import builtin_registry

PLACES = [
    ("above decorator", "# {}\n@annotate()\nclass A: ...\n", "A"),
    ("between decorators", "@a\n# {}\n@b\nclass A: ...\n", "A"),
    ("between decorator and class", "@a\n# {}\nclass A: ...\n", "A"),
    ("decorator args", "@a(\n    # {}\n    1,\n)\nclass A: ...\n", "2:7 marker-detached"),
    ("end of class body", "class A:\n    x: int\n    # {}\n", "3:7 marker-detached"),
    ("end of class body, module col", "class A:\n    x: int\n# {}\n", "3:3 marker-target"),
    ("above nested class", "class A:\n    # {}\n    class B: ...\n", "A.B"),
    ("above nested class detached", "class A:\n    # {}\n\n    class B: ...\n", "A.B"),
    ("trailing field", "class A:\n    x: int  # {}\n", "2:15 marker-detached"),
    ("trailing class", "class A:  # {}\n    x: int\n", "1:13 marker-detached"),
    ("two blocks above", "# {}\n\n# text\n\nclass A: ...\n", "1:3 marker-target"),
    ("three blocks above type", "# {}\n\n# text\n\n# more\n\nclass A: ...\n", "1:3 marker-target"),
    ("field two blocks", "class A:\n    # {}\n\n    # text\n\n    x: int\n", "2:7 marker-detached"),
    ("field three blocks", "class A:\n    # {}\n\n    # text\n\n    # more\n    x: int\n", "2:7 marker-detached"),
    (
        "inside multi-line annotation",
        "class A:\n    x: Annotated[\n        # {}\n        int, 1]\n",
        "3:11 marker-detached",
    ),
    ("after annotation before value", "class A:\n    x: int = (\n        # {}\n        1)\n", "3:11 marker-detached"),
    ("unannotated", "class A:\n    # {}\n    x = 1\n", "2:7 marker-detached"),
    ("method", "class A:\n    # {}\n    def f(self): ...\n", "2:7 marker-detached"),
    ("docstring between", "class A:\n    x: int\n    # {}\n    '''doc'''\n    y: int\n", "3:7 marker-detached"),
    ("above docstring of class", "class A:\n    # {}\n    '''doc'''\n    y: int\n", "2:7 marker-detached"),
    ("semicolon", "class A:\n    # {}\n    x: int; y: int\n", "A.x"),
    ("if block field", "class A:\n    if True:\n        # {}\n        x: int\n", "A.x"),
    (
        "else between",
        "class A:\n    if True:\n        x: int\n    # {}\n    else:\n        y: int\n",
        "4:7 marker-detached",
    ),
    ("wrong indentation", "class A:\n  # {}\n    x: int\n", "2:5 marker-detached"),
    ("deeper indentation", "class A:\n        # {}\n    x: int\n", "2:11 marker-detached"),
    ("empty file", "# {}\n", "1:3 marker-target"),
    ("in function", "def f():\n    # {}\n    x: int = 1\n", "2:7 marker-detached"),
    ("class in function", "def f():\n    # {}\n    class A: ...\n", "f.<locals>.A"),
    ("lambda/list", "x = [\n    # {}\n    1]\n", "2:7 marker-detached"),
    ("assign non alias", "# {}\nX = 3\n", "1:3 marker-target"),
    ("import", "# {}\nimport os\n", "1:3 marker-target"),
    ("before class same line code", "x = 1\n# {}\nclass A: ...\n", "A"),
    ("crlf", "class A:\r\n    # {}\r\n    x: int\r\n", "A.x"),
    ("form feed", "class A:\n\x0c    # {}\n    x: int\n", "2:8 marker-detached"),
    ("tab", "class A:\n\t# {}\n\tx: int\n", "A.x"),
    ("nospace", "class A:\n    #{}\n    x: int\n", "A.x"),
    ("colon comment", "class A:\n    #: {}\n    x: int\n", "2:5 marker-syntax"),
    ("continuation", "class A:\n    x: \\\n    int\n    # {}\n    y: int\n", "A.y"),
    ("match", "class A:\n    match 1:\n        case 1:\n            # {}\n            x: int\n", "A.x"),
    ("try", "class A:\n    try:\n        # {}\n        x: int\n    finally:\n        pass\n", "A.x"),
    ("string above", "class A:\n    x: int\n    'doc'\n    # {}\n    y: int\n", "A.y"),
    ("below a shebang (package)", "#!/usr/bin/env python\n# {}\n", "package"),
    ("field after class keyword block", "class A(B,\n    # {}\n    C): ...\n", "2:7 marker-detached"),
    ("in bracket below field", "class A:\n    x: list[\n        int\n    ]\n    # {}\n    y: int\n", "A.y"),
    ("TypeAlias", "# {}\nX: TypeAlias = list[int]\n", "X"),
    ("bare alias", "# {}\nX = int\n", "1:3 marker-target"),
    ("alias class", "# {}\nX = other.Thing\n", "1:3 marker-target"),
    ("enum functional", "# {}\nX = Enum('X', 'a b')\n", "1:3 marker-target"),
    ("dataclass field no annotation", "class A:\n    # {}\n    x = Field()\n", "2:7 marker-detached"),
]


@pytest.mark.parametrize(("where", "source", "expected"), PLACES, ids=[place[0] for place in PLACES])
def test_a_marker_is_attached_or_reported_in_every_place(where: str, source: str, expected: str) -> None:
    """The declaration that gets it, or line, column and code of the error."""
    marker = "+groupName=a.b" if "(package)" in where else "+kubebuilder:validation:MaxLength=3"
    diagnostics = Diagnostics()
    file = collect(source.replace("{}", marker), "a.py", registry=builtin_registry(), diagnostics=diagnostics)
    found = [
        *("package" for _ in file.package_markers),
        *(t.qualname for t in file.types.values() for _ in t.markers),
        *(f"{t.qualname}.{f.name}" for t in file.types.values() for f in t.fields.values() for _ in f.markers),
        *(f"{d.span.line}:{d.span.column} {d.code.slug}" for d in diagnostics if d.span),
    ]
    assert found == [expected]


@pytest.mark.parametrize("source", ["class A:\n    ## {}\n    x: int\n", "class A:\n    # # {}\n    x: int\n"])
def test_a_marker_that_is_commented_out_says_nothing(source: str) -> None:
    """As an editor comments a line out: it is neither a marker nor a mistake."""
    diagnostics = Diagnostics()
    source = source.replace("{}", "+kubebuilder:validation:MaxLength=3")
    file = collect(source, "a.py", registry=builtin_registry(), diagnostics=diagnostics)
    assert not list(diagnostics)
    assert not file.types["A"].fields["x"].markers


def test_an_rbac_marker_for_sphinx_is_found_in_files_without_kinds() -> None:
    """The test by which most files are passed over sees `#:` comments, too."""
    from pykb.markers.collect import scan

    diagnostics = Diagnostics()
    text = "#: +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get\ndef reconcile(): ...\n"
    scan(text, "a.py", registry=builtin_registry(), diagnostics=diagnostics)
    assert [d.code.slug for d in diagnostics] == ["marker-syntax"]
