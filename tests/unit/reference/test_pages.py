"""The pages of docs/reference that are made from the code are current, and those about Python name all that is public."""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module

import pytest

import pykb.client
import pykb.runtime
from hack.write_reference import FOLDER, PAGES

ROOT = FOLDER.parents[1]

MODULES = {
    "pykb.api": ("api.md",),
    "pykb.envtest": ("envtest.md",),
    "pykb.runtime": ("runtime.md", "controllers.md", "client.md", "objects.md", "webhooks.md"),
    "pykb.runtime.fake": ("fake.md",),
    "pykb.testing": ("testing.md",),
}
CLIENT = "without-a-manager.md"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_current(name: str) -> None:
    """`python -m hack.write_reference` writes it."""
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name]()


def test_each_page_about_python_is_checked() -> None:
    """The test below knows them by their names."""
    pages = {page for pages in MODULES.values() for page in pages}
    assert {path.name for path in (FOLDER / "api").iterdir()} == {*pages, CLIENT}


def test_the_page_of_the_client_lists_its_names() -> None:
    """Each is also one of the runtime, on whose pages it is described."""
    listed = re.findall(
        r"^- \[`(\w+)`\]\((\w+\.md)#pykb\.runtime\.(\w+)\)$", (FOLDER / "api" / CLIENT).read_text(), re.MULTILINE
    )
    assert sorted(name for name, _, _ in listed) == pykb.client.__all__
    for name, page, anchor in listed:
        assert anchor == name
        assert f"::: pykb.runtime.{name}\n" in (FOLDER / "api" / page).read_text(encoding="utf-8")
        assert getattr(pykb.client, name) is getattr(pykb.runtime, name)


@pytest.mark.parametrize("module", MODULES)
def test_the_pages_of_a_module_have_each_public_name_once(module: str) -> None:
    """Of Pydantic's own, a page only speaks."""
    text = "".join((FOLDER / "api" / page).read_text(encoding="utf-8") for page in MODULES[module])
    named = Counter(re.findall(rf"^::: {re.escape(module)}\.(\w+)$", text, re.MULTILINE))
    assert set(named) == set(import_module(module).__all__) - {"Field"}
    assert set(named.values()) == {1}


def test_troubleshooting_quotes_what_a_manager_logs() -> None:
    """The first column of the table of its messages."""
    page = (ROOT / "docs/how-to/troubleshoot.md").read_text(encoding="utf-8")
    quoted = re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "pykb").rglob("*.py"))
    assert quoted
    assert [message for message in quoted if f'"{message}' not in code] == []
