"""Additions to a module of somebody else's: in their place, and nothing else of the text changes."""

from __future__ import annotations

import pytest

from pykb.python_source.layout import Import, fitted, import_block, laid_out, line_length, parse_import
from pykb.python_source.source import CodeStyle, Source

STYLE = CodeStyle("fleet")
SHIP = Import("fleet.api.v1", ("Ship",))
DOC = '"""Mine."""\n'


@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("", "+from fleet.api.v1 import Ship\n"),
        (DOC, DOC + "+\n+from fleet.api.v1 import Ship\n"),
        (f"{DOC}x = 1\n", f"{DOC}+\n+from fleet.api.v1 import Ship\n+\nx = 1\n"),
        ("import os\n", "import os\n+\n+from fleet.api.v1 import Ship\n"),
        ("import os\n\nx = 1\n", "import os\n+\n+from fleet.api.v1 import Ship\n\nx = 1\n"),
        ("from fleet.zoo import A\n", "+from fleet.api.v1 import Ship\nfrom fleet.zoo import A\n"),
        ("from fleet.a import A\nx = 1\n", "from fleet.a import A\n+from fleet.api.v1 import Ship\n+\nx = 1\n"),
        ("from fleet.api.v10 import A\n", "+from fleet.api.v1 import Ship\nfrom fleet.api.v10 import A\n"),
        (
            "from fleet.api.v1 import A, Zoo\n",
            "-from fleet.api.v1 import A, Zoo\n+from fleet.api.v1 import A, Ship, Zoo\n",
        ),
        ("from fleet.api.v1 import A as B\n", "from fleet.api.v1 import A as B\n+from fleet.api.v1 import Ship\n"),
        ("from fleet.api.v1 import A  # b\n", "from fleet.api.v1 import A  # b\n+from fleet.api.v1 import Ship\n"),
        ("x = 1\n\x0c\nfrom os import path\n", "x = 1\n\x0c\nfrom os import path\n+\n+from fleet.api.v1 import Ship\n"),
        ("from fleet.api.v1 import Ship\n", "from fleet.api.v1 import Ship\n"),
        (
            "import os\n\n\ndef f():\n    from fleet.api.v1 import Ship\n",
            "import os\n+\n+from fleet.api.v1 import Ship\n\n\ndef f():\n    from fleet.api.v1 import Ship\n",
        ),
        (
            "from fleet.api.v1 import Ship as Ship\n",
            "from fleet.api.v1 import Ship as Ship\n",
        ),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_import_goes_where_it_is_sorted(text: str, added: str, newline: str) -> None:
    """`+` and `-` mark what is expected to change; all other lines are as before, with the ends that they had."""
    wanted = "".join(line.removeprefix("+") for line in added.splitlines(keepends=True) if not line.startswith("-"))
    wanted = wanted.replace("\x0c\nfrom", "\x0c\nfrom")
    result = Source.parse(text.replace("\n", newline)).with_import(SHIP, STYLE)
    assert result.text == wanted.replace("\n", newline if "\n" in text else "\n")
    assert result.with_import(SHIP, STYLE) == result


def test_lines_are_counted_as_python_counts_them() -> None:
    """A form feed or an unusual separator within a text ends no line."""
    source = Source.parse('x = """\x0c\u2028"""\n\n\nclass Ship:\n    pass\n')
    ship = source.find_class("Ship")
    assert ship is not None
    assert source.with_lines(source.start(ship), "# here").text == source.text.replace("class", "# here\nclass")


def test_comments_above_a_class_are_found_with_its_decorators() -> None:
    """Blank lines part them, and belong to what stands there."""
    source = Source.parse("x = 1\n# one\n\n# two\n@final\nclass Ship:\n    pass\n")
    ship = source.find_class("Ship")
    assert ship is not None
    assert source.comments_above(ship) == [3, 1]
    assert source.comments_above(ship, blank=False) == [3]


def test_a_module_is_imported_from_elsewhere() -> None:
    """A copy of a version takes its own group and version; comments stay, a long line is broken."""
    text = "from fleet.a import G  # mine\nfrom fleet.a import H\nfrom fleet.b import A\n"
    result = Source.parse(text).with_module("fleet.a", "fleet." + "z" * 101, STYLE).text
    assert result.startswith(f"from fleet.{'z' * 101} import G  # mine\nfrom fleet.{'z' * 101} import (\n    H,\n)\n")
    assert result.endswith("from fleet.b import A\n")


def test_a_remark_stays_behind_the_name_that_it_is_about() -> None:
    """Ruff looks for `noqa` on the line of the name."""
    wanted = parse_import(f"from fleet.{'m' * 100} import ship as s  # noqa: F401")
    text = Source.parse("").with_import(wanted, STYLE).text
    assert text.endswith("(\n    ship as s,  # noqa: F401\n)\n")


def test_a_block_has_sections() -> None:
    """The standard library, others, one's own; `import` before `from`; constants, classes, functions."""
    lines = [
        "from fleet.x import a",
        "from pykb.api import B, a",
        "from pykb.api import A, C_D",
        "import yaml",
        "import os",
    ]
    assert import_block(map(parse_import, lines), "fleet") == (
        "import os\n\nimport yaml\nfrom pykb.api import C_D, A, B, a\n\nfrom fleet.x import a\n"
    )


@pytest.mark.parametrize(
    ("pyproject", "length"),
    [
        ("[tool.ruff]\nline-length = 100\n[tool.black]\nline-length = 99", 100),
        ("[tool.ruff.lint]\nselect = ['I']", 88),
        ("[tool.black]\nline-length = 99", 99),
        ("[tool.black]", 88),
        ("[tool.mypy]", None),
        ("[tool", None),
        ("tool = 1", None),
        ("[tool]\nruff = 1", None),
        ("[tool.ruff]\nline-length = '1'", None),
    ],
)
def test_the_length_of_lines_is_the_projects(pyproject: str, length: int | None) -> None:
    """Ruff's, else Black's; nothing where neither is asked for, or the file is broken."""
    assert line_length(pyproject.encode()) == length


def test_what_is_broken_already_or_cannot_be_stays() -> None:
    """Statements of several lines are the author's; a text, a comment and an f-string have no place to break."""
    long = "x" * 120
    text = f'f(\n    {long}, {long})\n"""{long}"""\n# {long}\n{long}\nf"{{g({long}, 1)}}"\n'
    assert laid_out(text) == text
    assert laid_out(f"x = 1\x0c\r\nf({long})\r\n") == f"x = 1\x0c\r\nf(\r\n    {long}\r\n)\r\n"
    assert fitted(f"f({long})  # noqa: F401 {long}") == f"f(\n    {long}\n)  # noqa: F401 {long}"


def test_each_operator_has_one_blank_on_both_sides() -> None:
    """Also the second of a union, in a statement that does not fit."""
    long = "x" * 120
    assert fitted(f"f(a | b | c, {long})") == f"f(\n    a | b | c,\n    {long},\n)"
