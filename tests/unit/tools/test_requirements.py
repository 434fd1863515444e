"""What pyproject.toml requires, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykb.diagnostics import Diagnostics
from pykb.tools.pip import read_requirements

GROUPS = """
[project]
dependencies = ["pykubebuilder==0.1.0", "httpx>=0.28"]

[dependency-groups]
Type_Check = ["mypy"]
dev = [{ include-group = "type-check" }, "pytest ; python_version > '3'", "mypy"]
docs = ["mkdocs"]
"""


def read(root: Path, text: str, group: str | None = "dev") -> tuple[tuple[str, ...], list[str]]:
    """The requirements, and the findings."""
    (root / "pyproject.toml").write_text(text, encoding="utf-8")
    found = Diagnostics()
    return read_requirements(root, group, found), [finding.message for finding in found]


def test_a_group_comes_after_the_dependencies_and_brings_what_it_includes(tmp_path: Path) -> None:
    """Names of groups are compared as those of packages are; a requirement that is named twice comes once."""
    own = ("pykubebuilder==0.1.0", "httpx>=0.28")
    assert read(tmp_path, GROUPS) == ((*own, "mypy", "pytest ; python_version > '3'"), [])
    assert read(tmp_path, GROUPS, "Docs") == ((*own, "mkdocs"), [])
    assert read(tmp_path, GROUPS, None) == ((*own, "mypy", "pytest ; python_version > '3'", "mkdocs"), [])
    assert read(tmp_path, "[dependency-groups]\ndev = []") == ((), [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[project\n", "expected TOML: Expected ']' at the end of a table declaration"),
        ("dependency-groups.tests = []", "`pyproject.toml`: there is no dependency group `dev`"),
        ("dependency-groups = 3", "`pyproject.toml`: there is no dependency group `dev`"),
        (
            'dependency-groups.dev = [{ include-group = "dev" }]',
            "`pyproject.toml`: the dependency group `dev` includes itself",
        ),
        (
            'dependency-groups.dev = ["a", 3]',
            "`pyproject.toml`: `dependency-groups.dev` takes requirements, which are strings, found `3`",
        ),
        (
            "[project]\ndependencies = 'a'\n[dependency-groups]\ndev = []",
            "`pyproject.toml`: `project.dependencies` takes a list of requirements",
        ),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, message: str) -> None:
    """Each mistake is a finding."""
    assert read(tmp_path, text)[1] == [message]


def test_a_project_without_the_file_says_so(tmp_path: Path) -> None:
    """It is no requirement at all, but a mistake."""
    found = Diagnostics()
    assert read_requirements(tmp_path, "dev", found) == ()
    assert [finding.message for finding in found] == ["cannot read `pyproject.toml`: No such file or directory"]
