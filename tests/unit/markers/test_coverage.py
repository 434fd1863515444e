"""The table of all markers: each is read, has an effect on real output, and is refused in wrong places and forms.

`docs/reference/marker-coverage.md` is that table; `--update-golden` writes it anew.
"""

from __future__ import annotations

import difflib
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from hack.markers import render as render_reference
from pykb.diagnostics import Diagnostics, Severity
from pykb.diagnostics.render import Format, render
from pykb.gen.options import GenerateOptions
from pykb.gen.run import GenerateResult, generate
from pykb.markers.collect import collect
from pykb.markers.definition import Argument, Grammar, MarkerDefinition, MarkerTarget, ValueKind
from pykb.markers.model import Marker
from pykb.markers.registry import builtin_registry

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reference" / "marker-coverage.md"
SCENES: dict[str, dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "applied.toml").read_text(encoding="utf-8"),
)
HEADER = """\
from __future__ import annotations
from enum import *
from typing import *
from pykb.api import *
from pykb.api.meta.v1 import *
GV = GroupVersion("example.com", "v1")
class Inner(Struct):
    name: str
    zone: Annotated[str, Field(max_length=9)]
    host: str | None = None
"""
KIND = "class Thing(CustomResource, group_version=GV):\n"
PLACES = {
    MarkerTarget.PACKAGE: ("# {}\n\nimport os\n", "the module"),
    MarkerTarget.TYPE: ("# {}\nclass Thing: ...\n", "a type"),
    MarkerTarget.FIELD: ("class Thing:\n    # {}\n    a: str\n", "a field"),
}
END_OF_LINE = ("a = 1  # {}\n", "the end of a line")
INTRODUCTION = """\
# Coverage of markers

One row for each marker on each kind of declaration that it describes. A test makes this page and fails when a cell
would be empty; it is not written by hand.

- **Read**: the values that the parser finds in the example of the [reference](markers.md).
- **Applied**: what the marker changes in generated manifests: the same types, generated with and without it. A line
  that the marker removes starts with a minus sign.
- **Wrong place**: the [diagnostic](diagnostics.md) where it describes nothing of its kind.
- **Bad argument**: the diagnostics for values of wrong types, values out of range, missing and unknown arguments, each
  tried by itself.

"""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    definition: MarkerDefinition
    targets: tuple[MarkerTarget, ...]

    @property
    def target(self) -> MarkerTarget:
        """The kind of declaration; the first of several for markers without effect."""
        return self.targets[0]

    def __str__(self) -> str:
        return f"{self.definition.name}-{self.target}"


def rows() -> Iterator[Row]:
    """All markers; those of Go code generators have one row, since they do nothing anywhere."""
    for definition in builtin_registry():
        targets = tuple(t for t in MarkerTarget if t in definition.targets)
        yield from [Row(definition, targets)] if definition.go_only else (Row(definition, (t,)) for t in targets)


ROWS = list(rows())


def read(template: str, text: str) -> tuple[list[Marker], list[str]]:
    """The markers of a source with a marker put in, and the codes of what is wrong; each has its place on that line."""
    found = Diagnostics()
    source = template.replace("{}", text)
    file = collect(source, "a.py", registry=builtin_registry(), diagnostics=found)
    line = template[: template.index("{}")].count("\n") + 1
    for diagnostic in found:
        assert diagnostic.span is not None
        assert diagnostic.span.line == line
        assert diagnostic.span.column >= template.splitlines()[line - 1].index("{}") + 1
    types = file.types.values()
    markers = [
        *file.package_markers,
        *(m for t in types for m in t.markers),
        *(m for t in types for f in t.fields.values() for m in f.markers),
    ]
    return markers, [d.code.slug for d in found]


def read_cell(row: Row) -> str:
    """The values of the example, by name."""
    for target in row.targets:
        markers, codes = read(PLACES[target][0], row.definition.example)
        assert [m.name for m in markers] == [row.definition.name]
        assert codes == (["marker-go-only"] if row.definition.go_only else [])
    return ", ".join(f"{name}={shown(value)}".lstrip("=") for name, value in markers[0].arguments.items()) or "yes"


def shown(value: object) -> str:
    """A value as the table has it."""
    return value.text if isinstance(value, Marker) else str(value)


def scene(row: Row) -> dict[str, Any]:
    """What the marker stands on when it is applied."""
    definition = row.definition
    if not definition.items_depth:
        return SCENES.get(f"{definition.name}.{row.target}") or SCENES.get(definition.name, {})
    plain = dict(SCENES.get(definition.base_name, {}))
    step = definition.name.removesuffix(definition.base_name.rpartition(":")[2])
    plain["beside"] = [m.replace("kubebuilder:validation:", step) for m in plain.get("beside", [])]
    if "marker" in plain:
        plain["marker"] = plain["marker"].replace("kubebuilder:validation:", step)
    return {**plain, "type": f"list[{plain.get('type', 'str')}]"}


