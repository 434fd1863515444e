"""The files of a chart, from the objects of a project."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pykb.deployment.manifests import CRD, Object
from pykb.plugins.helm_v1._deployment import SCHEDULING, Image
from pykb.plugins.helm_v1._objects import Writer
from pykb.plugins.helm_v1._parts import Parts, place
from pykb.plugins.helm_v1._template import Names, Template
from pykb.plugins.rendered import Rendered, container_of, pod_of
from pykb.scaffold.template import render

ONCE = frozenset({"Chart.yaml"})
"""Files that belong to the user once they exist."""

_WEBHOOK_SECRET = "templates/webhook/certificate.yaml"  # noqa: S105 - the name of a file


def chart(name: str, rendered: Rendered) -> dict[str, str]:
    """The texts of a chart by path, without the values."""
    objects = [each for each in (*rendered.objects, *rendered.optional) if each["kind"] != "Namespace"]
    names = Names.of(name, rendered.namespace, rendered.prefix, objects)
    parts = Parts.of(objects, rendered.prefix)
    account = pod_of(rendered.manager).get("serviceAccountName") or ""
    writer = Writer(names, parts, account)
    files = {
        **described(name),
        ".helmignore": render("chart/helmignore.j2", {}),
        "templates/NOTES.txt": render("chart/NOTES.txt.j2", {"parts": parts}),
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
    return {"Chart.yaml": render("chart/Chart.yaml.j2", {"name": name})}


def values(rendered: Rendered) -> str:
    """The text of the values, with the defaults of the project."""
    objects = [*rendered.objects, *rendered.optional]
    manager = rendered.manager
    pod = pod_of(manager)
    kinds = {each["kind"] for each in rendered.objects}
    resources = container_of(manager).get("resources") or {}
    lines = "".join(f"\n  {line}" for line in Template.nested("resources", resources)[1:]) if resources else " {}"
    context: Mapping[str, Any] = {
        "replicas": manager["spec"].get("replicas", 1),
        "image": Image.of(container_of(manager)),
        "resources": lines,
        "pod": {key: json.dumps(pod.get(key) or empty) for key, empty in SCHEDULING.items()},
        "parts": Parts.of(objects, rendered.prefix),
        "defaults": {
            "prometheus": str("ServiceMonitor" in kinds).lower(),
            "policies": str("NetworkPolicy" in kinds).lower(),
        },
    }
    return render("chart/values.yaml.j2", context)


def _path(obj: Object, names: Names, parts: Parts, taken: Mapping[str, str]) -> str:
    name = obj["metadata"]["name"]
    stem = name if obj["kind"] == CRD else names.rest(name)
    folder = f"templates/{place(obj, parts, names.prefix).folder}"
    path = f"{folder}/{stem}.yaml"
    return path if path not in taken else f"{folder}/{stem}-{obj['kind'].lower()}.yaml"


def _filled(template: str, names: Names, parts: Parts, account: str, objects: list[Object]) -> str:
    """A template of helpers. It has words in place of names, since it is full of Helm's expressions."""
    text = render(template, {"parts": parts})
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
