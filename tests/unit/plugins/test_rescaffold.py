"""`edit --namespaced`, `--license`, `--owner`: what `init` with these options would have given; edits stay."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from pykb.commands.options import Edits, NewProject
from pykb.diagnostics import Diagnostics, Severity
from pykb.diagnostics.codes.project import UNCHANGED
from pykb.gen.request import read_settings
from pykb.plugins import PluginKey, registry
from pykb.plugins.request import ApiRequest, InitRequest
from pykb.scaffold.plan import PlanBuilder
from tests.unit.plugins.scaffolding import create, start, write
from tests.unit.plugins.test_delete import edit, tree
from tests.unit.plugins.test_regroup import ADDITIONS, MIXED, OPTIONS, changed, differences

OWNED = replace(OPTIONS, owner="fanux")
CASES = {
    "namespaced": (OPTIONS, Edits(namespaced=True), replace(OPTIONS, namespaced=True)),
    "not-namespaced": (replace(OPTIONS, namespaced=True), Edits(namespaced=False), OPTIONS),
    "owner": (OPTIONS, Edits(owner="fanux"), OWNED),
    "another-owner": (OWNED, Edits(owner="The authors"), replace(OPTIONS, owner="The authors")),
    "no-licence": (OWNED, Edits(license="none"), replace(OPTIONS, license="none")),
    "a-licence": (replace(OPTIONS, license="none"), Edits(license="apache2", owner="fanux"), OWNED),
    "licence-keeps-owner": (OWNED, Edits(license="apache2"), OWNED),
    "all": (
        OPTIONS,
        Edits(multigroup=True, namespaced=True, owner="fanux"),
        replace(OWNED, multigroup=True, namespaced=True),
    ),
}


def made(options: NewProject, root: Path, *, everything: bool) -> Path:
    """A project with several kinds."""
    return start(options, root, *(MIXED if everything else ADDITIONS[:6]))


@pytest.mark.parametrize("name", CASES)
def test_the_result_is_that_of_init(name: str, tmp_path: Path) -> None:
    """To the byte; the same command again changes nothing."""
    before, edits, after = CASES[name]
    root = made(before, tmp_path / "edited/fleet", everything=name == "all")
    write(*changed(root, edits))
    assert differences(tree(root), tree(made(after, tmp_path / "fresh/fleet", everything=name == "all"))) == ""
    plan, found = changed(root, edits)
    assert plan is not None
    assert plan.is_empty
    assert not list(found)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with one kind."""
    return start(OWNED, tmp_path / "fleet", ADDITIONS[0])


CONTROLLER = "fleet/controllers/machine_controller.py"
RESOURCE = "resources=machines,verbs=get;list;watch;create;update;patch;delete"


def test_files_with_windows_line_ends_take_the_change(root: Path) -> None:
    """With their line ends. Those are no edit that keeps the change away."""
    kept = ("config/manager/manager.yaml", "config/rbac/role_binding.yaml")
    edit(root, kept[0], "cpu: 500m", "cpu: 600m")
    for path in kept:
        content = (root / path).read_bytes()
        (root / path).write_bytes(content.replace(b"\n", b"\r\n"))
    before = {path: (root / path).read_bytes() for path in kept}
    plan, found = changed(root, Edits(namespaced=True))
    assert list(found) == []
    write(plan, found)
    for path in kept:
        content = (root / path).read_bytes()
        assert content != before[path]
        assert content.count(b"\n") == content.count(b"\r\n")
    assert b"WATCH_NAMESPACE" in (root / kept[0]).read_bytes()
    assert b"cpu: 600m" in (root / kept[0]).read_bytes()
    assert b"kind: RoleBinding" in (root / kept[1]).read_bytes()


