"""The page about the codes has the texts of `pykb explain`, and each finding says what to do."""

from __future__ import annotations

import re
from pathlib import Path

from pykb.diagnostics.codes import all_codes
from pykb.diagnostics.codes.explore import ADVICE, KOPF_ADVICE
from pykb.explore import CODES

PAGE = Path(__file__).parents[2] / "docs/reference/explore.md"


def test_the_page_has_the_explanation_of_each_code():
    """Word for word, and a remedy in code."""
    sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    known = {section.partition("\n")[0].strip("`"): section for section in sections}
    assert {name for name in known if name.startswith("explore-")} == set(CODES)
    for slug in CODES:
        assert all_codes()[slug].explanation in " ".join(known[slug].split())
        assert "```python" in known[slug]


def test_each_code_has_its_advice():
    """One sentence that fits a line."""
    for every in (ADVICE, KOPF_ADVICE):
        assert set(every) == set(CODES)
        assert all(len(advice) < 115 and ": " in advice for advice in every.values())
