"""A Helm chart of the project, from what kustomize renders of config/default."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import StringIO
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from pykb.deployment.manifests import CRD, Object
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import TOOL_MISSING
from pykb.diagnostics.codes.project import CHART_LATER
from pykb.files.plan import digest
from pykb.plugins import PluginKey
from pykb.plugins.helm_v1._objects import SCHEDULING, SHARDS, Image, Parts, Ports, Writer, place, settings
from pykb.plugins.helm_v1._template import Names, Template
from pykb.plugins.rendered import AUTOSCALER, Record, Rendered, WrittenFiles, container_of, pod_of, render
from pykb.plugins.request import ApiRequest, EditRequest, InitRequest
from pykb.project.file import Project
from pykb.reading import yaml_text
from pykb.scaffold.plan import PlanBuilder
from pykb.scaffold.template import render_file


class HelmV1:
    """A Helm chart."""

    key = PluginKey("helm.pykb.dev", "v1")
    summary = "a Helm chart in charts/, made of config/"

    def init(self, request: InitRequest, plan: PlanBuilder) -> None:
        """Write the chart of a project without kinds. Without kustomize, that is left to a later command."""
        try:
            _write(request.project, plan, force=False)
        except EnvironmentProblem as problem:
            if problem.diagnostic.code is not TOOL_MISSING:
                raise
            message = "the chart was not written: neither `kustomize` nor `kubectl` is installed"
            plan.diagnostics.add(CHART_LATER.at(None, message, "later: `pykb edit --plugins helm`"))

    def create_api(self, request: ApiRequest, plan: PlanBuilder) -> None:
        """Nothing: the CRD is generated after this command, and the chart is made of it."""

    def edit(self, request: EditRequest, plan: PlanBuilder) -> None:
        """Write the chart, or bring it up to date."""
        _write(request.project, plan, force=request.force)

    def remove(self, request: EditRequest, plan: PlanBuilder) -> None:
        """Remove the chart."""
        name = request.project.project_name
        ChartFiles(f"charts/{name}", plan, request.force).withdraw(described(name))


def _write(project: Project, plan: PlanBuilder, *, force: bool) -> None:
    name = project.project_name
    rendered = render(plan)
    ChartFiles(f"charts/{name}", plan, force).put_chart(chart(name, rendered), values(rendered))


_VALUES = "values.yaml"


def merged(text: str, before: Mapping[str, Any], after: str) -> str:
    """The user's values with new keys, and with new defaults where the user kept the old ones.

    Args:
        text: The values as they are.
        before: The values that pykb wrote last.
        after: The values that pykb would write now.
    """
    yaml = YAML()
    yaml.width = 4096
    yaml.preserve_quotes = True
    current = yaml.load(text)
    if not isinstance(current, CommentedMap):
        return text
    _merge(current, before, yaml.load(after))
    stream = StringIO()
    yaml.dump(current, stream)
    return stream.getvalue()


def _merge(current: CommentedMap, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    for key in [key for key in before if key not in after and current.get(key) == before[key]]:
        del current[key]
    for key, value in after.items():
        was = before.get(key)
        if key not in current:
            if key not in before:
                current[key] = value
        elif isinstance(value, dict) and isinstance(current[key], dict) and isinstance(was, dict) and value:
            _merge(current[key], was, value)
        elif current[key] == was and value != was:
            current[key] = value


class ChartFiles(WrittenFiles):
    """The files of a chart, below a folder of the project."""

    def __init__(self, folder: str, plan: PlanBuilder, force: bool) -> None:
        super().__init__(folder, plan, force, ONCE)

    def put_chart(self, files: Mapping[str, str], values: str) -> None:
        """Write a chart, or bring one up to date."""
        last = self.last
        self.put_files(files, last, keep=frozenset({_VALUES}))
        self._put_values(values, last)
        self.remember({**files, _VALUES: values}, last, yaml_text.load(values))

    def _put_values(self, values: str, last: Record) -> None:
        path = f"{self.folder}/{_VALUES}"
        text = self.plan.text(path)
        if text is None or digest(text.encode()) == last.files.get(_VALUES):
            self.plan.update(path, values.encode())
            return
        try:
            self.plan.update(path, merged(text, last.values, values).encode())
        except (yaml.YAMLError, YAMLError):
            self.report(_VALUES)


ONCE = frozenset({"Chart.yaml"})
"""Files that belong to the user once they exist."""

_WEBHOOK_SECRET = "templates/webhook/certificate.yaml"  # noqa: S105 - the name of a file


def chart(name: str, rendered: Rendered) -> dict[str, str]:
    """The texts of a chart by path, without the values."""
    objects = [each for each in (*rendered.objects, *rendered.optional) if each["kind"] != "Namespace"]
    names = Names.of(name, rendered.namespace, rendered.prefix, objects)
    parts = Parts.of(objects, rendered.prefix)
    account = pod_of(rendered.manager).get("serviceAccountName") or ""
    writer = Writer(names, parts, account, Ports.of(rendered.manager, parts))
    files = {
        **described(name),
        ".helmignore": render_file("chart/helmignore.j2", {}),
        "templates/NOTES.txt": render_file("chart/NOTES.txt.j2", {"parts": parts}),
        "templates/_helpers.tpl": _filled("chart/_helpers.tpl.j2", names, parts, account, objects),
    }
    if parts.certificates and parts.webhooks:
        files[_WEBHOOK_SECRET] = _filled("chart/webhook_secret.yaml.j2", names, parts, account, objects)
    for obj in objects:
        path = _path(obj, names, parts, files)
        files[path] = writer.template(obj)
    return files


def described(name: str) -> dict[str, str]:
    """The files that are written once."""
    return {"Chart.yaml": render_file("chart/Chart.yaml.j2", {"name": name})}


def values(rendered: Rendered) -> str:
    """The text of the values, with the defaults of the project."""
    objects = [*rendered.objects, *rendered.optional]
    manager = rendered.manager
    pod = pod_of(manager)
    kinds = {each["kind"] for each in rendered.objects}
    args = container_of(manager).get("args") or ()
    parts = Parts.of(objects, rendered.prefix)
    context: Mapping[str, Any] = {
        "replicas": rendered.replicas,
        "shards": next((match[1] for each in args if (match := SHARDS.fullmatch(str(each)))), ""),
        "scaler": next((each["spec"] for each in objects if each["kind"] == AUTOSCALER), {}),
        "image": Image.of(container_of(manager)),
        "settings": {value: _lines(value, holder.get(key)) for holder, key, value in settings(manager)},
        "ports": Ports.of(manager, parts).values,
        "pod": {key: json.dumps(pod.get(key) or empty) for key, empty in SCHEDULING.items()},
        "parts": parts,
        "defaults": {
            "prometheus": str("ServiceMonitor" in kinds).lower(),
            "policies": str("NetworkPolicy" in kinds).lower(),
            "autoscaling": str(AUTOSCALER in kinds).lower(),
        },
    }
    return render_file("chart/values.yaml.j2", context)


def _lines(key: str, value: Any) -> str:
    """A field of the manager's values as YAML."""
    if not value:
        return f"  {key}: {'[]' if key == 'envFrom' else '{}'}"
    return "\n".join(f"  {line}" for line in Template.nested(key, value))


def _path(obj: Object, names: Names, parts: Parts, taken: Mapping[str, str]) -> str:
    name = obj["metadata"]["name"]
    stem = name if obj["kind"] == CRD else names.rest(name)
    folder = f"templates/{place(obj, parts, names.prefix).folder}"
    path = f"{folder}/{stem}.yaml"
    return path if path not in taken else f"{folder}/{stem}-{obj['kind'].lower()}.yaml"


def _filled(template: str, names: Names, parts: Parts, account: str, objects: list[Object]) -> str:
    """A template of helpers. It has words in place of names, since it is full of Helm's expressions."""
    text = render_file(template, {"parts": parts})
    secrets = [each["spec"]["secretName"] for each in objects if each["kind"] == "Certificate"]
    service = [each["metadata"]["name"] for each in objects if each["kind"] == "Service"]
    words = {
        "NAME": names.chart,
        "PREFIX": str(names.room),
        "ACCOUNT": names.rest(account),
        "SECRET": next((each for each in map(names.rest, secrets) if "webhook" in each), ""),
        "SERVICE": next((each for each in map(names.rest, service) if "webhook" in each), ""),
    }
    for word, value in words.items():
        text = text.replace(word, value)
    return text
