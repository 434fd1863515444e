"""`pykb generate docs`: what a page says, that nothing in it is markup of the author's, and where it goes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pykb.api.builtin_table import RELEASE
from pykb.diagnostics import Diagnostics
from pykb.gen.docs import (
    Code,
    Listing,
    Paragraph,
    _without_deprecation,
    blocks_of,
    code_span,
    generate_docs,
    render_page,
    spans_of,
    target_file,
)
from pykb.gen.ir import Crd, CrdVersion, Keyword, Names, PrinterColumn, PropertyNode, Rule, SchemaNode
from pykb.gen.options import GenerateOptions

CRD = Path(__file__).parents[3] / "testdata" / "crd"

TYPES = '''
from typing import Annotated, Literal

from pykb.api import CEL, CustomResource, Field, GroupVersion, ListMap, Struct
from pykb.api.core.v1 import ResourceRequirements


class Port(Struct):
    """A port <b>bold</b>."""

    name: Annotated[str, Field(min_length=1, max_length=15)]
    number: Annotated[int, Field(ge=1, le=65535)] = 80


class MachineSpec(Struct):
    """What it is to be."""

    mode: Literal["fast", "safe"]
    ports: Annotated[list[Port], ListMap("name"), Field(min_length=1, max_length=4)]
    resources: ResourceRequirements | None = None
    old: Annotated[str | None, Field(deprecated="use `mode`")] = None
    words: Annotated[list[Annotated[str, Field(max_length=9)]], CEL("self.size() < 9", message="too many")] | None = None


class Machine(CustomResource, group_version=GroupVersion("example.com", "v1")):
    """A machine."""

    spec: MachineSpec
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one kind."""
    (tmp_path / "api").mkdir()
    (tmp_path / "api/__init__.py").write_text("")
    (tmp_path / "api/machine_types.py").write_text(TYPES)
    return tmp_path


def docs_of(root: Path) -> str:
    """A project's reference, made without findings."""
    page, found = generate_docs(GenerateOptions(root=root))
    assert not list(found)
    return page


def test_a_field_says_all_that_holds_for_it(project: Path) -> None:
    """Type, need, default, constraints, rules and deprecation; types of Kubernetes lead to their documentation."""
    text = docs_of(project)
    rows = {row.split("`")[1]: row for row in text.splitlines() if row.startswith("| `")}
    assert "**required**" in rows["mode"]
    assert 'one of `"fast"`, `"safe"`' in rows["mode"]
    assert "list of [Port](#example-com-v1-port)" in rows["ports"]
    assert "at least 1 element; at most 4 elements; one element for each name" in rows["ports"]
    assert "Default: `80`" in rows["number"]
    assert "at least 1; at most 65535" in rows["number"]
    assert "**required**" not in rows["number"]
    assert f"kubernetes-api/{RELEASE}/#resourcerequirements-v1-core" in rows["resources"]
    assert "**Deprecated.** use `mode`" in rows["old"]
    assert "each element: at most 9 characters" in rows["words"]
    assert "`self.size() < 9`: too many" in rows["words"]


@pytest.mark.parametrize(
    ("text", "rest", "advice"),
    [
        ("Plain.", "Plain.", None),
        ("Old.\n\nDeprecated: use b\ninstead", "Old.", "use b\ninstead"),
        ("Deprecated: use b\n\nMore.", "More.", "use b"),
        ("Old.\n\nDeprecated.", "Old.", ""),
        ("Not Deprecated: here", "Not Deprecated: here", None),
        ("Deprecated fields are dropped.", "Deprecated fields are dropped.", None),
    ],
)
def test_a_paragraph_that_says_deprecated_is_told_apart(text: str, rest: str, advice: str | None) -> None:
    """Go's convention for descriptions."""
    assert _without_deprecation(text) == (rest, advice)


ODD = "<script>alert(1)</script> **b** | [x](javascript:1) & \"q\" 'a' $title ${x} \x1b[31m \u202e\n\n# head\n- item"


def crd_of(*properties: PropertyNode, kind: str = "Machine", description: str = "", odd: str = "") -> Crd:
    """A CRD with one version, with odd texts wherever there can be one."""
    schema = SchemaNode(
        {"description": Keyword(description)},
        rules=(Rule(f"self != '{odd}'", odd),) if odd else (),
        properties={each.name: each for each in properties},
    )
    columns = (PrinterColumn(odd, "string", ".spec"),) if odd else ()
    version = CrdVersion("v1", schema, None, columns=columns, deprecated=bool(odd), deprecation_warning=odd or None)
    names = Names(kind, "machines", "machine", short_names=(odd,) if odd else ())
    return Crd("example.com", names, "Namespaced", (version,), None)


