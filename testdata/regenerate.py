"""Rebuild the projects of testdata/: the real command line, then the edits that their author made.

Usage: python testdata/regenerate.py [--into DIRECTORY] [PROJECT]...

A project is a list of steps. `pykb(...)` runs a command in it, `replace(...)` edits a scaffolded file as an author
would, and `own(...)` takes a file that the author wrote from the project as it is committed: it has no other source.
Everything else comes from templates and generators, so a change of those shows as a difference here.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

TESTDATA = Path(__file__).resolve().parent
UNTRACKED = {".venv", ".pykb", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", "dist"}
"""What a project's own .gitignore names."""

Step = Callable[[Path], None]
"""Changes the project in a directory of its name."""


def pykb(*arguments: str) -> Step:
    """Run a command of pykb in the project."""

    def step(project: Path) -> None:
        environment = {**os.environ, "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "pykb", *arguments]
        done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{project.name}: pykb {' '.join(arguments)}: exit {done.returncode}\n{done.stdout}{done.stderr}")

    return step


def replace(path: str, *edits: tuple[str, str]) -> Step:
    """Replace texts that occur exactly once in a file."""

    def step(project: Path) -> None:
        file = project / path
        text = file.read_text(encoding="utf-8")
        for old, new in edits:
            if text.count(old) != 1:
                sys.exit(f"{project.name}: {path}: expected once, found {text.count(old)} times: {old!r}")
            text = text.replace(old, new)
        file.write_text(text, encoding="utf-8")

    return step


def own(*paths: str) -> Step:
    """Take files that the author wrote from the committed project."""

    def step(project: Path) -> None:
        for path in paths:
            (project / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(TESTDATA / project.name / path, project / path)

    return step


def delete(path: str) -> Step:
    """Delete a file, as an author would."""
    return lambda project: (project / path).unlink()


def init(*arguments: str) -> Step:
    """Run `pykb init` with the licence and the owner of every sample."""
    return pykb("init", "--license", "apache2", "--owner", "fanux", *arguments)


def create_api(group: str, version: str, kind: str, *arguments: str) -> Step:
    """Run `pykb create api`; the manifests are generated at the end."""
    return pykb("create", "api", "--group", group, "--version", version, "--kind", kind, "--no-make", *arguments)


EXAMPLE = '''
    foo: str | None = None
    """An example field, to be replaced by what a VirtulMachine needs."""
'''
MACHINE = '''
    cpu: str
    """Number of virtual CPUs."""

    memory: str
    """Size of the memory."""

    lifetime: timedelta | None = None
    """How long the machine runs before it is deleted; for ever when absent."""
'''
OBSERVED = '''
    """Observed state of VirtulMachine."""
'''
OBSERVED_MACHINE = '''
    """Observed state of VirtulMachine."""

    status: str | None = None
    """What the machine does at present."""
'''
SUBRESOURCE = """
# +kubebuilder:subresource:status
"""
COLUMNS = """
# +kubebuilder:printcolumn:name=Status,type=string,JSONPath=`.status.status`
# +kubebuilder:printcolumn:name=CPU,type=string,JSONPath=`.spec.cpu`
# +kubebuilder:selectablefield:JSONPath=`.spec.cpu`
# +kubebuilder:subresource:status
"""

FOO_EXAMPLE = '''
    foo: str | None = None
    """An example field, to be replaced by what a Foo needs."""
'''
FOO = '''
    deployment_name: Annotated[str, Field(min_length=1)]
    """Name of the Deployment that this Foo keeps."""

    replicas: Annotated[Int32 | None, Field(ge=1, le=10)] = None
    """How many replicas the Deployment has; left to the Deployment when absent."""
'''
CONDITIONS = '''
    # +listType=map
    # +listMapKey=type
    conditions: list[Condition] | None = None
    """The current state in conditions, one of a type."""
'''
AVAILABLE = '''
    available_replicas: Int32 = 0
    """How many replicas of the Deployment are available."""
'''
FOO_COLUMNS = """
# +kubebuilder:printcolumn:name=Deployment,type=string,JSONPath=`.spec.deploymentName`
# +kubebuilder:printcolumn:name=Available,type=integer,JSONPath=`.status.availableReplicas`
# +kubebuilder:subresource:status
"""
MANAGER = """
    manager = Manager(ManagerOptions.from_args(leader_election_id=LEADER_ELECTION_ID))
"""
RESYNC = """
    cache = CacheOptions(default=InformerOptions(resync=timedelta(seconds=30)))
    manager = Manager(ManagerOptions.from_args(leader_election_id=LEADER_ELECTION_ID, cache=cache))
"""

APP_EXAMPLE = '''
class AppSpec(Struct):
    """Desired state of App."""

    foo: str | None = None
    """An example field, to be replaced by what a App needs."""
'''
APP = '''
class AppDeployment(Struct):
    """What runs."""

    name: Annotated[str, Field(max_length=63)]
    """Name of the Deployment, and of its container."""

    image: str
    """The image of the container."""

    replicas: Annotated[Int32, Field(ge=0)] = 1
    """How many Pods run."""


class AppService(Struct):
    """How it is reached."""

    name: Annotated[str, Field(max_length=63)]
    """Name of the Service."""


class AppSpec(Struct):
    """Desired state of App."""

    deployment: AppDeployment
    """What runs."""

    service: AppService
    """How it is reached."""
'''

UNIT_EXAMPLE = '''
class UnitSpec(Struct):
    """Desired state of Unit."""

    foo: str | None = None
    """An example field, to be replaced by what a Unit needs."""
'''
UNIT = '''
class UnitCategory(StrEnum):
    """What runs the Pods."""

    DEPLOYMENT = "Deployment"
    STATEFUL_SET = "StatefulSet"


class RelationResource(Struct):
    """What a Unit has beside its Pods, each of the Unit's name; absent ones are not made."""

    service: ServiceSpec | None = None
    """How the Pods are reached; chooses the Pods of the Unit unless it has a selector."""

    ingress: IngressSpec | None = None
    """How the Unit is reached from outside."""

    pvc: PersistentVolumeClaimSpec | None = None
    """The storage of the Pods."""


class UnitSpec(Struct):
    """Desired state of Unit."""

    category: UnitCategory
    """What runs the Pods; the former one is removed when this changes."""

    replicas: Annotated[Int32, Field(ge=0)] = 1
    """How many Pods run."""

    selector: LabelSelector
    """Which Pods are the Unit's; its labels are given to them."""

    template: PodTemplateSpec
    """What each Pod is."""

    relation_resource: RelationResource = Field(default_factory=RelationResource)
    """What there is beside the Pods."""
'''
UNIT_STATUS = '''
    deployment: DeploymentStatus | None = None
    """The Deployment as it is."""

    stateful_set: StatefulSetStatus | None = None
    """The StatefulSet as it is."""

    service: ServiceStatus | None = None
    """The Service as it is."""

    ingress: IngressStatus | None = None
    """The Ingress as it is."""

    pvc: PersistentVolumeClaimStatus | None = None
    """The claim as it is."""

    last_update_time: datetime | None = None
    """When any of these changed last."""
'''
UNIT_IMPORTS = """
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pykb.api import CustomResource, Field, Int32, Struct
from pykb.api.apps.v1 import DeploymentStatus, StatefulSetStatus
from pykb.api.core.v1 import (
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus,
    PodTemplateSpec,
    ServiceSpec,
    ServiceStatus,
)
from pykb.api.meta.v1 import LabelSelector
from pykb.api.networking.v1 import IngressSpec, IngressStatus
"""
IMPORTS = """
from pykb.api import CustomResource, Field, Struct
from pykb.api.meta.v1 import Condition
"""

PROJECTS: dict[str, list[Step]] = {
    "virtulmachine": [
        init("--domain", "sealyun.com", "--project-name", "sealvm"),
        create_api("infra", "v1", "VirtulMachine", "--resource", "--controller"),
        replace(
            "sealvm/api/v1/virtulmachine_types.py",
            ("from pykb.api import", "from datetime import timedelta\n\nfrom pykb.api import"),
            (EXAMPLE, MACHINE),
            (OBSERVED, OBSERVED_MACHINE),
            (SUBRESOURCE, COLUMNS),
        ),
        replace(
            "config/samples/infra_v1_virtulmachine.yaml",
            ("  foo: bar\n", '  cpu: "1"\n  memory: 2Gi\n  lifetime: 10s\n'),
        ),
        replace(
            "sealvm/__main__.py",
            ("VirtulMachineReconciler(manager.client)", "VirtulMachineReconciler(manager.client, Hypervisor(cpus=4))"),
            (
                "import VirtulMachineReconciler\n",
                "import VirtulMachineReconciler\nfrom sealvm.hypervisor import Hypervisor\n",
            ),
        ),
        own(
            "sealvm/controllers/virtulmachine_controller.py",
            "sealvm/hypervisor.py",
            "tests/controllers/test_virtulmachine_controller.py",
        ),
        pykb("generate"),
    ],
    "foo": [
        init("--domain", "k8s.io", "--project-name", "sample-controller"),
        create_api("samplecontroller", "v1alpha1", "Foo", "--resource", "--controller"),
        replace(
            "sample_controller/api/v1alpha1/foo_types.py",
            (
                "import CustomResource, Field, Struct\nfrom pykb.api.meta.v1 import Condition\n",
                "import CustomResource, Field, Int32, Struct\n",
            ),
            ("from pykb.api import", "from typing import Annotated\n\nfrom pykb.api import"),
            (FOO_EXAMPLE, FOO),
            (CONDITIONS, AVAILABLE),
            (SUBRESOURCE, FOO_COLUMNS),
        ),
        replace(
            "config/samples/samplecontroller_v1alpha1_foo.yaml",
            ("  foo: bar\n", "  deploymentName: example-foo\n  replicas: 1\n"),
        ),
        replace(
            "sample_controller/__main__.py",
            ("import Manager, ManagerOptions\n", "import CacheOptions, InformerOptions, Manager, ManagerOptions\n"),
            ("from pykb.runtime", "from datetime import timedelta\n\nfrom pykb.runtime"),
            (MANAGER, RESYNC),
        ),
        own(
            "sample_controller/controllers/foo_controller.py",
            "sample_controller/report.py",
            "tests/controllers/test_foo_controller.py",
            "tests/test_report.py",
        ),
        pykb("generate"),
    ],
    "pod-watcher": [
        init("--domain", "example.com"),
        create_api("core", "v1", "Pod", "--no-resource", "--controller"),
        own("pod_watcher/controllers/pod_controller.py", "tests/controllers/test_pod_controller.py"),
        pykb("generate"),
    ],
    "app": [
        init("--domain", "k8s.io", "--project-name", "app-operator"),
        create_api("appcontroller", "v1", "App", "--resource", "--controller"),
        replace(
            "app_operator/api/v1/app_types.py",
            ("import CustomResource, Field, Struct\n", "import CustomResource, Field, Int32, Struct\n"),
            ("from pykb.api import", "from typing import Annotated\n\nfrom pykb.api import"),
            (APP_EXAMPLE, APP),
        ),
        replace(
            "config/samples/appcontroller_v1_app.yaml",
            (
                "  foo: bar\n",
                "  deployment:\n    name: web\n    image: nginx:1.29\n    replicas: 2\n  service:\n    name: web\n",
            ),
        ),
        own("app_operator/controllers/app_controller.py", "tests/controllers/test_app_controller.py"),
        pykb("generate"),
    ],
    "unit": [
        init("--domain", "example.com", "--project-name", "unit-operator"),
        create_api("custom", "v1", "Unit", "--resource", "--controller"),
        replace(
            "unit_operator/api/v1/unit_types.py",
            (IMPORTS, UNIT_IMPORTS),
            (UNIT_EXAMPLE, UNIT),
            (CONDITIONS, UNIT_STATUS),
        ),
        own(
            "config/samples/custom_v1_unit.yaml",
            "unit_operator/controllers/unit_controller.py",
            "unit_operator/resources/__init__.py",
            "unit_operator/resources/base.py",
            "unit_operator/resources/claim.py",
            "unit_operator/resources/deployment.py",
            "unit_operator/resources/ingress.py",
            "unit_operator/resources/pods.py",
            "unit_operator/resources/service.py",
            "unit_operator/resources/stateful_set.py",
            "tests/controllers/test_unit_controller.py",
        ),
        pykb("generate"),
    ],
}
"""Every project of testdata/ and how it came to be."""


def files(project: Path) -> Iterator[Path]:
    """Yield the files of a project that its repository would hold, relative to it, sorted."""
    for path in sorted(project.rglob("*")):
        relative = path.relative_to(project)
        if path.is_file() and not UNTRACKED.intersection(relative.parts):
            yield relative


def build(name: str, into: Path) -> Path:
    """Build a project anew in a directory, and return where it is."""
    project = into / name
    project.mkdir(parents=True)
    for step in PROJECTS[name]:
        step(project)
    return project


def publish(built: Path, target: Path) -> None:
    """Make the committed project equal to the one just built; what git ignores stays."""
    for stale in set(files(target)) - set(files(built)):
        (target / stale).unlink()
    for path in files(built):
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(built / path, target / path)


def main() -> None:
    """Rebuild the named projects, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=TESTDATA, help="where to put them (default: testdata itself)")
    parser.add_argument("projects", nargs="*", metavar="PROJECT", help=f"any of {', '.join(PROJECTS)} (default: all)")
    arguments = parser.parse_args()
    for name in arguments.projects or PROJECTS:
        with tempfile.TemporaryDirectory() as scratch:
            publish(build(name, Path(scratch)), arguments.into / name)


if __name__ == "__main__":
    main()
