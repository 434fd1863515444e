"""A bundle for the Operator Lifecycle Manager (OLM), from what kustomize renders of config/default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from pykb.diagnostics.codes.scaffold import FILE_BROKEN
from pykb.gen.emit.yaml import dump_document
from pykb.plugins.key import PluginKey
from pykb.plugins.olm_v1._bundle import Bundle
from pykb.plugins.olm_v1._version import cluster_service_version
from pykb.plugins.rendered import render as render_objects
from pykb.plugins.request import ApiRequest, EditRequest, InitRequest
from pykb.plugins.written import WrittenFiles
from pykb.project.file import Project
from pykb.reading import yaml_text
from pykb.scaffold.plan import OnExists, PlanBuilder
from pykb.scaffold.template import render

FOLDER = "bundle"
DOCKERFILE = "bundle.Dockerfile"
_ANNOTATIONS = "metadata/annotations.yaml"
_SAMPLES = "config/samples/kustomization.yaml"


class OlmV1:
    """An OLM bundle."""

    key = PluginKey("olm.pykb.dev", "v1")
    summary = "a bundle for OLM in bundle/, made of config/"

    def init(self, request: InitRequest, plan: PlanBuilder) -> None:
        """Add what people read about the operator. The bundle is made of it later."""
        path, text = _base(request.project)
        plan.create(path, text.encode())

    def create_api(self, request: ApiRequest, plan: PlanBuilder) -> None:
        """Nothing: the CRD is generated after this command, and the bundle is made of it."""

    def edit(self, request: EditRequest, plan: PlanBuilder) -> None:
        """Write the bundle, or bring it up to date."""
        path, text = _base(request.project)
        plan.create(path, text.encode(), on_exists=OnExists.KEEP)
        base = _mapping(plan, path)
        if base is None:
            return
        bundle = Bundle.of(render_objects(plan))
        version = cluster_service_version(request.project.project_name, base, bundle, _samples(plan), plan.diagnostics)
        files = {f"manifests/{request.project.project_name}.clusterserviceversion.yaml": _document(version)}
        files |= {f"manifests/{name}": _document(obj) for name, obj in bundle.manifests.items()}
        annotations = _annotations(request.project)
        WrittenFiles(FOLDER, plan, request.force, frozenset(annotations)).put({**annotations, **files})
        labels = self._labels(plan)
        for name, content in _docker(labels).items():
            plan.create(name, content.encode(), on_exists=OnExists.OVERWRITE)

    def remove(self, request: EditRequest, plan: PlanBuilder) -> None:
        """Remove the bundle and what was written for it."""
        path, text = _base(request.project)
        fresh = {path: text, **_docker(self._labels(plan))}
        WrittenFiles(FOLDER, plan, request.force).withdraw(_annotations(request.project))
        for name, content in fresh.items():
            current = plan.text(name)
            if current is not None:
                plan.update(name, None)
                if current != content:
                    plan.lose(name)

    @staticmethod
    def _labels(plan: PlanBuilder) -> Mapping[str, Any]:
        found = _mapping(plan, f"{FOLDER}/{_ANNOTATIONS}") if plan.current(f"{FOLDER}/{_ANNOTATIONS}") else None
        return (found or {}).get("annotations") or {}


def _document(obj: Mapping[str, object]) -> str:
    """A file of the bundle. OLM reads only its first document, so that it must not begin with a separator."""
    return dump_document(obj).removeprefix("---\n")


def _base(project: Project) -> tuple[str, str]:
    """The part of the ClusterServiceVersion that belongs to the user: its path and its first text."""
    title = project.project_name.replace("-", " ").title()
    context = {"project": project, "title": title, "domain": project.domain or "example.com"}
    path = f"config/manifests/bases/{project.project_name}.clusterserviceversion.yaml"
    return path, render("olm/clusterserviceversion.yaml.j2", context)


def _annotations(project: Project) -> dict[str, str]:
    return {_ANNOTATIONS: render("olm/annotations.yaml.j2", {"project": project})}


def _docker(labels: Mapping[str, Any]) -> dict[str, str]:
    """The Dockerfile of the bundle, and what its build sees in place of the project's `.dockerignore`."""
    return {
        DOCKERFILE: render("olm/Dockerfile.j2", {"labels": labels}),
        f"{DOCKERFILE}.dockerignore": render("olm/dockerignore.j2", {}),
    }


def _mapping(plan: PlanBuilder, path: str) -> dict[str, Any] | None:
    """The content of a YAML file. Reports one that is not a mapping."""
    try:
        found = yaml_text.load(plan.text(path) or "")
    except yaml.MarkedYAMLError as error:
        message = f"`{path}` does not parse: {error.problem or 'not YAML'}"
        plan.diagnostics.add(FILE_BROKEN.at(yaml_text.place(error, path), message, notes=("nothing was written",)))
        return None
    if isinstance(found, dict):
        return found
    plan.diagnostics.add(FILE_BROKEN.at(None, f"`{path}` is not a mapping", notes=("nothing was written",)))
    return None


def _samples(plan: PlanBuilder) -> list[dict[str, Any]]:
    """The samples that the kustomization names."""
    if plan.current(_SAMPLES) is None:
        return []
    names = (_mapping(plan, _SAMPLES) or {}).get("resources") or []
    found: list[dict[str, Any]] = []
    for name in names:
        text = plan.text(f"config/samples/{name}")
        found += [each for each in yaml_text.load_all(text or "") if isinstance(each, dict)]
    return found
