import json
from pathlib import Path

import pytest

from pykb.diagnostics import Code, Diagnostics, Edit, Label, Severity, Span
from pykb.diagnostics.codes.explore import CRASH
from pykb.diagnostics.render import Format, document, entries, entries_of, render

CODE = Code("unknown-marker", "Unknown marker", "Explained.")
SOURCE = "class Foo:\n    # +kubebuilder:validation:Maxlength=3\n\n    größe: str\n\tname: int\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with one source file in it."""
    (tmp_path / "foo.py").write_text(SOURCE, encoding="utf-8")
    return tmp_path


def test_full_form_quotes_the_source_and_marks_the_span(root: Path):
    """The headline, the place, the line with a mark under the text to change, notes and help."""
    diagnostic = CODE.at(
        Span("foo.py", 2, 7, end_column=42),
        "unknown marker `+kubebuilder:validation:Maxlength`",
        "a marker with a similar name exists: `+kubebuilder:validation:MaxLength`",
        label="no marker of this name applies to a field",
        labels=(Label(Span("foo.py", 4, 5, end_column=10), "this field"),),
        notes="nothing was written",
    )
    assert render([diagnostic], root=root) == (
        "error[unknown-marker]: unknown marker `+kubebuilder:validation:Maxlength`\n"
        " --> foo.py:2:7\n"
        "  |\n"
        "2 |     # +kubebuilder:validation:Maxlength=3\n"
        "  |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ no marker of this name applies to a field\n"
        "  ...\n"
        "4 |     größe: str\n"
        "  |     ----- this field\n"
        "  |\n"
        "note: nothing was written\n"
        "help: a marker with a similar name exists: `+kubebuilder:validation:MaxLength`\n"
    )


def test_help_with_several_lines_is_an_indented_block(root: Path):
    """Text to paste stands apart from the sentence above it."""
    text = render([CODE.at(None, "gone", "put this back:\nmanager = Manager()\n")], root=root)
    assert text == "error[unknown-marker]: gone\nhelp: put this back:\n          manager = Manager()\n"


def test_a_label_in_another_file_is_shown_with_its_own_place(root: Path):
    """Both parties of a conflict are shown, whichever files they stand in."""
    (root / "bar.py").write_text("x = 1\n", encoding="utf-8")
    text = render([CODE.at(Span("foo.py", 1, 1), "a", labels=(Label(Span("bar.py", 1, 1), "b"),))], root=root)
    assert "::: bar.py:1:1" in text
    assert "1 | x = 1" in text


def test_a_missing_file_costs_only_the_excerpt(tmp_path: Path):
    """A span into a file that is gone still gives its place."""
    text = render([CODE.at(Span("gone.py", 3, 1), "a", label="here")], root=tmp_path)
    assert text == "error[unknown-marker]: a\n --> gone.py:3:1\n  = here\n"


def test_concise_form_is_one_line_each(root: Path):
    """`path:line:col: severity[code]: headline`, which editors parse."""
    text = render([CODE.at(Span("foo.py", 2, 7), "a", severity=Severity.WARNING)], style=Format.CONCISE, root=root)
    assert text == "foo.py:2:7: warning[unknown-marker]: a\n"


def test_json_form_has_every_part(root: Path):
    """Programs get all parts of a finding, with camelCase keys."""
    (found,) = json.loads(render([CODE.at(Span("foo.py", 2, 7), "a", "b")], style=Format.JSON, root=root))
    assert found["code"] == "unknown-marker"
    assert found["span"] == {"path": "foo.py", "line": 2, "column": 7, "endLine": 2, "endColumn": 8}
    assert found["help"] == ["b"]


def test_github_form_escapes_what_the_runner_would_parse(root: Path):
    """Line breaks and per cent signs must not end a workflow command early."""
    text = render([CODE.at(Span("a,b.py", 1, 1), "50 %", notes="x\ny")], style=Format.GITHUB, root=root)
    assert text == (
        "::error file=a%2Cb.py,line=1,col=1,endLine=1,endColumn=2,title=unknown-marker::50 %25%0Anote: x%0Ay\n"
    )