def with_windows_line_ends(root: Path) -> dict[str, bytes]:
    """Give the files of a project such line ends, if they lack them. Returns the files."""
    for path in tree(root):
        (root / path).write_bytes((root / path).read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    return tree(root)


def test_a_header_with_windows_line_ends_is_the_same_header(root: Path, tmp_path: Path) -> None:
    """It was an edit of every file, and new files had its line ends among others."""
    for each in (root, fresh := start(replace(OWNED, owner="The authors"), tmp_path / "fresh/fleet", ADDITIONS[0])):
        header = (each / "hack/boilerplate.py.txt").read_text().strip()
        (each / "fleet/ours.py").write_text(f"{header}\n\nx = 1\n")
    with_windows_line_ends(root)
    write(*changed(root, Edits(owner="The authors")))
    assert differences(tree(root), with_windows_line_ends(fresh)) == ""
    before = tree(root)
    create(root, ADDITIONS[1])
    assert [path for path, content in tree(root).items() if path not in before and b"\r\n" in content] == []


def test_a_namespaced_project_keeps_edits_and_names_what_is_cluster_wide(root: Path) -> None:
    """Permissions of the user's own stay, with a warning."""
    edit(root, CONTROLLER, RESOURCE, "resources=machines,verbs=get")
    edit(
        root,
        CONTROLLER,
        "        return Result()\n\n        self",
        "        return Result(requeue=True)\n\n        self",
    )
    edit(root, "config/manager/manager.yaml", "cpu: 500m", "cpu: 600m")
    (root / "fleet/nodes.py").write_text("# +kubebuilder:rbac:groups=core,resources=nodes,verbs=list\n")
    plan, found = changed(root, Edits(namespaced=True))
    lines = (root / CONTROLLER).read_text().splitlines()
    marker = next(number for number, line in enumerate(lines, 1) if "verbs=get" in line)
    shown = [(each.code.slug, each.span.path, each.span.line) for each in found if each.span]
    assert shown == [
        ("cluster-wide", CONTROLLER, marker),
        ("left-as-edited", CONTROLLER, marker),
        ("cluster-wide", "fleet/nodes.py", 1),
    ]
    write(plan, found)
    text = (root / CONTROLLER).read_text()
    assert "resources=machines,verbs=get\n" in text
    assert text.count(",namespace=fleet-system") == 2
    assert "Result(requeue=True)" in text
    manager = (root / "config/manager/manager.yaml").read_text()
    assert "cpu: 600m" in manager
    assert "WATCH_NAMESPACE" in manager


def test_files_of_ones_own_get_the_new_header_only_in_place_of_the_old(root: Path) -> None:
    """Another header is somebody else's; without a header nothing is added."""
    header = (root / "hack/boilerplate.py.txt").read_text().strip()
    (root / "fleet/ours.py").write_text(f"{header}\n\nx = 1\n")
    (root / "fleet/theirs.py").write_text("# Copyright others\n\nx = 1\n")
    (root / "fleet/plain.py").write_text("x = 1\n")
    file = root.parent / "header.txt"
    file.write_text("Copyright YEAR us\n")
    write(*changed(root, Edits(license_file=file)))
    assert (root / "fleet/ours.py").read_text() == "# Copyright  us\n\nx = 1\n"
    assert (root / "fleet/theirs.py").read_text() == "# Copyright others\n\nx = 1\n"
    assert (root / "fleet/plain.py").read_text() == "x = 1\n"
    assert (root / CONTROLLER).read_text().startswith("# Copyright  us\n\n")
    write(*changed(root, Edits(license="none")))
    assert (root / "fleet/ours.py").read_text() == "x = 1\n"


def test_an_owner_needs_a_licence(root: Path) -> None:
    """A header of the user's own has no place for an owner that pykb knows."""
    write(*changed(root, Edits(license="none")))
    plan, found = changed(root, Edits(owner="fanux"))
    assert plan is None
    assert [each.code.slug for each in found] == ["flag-required"]


def test_a_header_that_was_moved_is_used_and_changed_where_it_is(root: Path) -> None:
    """`[tool.pykb]` says where. The old place stays empty, and the generator knows the key."""
    (root / "tools").mkdir()
    (root / "hack/boilerplate.py.txt").rename(root / "tools/header.txt")
    settings = root / "pyproject.toml"
    settings.write_text(f'{settings.read_text()}\n[tool.pykb]\nboilerplate = "tools/header.txt"\n')
    create(root, ADDITIONS[1])
    first = (root / "tools/header.txt").read_text().splitlines()[0]
    files = {path for path in root.rglob("*.py") if path.read_text().startswith(f"{first}\n")}
    assert [path.name for path in files].count("machine_types.py") == 2  # one before the move, one after it
    write(*changed(root, Edits(license="none")))
    assert (root / "tools/header.txt").read_text() == ""
    assert not [path for path in files if path.read_text().startswith("# Copyright")]
    assert not (root / "hack/boilerplate.py.txt").exists()
    found = Diagnostics()
    assert read_settings(root, found) == {}
    assert not list(found)


class Notes:
    """A plugin as another package would write it. It warns in each command."""

    key = PluginKey("notes.example.com", "v1")
    summary = "a file of notes"

    def init(self, request: InitRequest, plan: PlanBuilder) -> None:
        """Add a file."""
        plan.diagnostics.add(UNCHANGED.at(None, "notes are not for everyone", severity=Severity.WARNING))
        plan.create("NOTES", f"namespaced: {request.project.namespaced}\n".encode())

    def create_api(self, request: ApiRequest, plan: PlanBuilder) -> None:
        """Nothing."""


def test_files_of_plugins_of_other_packages_follow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside those of pykb."""
    point = EntryPoint("notes.example.com/v1", f"{__name__}:Notes", "pykb.plugins")
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] * (group == "pykb.plugins"))
    root = start(replace(OPTIONS, plugins=("python/v1", "notes.example.com/v1")), tmp_path / "fleet", ADDITIONS[0])
    assert (root / "NOTES").read_text() == "namespaced: False\n"
    write(*changed(root, Edits(namespaced=True)))
    assert (root / "NOTES").read_text() == "namespaced: True\n"
    assert "WATCH_NAMESPACE" in (root / "config/manager/manager.yaml").read_text()
