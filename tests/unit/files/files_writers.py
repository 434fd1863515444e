"""What the commands write, as the plans that they make: each begins with some files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from files_trees import Tree

from pykb.commands.delete import plan_delete
from pykb.commands.init import plan_project
from pykb.commands.options import NewProject, OldApi
from pykb.diagnostics import Diagnostics
from pykb.files.plan import Plan, plan_of
from pykb.gen.options import GenerateOptions
from pykb.gen.output import OutputRules, texts
from pykb.gen.prune import stale_files
from pykb.gen.run import generate
from pykb.importer.definition import find_definitions, parse
from pykb.importer.plan import plan_import
from pykb.project.file import read
from pykb.scaffold.plan import OnExists, PlanBuilder

CRDS = Path(__file__).parents[3] / "testdata/import/crds"


@dataclass(frozen=True, slots=True)
class Writer:
    """A command: the files before, its plan, and how many places lie between two in which it is killed."""

    before: Mapping[str, str]
    make: Callable[[Path], Plan]
    stride: int = 1

    def fresh(self, root: Path) -> Path:
        """The folder before the command, made anew."""
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        for name, text in self.before.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return root

    @property
    def old(self) -> Tree:
        """The folder before the command."""
        return {path: text.encode() for path, text in self.before.items()}

    def new(self, plan: Plan) -> Tree:
        """The folder after it, as its plan says."""
        after = {**self.old, **{change.path: change.after for change in plan.changes}}
        return {path: text for path, text in after.items() if text is not None and not path.startswith(".pykb/")}


def _create(root: Path) -> Plan:
    """Creates in new folders, updates, overwrites, and changes PROJECT."""
    builder = PlanBuilder(root)
    builder.update("PROJECT", b"version: new\n")
    builder.update("app/__main__.py", b"x = 2\n")
    builder.create("app/api/v1/__init__.py", b"")
    builder.create("app/api/v1/foo_types.py", b"class Foo: ...\n")
    builder.create("app/edited_types.py", b"theirs = True\n", on_exists=OnExists.OVERWRITE)
    assert not builder.diagnostics
    return builder.build()


def _generate(root: Path) -> Plan:
    """Makes a role, changes a CRD, and removes another whose kind is gone."""
    options, rules, found = GenerateOptions(root), OutputRules(), Diagnostics()
    result = generate(options)
    files = {
        **texts(root, result.artifacts, rules),
        **stale_files(root, options, rules, result, found),
    }
    plan = plan_of(root, files, found)
    assert not result.diagnostics.has_errors()
    assert [str(change.action) for change in plan.changes] == ["update", "create", "remove"]
    return plan


def _import(root: Path) -> Plan:
    """Packages of two groups."""
    found = Diagnostics()
    documents = [each for path in sorted(CRDS.iterdir())[:2] for each in parse(path.read_text(), path.name, found)]
    plan = plan_import(find_definitions(documents, found), root, "app/external", force=False, diagnostics=found)
    assert plan is not None, list(found)
    return plan


def _init(root: Path) -> Plan:
    plan, found = plan_project(NewProject("example.com", project_name="app"), root, year="2026")
    assert plan is not None, list(found)
    return plan


def _move(root: Path) -> Plan:
    """Moves a folder with its files, and changes one of them on the way."""
    builder = PlanBuilder(root)
    builder.move("app/a/__init__.py", "app/new/a/__init__.py", b"x = 1\n")
    builder.move("app/a/b.py", "app/new/a/b.py", b"y = 2\n")
    builder.update("app/c.py", b"z = 2\n")
    builder.update("PROJECT", b"version: new\n")
    return builder.build()


def _delete(root: Path) -> Plan:
    """Removes files, empty folders and lines, and keeps a copy of an edited file."""
    plan, found = plan_delete(OldApi("infra", "v1", "Box", force=True), read(root)[0], root)
    assert plan is not None, list(found)
    return plan


_TYPES = """\
from pykb.api import CustomResource, GroupVersion, Struct


class BoxSpec(Struct):
    size: str = ""


# +kubebuilder:rbac:groups=example.com,resources=boxes,verbs=get
class Box(CustomResource, group_version=GroupVersion("example.com", "v1")):
    spec: BoxSpec
"""
_GONE = """\
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: olds.example.com
spec:
  group: example.com
  names:
    plural: olds
"""

_PROJECT = """\
domain: example.com
layout:
- python.pykb.dev/v1
projectName: app
repo: app
resources:
- api:
    crdVersion: v1
    namespaced: true
  controller: true
  domain: example.com
  group: infra
  kind: Box
  path: app.api.v1
  version: v1
version: "3"
"""

WRITERS = {
    "create": Writer(
        {
            "PROJECT": "version: old\n",
            "app/__main__.py": "x = 1\n",
            "app/edited_types.py": "mine = True\n",
        },
        _create,
    ),
    "delete": Writer(
        {
            "PROJECT": _PROJECT,
            "app/__init__.py": "",
            "app/__main__.py": "from app.controllers.box_controller import BoxReconciler\n\nBoxReconciler()\n",
            "app/api/__init__.py": "",
            "app/api/v1/__init__.py": "from app.api.v1.box_types import Box as Box\n",
            "app/api/v1/box_types.py": "mine = True\n",
            "app/controllers/__init__.py": "",
            "app/controllers/box_controller.py": "theirs = True\n",
            "config/crd/kustomization.yaml": "resources:\n- bases/infra.example.com_boxes.yaml\n",
        },
        _delete,
        stride=3,
    ),
    "move": Writer(
        {"PROJECT": "version: old\n", "app/a/__init__.py": "x = 1\n", "app/a/b.py": "y = 1\n", "app/c.py": "z = 1\n"},
        _move,
    ),
    "generate": Writer(
        {
            "PROJECT": 'version: "3"\n',
            "app/__init__.py": "",
            "app/api/__init__.py": "",
            "app/api/v1.py": _TYPES,
            "config/crd/bases/example.com_boxes.yaml": "old\n",
            "config/crd/bases/example.com_olds.yaml": _GONE,
        },
        _generate,
    ),
    "import": Writer({"PROJECT": 'version: "3"\n', "app/__init__.py": ""}, _import, stride=2),
    "init": Writer({}, _init, stride=23),
}
