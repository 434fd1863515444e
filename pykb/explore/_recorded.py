"""Objects that a cluster has recorded: read from the present cluster or from a file, and explored.

Nothing is written to the cluster. The values of Secrets are replaced as soon as they are read.
"""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import orjson
import yaml

from pykb._regular_file import read_bytes
from pykb.api.builtin import find_class, kinds
from pykb.client.codec import gvk_of
from pykb.client.login import discover_credentials
from pykb.diagnostics import Span
from pykb.diagnostics.codes.explore import NOT_EXPLORED
from pykb.envtest.rest import Rest
from pykb.explore._earlier import Earlier, Life, Record, name_of
from pykb.explore._history import Identity, Manifest
from pykb.explore._objects import group_kind_of
from pykb.explore._outcome import Moment
from pykb.explore._project import Subject
from pykb.meta.gvk import GroupVersion
from pykb.reading import yaml_text

_MOST_OBJECTS = 1000
_MOST_SAMPLES = 10
_MOST_BYTES = 50_000_000
_PAGE = 250

_EMPTIED = base64.b64encode(b"emptied").decode()
_NO_LOGINS = base64.b64encode(b'{"auths": {}}').decode()
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""An annotation that repeats the object, also the values of a Secret."""

_KOPF, _HANDLED = "kopf.zalando.org", "/last-handled-configuration"
"""The usual prefix of the annotations in which kopf notes how far its handlers are, and what it always notes there."""

_OF_CONTROLLERS = ("ReplicaSet", "ControllerRevision", "Endpoints", "EndpointSlice", "Event", "Lease", "Node")
"""Kinds that Kubernetes' own controllers make. In the explorer, stand-ins act for these."""

_OF_EACH_NAMESPACE = (("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default"), ("Service", "kubernetes"))
_WORKLOADS = ("apps", "batch")
"""The groups whose objects make pods."""

_USUAL = (
    *("deployments", "statefulsets", "daemonsets", "services", "configmaps", "secrets", "serviceaccounts", "jobs"),
    *("cronjobs", "ingresses", "persistentvolumeclaims", "poddisruptionbudgets", "horizontalpodautoscalers", "pods"),
)
"""What is read if the operator's role names no resources."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """Objects of a cluster.

    Attributes:
        name: Where they are from.
        objects: The objects, with uid and status. Secrets have no values.
        notes: What was left out, for people.
    """

    name: str
    objects: tuple[Manifest, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        counted = Counter(each["kind"] for each in self.objects)
        return ", ".join(f"{number} {kind}" for kind, number in sorted(counted.items()))


def recorded_in_file(path: Path, subject: Subject) -> Recorded:
    """The objects in a YAML file, as `kubectl get -o yaml` prints them.

    Args:
        path: The file.
        subject: The project whose kinds are known, beside those of Kubernetes.

    Raises:
        EnvironmentProblem: It cannot be read, or what it has are not objects.
    """
    name = str(path)
    try:
        found = [
            (each, Span(name, document.node.start_mark.line + 1, 1))
            for document in yaml_text.documents(read_bytes(path, most=_MOST_BYTES))
            for each in _items(document.content)
        ]
    except OSError as error:
        raise NOT_EXPLORED.problem(f"`{name}` cannot be read: {error.strerror or error}") from error
    except yaml.MarkedYAMLError as error:
        message = f"`{name}` {yaml_text.verdict(error)}: {error.problem}"
        raise NOT_EXPLORED.problem(message, span=yaml_text.place(error, name)) from error
    return _recorded(path.name, [_checked(each, span) for each, span in found], subject)


def recorded_in_cluster(subject: Subject) -> Recorded:
    """The objects in the namespace of the current context of a kubeconfig. Only reads.

    Args:
        subject: The project. Its kinds are read, and those that its role names.

    Raises:
        EnvironmentProblem: No cluster answers.
    """
    rest = Rest(discover_credentials())
    namespace = rest.namespace or "default"
    objects: list[Manifest] = []
    notes: list[str] = []
    for title, paths in _collections(subject, namespace):
        wanted = _MOST_OBJECTS - len(objects)
        if wanted <= 0:
            notes.append(f"{title} not read: there are more than {_MOST_OBJECTS} objects")
            continue
        for path in paths:
            why = ""
            for page in _pages(rest, path, wanted):
                if isinstance(page, str):
                    why = page
                else:
                    objects += page
            if not why:
                break
        if why:
            notes.append(f"{title} not read: {why}")
    name = f"the namespace {namespace}"
    recorded = _recorded(name, [_checked(each, None) for each in objects], subject)
    return replace(recorded, notes=(*notes, *recorded.notes))


def _pages(rest: Rest, path: str, most: int) -> Iterator[list[Manifest] | str]:
    """The objects of a collection, page by page, or why they cannot be read."""
    more, read = "", 0
    while read < most:
        answer = rest.call("GET", f"{path}?limit={min(_PAGE, most - read)}{more}")
        if not answer.ok:
            yield answer.message
            return
        page = list(_items(answer.body))
        read += len(page)
        yield page
        token = (answer.body.get("metadata") or {}).get("continue")
        if not token:
            return
        more = f"&continue={token}"
    yield f"there are more than {most} objects"


def _collections(subject: Subject, namespace: str) -> Iterator[tuple[str, list[str]]]:
    """The kinds to read, each with its paths: in each version of the project's own kinds."""
    for crd in subject.crds:
        spec = crd["spec"]
        inside = f"/namespaces/{namespace}" if spec["scope"] == "Namespaced" else ""
        names = [version["name"] for version in spec["versions"] if version.get("served")]
        plural = spec["names"]["plural"]
        yield plural, [f"/apis/{spec['group']}/{name}{inside}/{plural}" for name in names]
    named = {
        (group, resource)
        for rule in subject.rules or ()
        for group in rule.get("apiGroups") or ()
        for resource in rule.get("resources") or ()
    }
    everything = not named or any("*" in pair for pair in named)
    for gvk in kinds():
        cls = find_class(gvk)
        served = cls.resource if cls is not None else None
        if served is None or not served.namespaced or gvk.kind in _OF_CONTROLLERS:
            continue
        if (gvk.group, served.plural) in named or (everything and served.plural in _USUAL):
            start = f"/apis/{gvk.group}/{gvk.version}" if gvk.group else f"/api/{gvk.version}"
            yield served.plural, [f"{start}/namespaces/{namespace}/{served.plural}"]


