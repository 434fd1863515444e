"""`edit --multigroup` gives what `init --multigroup` and the same commands would have given, and keeps edits."""

from __future__ import annotations

import difflib
from dataclasses import replace
from pathlib import Path

import pytest

from pykb.commands.edit import plan_edit
from pykb.commands.options import Edits, NewApi, NewProject, NewWebhook
from pykb.diagnostics import Diagnostics
from pykb.files.plan import Plan
from pykb.plugins import Style
from pykb.project.file import read
from tests.unit.plugins.scaffolding import New, start, write
from tests.unit.plugins.test_delete import OPERAND, SHORT, Tree, edit, tree

EXTERNAL = NewApi("certs", "v1", "Issuer", resource=False, external_api_path="fleet.external", external_api_domain="io")
ADDITIONS: tuple[New, ...] = (
    NewApi("infra", "v1beta1", "Machine"),
    NewApi("infra", "v1", "Machine", controller=False),
    NewWebhook("infra", "v1", "Machine", conversion=True, spoke=("v1beta1",)),
    NewWebhook("infra", "v1", "Machine", validation=True),
    NewWebhook("infra", "v1", "Machine", defaulting=True, defaulting_path="/default-machines"),
    NewApi("infra", "v1", "Disk", namespaced=False, style=Style.HANDLERS, api=SHORT),
    NewWebhook("infra", "v1", "Disk", defaulting=True),
    NewApi("infra", "v1", "Disk", resource=False, controller_name="disk-cleaner"),
    NewApi("apps", "v1", "Deployment", resource=False),
    EXTERNAL,
    NewApi("infra", "v1", "Cache", operand=OPERAND, plugins=("deploy-image",)),
)
MIXED = (*ADDITIONS, NewWebhook("core", "v1", "Pod", validation=True))
OPTIONS = NewProject("example.com", project_name="fleet")


def changed(root: Path, options: Edits) -> tuple[Plan | None, Diagnostics]:
    """Plan to change a project."""
    project, problems = read(root)
    assert not problems
    return plan_edit(options, project, root)


def regroup(root: Path) -> tuple[Plan | None, Diagnostics]:
    """Plan to give each group its own folders."""
    return changed(root, Edits(multigroup=True))


def differences(one: Tree, other: Tree) -> str:
    """The differences of two projects, as text."""
    found = ""
    for path in sorted(set(one) | set(other)):
        lines = [tree.get(path, b"").decode().splitlines(keepends=True) for tree in (one, other)]
        found += "".join(difflib.unified_diff(*lines, f"edited/{path}", f"fresh/{path}"))
    return found


