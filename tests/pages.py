"""The Python blocks of the documentation's pages, and what checks each of them. A new page is a program."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from tests.sources import ROOT, files_of

PARTS = {
    "docs/how-to/add-a-version.md": ["version"],
    "docs/how-to/add-a-webhook.md": ["webhook", "webhook_with_client"],
    "docs/how-to/move-from-kopf.md": ["handlers", "fleet/api/v1/__init__", "reconciler"],
    "docs/how-to/why-did-it-reconcile.md": ["listener", "calls", "traces"],
}
"""Pages whose blocks are parts of a project. Each becomes a module, beside the packages of samples."""

EXCERPTS = (
    "README.md",
    "docs/explanation/kopf.md",
    "docs/explanation/runtime.md",
    "docs/explanation/webhooks.md",
    "docs/how-to/explore.md",
    "docs/how-to/import-crd.md",
    "docs/reference/explore.md",
    "docs/reference/markers.md",
)
"""Pages whose blocks suppose the rest of an operator. Each is a function of its own (unit/reference)."""

FOLLOWED = {
    "docs/tutorials/cronjob.md": "golden_projects/test_cronjob_tutorial.py",
    "docs/tutorials/faults.md": "unit/plugins/test_tutorial.py",
    "docs/tutorials/kopf-faults.md": "explorer/test_kopf_tutorial.py",
    "docs/tutorials/getting-started.md": "unit/plugins/test_tutorial.py",
}
"""Pages whose blocks change a project, and the tests that follow them."""

USERS = re.compile(r"^ *(from|import) (sealvm|myoperator)\b", re.MULTILINE)
"""In a block that needs the reader's own project."""


def blocks(page: str, language: str = "python") -> list[str]:
    """The blocks of a page in one language, also those in lists."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(rf"^( *)```{language}\b[^\n]*\n(.*?)^\1```", text, re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for _, block in found]


PAGES = tuple(
    page
    for page in sorted(files_of(ROOT))
    if page.endswith(".md") and not page.startswith(("templates/", "testdata/", "tests/")) and blocks(page)
)
PROGRAMS = tuple(page for page in PAGES if page not in {*PARTS, *EXCERPTS, *FOLLOWED})
"""Pages whose blocks, one after the other, are a program. Type checkers accept it, and it runs."""


def program(page: str) -> dict[str, Any]:
    """What the Python blocks of a page define, run one after the other."""
    names: dict[str, Any] = {"__name__": page}
    for block in blocks(page):
        if not USERS.search(block):
            exec(compile(block, page, "exec", dont_inherit=True), names)
    return names
