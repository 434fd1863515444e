"""The examples in docstrings of public names: where they are, and what they may suppose around them."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from functools import cache
from importlib import import_module
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

MODULES = ("pykb.api", "pykb.api.conditions", "pykb.envtest", "pykb.runtime", "pykb.runtime.fake", "pykb.testing")

PREAMBLE = """
import argparse
import asyncio
import contextlib
import copy
import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import Counter
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

from pykb.api.apps.v1 import Deployment, DeploymentSpec
from pykb.api.batch.v1 import Job
from pykb.api.core.v1 import ConfigMap, Container, Namespace, ObjectReference, Pod, PodSpec, PodTemplateSpec
from pykb.api.core.v1 import ResourceQuota, Secret, Service
from pykb.api.meta.v1 import Condition, ObjectMeta
from pykb.api.meta.v1 import LabelSelector as LabelSelectorSpec
from pykb.api.policy.v1 import Eviction
from pykb.client.connection import Call
from pykb.client.mapper import ResourceMapper
from sealvm.external.cert_manager_io.v1 import Certificate
from zoo.__main__ import register

FINALIZER = "example.com/bucket"
GROUP_VERSION = GroupVersion("infra.example.com", "v1")
SAMPLE = "config/samples/zoo_v1_animal.yaml"

class VirtulMachineSpec(Struct):
    cpu: int = 1
    disk: str = ""
    memory: Quantity | None = None
    secret: str = ""
    deployment_name: str = ""

class VirtulMachineStatus(Struct):
    phase: str = ""
    active: list[ObjectReference] = []
    conditions: list[Condition] = []

class VirtulMachine(CustomResource, group_version=GROUP_VERSION):
    spec: VirtulMachineSpec
    status: VirtulMachineStatus = VirtulMachineStatus()

class Bucket:
    async def create(self, name: str) -> None: ...

class VirtulMachineReconciler(Reconciler):
    bucket: Bucket
    finalizers: Finalizers
    async def delete_disk(self, machine: VirtulMachine) -> None: ...
    async def reconcile(self, request: Request) -> Result:
        machine = await self.client.find(VirtulMachine, request)
        if machine is not None:
            await ensure_applied(self.client, deployment_of(machine), owner=machine)
            self.recorder.event(machine, "Normal", "Started", "the machine runs")
        return Result()
    def setup(self, manager: Manager) -> None:
        ControllerBuilder(manager).for_(VirtulMachine).owns(Deployment).complete(self)

class PlainReconciler(Reconciler):
    def reconcile(self, request: Request) -> Result: return Result()

class VirtulMachineDefaulter(Defaulter[VirtulMachine]):
    async def default(self, obj: VirtulMachine) -> None:
        obj.metadata.annotations = {"example.com/author": self.request.user.username}

class Spec(Struct):
    schedule: str = ""

class v1:
    class CronJob(CustomResource, group_version=GroupVersion("batch.example.com", "v1")):
        spec: Spec

class v2:
    class CronJob(CustomResource, group_version=GroupVersion("batch.example.com", "v2")):
        spec: Spec

class CronJobDefaulter(Defaulter[v2.CronJob]):
    async def default(self, obj: v2.CronJob) -> None: ...

class CronJobConverter(Converter[v1.CronJob, v2.CronJob]):
    def to_hub(self, spoke: v1.CronJob) -> v2.CronJob: return carry_over(spoke, v2.CronJob)
    def from_hub(self, hub: v2.CronJob) -> v1.CronJob: return carry_over(hub, v1.CronJob)

class ServicePart(Struct):
    name: str

class AppSpec(Struct):
    url: str
    config_map: str
    service: ServicePart

class AppStatus(Struct):
    created: bool = False
    price: str = ""
    conditions: list[Condition] | None = None

class App(CustomResource, group_version=GROUP_VERSION):
    spec: AppSpec
    status: AppStatus = AppStatus()

