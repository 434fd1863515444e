"""Command line and settings together make the options of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykb.diagnostics import Diagnostics
from pykb.gen.request import Given, make_request


def test_without_arguments_everything_is_generated_to_kubebuilders_places(tmp_path: Path) -> None:
    """The defaults."""
    request = make_request(tmp_path, Given(), Diagnostics())
    assert request.options.generators == ("crd", "rbac", "webhook")
    assert request.rules.folders["crd"] == "config/crd/bases"
    assert request.options.role_name == "manager-role"
    assert request.is_whole_project


def test_a_command_line_of_controller_gen_is_understood(tmp_path: Path) -> None:
    """What kubebuilder's Makefile says."""
    words = ["rbac:roleName=mine", "crd:maxDescLen=0", "webhook", "paths=./...", "output:crd:artifacts:config=crds"]
    request = make_request(tmp_path, Given(words=tuple(words)), Diagnostics())
    assert request.options.role_name == "mine"
    assert request.options.max_description == 0
    assert dict(request.rules.folders) == {"crd": "crds", "rbac": "config/rbac", "webhook": "config/webhook"}
    assert request.is_whole_project


def test_the_command_line_wins_over_the_settings(tmp_path: Path) -> None:
    """`[tool.pykb.generate]` holds defaults."""
    (tmp_path / "pyproject.toml").write_text('[tool.pykb.generate]\nrole-name = "theirs"\nmax-desc-len = 5\n')
    request = make_request(tmp_path, Given(role_name="mine"), Diagnostics())
    assert (request.options.role_name, request.options.max_description) == ("mine", 5)


@pytest.mark.parametrize(
    ("setting", "message", "column"),
    [
        ('role-nam = "x"', "has no key `role-nam`", 1),
        ("role-name = 3", "takes a str, found `3`", 1),
        ("max-desc-len = true", "takes a int, found `True`", 1),
    ],
)
def test_mistakes_in_the_settings_have_a_place(setting: str, message: str, column: int, tmp_path: Path) -> None:
    """The line of the key in pyproject.toml."""
    (tmp_path / "pyproject.toml").write_text(f"[project]\nname = 'x'\n[tool.pykb.generate]\n{setting}\n")
    found = Diagnostics()
    make_request(tmp_path, Given(), found)
    (diagnostic,) = found
    assert message in diagnostic.message
    assert diagnostic.span is not None
    assert (diagnostic.span.path, diagnostic.span.line, diagnostic.span.column) == ("pyproject.toml", 4, column)


def test_compat_names_a_version_of_controller_gen(tmp_path: Path) -> None:
    """Nothing else can be claimed."""
    found = Diagnostics()
    assert make_request(tmp_path, Given(compat="controller-gen=v0.23.0"), found).options.compatible_with == "v0.23.0"
    make_request(tmp_path, Given(compat="v0.23.0"), found)
    assert [d.code.slug for d in found] == ["generate-option"]
