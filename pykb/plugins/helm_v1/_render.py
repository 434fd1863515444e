"""The objects that a chart is made of: what kustomize renders of config/."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pykb.deployment.cluster import program_folders
from pykb.deployment.manifests import Object, objects_of
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.deployment import KUSTOMIZATION
from pykb.plugins.helm_v1._deployment import MANAGER, is_manager
from pykb.reading import yaml_text
from pykb.scaffold.plan import PlanBuilder
from pykb.tools import kustomize

_DEFAULT = "config/default"
_OPTIONAL = ("config/prometheus", "config/network-policy")
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
            message = f"{_DEFAULT} has no Deployment with a container `{MANAGER}`, so no chart can be made of it"
            raise EnvironmentProblem(KUSTOMIZATION.at(None, message, notes=("nothing was written",)))
        return found


def render(plan: PlanBuilder) -> Rendered:
    """Render config/default and the optional folders, as the plan changes them.

    Raises:
        EnvironmentProblem: Neither kustomize nor kubectl is installed, or a folder cannot be rendered.
    """
    with _folder(plan) as root, TemporaryDirectory(prefix="pykb-") as overlay:
        objects = objects_of(_build(root / _DEFAULT))
        settings: Any = yaml_text.load((root / _DEFAULT / "kustomization.yaml").read_bytes())
        namespace, prefix = (str(settings.get(key) or "") for key in ("namespace", "namePrefix"))
        wanted = [root / name for name in _OPTIONAL if (root / name / "kustomization.yaml").is_file()]
        names = [os.path.relpath(folder.resolve(), Path(overlay).resolve()) for folder in wanted]
        lines = [f"namespace: {namespace}"] * bool(namespace) + [f"namePrefix: {prefix}"] * bool(prefix)
        text = "\n".join([*lines, "resources:", *(f"- {name}" for name in names)])
        (Path(overlay) / "kustomization.yaml").write_text(text, encoding="utf-8")
        optional = objects_of(_build(Path(overlay))) if names else []
    known = {_identity(each) for each in objects}
    return Rendered(objects, [each for each in optional if _identity(each) not in known], namespace, prefix)


@contextmanager
def _folder(plan: PlanBuilder) -> Iterator[Path]:
    """The project, or a copy of its config/ with the changes of the plan."""
    changed = [path for path in plan.changed if path.startswith("config/")]
    if not changed:
        yield plan.root
        return
    with TemporaryDirectory(prefix="pykb-") as copy:
        root = Path(copy)
        if (plan.root / "config").is_dir():
            shutil.copytree(plan.root / "config", root / "config")
        for path in changed:
            content = plan.current(path)
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(content or b"")
            if content is None:
                (root / path).unlink()
        yield root


def _build(folder: Path) -> str:
    return kustomize.build(folder, folders=program_folders())


def _identity(obj: Object) -> tuple[str, str, str]:
    return obj["apiVersion"], obj["kind"], obj["metadata"]["name"]
