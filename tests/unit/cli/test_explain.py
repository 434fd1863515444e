"""`pykb explain` has the whole reference without a network: messages and markers, pages, names of the Python API."""

from __future__ import annotations

import json
import re
from importlib import import_module
from typing import Any

import pytest

from pykb.cli.explain import describe, explain, find, names_of
from pykb.diagnostics.codes import all_codes
from pykb.scaffold.locate import reference

PAGES = {path.stem: path for path in reference().glob("*.md")}


def test_each_page_of_the_reference_is_shown_and_named_in_the_help(pykb: Any) -> None:
    """Piped, it is the Markdown of the page. No message has the name of a page."""
    assert pykb("explain", "metrics").out == PAGES["metrics"].read_text(encoding="utf-8")
    assert json.loads(pykb("explain", "flags", "--format", "json").out)["page"] == "flags"
    (named,) = re.findall(r"pages of the reference: ([^.]*)\.", explain.__doc__ or "")
    assert set(re.split(r",\s+", named)) | {"markers"} == set(PAGES)
    assert not PAGES.keys() & all_codes().keys()


@pytest.mark.parametrize("module", ["pykb.api", "pykb.envtest", "pykb.runtime", "pykb.runtime.fake", "pykb.testing"])
def test_each_public_name_is_found(module: str) -> None:
    """With its signature and its docstring."""
    for name in import_module(module).__all__:
        found, path, missing = find(f"{module}.{name}")
        assert (path, missing) == (f"{module}.{name}", "")
        assert describe(path, found).startswith(path)


def test_a_name_is_described_with_its_members(pykb: Any) -> None:
    """Each member can be named in turn, also an inherited one."""
    text = pykb("explain", "pykb.runtime.Client").out
    assert "Reads and writes objects of an API server." in text
    assert ":class:" not in text
    assert "\n  get\n      Read one object." in text
    assert (
        "    key: Key,\n    *,\n    namespace: str | None = None,\n" in pykb("explain", "pykb.runtime.Client.get").out
    )
    assert json.loads(pykb("explain", "pykb.runtime.Client", "--format=json").out)["text"] == text


@pytest.mark.parametrize(
    ("subject", "remedy"),
    [
        ("pykb.runtime.Managr", "`pykb explain pykb.runtime.Manager`"),
        ("pykb.runtime.Client.gett", "`pykb explain pykb.runtime.Client.get`"),
        ("pykb.runtime._bridge", "`pykb explain pykb.runtime`"),
        ("pykb.api.conditions.nothing.more", "`pykb explain pykb.api.conditions`"),
        ("pykb.gen.run", "`pykb explain pykb`"),
        ("metrcs", "`pykb explain metrics`"),
    ],
)
def test_what_is_not_there_is_an_error_that_names_what_is_near(pykb: Any, subject: str, remedy: str) -> None:
    """Only what is public is there."""
    ended = pykb("explain", subject)
    assert ended.code == 2
    assert remedy in ended.err


@pytest.mark.parametrize(
    ("topic", "start"),
    [
        ("metrics", "# Metrics"),
        ("anchor-missing", "error[anchor-missing]: "),
        ("+kubebuilder:validation:Enum", "+kubebuilder:validation:Enum"),
        ("pykb.runtime.Manager", "pykb.runtime.Manager("),
        ("generate", "Usage: pykb generate "),
        ("create api", "Usage: pykb create api "),
    ],
)
def test_help_of_a_topic_is_its_explanation(pykb: Any, topic: str, start: str) -> None:
    """A command comes first, and a misspelt one is called an unknown command."""
    assert pykb("help", *topic.split()).out.startswith(start)
    assert "error[unknown-command]" in pykb("help", "crate").err


def test_names_are_offered_in_the_order_of_their_declaration() -> None:
    """A class has those of its bases after its own, without Python's."""
    names = names_of(find("pykb.runtime.fake.FakeApiServer")[0])
    assert "use_webhooks" in names
    assert not any(name.startswith("_") for name in names)
