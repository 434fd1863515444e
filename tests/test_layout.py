"""The shape of the code base, as far as ARCHITECTURE.md promises it."""

import ast
import graphlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sources import files_of

ROOT = Path(__file__).parents[1]
HEAVY = {"kopf", "aiohttp", "pydantic", "cookiecutter", "jinja2", "typer", "rich", "yaml", "ruamel"}


def modules_after(code: str) -> set[str]:
    """Top-level modules that a fresh interpreter holds after running some code."""
    code = f"import sys\n{code}\nprint(' '.join({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def named_by_ci(*arrays: str) -> list[str]:
    """The places that arrays of `.ci/run` name."""
    text = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assigned = re.findall(r"^\w+=\((?:.+\)$|\n(?:.+\n)+?\)$)", text, re.MULTILINE)
    shown = "\n".join((*assigned, *(f"printf '%s\\n' \"${{{array}[@]}}\"" for array in arrays)))
    done = subprocess.run(["bash", "-euc", shown], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.split()


def files_in(places: list[str]) -> set[Path]:
    """The modules of tests at these places."""
    paths = [ROOT / place for place in places]
    return {file for path in paths for file in ([path] if path.is_file() else path.rglob("test_*.py"))}


def test_what_runs_while_the_control_plane_is_built_needs_none():
    """`.ci/run` names these folders. A test in them that needs the control plane would be left out."""
    files = files_in(named_by_ci("in_memory"))
    assert len(files) > 100
    marked = re.compile(r"^ *(?:@|pytestmark = .*)pytest\.mark\.(?:apiserver|e2e|differential)\b", re.MULTILINE)
    assert [file for file in files if marked.search(file.read_text(encoding="utf-8"))] == []


def test_the_whole_check_leaves_out_no_test():
    """`.ci/run` names folders. Those on a node and in a browser run by commands of their own."""
    named = files_in(named_by_ci("in_memory", "others"))
    assert files_in(["tests"]) - named == files_in(["tests/browser", "tests/node"])
    assert "make test-browser" in (ROOT / ".ci/run").read_text(encoding="utf-8")


def test_the_files_that_run_on_both_pythons_exist():
    """Without this test, who renames one would learn it at the end of the whole check."""
    named = named_by_ci("both_pythons", "both_pythons_on_servers")
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_importing_pykb_imports_nothing_heavy():
    """`import pykb` costs nothing: it holds the version and no more."""
    assert not modules_after("import pykb") & HEAVY


def test_pykb_version_does_not_load_typer():
    """`pykb version` is answered before anything is imported."""
    code = "sys.argv = ['pykb', 'version']\nfrom pykb.__main__ import main\nmain()"
    assert not modules_after(code) & HEAVY


def test_pykb_help_loads_neither_kopf_nor_cookiecutter():
    """`pykb --help` lists the commands without importing what they need."""
    code = (
        "sys.argv = ['pykb', '--help']\nfrom pykb.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit as done:\n    assert not done.code\n"
    )
    assert not modules_after(code) & (HEAVY - {"typer", "rich"})


@pytest.mark.parametrize("package", ["pykb.api", "pykb.runtime"])
def test_what_an_operator_imports_needs_nothing_of_the_command_line(package: str):
    """An operator image carries none of the `cli` extra."""
    assert not modules_after(f"import {package}") & {"typer", "rich", "cookiecutter", "jinja2", "ruamel", "re2"}


def test_paths_that_the_architecture_names_exist():
    """A map that names what is not there is worse than none."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = {
        path
        for path in re.findall(r"`((?:pykb|tests|templates|testdata|docs|hack|benchmarks)/[\w./-]*)`", text)
        if not (ROOT / path).exists()
    }
    assert not named


# Their modules are called by a table, or are what the package is a list of.
LISTS = ("pykb.cli.", "pykb.commands.", "pykb.markers.builtin.", "pykb.plugins.")


def imports_in_pykb() -> tuple[dict[str, Path], dict[str, set[str]]]:
    """The modules of pykb, and what each imports: also late, and only for type checkers."""
    files = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in (ROOT / "pykb").rglob("*.py")}
    modules = {name.removesuffix(".__init__"): path for name, path in files.items()}
    imports: dict[str, set[str]] = {}
    for module, path in modules.items():
        named: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                parts = {f"{node.module}.{alias.name}" for alias in node.names}
                named |= parts if parts <= modules.keys() else {node.module, *parts}
            elif isinstance(node, ast.Import):
                named |= {alias.name for alias in node.names}
        imports[module] = named & modules.keys() - {module}
    return modules, imports


def test_no_modules_import_each_other_in_a_circle():
    """Nor for type checkers only, which import-linter leaves out: who reads one would have to read them all."""
    _, imports = imports_in_pykb()
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def test_a_module_of_one_package_alone_says_so_by_its_name():
    """What nobody outside of its package imports begins with an underscore; else every path would be taken for API."""
    modules, imports = imports_in_pykb()
    users = {name: {user for user, used in imports.items() if name in used} for name in modules}
    public = {
        name: name.rpartition(".")[0]
        for name, path in modules.items()
        if path.name != "__init__.py"
        and name.count(".") > 1
        and not name.startswith(LISTS)
        and not any(part.startswith("_") for part in name.split("."))
    }
    shown = [
        name
        for name, package in public.items()
        if users[name] and all(user == package or user.startswith(f"{package}.") for user in users[name])
    ]
    assert shown == []


def test_links_in_the_documentation_lead_somewhere():
    """Each relative link of a Markdown file points to a file that is there."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    dead = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(
            r"\]\(([^)#\s]+)(?:#[^)]*)?\)", re.sub(r"(?s)```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"))
        )
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert not dead


def test_prose_is_wrapped():
    """Lines of Markdown have at most 100 columns, but for tables, code and addresses. What is generated may be wider."""
    pages = [
        page
        for page in files_of(ROOT)
        if page.endswith(".md") and not page.startswith(("docs/reference/", "testdata/"))
    ]
    for page in pages:
        text = re.sub(r"(?ms)^ *```.*?```|^ *[|<].*?$|{[{%].*?[%}]}", "", (ROOT / page).read_text(encoding="utf-8"))
        assert [line for line in text.splitlines() if len(line) > 100 and "](http" not in line] == [], page


def test_no_file_names_the_machine_it_was_made_on():
    """No path of a machine and no registry host is committed; a user's home is nobody else's business."""
    # Spelt in pieces, so that this file does not find itself.
    forbidden = re.compile("|".join(("/(?:work|root)/" + r"[\w.]", "/tmp/" + "bash", "files\\." + "pythonhosted")))
    found = [
        path
        for path in files_of(ROOT)
        if (ROOT / path).is_file() and forbidden.search((ROOT / path).read_text("utf-8", errors="replace"))
    ]
    assert not found