def test_texts_of_authors_are_no_markup_in_markdown() -> None:
    """Outside of code, nothing of HTML, no emphasis or links, and no column more in a table."""
    inner = SchemaNode(
        {"type": Keyword("object")}, properties={ODD: PropertyNode(ODD, "a", SchemaNode(), required=True)}
    )
    keywords = {
        "type": Keyword("string"),
        "format": Keyword(ODD),
        "description": Keyword(f"{ODD}\n\nDeprecated: {ODD}"),
        "default": Keyword(ODD),
        "pattern": Keyword(ODD),
        "enum": Keyword([ODD]),
        "example": Keyword(ODD),
        "externalDocs": Keyword({"url": ODD}),
    }
    field = PropertyNode(ODD, "b", SchemaNode(keywords, rules=(Rule(f"self != '{ODD}'", ODD),)), required=True)
    crd = crd_of(field, PropertyNode("inner", "inner", inner, required=False), kind=ODD, description=ODD, odd=ODD)
    text = render_page([crd], {("example.com/v1", ODD): ODD}, title=ODD)
    prose = re.sub(r"^(`{3,})yaml\n.*?\n\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    prose = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "", prose)
    assert "<script" not in prose
    assert not {"\x1b", "\u202e"} & set(text)
    assert not re.search(r"(?<!\\)\]\(javascript", prose)
    assert "\\*\\*b" in prose
    for row in prose.splitlines():
        if row.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", row)) == 4


def test_a_sample_of_the_project_is_the_example(project: Path) -> None:
    """As it stands in config/samples, without the comments above it."""
    (project / "config/samples").mkdir(parents=True)
    sample = "apiVersion: example.com/v1\nkind: Machine\nmetadata:\n  name: mine # inner\nspec:\n  mode: safe\n"
    (project / "config/samples/machine.yaml").write_text(f"# Licence\n\n---\n# about\n{sample}")
    (project / "config/samples/broken.yaml").write_text("{")
    assert f"Sample:\n\n```yaml\n{sample}```" in docs_of(project)


def test_without_a_sample_the_example_has_the_required_fields(project: Path) -> None:
    """With values that their constraints allow."""
    text = docs_of(project)
    example = yaml.safe_load(re.search(r"```yaml\n(.*?)```", text, re.DOTALL)[1])  # type: ignore[index]
    assert example["spec"] == {"mode": "fast", "ports": [{"name": "example"}]}


def test_a_project_without_kinds_is_told_so(tmp_path: Path) -> None:
    """An empty page would hide a mistake."""
    (tmp_path / "module.py").write_text("")
    page, found = generate_docs(GenerateOptions(root=tmp_path))
    assert not page
    assert [d.code.slug for d in found] == ["nothing-to-generate"]


@pytest.mark.parametrize(
    ("output", "target", "slug"),
    [
        (None, "docs/api.md", ""),
        ("site", "site/api.md", ""),
        ("site/page.md", "site/page.md", ""),
        ("v1.2", "v1.2/api.md", ""),
        ("site/page.html", "", "generate-option"),
        ("../page.md", "", "generate-path-outside"),
    ],
)
def test_the_place_of_the_page(output: str | None, target: str, slug: str, tmp_path: Path) -> None:
    """In a folder, or a file of Markdown; the project is not left."""
    (tmp_path / "v1.2").mkdir()
    found = Diagnostics()
    assert target_file(tmp_path, tmp_path / output if output else None, found) == target
    assert [d.code.slug for d in found] == ([slug] if slug else [])


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("One\nline.\n\nTwo.", [Paragraph("One\nline."), Paragraph("Two.")]),
        ("Modes:\n- a\n- b\n  more\n\nEnd.", [Paragraph("Modes:"), Listing(("a", "b more")), Paragraph("End.")]),
        ("* a\n\n* b\n\n  below", [Listing(("a", "b below"))]),
        ("3. a\n4. b", [Listing(("a", "b"), 3)]),
        ("It happened in\n2024. Then", [Paragraph("It happened in\n2024. Then")]),
        ("- a\n1. b", [Listing(("a 1. b",))]),
        ("See:\n\n    a: 1\n      b\n\n    c\n\nEnd", [Paragraph("See:"), Code("a: 1\n  b\n\nc"), Paragraph("End")]),
        ("```yaml\na: 1\n\n- b\n```\nEnd", [Code("a: 1\n\n- b"), Paragraph("End")]),
        ("```\nnever closed", [Paragraph("```\nnever closed")]),
        ("-dash\n--- x", [Paragraph("-dash\n--- x")]),
        ("", []),
    ],
)
def test_the_markup_of_descriptions(text: str, blocks: list[object]) -> None:
    """Paragraphs, lists and code, as Markdown has them; what is none of these is text."""
    assert list(blocks_of(text)) == blocks


@given(st.text("-*1. `~\n abc", max_size=60))
def test_no_word_of_a_description_is_lost(text: str) -> None:
    """Whatever is made of it."""
    words = sum(len(re.findall("[abc]", str(getattr(block, "text", None) or block))) for block in blocks_of(text))
    fences = sum(len(re.findall("[abc]", line)) for line in text.split("\n") if re.match(" {0,3}(```|~~~)", line))
    assert words + fences >= len(re.findall("[abc]", text))


@pytest.mark.parametrize("value", ["`", "a`b", "``", "|", " ", "a``b`"])
def test_code_with_back_ticks_stays_whole(value: str) -> None:
    """In as many back-ticks as it needs, and read back as it was."""
    assert [piece for piece, is_code in spans_of(f"one of {code_span(value)}, {code_span('x')}") if is_code] == [
        value,
        "x",
    ]


def test_lists_and_code_of_descriptions_are_shown_as_such() -> None:
    """Also in a table; long numbering keeps its first number."""
    text = "Modes:\n\n- one `a`\n- two\n\n```\na | b\n```\n\n3. three"
    node = SchemaNode({"type": Keyword("string"), "description": Keyword(text)})
    crd = crd_of(PropertyNode("mode", "mode", node, required=False), description=text)
    markdown = render_page([crd], {("example.com/v1", "Machine"): ""}, title="API")
    assert "\n- one `a`\n- two\n\n```\na | b\n```\n\n3. three\n" in markdown
    row = next(line for line in markdown.splitlines() if line.startswith("| `mode`"))
    assert "Modes:<ul><li>one `a`</li><li>two</li></ul><code>a &#124; b</code>" in row
    assert row.endswith('<ol start="3"><li>three</li></ol> |')
