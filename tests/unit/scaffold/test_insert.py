"""Insertion at anchors: judged by structure, once, and nothing else of the text changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykb.scaffold.insert import Fragment, FragmentKind, insert

MAIN = '''"""The manager."""

from pykb.runtime import Manager

# +pykb:scaffold:imports


def register(manager: Manager) -> None:
    """Register."""
    # +pykb:scaffold:builder
'''
IMPORT = Fragment("imports", "from app.controllers.foo_controller import FooReconciler", FragmentKind.IMPORT)
CALL = Fragment("builder", "FooReconciler(manager.client).setup(manager)", FragmentKind.STATEMENT, key="FooReconciler")
LIST = "resources:\n- a.yaml\n# +pykb:scaffold:items\n"
ITEM = Fragment("items", "b.yaml", FragmentKind.LIST_ITEM)


def inserted(text: str, *fragments: Fragment, path: str = "app/__main__.py") -> str:
    """The text with all fragments; none may be refused."""
    for fragment in fragments:
        text, problem = insert(text, [fragment], path=path)
        assert problem is None, problem
    return text


def test_imports_and_statements_go_above_their_anchors() -> None:
    """An import opens a section of its own package; a statement takes the anchor's indentation."""
    assert inserted(MAIN, IMPORT, CALL) == MAIN.replace(
        "# +pykb:scaffold:imports",
        "from app.controllers.foo_controller import FooReconciler\n\n# +pykb:scaffold:imports",
    ).replace(
        "    # +pykb:scaffold:builder",
        "    FooReconciler(manager.client).setup(manager)\n    # +pykb:scaffold:builder",
    )


def test_imports_are_sorted_among_those_of_their_package() -> None:
    """In whatever order kinds are created, the imports come out as the formatter sorts them."""
    names = ["foo", "bar", "zoo", "foobar", "a"]
    fragments = [
        Fragment("imports", f"from app.controllers.{n}_controller import X{n}", FragmentKind.IMPORT) for n in names
    ]
    lines = [line for line in inserted(MAIN, *fragments).splitlines() if line.startswith("from app")]
    assert lines == sorted(lines)
    assert len(lines) == len(names)


@pytest.mark.parametrize(
    ("text", "fragment", "path"),
    [
        (inserted(MAIN, IMPORT), IMPORT, "app/__main__.py"),
        (
            MAIN.replace(
                "# +pykb", "from app.controllers.foo_controller import (\n    Bar,\n    FooReconciler,\n)\n# +pykb", 1
            ),
            IMPORT,
            "m.py",
        ),
        (inserted(MAIN, CALL).replace("(manager.client)", "(manager.client, recorder=None)"), CALL, "m.py"),
        (MAIN.replace("    # +pykb:scaffold:builder", "    run(FooReconciler)"), CALL, "m.py"),
        ("resources: [a.yaml, 'b.yaml']\n# +pykb:scaffold:items\n", ITEM, "k.yaml"),
        ("resources:\n  - b.yaml\n", ITEM, "k.yaml"),
    ],
    ids=["same", "other form", "edited call", "other call", "flow list", "no anchor needed"],
)
def test_what_is_there_in_another_form_is_not_inserted_again(text: str, fragment: Fragment, path: str) -> None:
    """Presence is decided by what the file does, not by how it is written."""
    assert insert(text, [fragment], path=path) == (text, None)


@pytest.mark.parametrize(
    ("text", "fragment", "path"),
    [
        (MAIN.replace("Manager\n", "Manager  # FooReconciler(manager.client)\n", 1), CALL, "m.py"),
        (MAIN.replace("The manager.", "FooReconciler(manager.client).setup(manager)"), CALL, "m.py"),
        (LIST.replace("a.yaml", "a.yaml # - b.yaml"), ITEM, "k.yaml"),
        (LIST + "other: b.yaml\n", ITEM, "k.yaml"),
    ],
    ids=["comment", "docstring", "yaml comment", "yaml value"],
)
def test_a_mention_in_a_comment_or_a_text_does_not_count(text: str, fragment: Fragment, path: str) -> None:
    """Kubebuilder's text match would take these for the fragment itself."""
    after, problem = insert(text, [fragment], path=path)
    assert problem is None
    assert after != text


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_line_ends_and_a_missing_last_newline_are_kept(newline: str, end: str) -> None:
    """CRLF files stay CRLF files, also where the anchor is a last line without an end."""
    text = LIST.rstrip("\n").replace("\n", newline) + (newline if end else "")
    after, problem = insert(text, [ITEM], path="k.yaml")
    assert problem is None
    assert after == text.replace("# +pykb", f"- b.yaml{newline}# +pykb")


def test_anchors_in_kubebuilders_spelling_are_understood() -> None:
    """`+kubebuilder:scaffold:` counts like `+pykb:scaffold:`."""
    assert "- b.yaml\n" in inserted(LIST.replace("+pykb", "+kubebuilder"), ITEM, path="k.yaml")