def parse(schedule: str) -> str: return schedule
def deployment_of(machine: VirtulMachine) -> Deployment:
    labels = {"machine": machine.metadata.name or ""}
    containers = [Container(name="app", image="app:1")]
    template = PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=PodSpec(containers=containers))
    spec = DeploymentSpec(selector=LabelSelectorSpec(match_labels=labels), template=template)
    return Deployment(metadata=ObjectMeta(name=machine.metadata.name, namespace="default"), spec=spec)
async def new_token() -> str: return ""
async def changed_disks() -> list[str]: return []
async def sweep(client: Client) -> None: ...
def service_of(owner: CustomResource) -> Service: return Service()
def create_fn(patch: Any, **_: Any) -> None: patch.status["phase"] = "Ready"
Site = App
"""

GIVEN = {
    "app": "App",
    "child": "ConfigMap",
    "client": "Client",
    "config": "ConfigMap",
    "configurations": "list[dict[str, Any]]",
    "control_plane": "ControlPlane",
    "crds": "list[dict[str, Any]]",
    "eviction": "Eviction",
    "explorer": "ProjectExplorer",
    "key": "str",
    "machine": "VirtulMachine",
    "manager": "Manager",
    "memo": "App",
    "name": "str",
    "old": "ConfigMap",
    "page": "ConfigMap",
    "pod": "Pod",
    "reconciler": "PlainReconciler",
    "request": "Request",
    "self": "VirtulMachineReconciler",
    "site": "App",
    "status": "VirtulMachineStatus",
    "token": "str",
}

WORLD = """
async def world() -> dict[str, Any]:
    '''The objects that an example may suppose.'''
    made = VirtulMachine(metadata=ObjectMeta(name="vm", namespace="default"), spec=VirtulMachineSpec(cpu=1))
    made.status.phase = "Running"
    parts = AppSpec(url="https://example.com", config_map="page", service=ServicePart(name="page"))
    app = App(metadata=ObjectMeta(name="page", namespace="default"), spec=parts)
    config = ConfigMap(metadata=ObjectMeta(name="shared", namespace="default"))
    pod = Pod(metadata=ObjectMeta(name="vm-0", namespace="default"), spec=PodSpec(containers=[Container(name="app")]))
    client = fake_client(made, app, config, pod)
    machine = await client.get(VirtulMachine, "default/vm")
    return {name: None for name in GIVEN} | {
        "app": await client.get(App, "default/page"), "client": client, "config": await client.get(ConfigMap, config),
        "key": "default/vm", "machine": machine, "manager": Manager(client=client), "name": "vm",
        "pod": await client.get(Pod, pod), "reconciler": PlainReconciler(client),
        "request": Request("default", "vm"), "self": VirtulMachineReconciler(client), "status": machine.status,
    }

async def run() -> None:
    for example in EXAMPLES:
        await example(**await world())

if __name__ == "__main__":
    asyncio.run(run())
"""

INLINE = r"``((?:\w+: )?Annotated\[[^`]+|\w+: (?:Int|JSON|dict\[|Time|MicroTime|Raw)[^`]+|@annotate\([^`]+)``"
"""Fields and annotations in a sentence."""

OTHERS = {
    "sealvm/external/cert_manager_io/v1.py": """
from pykb.api import CustomResource, GroupVersion, Struct

class IssuerRef(Struct):
    name: str

class CertificateSpec(Struct):
    secret_name: str
    dns_names: list[str] | None = None
    issuer_ref: IssuerRef

class Certificate(CustomResource, group_version=GroupVersion("cert-manager.io", "v1")):
    spec: CertificateSpec
""",
    "zoo/__main__.py": """
from pykb.runtime import Manager