@pytest.mark.parametrize(
    ("additions", "namespaced"),
    [(ADDITIONS[:1], False), (ADDITIONS, False), (MIXED, False), (MIXED, True)],
    ids=["one", "many", "all", "namespaced"],
)
def test_the_result_is_that_of_init_multigroup(additions: tuple[New, ...], tmp_path: Path, *, namespaced: bool) -> None:
    """To the byte."""
    roots = []
    for multigroup in (False, True):
        options = replace(OPTIONS, multigroup=multigroup, namespaced=namespaced)
        roots.append(start(options, tmp_path / str(multigroup) / "fleet", *additions))
    write(*regroup(roots[0]))
    assert differences(tree(roots[0]), tree(roots[1])) == ""
    assert regroup(roots[0])[0] is not None


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with one group in the layout without folders for groups."""
    return start(OPTIONS, tmp_path / "fleet", *ADDITIONS[:3])


OWN = '''\
import fleet.api.v1
import fleet.api.v1.machine_types as types
from fleet.api import v1, v1beta1
from fleet.api.v1 import Machine as Ours
from fleet.controllers import machine_controller, naming
from .api.v1.machine_types import (
    MachineSpec,  # mine
)


def build(spec: MachineSpec) -> fleet.api.v1.Machine:
    """Not a name: fleet.api.v1."""
    from fleet import api

    del v1beta1, machine_controller, naming, types
    return api.v1.Machine(spec=spec) if spec else v1.Machine() or Ours()
'''
FOLLOWED = '''\
import fleet.api.infra.v1
import fleet.api.infra.v1.machine_types as types
from fleet.api.infra import v1, v1beta1
from fleet.api.infra.v1 import Machine as Ours
from fleet.controllers import naming
from fleet.controllers.infra import machine_controller
from fleet.api.infra.v1.machine_types import (
    MachineSpec,  # mine
)


def build(spec: MachineSpec) -> fleet.api.infra.v1.Machine:
    """Not a name: fleet.api.v1."""
    from fleet import api

    del v1beta1, machine_controller, naming, types
    return api.infra.v1.Machine(spec=spec) if spec else v1.Machine() or Ours()
'''


def test_own_code_is_followed(root: Path) -> None:
    """Every form of import, and qualified names; all other bytes stay, also line ends."""
    (root / "fleet/controllers/naming.py").write_text("PREFIX = 1\n")
    (root / "fleet/own.py").write_text(OWN)
    (root / "fleet/windows.py").write_bytes(b"from fleet.api.v1 import Machine\r\n\r\nx = Machine\r\n")
    (root / "fleet/api/v1/shared.py").write_text("from .machine_types import Machine\nfrom ...own import build\n")
    (root / "fleet/api/v1/table.csv").write_text("a,b\n")
    write(*regroup(root))
    assert (root / "fleet/own.py").read_text() == FOLLOWED
    assert (root / "fleet/windows.py").read_bytes() == b"from fleet.api.infra.v1 import Machine\r\n\r\nx = Machine\r\n"
    shared = (root / "fleet/api/infra/v1/shared.py").read_text()
    assert shared == "from .machine_types import Machine\nfrom fleet.own import build\n"
    assert (root / "fleet/api/infra/v1/table.csv").exists()
    assert (root / "fleet/controllers/naming.py").exists()
    assert not (root / "fleet/api/v1").exists()
    for path in root.rglob("*.py"):
        compile(path.read_text(), path, "exec")


def test_a_module_with_imports_in_functions_alone_is_followed(root: Path) -> None:
    """There is no block of imports to sort."""
    own = root / "fleet/own.py"
    own.write_text("def build() -> object:\n    from fleet.api.v1 import Machine\n\n    return Machine()\n")
    write(*regroup(root))
    assert "    from fleet.api.infra.v1 import Machine\n" in own.read_text()


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ('import importlib\n\nmodule = importlib.import_module("fleet.api.v1")\n', 3),
        ('def load(version: str) -> str:\n    return f"fleet.api.{version}"\n', 2),
        ('TARGET = "fleet.controllers.machine_controller.MachineReconciler"\n', 1),
        ("from fleet.controllers import naming; from fleet.controllers import machine_controller, naming\n", 1),
        ("from \\\n    fleet.api.v1 import Machine\n", 1),
        ("if True: from fleet.controllers import machine_controller, naming\n", 1),
    ],
)
def test_code_that_cannot_be_followed_is_listed_and_nothing_moves(root: Path, code: str, line: int) -> None:
    """Also in tests and other folders."""
    (root / "tests/test_own.py").write_text(code)
    plan, found = regroup(root)
    assert plan is None
    places = [(each.code.slug, each.span.path, each.span.line) for each in found if each.span]
    assert places == [("not-followed", "tests/test_own.py", line)]


def test_a_file_in_the_way_stops_the_command(root: Path) -> None:
    """Nothing is overwritten."""
    (root / "fleet/controllers/infra").mkdir()
    (root / "fleet/controllers/infra/machine_controller.py").write_text("mine = 1\n")
    plan, found = regroup(root)
    assert plan is None
    assert [each.code.slug for each in found] == ["not-followed"]


def test_edits_of_scaffolded_files_stay(root: Path) -> None:
    """What the scaffold changes elsewhere in the file is changed. A changed line that was edited is left and named."""
    controller, role = "fleet/controllers/machine_controller.py", "config/rbac/machine_admin_role.yaml"
    edit(
        root,
        controller,
        "        return Result()\n\n        self",
        "        return Result(requeue=True)\n\n        self",
    )
    edit(root, "fleet/api/v1/machine_types.py", "foo: str", "size: str")
    edit(root, role, "  name: machine-admin-role", "  name: my-role")
    edit(root, "config/rbac/kustomization.yaml", "- machine_admin_role.yaml", "- machine_admin_role.yaml  # mine")
    plan, found = regroup(root)
    assert [(each.code.slug, each.span.path) for each in found if each.span] == [("left-as-edited", role)]
    write(plan, found)
    text = (root / "fleet/controllers/infra/machine_controller.py").read_text()
    assert "Result(requeue=True)" in text
    assert 'builder.named("infra-machine").complete(self)' in text
    assert "size: str" in (root / "fleet/api/infra/v1/machine_types.py").read_text()
    assert "  name: my-role" in (root / "config/rbac/infra_machine_admin_role.yaml").read_text()
    assert "- infra_machine_admin_role.yaml  # mine\n" in (root / "config/rbac/kustomization.yaml").read_text()


def test_other_files_that_mention_what_moves_are_named(root: Path) -> None:
    """A warning; the files are the user's."""
    edit(root, "pyproject.toml", "[tool.mypy]", '[tool.own]\npath = "fleet/api/v1"\n\n[tool.mypy]')
    (root / "docs").mkdir()
    (root / "docs/notes.md").write_text("See fleet.controllers.machine_controller.\n")
    plan, found = regroup(root)
    assert plan is not None
    assert [(each.code.slug, each.span.path) for each in found if each.span] == [
        ("moved-mention", "docs/notes.md"),
        ("moved-mention", "pyproject.toml"),
    ]