def test_a_missing_anchor_gives_the_lines_to_paste() -> None:
    """The finding has the fragment and the anchor to put back; the text is untouched."""
    text = LIST.replace("# +pykb:scaffold:items\n", "")
    after, problem = insert(text, [ITEM], path="k.yaml")
    assert after == text
    assert problem is not None
    assert problem.code.slug == "anchor-missing"
    assert "- b.yaml\n# +pykb:scaffold:items" in problem.help[0]


@pytest.mark.parametrize(
    ("text", "fragment", "path", "line"),
    [("def f(:\n", CALL, "m.py", 1), ("a: [\n# +pykb:scaffold:items\n", ITEM, "k.yaml", 3)],
)
def test_a_file_that_does_not_parse_is_reported_at_its_place(
    text: str, fragment: Fragment, path: str, line: int
) -> None:
    """A broken file is never added to."""
    after, problem = insert(text, [fragment], path=path)
    assert after == text
    assert problem is not None
    assert (problem.code.slug, problem.span and problem.span.line) == ("file-broken", line)


def test_an_anchor_in_the_wrong_place_is_refused() -> None:
    """Lines above an anchor that is no part of the list would do nothing: said, not done."""
    text = "resources:\n- a.yaml\nother: |\n  text\n  # +pykb:scaffold:items\n"
    after, problem = insert(text, [ITEM], path="k.yaml")
    assert after == text
    assert problem is not None


NAMES = st.lists(st.from_regex(r"[a-z]{1,6}", fullmatch=True), min_size=1, max_size=6)


@given(names=NAMES, crlf=st.booleans())
def test_inserting_twice_is_inserting_once_and_changes_no_other_line(names: list[str], *, crlf: bool) -> None:
    """For any names in any order: idempotent, and what was there is still there in its order."""
    text = MAIN.replace("\n", "\r\n") if crlf else MAIN
    fragments = [
        Fragment("imports", f"from app.controllers.{n}_controller import {n.title()}R", FragmentKind.IMPORT)
        for n in names
    ] + [Fragment("builder", f"{n.title()}R(manager)", FragmentKind.STATEMENT, key=f"{n.title()}R") for n in names]
    once = inserted(text, *fragments)
    assert inserted(once, *fragments) == once
    left = iter(once.splitlines(keepends=True))
    assert all(line in left for line in text.splitlines(keepends=True)), "the old lines are a subsequence"


@pytest.mark.parametrize(
    "text",
    [
        MAIN.replace("    # +pykb:scaffold:builder", "# +pykb:scaffold:builder"),
        MAIN.replace('    """Register."""\n    #', '    """Register."""\n\n\n#'),
        MAIN.replace("(manager: Manager)", "(runner: Manager)"),
    ],
    ids=["dedented", "behind the function", "renamed"],
)
def test_a_statement_goes_nowhere_where_its_names_mean_nothing(text: str) -> None:
    """An anchor that was moved out of its function would give a file that parses and does not start."""
    after, problem = insert(text, [CALL], path="app/__main__.py")
    assert after == text
    assert problem is not None
    assert problem.code.slug == "anchor-missing"
    assert "`manager`" in problem.label
    assert "FooReconciler(manager.client).setup(manager)" in problem.help[0]


@pytest.mark.parametrize(
    "text",
    [
        MAIN.replace("def register", "async def start"),
        MAIN.replace("def register(manager: Manager)", "def register(*, manager: Manager)"),
        MAIN.replace('def register(manager: Manager) -> None:\n    """Register."""\n    #', "manager = Manager()\n#"),
        MAIN.replace('    """Register."""\n', "    if True:\n        with manager as manager:\n            pass\n"),
    ],
    ids=["async", "keyword", "script", "nested"],
)
def test_a_statement_goes_wherever_its_names_are_known(text: str) -> None:
    """The manager may be made and handed on as the user likes."""
    assert "FooReconciler(manager.client).setup(manager)\n" in inserted(text, CALL)


SETTINGS = "[[tool.mypy.overrides]]\nmodule = [\n  # +pykb:scaffold:handlers\n]\nignore_errors = true\n"
MODULE = Fragment("handlers", "*.foo_handlers", FragmentKind.TEXT_ITEM)


def test_texts_go_into_lists_of_toml_once() -> None:
    """Also where somebody wrote the same in another way; a file that is no TOML is said."""
    once = SETTINGS.replace("  # +", '  "*.foo_handlers",\n  # +')
    assert inserted(SETTINGS, MODULE, MODULE, path="pyproject.toml") == once
    own = "[tool.mypy]\noverrides = [{module = ['*.foo_handlers']}]\n"
    assert inserted(own, MODULE, path="pyproject.toml") == own
    text, problem = insert("a = [\n", [MODULE], path="pyproject.toml")
    assert (text, problem is not None and problem.code.slug) == ("a = [\n", "file-broken")
    misplaced = "# +pykb:scaffold:handlers\na = 1\n"
    text, problem = insert(misplaced, [MODULE], path="pyproject.toml")
    assert (text, problem is not None) == (misplaced, True)