def register(manager: Manager) -> None: ...
""",
    "myoperator/handlers.py": "",
}
"""Modules of a user that examples import."""


def public(module: str) -> list[str]:
    """The names that a module offers."""
    found = import_module(module)
    return getattr(found, "__all__", None) or [
        name for name, value in vars(found).items() if getattr(value, "__module__", "") == module and name[0] != "_"
    ]


def examples(*modules: str) -> list[str]:
    """The code in the docstrings of modules, of their public names, and of the members of these. Each once."""
    found: list[str] = []
    for module in modules or MODULES:
        found += _code(inspect.getdoc(import_module(module)) or "")
        for name in public(module):
            found += examples_of(module, name)
    return list(dict.fromkeys(found))


def examples_of(module: str, name: str) -> list[str]:
    """The code in the docstrings of a public name and of its members."""
    found = getattr(import_module(module), name)
    if text := _below_assignments(module).get(name):
        return _code(text)
    if not str(getattr(found, "__module__", "")).startswith("pykb."):
        return []
    bases = found.__mro__ if isinstance(found, type) else ()
    members = chain.from_iterable(vars(base).items() for base in bases if base.__module__.startswith("pykb."))
    documented = [found, *(getattr(each, "__func__", each) for called, each in members if not called.startswith("_"))]
    return [code for each in documented for code in _blocks(each)]


def _blocks(documented: Any) -> list[str]:
    inherited = documented.__doc__ == type(documented).__doc__  # of an alias, in Python 3.12 and newer
    return [] if inherited else _code(inspect.getdoc(documented) or "")


@cache
def _below_assignments(module: str) -> dict[str, str]:
    """The texts of public names that are neither functions nor classes."""
    names = public(module)
    stub = Path(str(import_module(module).__file__)).with_suffix(".pyi")
    imports = ast.parse(stub.read_text(encoding="utf-8")).body if stub.exists() else []
    found: dict[str, str] = {}
    for home in {str(node.module) for node in imports if isinstance(node, ast.ImportFrom)}:
        for pair in pairwise(ast.parse(inspect.getsource(import_module(home))).body):
            match pair:
                case (
                    ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(ast.Constant(str(text))),
                ) if name in names:
                    found[name] = inspect.cleandoc(text)
    return found


def _code(text: str) -> list[str]:
    found = [textwrap.dedent(block).strip() for block in re.findall(r"::\n\n((?:    .*\n|\n)+)", text + "\n")]
    return [*found, *map(_annotated, re.findall(INLINE, text))]


def _annotated(code: str) -> str:
    if code.startswith("@"):
        return f"{code}\nclass Inline(Struct):\n    url: str | None = None\n    file: str | None = None"
    return f"class Inline(Struct):\n    {re.sub('^Annotated', 'value: Annotated', code)}"


def function(number: int, code: str) -> str:
    """An example with what it may suppose around it: a class, if it is a method."""
    if re.match(r"(async )?def \w+\(self\b", code):
        return f"class Example{number}(Reconciler):\n{textwrap.indent(code, '    ')}\n"
    parameters = ", ".join(f"{name}: {kind}" for name, kind in GIVEN.items())
    return f"async def example_{number}({parameters}) -> Any:\n    '''An example.'''\n{textwrap.indent(code, '    ')}\n"


def write(program: Path, found: list[str]) -> None:
    """Write a program of examples. When it is run, it runs those that assert something."""
    imports = (f"from {module} import {', '.join(public(module))}" for module in MODULES)
    given = f"GIVEN = {list(GIVEN)}"
    run = (f"example_{number}" for number, code in enumerate(found) if "assert " in code)
    parts = [
        *imports,
        PREAMBLE,
        *map(function, range(len(found)), found),
        given,
        f"EXAMPLES = ({', '.join(run)})",
        WORLD,
    ]
    program.write_text("\n".join(parts), encoding="utf-8")
    for name, text in OTHERS.items():
        (program.parent / name).parent.mkdir(parents=True, exist_ok=True)
        (program.parent / name).write_text(text, encoding="utf-8")
