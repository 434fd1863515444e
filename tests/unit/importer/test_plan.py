"""Writing: what is replaced, what is left alone, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykb.diagnostics import Diagnostics
from pykb.files.apply import apply
from pykb.gen.options import GenerateOptions, SchemaOptions
from pykb.gen.run import generate
from pykb.importer.plan import plan_import

MODULE = "ext/example_com/v1.py"


@pytest.fixture
def run(tmp_path: Path, define):
    """Import manifests into `ext`; gives the slugs of the findings."""

    def run(*manifests: dict, force: bool = False) -> list[str]:
        found = Diagnostics()
        plan = plan_import(define(*manifests), tmp_path, "ext", force=force, diagnostics=found)
        if plan is not None:
            assert apply(plan) is None
        return [d.code.slug for d in found]

    return run


def test_importing_twice_changes_nothing(tmp_path: Path, run, make_crd) -> None:
    """The second plan is empty."""
    assert run(make_crd()) == []
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.py")}
    assert sorted(str(path.relative_to(tmp_path)) for path in before) == [
        "ext/__init__.py",
        "ext/example_com/__init__.py",
        MODULE,
    ]
    assert run(make_crd()) == []
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*.py")}


def test_a_newer_crd_replaces_what_nobody_edited(tmp_path: Path, run, make_crd) -> None:
    """An update needs no `--force`."""
    run(make_crd())
    assert run(make_crd("a: {type: string}")) == []
    assert "a: str | None = None" in (tmp_path / MODULE).read_text()


def test_an_edited_module_is_only_written_over_by_force(tmp_path: Path, run, make_crd) -> None:
    """A user's edit is never lost: it is refused, or kept as a copy."""
    run(make_crd())
    edited = (tmp_path / MODULE).read_text() + "\n# mine\n"
    (tmp_path / MODULE).write_text(edited)
    assert run(make_crd("a: {type: string}")) == ["file-exists"]
    assert (tmp_path / MODULE).read_text() == edited
    assert run(make_crd("a: {type: string}"), force=True) == []
    copies = [path for path in (tmp_path / ".pykb" / "backup").rglob("*") if path.is_file()]
    assert [path.read_text() for path in copies] == [edited]


def test_kinds_of_an_earlier_import_are_not_dropped(tmp_path: Path, run, make_crd) -> None:
    """A module holds all kinds of its group, so they are imported together."""
    run(make_crd(kind="One"), make_crd(kind="Two"))
    assert run(make_crd(kind="One")) == ["import-kinds-lost"]
    assert "class Two(" in (tmp_path / MODULE).read_text()
    assert run(make_crd(kind="One"), make_crd(kind="Two"), make_crd(kind="Three")) == []


def test_groups_that_share_a_folder_are_refused(tmp_path: Path, run, make_crd) -> None:
    """In one import, and in one after the other."""
    one, other = make_crd(group="a-b.example.com"), make_crd(group="a.b.example.com", kind="Other")
    assert run(one, other) == ["import-folder-clash"]
    assert run(one) == []
    assert run(other) == ["import-folder-clash"]


def test_output_stays_inside_the_project(tmp_path: Path, define, make_crd) -> None:
    """A path that leads out is refused."""
    found = Diagnostics()
    root = tmp_path / "project"
    root.mkdir()
    assert plan_import(define(make_crd()), root, "../elsewhere", force=False, diagnostics=found) is None
    assert {d.code.slug for d in found} == {"path-outside"}


@pytest.mark.parametrize("existing", ["x = 1\n", ""])
def test_a_package_that_is_there_keeps_its_init(existing: str, tmp_path: Path, run, make_crd) -> None:
    """An `__init__.py` is made where there is none, and never changed."""
    (tmp_path / "ext").mkdir()
    (tmp_path / "ext" / "__init__.py").write_text(existing)
    assert run(make_crd()) == []
    assert (tmp_path / "ext" / "__init__.py").read_text() == existing


@pytest.mark.parametrize(
    ("output", "better"),
    [("my-types", "my_types"), ("a/b c", "a/b_c"), ("class", "class_"), ("1x", "_1x"), ("--", "external")],
)
def test_a_folder_that_cannot_be_imported_is_refused(
    tmp_path: Path, define, make_crd, output: str, better: str
) -> None:
    """With a name that can."""
    found = Diagnostics()
    assert plan_import(define(make_crd()), tmp_path, output, force=False, diagnostics=found) is None
    assert [(d.code.slug, d.help) for d in found] == [("import-output", (f"--output {better}",))]


def test_the_working_directory_does_not_become_a_package(tmp_path: Path, define, make_crd) -> None:
    """Groups are packages of their own there."""
    plan = plan_import(define(make_crd()), tmp_path, ".", force=False, diagnostics=Diagnostics())
    assert plan is not None
    assert apply(plan) is None
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.py")) == [
        "example_com/__init__.py",
        "example_com/v1.py",
    ]


@pytest.mark.parametrize("output", ["types", "json", "yaml", "vendor/types"])
def test_a_package_that_would_hide_a_module_is_refused(tmp_path: Path, define, make_crd, output: str) -> None:
    """Of Python or of what an operator uses; inside of a package the name is free."""
    found = Diagnostics()
    assert plan_import(define(make_crd()), tmp_path, output, force=False, diagnostics=found) is None
    assert [d.code.slug for d in found] == ["import-output"]
    (tmp_path / "vendor").mkdir()
    (tmp_path / "vendor" / "__init__.py").touch()
    inner = Diagnostics()
    nested = f"vendor/{output.rpartition('/')[2]}"
    assert plan_import(define(make_crd()), tmp_path, nested, force=False, diagnostics=inner) is not None
    assert not list(inner)


def test_the_projects_own_generate_says_nothing_of_imported_types(tmp_path: Path, run, make_crd) -> None:
    """Their markers are for another operator's CRDs; named by `--paths`, they generate them."""
    assert run(make_crd("spec: {type: string, default: a}")) == []
    own = generate(GenerateOptions(tmp_path, ("crd",)))
    assert [d.code.slug for d in own.diagnostics] == ["nothing-to-generate"]
    named = generate(GenerateOptions(tmp_path, ("crd",), ("ext",), schemas=SchemaOptions(allow_dangerous_types=True)))
    assert len(named.artifacts["crd"]) == 1


def test_a_scale_that_leads_nowhere_is_taken_as_the_api_server_takes_it(tmp_path: Path, run, make_crd) -> None:
    """The types generate the CRD again, then with a warning."""
    crd = make_crd("size: {type: string}")
    crd["spec"]["versions"][0]["subresources"] = {
        "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    }
    assert run(crd) == []
    made = generate(GenerateOptions(tmp_path, ("crd",), ("ext",), schemas=SchemaOptions(allow_dangerous_types=True)))
    assert not made.diagnostics.has_errors()
    assert len(made.artifacts["crd"]) == 1
