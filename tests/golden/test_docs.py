"""The API references of testdata/docs are what the types of testdata/crd give, byte for byte."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pykb.api.builtin_table import TABLE
from pykb.diagnostics.render import Format, render
from pykb.gen.docs import generate_docs
from pykb.gen.options import GenerateOptions, SchemaOptions

ROOT = Path(__file__).parents[2] / "testdata"
CASES = ("pythonic", "versions")


def page_of(case: str) -> str:
    """The reference of a case."""
    folder = ROOT / "crd" / case
    paths = tuple(str(path.relative_to(folder)) for path in sorted(folder.rglob("*_types.py")))
    page, diagnostics = generate_docs(GenerateOptions(root=folder, paths=paths))
    assert not diagnostics.has_errors(), render(diagnostics, style=Format.CONCISE)
    return page


@pytest.mark.parametrize("case", CASES)
def test_references_are_as_committed(case: str, request: pytest.FixtureRequest) -> None:
    """An unexplained difference is a bug; `--update-golden` accepts an explained one."""
    expected = ROOT / "docs" / f"{case}.md"
    if request.config.getoption("--update-golden"):
        expected.write_text(page_of(case), encoding="utf-8")
    assert page_of(case) == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", CASES)
def test_a_second_run_gives_the_same_bytes(case: str) -> None:
    """Nothing of the first run stays behind."""
    assert page_of(case) == page_of(case)


def slugs(page: str) -> list[str]:
    """The anchors that GitHub makes of headings: in lower case, without punctuation, later ones of a name numbered."""
    found: list[str] = []
    fence = ""
    for line in page.splitlines():
        if mark := re.match(r"`{3,}", line):
            fence = "" if line == fence else fence or mark[0]
        elif not fence and (heading := re.match(r"#{1,6} (.*)", line)):
            text = re.sub(r"\\(.)", r"\1", heading[1]).lower()
            slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
            count = sum(re.sub(r"-\d+$", "", other) == slug for other in found)
            found.append(f"{slug}-{count}" if count else slug)
    return found


@pytest.mark.parametrize("folder", ["crd/pythonic", "crd/versions", "import/expected"])
def test_every_link_of_a_page_leads_somewhere_on_github(folder: str) -> None:
    """To an anchor of the page, which no heading's own anchor is mistaken for, or to a group of Kubernetes' reference."""
    root = ROOT / folder
    paths = tuple(str(path.relative_to(root)) for path in sorted(root.rglob("*.py")) if path.name != "__init__.py")
    options = GenerateOptions(root=root, paths=paths, schemas=SchemaOptions(allow_dangerous_types=True))
    page, _ = generate_docs(options)
    anchors = re.findall(r'^<a id="([^"]+)"></a>$', page, re.MULTILINE)
    links = re.findall(r"\]\(([^)]*)\)", page)
    assert len(anchors) == len(set(anchors)) > 1
    assert not set(anchors) & set(slugs(page))
    inner = {link[1:] for link in links if link.startswith("#")}
    assert inner
    assert inner <= set(anchors)
    groups = {f"{version}-{(group or 'core').replace('.', '-')}" for group, version in TABLE}
    for link in links:
        if "/kubernetes-api/" in link:
            kind, _, group = link.partition("#")[2].partition("-")
            assert kind.isalnum()
            assert group in groups | {"v1-meta", "resource-core"}, link
