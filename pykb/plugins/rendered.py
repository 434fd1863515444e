"""What charts and bundles are made of: the objects that kustomize renders of config/; and their files in the plan.

What users edited in those files stays, and is reported if it is out of date.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pykb._regular_file import read_bytes
from pykb.deployment.cluster import program_folders
from pykb.deployment.manifests import Object, objects_of
from pykb.diagnostics import NOTHING_WRITTEN, Span
from pykb.diagnostics.codes.environment import KUSTOMIZATION
from pykb.diagnostics.codes.project import CHART_EDITED
from pykb.files.durable import temporary
from pykb.files.plan import digest
from pykb.project.settings import CONFIG
from pykb.reading import read_json, yaml_text
from pykb.scaffold.plan import OnExists, PlanBuilder
from pykb.tools.kubectl import build_kustomization, check_kustomization

AUTOSCALER = "HorizontalPodAutoscaler"
MANAGER = "manager"
"""The name of the manager's container."""

_DEFAULT = "config/default"
_OPTIONAL = {"resources": ("../prometheus", "../network-policy"), "components": ("../autoscaling",)}
"""Folders that config/default names only if the user wants them, by its lists."""


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
            raise KUSTOMIZATION.problem(message, notes=NOTHING_WRITTEN)
        return found

    @property
    def replicas(self) -> int:
        """How many managers run at first. An autoscaler takes the number out of the Deployment."""
        scalers = (each for each in self.objects if each["kind"] == AUTOSCALER)
        least = next((each["spec"].get("minReplicas", 1) for each in scalers), 1)
        found: int = self.manager["spec"].get("replicas", least)
        return found


def render(plan: PlanBuilder) -> Rendered:
    """Render config/default and the optional folders, as the plan changes them.

    Raises:
        EnvironmentProblem: Neither kustomize nor kubectl is installed, or a folder cannot be rendered.
    """
    with temporary("render") as root:
        _copy(plan, root)
        folder = root / plan.place(_DEFAULT)
        objects = objects_of(_build(folder, root))
        file = folder / "kustomization.yaml"
        settings: dict[str, Any] = yaml_text.load(read_bytes(file))
        for key, names in _OPTIONAL.items():
            known = list(settings.get(key) or [])
            more = [name for name in names if name not in known and any(folder.glob(f"{name}/*"))]
            settings = {**settings, **({key: [*known, *more]} if known or more else {})}
        file.write_text(json.dumps(settings), encoding="utf-8")
        optional = objects_of(_build(folder, root))
    present = {_identity(each) for each in objects}
    optional = [each for each in optional if _identity(each) not in present]
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
    if (plan.root / plan.config).is_dir():
        check_kustomization(plan.root / plan.config, root=plan.root)
        # Links stay links: kustomize refuses those that lead out.
        shutil.copytree(plan.root / plan.config, root / plan.config, symlinks=True)
    for path in plan.changed:
        content = plan.current(path)
        copy = root / plan.place(path)
        if not path.startswith(f"{CONFIG}/"):
            continue
        if content is None:
            copy.unlink(missing_ok=True)
        else:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)


def _build(folder: Path, root: Path) -> str:
    return build_kustomization(folder, root=root, folders=program_folders())


def _identity(obj: Object) -> tuple[str, str, str]:
    return obj["apiVersion"], obj["kind"], obj["metadata"]["name"]


RECORD = ".pykb.json"


@dataclass(frozen=True, slots=True)
class Record:
    """What pykb wrote last: the hashes of the files, and the values. Tells what the user edited since."""

    files: Mapping[str, str]
    values: Mapping[str, Any]

    @classmethod
    def read(cls, content: bytes | None) -> Record:
        """The record in a file. One of another form counts as none: then all files are the user's."""
        try:
            found = read_json(content or b"")
            files, values = found["files"], found["values"]
        except (ValueError, LookupError, TypeError):
            return cls({}, {})
        return cls(files, values) if isinstance(files, dict) and isinstance(values, dict) else cls({}, {})

    def encode(self) -> bytes:
        """The text of the file."""
        return (json.dumps({"files": self.files, "values": self.values}, indent=1, sort_keys=True) + "\n").encode()


def take_out(plan: PlanBuilder, path: str, written: str) -> None:
    """Remove a file. Reports one that the user edited: then it does not have the hash of what was written."""
    current = plan.current(path)
    if current is not None:
        plan.update(path, None)
        if digest(current) != written:
            plan.lose(path)


@dataclass(slots=True)
class WrittenFiles:
    """The files of a plugin below a folder of the project.

    Attributes:
        folder: The folder.
        plan: Takes the changes.
        force: Whether edited files are overwritten.
        once: Files that belong to the user once they exist.
        stale: Edited files that are out of date.
        last: What was written last.
    """

    folder: str
    plan: PlanBuilder
    force: bool
    once: frozenset[str] = frozenset()
    stale: set[str] = field(default_factory=set)
    last: Record = field(init=False)

    def __post_init__(self) -> None:
        self.last = Record.read(self.plan.current(f"{self.folder}/{RECORD}"))

    def put(self, files: Mapping[str, str]) -> None:
        """Write the files, or bring them up to date."""
        self.put_files(files)
        self.remember(files, {})

    def put_files(self, files: Mapping[str, str], *, keep: frozenset[str] = frozenset()) -> None:
        """Write files, and remove those that are no longer made, except some."""
        for name, text in sorted(files.items()):
            self._put(name, text.encode())
        for name in sorted(set(self.last.files) - set(files) - keep):
            self._remove(name)

    def remember(self, written: Mapping[str, str], values: Mapping[str, Any]) -> None:
        """Record what was written."""
        hashes = {name: digest(text.encode()) for name, text in written.items() if name not in self.once}
        hashes |= {name: self.last.files.get(name, "") for name in self.stale}  # they are reported again next time
        self.plan.update(f"{self.folder}/{RECORD}", Record(hashes, values).encode())

    def withdraw(self, fresh: Mapping[str, str]) -> None:
        """Remove the files. Reports those that the user edited.

        Args:
            fresh: The files that are written once, as pykb writes them.
        """
        known = {name: digest(text.encode()) for name, text in fresh.items()} | dict(self.last.files)
        for name, written in sorted(known.items()):
            take_out(self.plan, f"{self.folder}/{name}", written)
        self.plan.update(f"{self.folder}/{RECORD}", None)

    def _put(self, name: str, content: bytes) -> None:
        path, written = f"{self.folder}/{name}", self.last.files.get(name)
        current = self.plan.current(path)
        if name in self.once and current is not None:
            return
        if current is None and written is None:
            self.plan.create(path, content)
        elif digest(current) == written:
            self.plan.update(path, content)
        elif self.force:
            self.plan.create(path, content, on_exists=OnExists.OVERWRITE)
        elif current != content and digest(content) != written:
            self.report(name)

    def _remove(self, name: str) -> None:
        path = f"{self.folder}/{name}"
        current = self.plan.current(path)
        if current is None:
            return
        if self.force or digest(current) == self.last.files[name]:
            self.plan.update(path, None)
        else:
            self.report(name)

    def report(self, name: str) -> None:
        """Say that a file was edited and is out of date."""
        self.stale.add(name)
        path = f"{self.folder}/{name}"
        message = f"`{path}` was edited, and config/ has changed since; it stays as it is"
        helps = ("`--force --diff` shows the current version; `--force` writes it and keeps yours in `.pykb/backup`",)
        self.plan.diagnostics.report(CHART_EDITED, Span(path, 1, 1), message, *helps)
