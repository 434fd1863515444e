"""The tutorial about operators of kopf: its files are explored, and its findings are those of the page."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from textwrap import indent

import pytest

from pykb.diagnostics.render import render
from pykb.explore import Explorer, Finding, Report, subject_of_files
from tests.sources import ROOT

INDENT = " " * 4
PAGE = (ROOT / "docs/tutorials/kopf-faults.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The blocks of the page in a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def explored(tmp_path: Path, monkeypatch):
    """Explore the files of the page with these handlers."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    crd, sample = blocks("yaml")
    (tmp_path / "crd.yaml").write_text(crd, encoding="utf-8")
    (tmp_path / "cr.yaml").write_text(sample, encoding="utf-8")

    def run(handlers: str) -> Report:
        file = tmp_path / "handlers.py"
        file.write_text(handlers, encoding="utf-8")
        crds, samples = [tmp_path / "crd.yaml"], [tmp_path / "cr.yaml"]
        return Explorer(subject_of_files([file], crds=crds, samples=samples, root=tmp_path)).run()

    return run


def told(finding: Finding) -> str:
    """A finding as the page shows it: without places, advice and what else shows."""
    lines = render([replace(finding, others=()).to_diagnostic()]).splitlines()
    shown = "\n".join(line for line in lines if line.startswith(("error", "note")))
    return re.sub(r" \(\w+\.py:\d+\)", "", shown) + "\n"


@pytest.mark.timeout(400)
@pytest.mark.slow
def test_each_step_of_the_tutorial_finds_what_the_page_says(explored):
    """Four faults, then one, then none."""
    first, second, change = blocks("python")
    *shown, nothing = blocks("text")
    assert nothing == "no findings\n"
    assert [told(finding) for finding in explored(first).findings] == shown[:4]
    assert [told(finding) for finding in explored(second).findings] == shown[4:]
    start = second.index("    api.patch_namespaced_config_map(")
    end = second.index("def read(")
    report = explored(f"{second[:start]}{indent(change, INDENT)}\n\n{second[end:]}")
    report.check()
    assert report.histories.total() > 50
