"""Modules are imported from the project only, and leave no trace."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pykb.diagnostics import Diagnostics
from pykb.gen._load import find_files
from pykb.gen.options import GenerateOptions
from pykb.gen.run import GenerateResult, generate

Generate = Callable[..., GenerateResult]
KIND = "class Spec(Struct):\n    a: str\nclass Thing(CustomResource, group_version=GV):\n    spec: Spec\n"


def test_a_run_leaves_no_trace(generate_types: Generate, tmp_path: Path) -> None:
    """No module, no path entry, no bytecode."""
    modules, path, bytecode = set(sys.modules), list(sys.path), sys.dont_write_bytecode
    assert generate_types(KIND).artifacts["crd"]
    assert not [name for name in set(sys.modules) - modules if name.partition(".")[0] == "shop"]
    assert (sys.path, sys.dont_write_bytecode) == (path, bytecode)
    assert not list(tmp_path.rglob("__pycache__"))


def test_what_a_module_prints_does_not_reach_the_data(
    generate_types: Generate, capsys: pytest.CaptureFixture[str]
) -> None:
    """Standard output is for manifests."""
    generate_types("print('hello')\n" + KIND)
    out, err = capsys.readouterr()
    assert (out, err) == ("", "hello\n")


@pytest.mark.parametrize(
    ("source", "message", "line"),
    [
        ("import nothing_of_this_name\n", "ModuleNotFoundError: No module named 'nothing_of_this_name'", 0),
        ("x = 1\n1 / 0\n", "ZeroDivisionError: division by zero", 1),
        ("raise SystemExit('gone')\n", "SystemExit: gone", 0),
        ("raise GeneratorExit\n", "GeneratorExit: (no message)", 0),
    ],
)
def test_a_module_that_cannot_be_imported_is_a_diagnostic(
    source: str, message: str, line: int, generate_types: Generate, first_line: int
) -> None:
    """The place is the line of the user's code that raised."""
    result = generate_types(source + KIND)
    (diagnostic,) = result.diagnostics
    assert diagnostic.code.slug == "import-failed"
    assert message in diagnostic.message
    assert diagnostic.span is not None
    assert (diagnostic.span.path, diagnostic.span.line) == ("shop/api/v1/things.py", first_line + line)


@pytest.mark.parametrize(
    ("source", "remedy"),
    [
        ("import nothing_of_this_name\n", "install the distribution that has `nothing_of_this_name`"),
        ("import shop.api.v1.other\n", "create the module `shop.api.v1.other`, or correct the import"),
        ("import shop.api.v1.things as me\nme.Thing\n", "move what both modules need into a third one"),
    ],
)
def test_a_failing_import_comes_with_its_remedy(source: str, remedy: str, generate_types: Generate) -> None:
    """What to do depends on whose module is missing, and on whether it is only not there yet."""
    (diagnostic,) = generate_types(source + KIND).diagnostics
    assert diagnostic.help[0].startswith(remedy)


def test_only_api_packages_are_imported(generate_types: Generate, tmp_path: Path) -> None:
    """A controller that would fail to import is read for markers, not run."""
    controllers = tmp_path / "shop" / "controllers"
    controllers.mkdir(parents=True)
    (controllers / "c.py").write_text(
        "# +kubebuilder:rbac:groups=a,resources=b,verbs=get\nraise RuntimeError\nCustomResource\n"
    )
    generate_types(KIND)
    result = generate(GenerateOptions(root=tmp_path))
    assert not result.diagnostics.has_errors()
    assert [len(result.artifacts[g]) for g in ("crd", "rbac", "webhook")] == [1, 1, 0]


def test_paths_cannot_leave_the_project(tmp_path: Path) -> None:
    """Neither by dots nor by an absolute path."""
    found = Diagnostics()
    assert find_files(tmp_path, ["..", "/etc", "missing"], found) == []
    assert [d.code.slug for d in found] == ["generate-path", "generate-path-outside", "generate-path-outside"]


def test_an_empty_folder_is_told_how_a_project_starts(tmp_path: Path) -> None:
    """Whoever generates before `pykb init` has no use for another path."""
    found = Diagnostics()
    assert find_files(tmp_path, ["."], found) == []
    assert "`pykb init --domain example.com`" in next(iter(found)).help[0]


def test_environments_tests_and_hidden_folders_are_not_read(tmp_path: Path) -> None:
    """Only the project's own code counts."""
    for name in (
        "a/x.py",
        ".venv/y.py",
        "env2/pyvenv.cfg",
        "env2/z.py",
        "tests/t.py",
        "a/tests/u.py",
        ".git/h.py",
        "b/PROJECT",
        "b/c/p.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = find_files(tmp_path, ["./..."], Diagnostics())
    assert [p.relative_to(tmp_path).as_posix() for p in found] == ["a/tests/u.py", "a/x.py"]


def test_two_projects_with_modules_of_one_name_do_not_mix(generate_types: Generate, tmp_path: Path) -> None:
    """The second run imports its own module."""
    first = generate_types(KIND).artifacts["crd"][0].render()
    second = generate_types(KIND.replace("a: str", "b: int")).artifacts["crd"][0].render()
    assert "b:" in second
    assert first != second
    del tmp_path


LONE = """\
from dataclasses import dataclass
from pykb.api import CustomResource, GroupVersion, Struct
class Spec(Struct):
    a: str
class NAME(CustomResource, group_version=GroupVersion("example.com", "v1")):
    spec: Spec
"""


def test_a_file_named_like_a_module_of_python_does_not_take_its_place(tmp_path: Path) -> None:
    """`types.py`, `enum.py` in a folder without `__init__.py` are the project's there, and Python's for all others."""
    (tmp_path / "api").mkdir()
    for name in ("types", "enum", "pykb", "things"):
        (tmp_path / "api" / f"{name}.py").write_text(LONE.replace("NAME", name.title()), encoding="utf-8")
    before = {name: sys.modules.get(name) for name in ("types", "enum", "pykb")}
    result = generate(GenerateOptions(root=tmp_path, generators=("crd",)))
    assert not list(result.diagnostics)
    assert [a.path for a in result.artifacts["crd"]] == [
        "example.com_enums.yaml",
        "example.com_pykbs.yaml",
        "example.com_things.yaml",
        "example.com_types.yaml",
    ]
    assert {name: sys.modules.get(name) for name in before} == before


def test_a_package_named_like_a_module_of_python_is_refused(tmp_path: Path) -> None:
    """It could only be imported in that module's place."""
    package = tmp_path / "platform" / "api"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").touch()
    (package / "things.py").write_text(LONE.replace("NAME", "Thing"), encoding="utf-8")
    (diagnostic,) = generate(GenerateOptions(root=tmp_path, generators=("crd",))).diagnostics
    assert diagnostic.code.slug == "import-failed"
    assert "`platform` is the name of a module of Python" in diagnostic.message