def _items(content: Any) -> Iterator[Any]:
    """The objects of a document, which may be a list of them."""
    if not isinstance(content, dict) or not str(content.get("kind", "")).endswith("List") or "items" not in content:
        if content is not None:
            yield content
        return
    kind, version = str(content["kind"]).removesuffix("List"), content.get("apiVersion")
    for item in content["items"] if isinstance(content["items"], list) else ():
        yield {"apiVersion": version, "kind": kind, **item} if isinstance(item, dict) and kind else item


def _checked(obj: Any, span: Span | None) -> Manifest:
    """An object whose parts are of the types that all code expects.

    Raises:
        EnvironmentProblem: It is not an object of Kubernetes.
    """
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    texts = [obj.get("apiVersion"), obj.get("kind"), metadata.get("name")] if isinstance(metadata, dict) else [None]
    if not all(isinstance(each, str) and each for each in texts) or not isinstance(metadata, dict):
        raise _no_object("has no `apiVersion`, `kind` or `metadata.name`", span)
    shapes = {"labels": dict, "annotations": dict, "ownerReferences": list, "finalizers": list, "managedFields": list}
    shapes |= {"namespace": str, "uid": str, "generateName": str, "deletionTimestamp": str}
    for name, shape in shapes.items():
        if not isinstance(metadata.get(name) or shape(), shape):
            raise _no_object(f"has no valid `metadata.{name}`", span)
    if not all(isinstance(obj.get(name) or {}, dict) for name in ("data", "stringData") if obj["kind"] == "Secret"):
        raise _no_object("has no valid `data`", span)
    references = metadata.get("ownerReferences") or ()
    needed = ("apiVersion", "kind", "name", "uid")
    if not all(
        isinstance(each, dict) and all(isinstance(each.get(name), str) for name in needed) for each in references
    ):
        raise _no_object("has no valid `metadata.ownerReferences`", span)
    try:
        copied: Manifest = orjson.loads(orjson.dumps(obj))
    except TypeError as error:
        raise _no_object(f"is not JSON: {error}", span) from error
    return copied


def _no_object(what: str, span: Span | None) -> Exception:
    return NOT_EXPLORED.problem(f"an object {what}", "record it with `kubectl get KINDS -o yaml`", span=span)


def _recorded(name: str, objects: Sequence[Manifest], subject: Subject) -> Recorded:
    """Leave out what the world cannot have, and empty the Secrets."""
    own = {group_kind_of(crd) for crd in subject.crds}
    unknown: Counter[str] = Counter()
    going, kept = 0, []
    for obj in objects[:_MOST_OBJECTS]:
        group, metadata = GroupVersion.parse(obj["apiVersion"]).group, obj["metadata"]
        if (group, obj["kind"]) not in own and find_class(gvk_of(obj)) is None:
            unknown[obj["kind"]] += 1
        elif metadata.get("deletionTimestamp"):
            going += 1
        elif not _is_of_cluster(obj):
            kept.append(_emptied(obj))
    notes = [f"{number} {kind} left out: the project has no definition of it" for kind, number in unknown.items()]
    notes += [f"{going} objects left out that are being deleted"] if going else []
    notes += [f"only the first {_MOST_OBJECTS} objects were taken"] if len(objects) > _MOST_OBJECTS else []
    return Recorded(name, tuple(_with_owners(kept)), tuple(notes))


