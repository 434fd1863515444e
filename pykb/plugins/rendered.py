"""The objects of a project: what kustomize renders of config/. Charts and bundles are made of them."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pykb.deployment.cluster import program_folders
from pykb.deployment.manifests import Object, objects_of
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.cluster import KUSTOMIZATION
from pykb.reading import yaml_text
from pykb.scaffold.plan import PlanBuilder
from pykb.tools import kustomize

MANAGER = "manager"
"""The name of the manager's container."""

_DEFAULT = "config/default"
_CONFIG = "config"
_OPTIONAL = ("../prometheus", "../network-policy")
"""Folders that are in every project, and that config/default names only if the user wants them."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """The objects of a project.

    Attributes:
        objects: Those of config/default.
        optional: Those that config/default could have in addition.
        namespace: The namespace of the objects.
        prefix: The prefix of their names.
    """

    objects: list[Object]
    optional: list[Object]
    namespace: str
    prefix: str

    @property
    def manager(self) -> Object:
        """The Deployment of the manager.

        Raises:
            EnvironmentProblem: There is none.
        """
        found = next((each for each in self.objects if is_manager(each)), None)
        if found is None:
            message = f"{_DEFAULT} has no Deployment with a container `{MANAGER}`, so nothing can be made of it"
            raise EnvironmentProblem(KUSTOMIZATION.at(None, message, notes=("nothing was written",)))
        return found


def render(plan: PlanBuilder) -> Rendered:
    """Render config/default and the optional folders, as the plan changes them.

    Raises:
        EnvironmentProblem: Neither kustomize nor kubectl is installed, or a folder cannot be rendered.
    """
    with TemporaryDirectory(prefix="pykb-") as folder:
        root = Path(folder)
        _copy(plan, root)
        objects = objects_of(_build(root / _DEFAULT))
        file = root / _DEFAULT / "kustomization.yaml"
        settings: dict[str, Any] = yaml_text.load(file.read_bytes())
        resources = list(settings.get("resources") or [])
        more = [name for name in _OPTIONAL if (root / _DEFAULT / name).is_dir() and name not in resources]
        file.write_text(json.dumps({**settings, "resources": [*resources, *more]}), encoding="utf-8")
        optional = objects_of(_build(root / _DEFAULT))
    known = {_identity(each) for each in objects}
    optional = [each for each in optional if _identity(each) not in known]
    return Rendered(objects, optional, str(settings.get("namespace") or ""), str(settings.get("namePrefix") or ""))


def is_manager(obj: Object) -> bool:
    """Whether a Deployment runs the manager."""
    return obj["kind"] == "Deployment" and any(each["name"] == MANAGER for each in pod_of(obj)["containers"])


def pod_of(deployment: Object) -> dict[str, Any]:
    """The specification of the pods."""
    pod: dict[str, Any] = deployment["spec"]["template"]["spec"]
    return pod


def container_of(deployment: Object) -> dict[str, Any]:
    """The container of the manager."""
    found: dict[str, Any] = next(each for each in pod_of(deployment)["containers"] if each["name"] == MANAGER)
    return found


def _copy(plan: PlanBuilder, root: Path) -> None:
    """Copy config/ with the changes of the plan."""
    if (plan.root / _CONFIG).is_dir():
        # Links stay links: kustomize refuses those that lead out.
        shutil.copytree(plan.root / _CONFIG, root / _CONFIG, symlinks=True, ignore=_special)
    for path in plan.changed:
        content = plan.current(path)
        if path.startswith(f"{_CONFIG}/") and content is not None:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content)
        elif path.startswith(f"{_CONFIG}/"):
            (root / path).unlink(missing_ok=True)


def _special(folder: str, names: list[str]) -> list[str]:
    """Pipes and devices, which nobody could read."""
    paths = ((name, Path(folder) / name) for name in names)
    return [name for name, path in paths if not (path.is_file() or path.is_dir() or path.is_symlink())]


def _build(folder: Path) -> str:
    return kustomize.build(folder, folders=program_folders())


def _identity(obj: Object) -> tuple[str, str, str]:
    return obj["apiVersion"], obj["kind"], obj["metadata"]["name"]
