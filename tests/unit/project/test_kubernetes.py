"""The oldest Kubernetes of a project, as people write it in pyproject.toml and on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykb.diagnostics import EnvironmentProblem
from pykb.envtest.cache import KUBERNETES
from pykb.project.settings import NEWEST, OLDEST, minor_of, of_option, oldest_supported, setting, shown


def read(root: Path, text: str) -> tuple[int, int] | None:
    """The version of a project with these settings."""
    (root / "pyproject.toml").write_text(text)
    return oldest_supported(root)


def test_the_newest_version_is_that_of_the_control_plane() -> None:
    """The tables of pykb know this one, so a project can require it."""
    assert minor_of(KUBERNETES) == NEWEST


@pytest.mark.parametrize("version", [OLDEST, (1, 33), NEWEST])
def test_a_version_is_read(version: tuple[int, int], tmp_path: Path) -> None:
    """In each form of TOML, and on the command line with and without `>=`."""
    line = setting(version)
    assert read(tmp_path, f"[tool.pykb]\n{line}\n") == version
    assert read(tmp_path, f"[tool.pykb.generate]\nyear = 2026\n\n[tool.pykb]\n{line} # why\n") == version
    assert read(tmp_path, f"tool.pykb.{line}\n") == version
    assert read(tmp_path, f"[tool]\npykb = {{ {line} }}\n") == version
    assert read(tmp_path, f"[tool.pykb]\n{line.replace('=1', '= 1')}\n") == version
    assert of_option(shown(version)) == of_option(f">={shown(version)}") == version


@pytest.mark.parametrize(
    "text",
    ["", "[tool.pykb]\n", "[tool.other]\nkubernetes = 1\n", "tool = 1 # kubernetes\n", "[tool.pykb # kubernetes\n"],
)
def test_a_project_need_not_name_one(text: str, tmp_path: Path) -> None:
    """Nor have settings that can be read: the generator reports these."""
    assert oldest_supported(tmp_path) is None
    assert read(tmp_path, text) is None


@pytest.mark.parametrize(
    ("value", "problem", "better"),
    [
        ("1.33", "found `1.33`, which is not a string", ">=1.33"),
        ("1.30", "found `1.3`, which is not a string", ">=1.30"),
        ("true", "found `True`, which is not a string", f">={shown(NEWEST)}"),
        ("{ min = '1.33' }", "found `{'min': '1.33'}`, which is not a string", ">=1.33"),
        ("['>=1.33', '1.34']", "found `['>=1.33', '1.34']`, which is not a string", ">=1.33"),
        ("'1.33'", "found `1.33`", ">=1.33"),
        ("'>=1.33.2'", "found `>=1.33.2`", ">=1.33"),
        ("'>=1.33,<1.36'", "found `>=1.33,<1.36`", ">=1.33"),
        ("'<1.30'", "found `<1.30`", ">=1.30"),
        ("'==1.33'", "found `==1.33`", ">=1.33"),
        ("'latest'", "found `latest`", f">={shown(NEWEST)}"),
        ("''", "found ``", f">={shown(NEWEST)}"),
        ("'>=1.99'", "found `>=1.99`", f">={shown(NEWEST)}"),
        ("'>=1.20'", "found `>=1.20`", f">={shown(OLDEST)}"),
        ("'>=2.0'", "found `>=2.0`", f">={shown(NEWEST)}"),
    ],
)
def test_another_value_is_refused_at_its_place(value: str, problem: str, better: str, tmp_path: Path) -> None:
    """The remedy is a line that can be copied."""
    with pytest.raises(EnvironmentProblem) as error:
        read(tmp_path, f"[project]\nname = 'x'\n\n[tool.pykb]\nkubernetes = {value}\n")
    found = error.value.diagnostic
    assert (found.code.slug, found.help) == ("kubernetes-version", (f'kubernetes = "{better}"',))
    assert found.message.endswith(problem)
    assert found.span is not None
    assert (found.span.path, found.span.line, found.span.column, found.span.end_column) == ("pyproject.toml", 5, 1, 11)
    is_version = value in {"'>=1.99'", "'>=1.20'", "'>=2.0'"}
    assert ("it knows 1.28 to" in found.message) is is_version


@pytest.mark.parametrize("text", ["1.33.2", "v", "latest", "1.99", "1.2", "<1.30", ">=", "1.33 "])
def test_another_option_is_refused(text: str) -> None:
    """With a blank around it, a version is one."""
    if text.strip() == "1.33":
        assert of_option(text) == (1, 33)
        return
    with pytest.raises(EnvironmentProblem) as error:
        of_option(text)
    assert error.value.diagnostic.help[0].startswith("pykb init --kubernetes 1.")