def _is_of_cluster(obj: Manifest) -> bool:
    """Whether Kubernetes' own controllers made an object."""
    metadata = obj["metadata"]
    if obj["kind"] in _OF_CONTROLLERS or (obj["kind"], metadata["name"]) in _OF_EACH_NAMESPACE:
        return True
    owners = metadata.get("ownerReferences") or ()
    return obj["kind"] == "Pod" and any(
        GroupVersion.parse(each["apiVersion"]).group in _WORKLOADS for each in owners if each.get("controller")
    )


def _emptied(obj: Manifest) -> Manifest:
    """A Secret without its values. Every other object is as it is."""
    if not Identity.of(obj).is_secret:
        return obj
    value = _NO_LOGINS if obj.get("type") == "kubernetes.io/dockerconfigjson" else _EMPTIED
    names = {name for field in ("data", "stringData") for name in (obj.get(field) or {})}
    annotations = obj["metadata"].get("annotations") or {}
    left = {name: text for name, text in annotations.items() if name != _APPLIED}
    without = {name: each for name, each in obj.items() if name not in ("data", "stringData")}
    return {
        **without,
        "metadata": {**obj["metadata"], "annotations": left},
        "data": dict.fromkeys(sorted(names), value),
    }


def _with_owners(objects: Sequence[Manifest]) -> Iterator[Manifest]:
    """Give each object a uid, and leave out references to owners that are not there: they would be collected."""
    for obj in objects:
        uid = str(uuid5(NAMESPACE_URL, Identity.of(obj).key))
        obj["metadata"]["uid"] = obj["metadata"].get("uid") or uid
    known = {obj["metadata"]["uid"] for obj in objects}
    for obj in objects:
        references = obj["metadata"].pop("ownerReferences", None) or ()
        if left := [each for each in references if each["uid"] in known]:
            obj["metadata"]["ownerReferences"] = left
        yield obj


def with_record(
    subject: Subject, recorded: Recorded, kind: str = "", *, only_sample: bool = False
) -> tuple[Subject, str]:
    """Explore recorded objects in place of the project's samples, with what else was recorded around them.

    Args:
        subject: The project.
        recorded: The objects.
        kind: Only objects of this kind.
        only_sample: Whether the other objects of the project's kinds are not there while one is explored.

    Returns:
        What to explore, and a note if not all objects are explored.

    Raises:
        EnvironmentProblem: There are no objects of a kind of the project.
    """
    own = {group_kind_of(crd) for crd in subject.crds}
    roots = [
        obj
        for obj in recorded.objects
        if (GroupVersion.parse(obj["apiVersion"]).group, obj["kind"]) in own
        and not obj["metadata"].get("ownerReferences")
    ]
    chosen = [obj for obj in roots if not kind or obj["kind"].lower() == kind.lower()]
    if not chosen:
        wanted = kind or ", ".join(sorted(name for _, name in own))
        helps = (f"it has {recorded}",) if recorded.objects else ("name a namespace or a file that has one",)
        raise NOT_EXPLORED.problem(f"{recorded.name} has no {wanted} to explore", *helps)
    samples = [_sample_of(obj) for obj in chosen[:_MOST_SAMPLES]]
    owned = _below(recorded.objects, {obj["metadata"]["uid"] for obj in roots})
    around = [obj for obj in recorded.objects if obj["metadata"]["uid"] not in owned]
    namespaces = {sample["metadata"]["namespace"] for sample in samples if sample["metadata"].get("namespace")}
    start = Moment(tuple(map(orjson.dumps, recorded.objects)), frozenset(), 0.0, 0)
    lives = {name_of(Identity.of(sample)): Life(sample, (Record((start,), ()),)) for sample in samples}
    explored = replace(
        subject,
        samples=samples,
        places={},
        neighbours=() if only_sample else samples,
        background=[*map(_namespace, sorted(namespaces)), *subject.background, *around],
        namespaces=tuple(sorted(namespaces)) if subject.namespaces else (),
        earlier=Earlier(recorded.name, lives, is_recorded=True),
    )
    left = len(chosen) - len(samples)
    return explored, f"{left} more objects are not explored: the first {_MOST_SAMPLES} are" if left else ""


def _namespace(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _below(objects: Iterable[Manifest], roots: set[str]) -> set[str]:
    """The uids of objects and of all that they own."""
    every, before = set(roots), -1
    while len(every) != before:
        before = len(every)
        for obj in objects:
            if any(each["uid"] in every for each in obj["metadata"].get("ownerReferences") or ()):
                every.add(obj["metadata"]["uid"])
    return every


def _sample_of(obj: Mapping[str, Any]) -> Manifest:
    """An object as people would create it."""
    metadata = obj["metadata"]
    kept = {name: metadata[name] for name in ("name", "namespace", "labels") if metadata.get(name)}
    annotations = metadata.get("annotations") or {}
    of_kopf = {name.rpartition("/")[0] for name in annotations if name.endswith(_HANDLED)} | {_KOPF}
    written = {
        name: text for name, text in annotations.items() if name != _APPLIED and name.rpartition("/")[0] not in of_kopf
    }
    content = {name: each for name, each in obj.items() if name not in ("metadata", "status")}
    return {**content, "metadata": {**kept, **({"annotations": written} if written else {})}}