def module_of(row: Row, stage: dict[str, Any]) -> str:
    """The source with a slot for the marker."""
    if "source" in stage:
        return str(stage["source"])
    comments = "".join(f"# {marker}\n" for marker in (*stage.get("beside", ()), "{}"))
    kind = stage.get("type", "str")
    if row.target is MarkerTarget.FIELD:
        return KIND + indent(comments + stage.get("field", f"a: {kind} | None = None") + "\n", "    ")
    if row.definition.category == "CRD":
        return comments + KIND + "    pass\n"
    if row.target is MarkerTarget.TYPE:
        return f"{comments}Named = NewType('Named', {kind})\n{KIND}    a: Named | None = None\n"
    return comments


def run(folder: Path, stage: dict[str, Any], template: str, marker: str, other: str) -> GenerateResult:
    """What is generated from one or two versions."""
    for version, text in (("v1", template), ("v2", stage.get("second", ""))):
        package = folder / "shop" / "api" / version
        package.mkdir(parents=True, exist_ok=True)
        for part in (package, package.parent, package.parent.parent):
            (part / "__init__.py").touch()
        slots = {"# {}": marker, "# {not}": other}
        lines = [line for line in text.splitlines() if slots.get(line.strip(), "code")]
        source = "\n".join(lines).replace("{not}", other).replace("{}", marker) + "\n"
        (package / "things.py").write_text(HEADER + source if text else "", encoding="utf-8")
    return generate(GenerateOptions(root=folder, compatible_with="v0.23.0"))


def lines_of(result: GenerateResult) -> list[str]:
    """All manifests as lines."""
    return [line for files in result.artifacts.values() for a in files for line in a.render().splitlines()]


def applied_cell(row: Row, folder: Path) -> str:
    """The lines that the marker adds to the manifests, and those that it removes."""
    if row.definition.go_only:
        return "no effect: [`marker-go-only`](diagnostics.md#marker-go-only)"
    stage = scene(row)
    template = module_of(row, stage)
    marker = stage.get("marker", row.definition.example)
    given = run(folder / "with", stage, template, marker, "")
    if "refused" in stage:
        assert [d.code.slug for d in given.diagnostics] == [stage["refused"]]
        return f"refused: [`{stage['refused']}`](diagnostics.md#{stage['refused']})"
    assert not given.diagnostics.has_errors(), render(given.diagnostics, style=Format.CONCISE)
    without = run(folder / "without", stage, stage.get("plain", template), stage.get("instead", ""), marker)
    wrong = {d.code.slug for d in without.diagnostics if d.severity is Severity.ERROR}
    assert wrong <= {"nothing-to-generate"}, render(without.diagnostics, style=Format.CONCISE)
    if "same" in stage:
        assert lines_of(given) == lines_of(without)
        return str(stage["same"])
    diff = [
        line
        for line in difflib.ndiff(lines_of(without), lines_of(given))
        if line[:1] in "+-" and not line.startswith(("+ ---", "- ---"))
    ]
    assert diff, f"{marker} changes nothing"
    added = [line[2:].strip() for line in diff if line[0] == "+"]
    removed = [f"-{line[2:].strip()}" for line in diff if line[0] == "-"]
    words = " ".join(added or removed)
    return f"`{words[:70].rstrip()}`" + ("..." if len(words) > 70 else "")


def place_cell(row: Row) -> str:
    """What is said where the marker describes nothing."""
    others = [PLACES[t] for t in MarkerTarget if t not in row.definition.targets and not row.definition.anywhere]
    codes = {}
    for template, where in others or [END_OF_LINE]:
        markers, found = read(template, row.definition.example)
        assert not markers or row.definition.go_only or row.definition.anywhere
        codes[where] = [code for code in found if code != "marker-go-only"]
        assert codes[where] == (["marker-target"] if others else ["marker-detached"]), (where, codes)
    return ", ".join(f"{where}: `{found[0]}`" for where, found in codes.items())


def bad_values(argument: Argument) -> Iterator[str]:
    """Values that an argument cannot have."""
    kind = argument.type.kind
    item = argument.type.item
    if kind in {ValueKind.INTEGER, ValueKind.NUMBER, ValueKind.BOOLEAN, ValueKind.JSON}:
        yield "abc"
    if kind is ValueKind.INTEGER:
        yield "1.5"
    if kind in {ValueKind.STRING, ValueKind.ANY, ValueKind.LIST}:
        yield '"open'
    if kind is ValueKind.MARKER:
        yield from ("abc", "+k8s:nosuch")
    if argument.choices or (item is not None and argument.choices):
        yield "nosuch"
    if argument.textual:
        yield "5"
    if argument.minimum is not None:
        yield str(argument.minimum - 1)
    if argument.maximum is not None:
        yield str(argument.maximum + 1)


