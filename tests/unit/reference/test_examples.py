"""The examples in docstrings of public names, and the programs of the how-to pages, are what type checkers accept."""

from __future__ import annotations

import inspect
import re
import shutil
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.unit.runtime_fake.test_pages import PROGRAMS, blocks_of

MODULES = ("pykb.api", "pykb.api.conditions", "pykb.envtest", "pykb.runtime", "pykb.runtime.fake", "pykb.testing")

PREAMBLE = """
import copy
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Annotated, Any

from pykb.api.apps.v1 import Deployment, DeploymentSpec
from pykb.api.conditions import set_condition
from pykb.api.core.v1 import ConfigMap, Pod, Secret, Service
from pykb.api.meta.v1 import Condition, ObjectMeta
from pykb.runtime.client.mapper import ResourceMapper

class VirtulMachineSpec(Struct):
    cpu: int = 1
    memory: str | None = None
    secret: str = ""
    deployment_name: str = ""

class VirtulMachineStatus(Struct):
    phase: str = ""
    conditions: list[Condition] = []

class VirtulMachine(CustomResource, group_version=GroupVersion("infra.example.com", "v1")):
    spec: VirtulMachineSpec
    status: VirtulMachineStatus = VirtulMachineStatus()

class VirtulMachineReconciler(Reconciler):
    finalizers: Finalizers
    async def delete_disk(self, machine: VirtulMachine) -> None: ...
    async def reconcile(self, request: Request) -> Result: return Result()
    def setup(self, manager: Manager) -> None: ...

class PlainReconciler(Reconciler):
    def reconcile(self, request: Request) -> Result: return Result()

class VirtulMachineDefaulter(Defaulter[VirtulMachine]):
    async def default(self, obj: VirtulMachine) -> None: ...

class Spec(Struct):
    schedule: str = ""

class v1:
    class CronJob(CustomResource, group_version=GroupVersion("batch.example.com", "v1")):
        spec: Spec

class v2:
    class CronJob(CustomResource, group_version=GroupVersion("batch.example.com", "v2")):
        spec: Spec

def parse(schedule: str) -> str: return schedule
def deployment_of(machine: VirtulMachine) -> Deployment: return Deployment()
def service_of(machine: VirtulMachine) -> Service: return Service()
def register(manager: Manager) -> None: ...
async def create_fn(**_: Any) -> None: ...
Foo = App = VirtulMachine
FooReconciler = VirtulMachineReconciler
"""

GIVEN = {
    "client": "Client",
    "configurations": "list[dict[str, Any]]",
    "crds": "list[dict[str, Any]]",
    "foo": "VirtulMachine",
    "machine": "VirtulMachine",
    "manager": "Manager",
    "pod": "Pod",
    "reconciler": "PlainReconciler",
    "request": "Request",
    "self": "VirtulMachineReconciler",
    "status": "VirtulMachineStatus",
}

SAMPLES = Path(__file__).parents[3] / "testdata"
PARTS = {
    "add-a-version.md": ["version"],
    "add-a-webhook.md": ["webhook", "webhook_with_client"],
    "move-from-kopf.md": ["handlers", "fleet/api/v1/__init__", "reconciler"],
    "why-did-it-reconcile.md": ["listener", "traces"],
}
"""Pages whose blocks are parts of a project. Each becomes a module, beside the packages of samples."""

OF_HANDLERS = "# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators\n"
"""Handlers of kopf operators seldom have types."""


def parts_of_projects(folder: Path) -> Iterator[Path]:
    """Writes the modules of `PARTS` into a folder."""
    shutil.copytree(SAMPLES / "virtulmachine/sealvm", folder / "sealvm")
    shutil.copytree(SAMPLES / "multigroup/fleet", folder / "fleet")
    for page, modules in PARTS.items():
        for name, block in zip(modules, blocks_of(page), strict=True):
            module = folder / f"{name}.py"
            module.parent.mkdir(exist_ok=True)
            module.write_text(OF_HANDLERS * (name == "handlers") + block, encoding="utf-8")
            yield module


def public(module: str) -> list[str]:
    """The names that a module offers."""
    found = import_module(module)
    return getattr(found, "__all__", None) or [
        name for name, value in vars(found).items() if getattr(value, "__module__", "") == module and name[0] != "_"
    ]


def examples() -> Iterator[str]:
    """The code blocks of the docstrings of public names and their members."""
    for module in map(import_module, MODULES):
        yield from _blocks(module)
        for found in (getattr(module, name) for name in public(module.__name__)):
            if str(getattr(found, "__module__", "")).startswith("pykb."):
                yield from _blocks(found)
                members = vars(found).items() if isinstance(found, type) else ()
                for name, member in members:
                    if not name.startswith("_"):
                        yield from _blocks(getattr(member, "__func__", member))


def _blocks(documented: Any) -> list[str]:
    text = inspect.getdoc(documented) or ""
    return [textwrap.dedent(block).strip() for block in re.findall(r"::\n\n((?:    .*\n|\n)+)", text + "\n")]


def test_type_checkers_accept_each_example(tmp_path, mypy):
    """Each in a function of its own, which has what an example may suppose. A page is a module, in the same run."""
    found = list(dict.fromkeys(examples()))
    assert len(found) > 30
    parameters = ", ".join(f"{name}: {kind}" for name, kind in GIVEN.items())
    functions = (
        f"async def example_{number}({parameters}) -> Any:\n{textwrap.indent(code, '    ')}\n"
        for number, code in enumerate(found)
    )
    program = tmp_path / "examples.py"
    imports = (f"from {module} import {', '.join(public(module))}" for module in MODULES)
    program.write_text("\n".join([*imports, PREAMBLE, *functions]), encoding="utf-8")
    pages = [tmp_path / f"{page.removesuffix('.md').replace('-', '_')}.py" for page in PROGRAMS]
    for page, module in zip(PROGRAMS, pages, strict=True):
        module.write_text("\n".join(blocks_of(page)), encoding="utf-8")
    done = mypy(program, *pages, *parts_of_projects(tmp_path))
    assert done.returncode == 0, done.stdout