def test_colour_adds_nothing_but_escape_sequences(root: Path):
    """The meaning survives without colour."""
    import re

    diagnostic = CODE.at(Span("foo.py", 2, 7), "a", label="b")
    coloured = render([diagnostic], colour=True, root=root)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render([diagnostic], root=root)


def test_findings_come_sorted_and_once():
    """One run reports everything, by place, without repeats; only errors make it fail."""
    late = CODE.at(Span("b.py", 1, 1), "late")
    early = CODE.at(Span("a.py", 9, 1), "early", severity=Severity.NOTE)
    found = Diagnostics([late, early, late])
    assert [d.message for d in found] == ["early", "late"]
    assert found.has_errors()
    assert not Diagnostics([early]).has_errors()


def test_excerpts_count_lines_as_python_does(root: Path):
    """Form feeds and line separators end no line of source."""
    (root / "odd.py").write_text("a = '\x0c\u2028'\nwrong\n", encoding="utf-8")
    assert "2 | wrong\n" in render([CODE.at(Span("odd.py", 2, 1, end_column=6), "no")], root=root)


@pytest.mark.parametrize("column", [1, 50, 40_000, 79_990])
def test_of_a_very_long_line_the_part_around_the_place_is_shown(root: Path, column: int):
    """JSON is often one line; the mark still stands below what is wrong."""
    (root / "long.json").write_text("-" * (column - 1) + "wrong" + "-" * (80_000 - column), encoding="utf-8")
    text = render([CODE.at(Span("long.json", 1, column, end_column=column + 5), "no")], root=root)
    line, marks = text.splitlines()[3:5]
    assert len(line) < 400
    assert line[marks.index("^") :].startswith("wrong")
    assert marks.endswith(" ^^^^^")


@pytest.mark.parametrize("style", list(Format))
def test_halves_of_characters_are_escaped(style: Format):
    """A source can name them, no output takes them."""
    text = render([CODE.at(Span("a.py", 1, 1), "found `\udc00`")], style=style)
    assert "dc00" in text
    text.encode()


def test_sarif_form_has_rules_places_and_fixes():
    """Code hosts show findings at their lines: each has a rule, places with encoded paths, and its fix."""
    label = Label(Span("x.py", 1, 1), "here")
    span = Span("a b/foo.py", 2, 7, end_column=12)
    finding = CRASH.at(span, "a", "b", notes="c", labels=(label,), fix=(Edit(span, "o", "n"),))
    other = CRASH.at(None, "d", severity=Severity.WARNING)
    whole = json.loads(render([finding, other], style=Format.SARIF))
    assert whole["version"] == "2.1.0"
    (run,) = whole["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [CRASH.slug]
    first, second = run["results"]
    region = {"startLine": 2, "startColumn": 7, "endLine": 2, "endColumn": 12}
    place = {"artifactLocation": {"uri": "a%20b/foo.py"}, "region": region}
    assert first["message"] == {"text": "a\nnote: c\nhelp: b"}
    assert first["locations"] == [{"physicalLocation": place}]
    assert first["relatedLocations"][0]["message"] == {"text": "here"}
    (change,) = first["fixes"][0]["artifactChanges"]
    assert change["replacements"] == [{"deletedRegion": region, "insertedContent": {"text": "n"}}]
    assert (second["level"], "locations" in second) == ("warning", False)


@pytest.mark.parametrize("style", [style for style in Format if style.is_document])
def test_documents_of_several_processes_become_one(style: Format):
    """What another process has rendered joins the findings of this one."""
    one, other = CODE.at(None, "a"), CODE.at(Span("b.py", 1, 1), "b")
    joined = [*entries([one], style), *entries_of(render([other], style=style), style)]
    assert document(joined, style) == render([one, other], style=style)