def bad_markers(definition: MarkerDefinition) -> Iterator[str]:
    """The marker with one thing wrong, each."""
    name = f"+{definition.name}"
    value = definition.value
    if definition.grammar is Grammar.DECLARATIVE:
        head, _, tail = definition.example.partition("=")
        if value is not None:
            yield from (f"{head}={bad}" for bad in bad_values(value) if value.type.kind is not ValueKind.RAW)
            if not value.optional:
                yield head
        else:
            yield f"{head}=1"
        yield f"{name}(a" if definition.open_arguments else f"{name}(nosuch: 1)" + (f"={tail}" if tail else "")
        return
    if value is not None:
        if value.type.kind is not ValueKind.RAW:
            yield from (f"{name}={bad}" for bad in bad_values(value))
            if not value.optional:
                yield name
        yield f"{name}:nosuch=1"
        return
    if not definition.arguments:
        yield f"{name}=1"
        return
    yield f"{name}:nosuch=1"
    written = definition.example.removeprefix(f"{name}:")
    for argument in definition.arguments:
        rest = [part for part in split_arguments(written) if not part.startswith(f"{argument.name}=")]
        for bad in bad_values(argument):
            yield f"{name}:" + ",".join([*rest, f"{argument.name}={bad}"])
        if not argument.optional:
            yield f"{name}:" + ",".join(rest) if rest else name


def split_arguments(text: str) -> list[str]:
    """The arguments of an example; their values have no commas outside of quotes."""
    parts: list[str] = []
    quote = ""
    start = 0
    for at, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in '"`':
            quote = char
        elif char == ",":
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def argument_cell(row: Row) -> str:
    """The codes for each wrong form, with their number."""
    codes: Counter[str] = Counter()
    for text in bad_markers(row.definition):
        for target in row.targets:
            markers, found = read(PLACES[target][0], text)
            errors = [code for code in found if code != "marker-go-only"]
            assert not markers, text
            assert errors, text
        codes.update(errors[:1])
    assert codes
    return ", ".join(f"{count} `{code}`" if count > 1 else f"`{code}`" for code, count in sorted(codes.items()))


@cache
def reference() -> str:
    """The page of the reference."""
    return render_reference(builtin_registry())


def page_cell(row: Row) -> str:
    """Where the reference has it."""
    definition = row.definition
    name = definition.base_name if definition.items_depth else definition.name
    assert f"`+{definition.name}`" in reference()
    anchor = "go-only" if definition.go_only and definition.category == "Go only" else slug(name)
    return f"[page](markers.md#{anchor})"


def slug(name: str) -> str:
    """The anchor of the heading of a marker."""
    return "".join(c for c in name.lower() if c.isalnum() or c in "-_")


def cells(row: Row, folder: Path) -> tuple[str, ...]:
    """One line of the table, without the marker itself."""
    return (
        ", ".join(row.targets),
        f"`{read_cell(row)}`".replace("|", "\\|"),
        applied_cell(row, folder).replace("|", "\\|"),
        place_cell(row),
        argument_cell(row),
        page_cell(row),
    )


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, ...] | AssertionError]:
    """The cells of all rows, or why they cannot be made."""
    found: dict[str, tuple[str, ...] | AssertionError] = {}
    for row in ROWS:
        try:
            found[str(row)] = cells(row, tmp_path_factory.mktemp("row"))
        except AssertionError as error:
            found[str(row)] = error
    return found


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_no_cell_of_a_marker_is_empty(row: Row, table: dict[str, tuple[str, ...] | AssertionError]) -> None:
    """Read, applied to real output, refused in a wrong place and with a bad argument, documented."""
    found = table[str(row)]
    if isinstance(found, AssertionError):
        raise found
    assert all(found)


def test_the_page_is_current(table: dict[str, tuple[str, ...]], request: pytest.FixtureRequest) -> None:
    """`--update-golden` writes it."""
    text = INTRODUCTION + f"{len(builtin_registry())} markers, {len(ROWS)} rows.\n\n"
    text += "| marker | on | read | applied | wrong place | bad argument | |\n" + "|---" * 7 + "|\n"
    text += "".join(f"| `+{row.definition.name}` | {' | '.join(table[str(row)])} |\n" for row in ROWS)
    if request.config.getoption("--update-golden"):
        PAGE.write_text(text, encoding="utf-8")
    assert text == PAGE.read_text(encoding="utf-8")


def test_each_scene_belongs_to_a_marker() -> None:
    """No scene is left over, and none is found wrong by being never used."""
    names = {str(row).replace(f"-{row.target}", end) for row in ROWS for end in ("", f".{row.target}")}
    assert not SCENES.keys() - names


def test_no_severity_of_a_refusal_is_less_than_error() -> None:
    """The codes of the columns *wrong place* and *bad argument* stop the generation."""
    from pykb.diagnostics.codes import markers

    for code in (markers.MARKER_TARGET, markers.MARKER_DETACHED, markers.MARKER_ARGUMENT, markers.MARKER_SYNTAX):
        assert code.severity is Severity.ERROR
