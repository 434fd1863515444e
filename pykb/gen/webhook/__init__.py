"""Webhook configurations from ``+kubebuilder:webhook`` markers.

A marker's ``patch`` is a strategic merge patch as JSON. Source of its fields: admissionregistration.k8s.io/v1. The
lists of a webhook that a marker can set have no merge key, so a patch replaces them. A null removes a field.
``$patch: replace`` and ``$patch: delete`` work on objects.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from pykb.diagnostics import Diagnostic, Diagnostics, Label, Severity
from pykb.diagnostics.codes.generate import WEBHOOK_CONFIGURATION, WEBHOOK_DUPLICATE, WEBHOOK_PATCH, WEBHOOK_PATH
from pykb.diagnostics.suggest import closest
from pykb.gen.output import Artifact
from pykb.gen.webhook._checks import check_conditions, check_marker, problems
from pykb.markers.model import Marker, SourceFile
from pykb.meta.names import is_subdomain
from pykb.project.kubernetes import Minor

_Shape = Mapping[str, object]
_STRINGS = [str]
_SELECTOR: _Shape = {
    "matchLabels": {"*": str},
    "matchExpressions": [{"key": str, "operator": str, "values": _STRINGS}],
}
_WEBHOOK: _Shape = {
    "name": str,
    "clientConfig": {
        "url": str,
        "service": {"name": str, "namespace": str, "path": str, "port": int},
        "caBundle": str,
    },
    "rules": [
        {
            "operations": _STRINGS,
            "apiGroups": _STRINGS,
            "apiVersions": _STRINGS,
            "resources": _STRINGS,
            "scope": str,
        }
    ],
    "failurePolicy": str,
    "matchPolicy": str,
    "namespaceSelector": _SELECTOR,
    "objectSelector": _SELECTOR,
    "sideEffects": str,
    "timeoutSeconds": int,
    "admissionReviewVersions": _STRINGS,
    "matchConditions": [{"name": str, "expression": str}],
}
_MUTATING: _Shape = {**_WEBHOOK, "reinvocationPolicy": str}
_WORDS = {str: "a string", int: "an integer"}


class _WrongPatchError(Exception):
    def __init__(self, message: str, help_: str = "") -> None:
        super().__init__(message)
        self.help = help_


def _apply_patch(
    webhook: dict[str, object], marker: Marker, oldest: Minor | None, diagnostics: Diagnostics
) -> dict[str, object]:
    """Apply the marker's patch. Returns the webhook unchanged when there is no patch or it is invalid."""
    text = str(marker.arguments.get("patch", ""))
    if not text:
        return webhook
    try:
        patch = _parse(text)
        _check(patch, _MUTATING if marker.arguments.get("mutating") else _WEBHOOK, "")
        patched = _merge(webhook, patch)
        _check_result(webhook, patched)
    except _WrongPatchError as error:
        diagnostics.report(
            WEBHOOK_PATCH,
            marker.span_of("patch"),
            str(error),
            *((error.help,) if error.help else ()),
            label="the patch is not applied",
        )
        return webhook
    diagnostics.extend(check_conditions(patched, oldest, marker.span_of("patch")))
    return patched


def _parse(text: str) -> dict[str, object]:
    def pairs(found: list[tuple[str, object]]) -> dict[str, object]:
        keys = [k for k, _ in found]
        for key in keys:
            if keys.count(key) > 1:
                raise _WrongPatchError(f"the key `{key}` appears twice in one object of the patch")
        return dict(found)

    try:
        patch = json.loads(text, object_pairs_hook=pairs)
    except (ValueError, RecursionError) as error:
        raise _WrongPatchError(
            f"expected a JSON object as patch, found text that is not JSON: {error}",
            'write the patch in back-ticks: patch=`{"matchPolicy":"Exact"}`',
        ) from None
    if not isinstance(patch, dict):
        raise _WrongPatchError(f"expected a JSON object as patch, found `{text}`")
    return patch


def _check(value: object, shape: object, path: str) -> None:
    if value is None:
        return
    where = f"`{path}`" if path else "the patch"
    if isinstance(shape, Mapping):
        if not isinstance(value, dict):
            raise _WrongPatchError(f"expected an object at {where}, found `{json.dumps(value)}`")
        _check_object(value, shape, path)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise _WrongPatchError(f"expected a list at {where}, found `{json.dumps(value)}`")
        for index, item in enumerate(value):
            _check(item, shape[0], f"{path}[{index}]")
    elif isinstance(shape, type) and (not isinstance(value, shape) or (shape is int and isinstance(value, bool))):
        raise _WrongPatchError(f"expected {_WORDS[shape]} at {where}, found `{json.dumps(value)}`")


def _check_object(value: dict[str, object], shape: _Shape, path: str) -> None:
    for key, inner in value.items():
        if key == "$patch":
            if inner not in {"replace", "delete"}:
                raise _WrongPatchError(f"expected `replace` or `delete` for `$patch`, found `{json.dumps(inner)}`")
            continue
        expected = shape.get(key, shape.get("*"))
        if expected is None:
            nearest = closest(key, shape)
            where = f" of `{path}`" if path else ""
            raise _WrongPatchError(
                f"a webhook has no field `{key}`{where}",
                f"a field with a similar name exists: `{nearest}`" if nearest else "",
            )
        _check(inner, expected, f"{path}.{key}" if path else key)


def _merge(original: Mapping[str, object], patch: Mapping[str, object]) -> dict[str, object]:
    directive = patch.get("$patch")
    if directive == "delete":
        return {}
    merged = {} if directive == "replace" else dict(original)
    for key, value in patch.items():
        if key == "$patch":
            continue
        before = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = _merge(before if isinstance(before, dict) else {}, value)
        else:
            merged[key] = value
    return merged


def _check_result(before: Mapping[str, object], after: Mapping[str, object]) -> None:
    known = set(problems(before))  # problems of the marker itself are reported elsewhere
    for problem in problems(after):
        if problem not in known:
            raise _WrongPatchError(problem)


WEBHOOK = "kubebuilder:webhook"
FILE_NAME = "manifests.yaml"
CONFIGURATION = "kubebuilder:webhookconfiguration"
_API_VERSION = "admissionregistration.k8s.io/v1"
_KINDS = {True: "MutatingWebhookConfiguration", False: "ValidatingWebhookConfiguration"}
_NAMES = {True: "mutating-webhook-configuration", False: "validating-webhook-configuration"}
_SPELLINGS = {
    word.lower(): word
    for word in ("Ignore", "Fail", "Exact", "Equivalent", "None", "NoneOnDryRun", "Never", "IfNeeded")
}


def generate_webhook(
    sources: Sequence[SourceFile],
    *,
    header: str = "",
    oldest: Minor | None = None,
    diagnostics: Diagnostics,
) -> tuple[Artifact, ...]:
    """Generate the manifest: the MutatingWebhookConfiguration, then the ValidatingWebhookConfiguration.

    Args:
        sources: The files to read markers from.
        header: Text before the first document.
        oldest: The oldest Kubernetes that must accept it, if the project names one.
        diagnostics: Takes what is wrong with the markers.

    Returns:
        One artifact, or none when there are no webhooks.
    """
    webhooks: dict[bool, list[Marker]] = defaultdict(list)
    configurations: list[Marker] = []
    for source in sources:
        for marker in source.package_markers:
            if marker.name == WEBHOOK:
                diagnostics.extend(check_marker(marker))
                webhooks[bool(marker.arguments["mutating"])].append(marker)
            elif marker.name == CONFIGURATION:
                configurations.append(marker)
    names = {bool(m.arguments["mutating"]): str(m.arguments.get("name", "")) for m in reversed(configurations)}
    diagnostics.extend(_check_configurations(configurations, webhooks))
    diagnostics.extend(_check_duplicates(webhooks))
    documents: list[Mapping[str, object]] = []
    for mutating in (True, False):
        markers = sorted(webhooks[mutating], key=lambda m: str(m.arguments["name"]))
        if markers:
            documents.append(
                {
                    "apiVersion": _API_VERSION,
                    "kind": _KINDS[mutating],
                    "metadata": {"name": names.get(mutating) or _NAMES[mutating]},
                    "webhooks": [_apply_patch(_webhook(m), m, oldest, diagnostics) for m in markers],
                }
            )
    return (Artifact(FILE_NAME, tuple(documents), header),) if documents else ()


def _webhook(marker: Marker) -> dict[str, object]:
    given = marker.arguments
    webhook: dict[str, object] = {
        "name": given["name"],
        "admissionReviewVersions": given["admissionReviewVersions"],
        "clientConfig": _client_config(given),
        "rules": [
            {
                "apiGroups": ["" if g == "core" else g for g in marker.texts("groups")],
                "apiVersions": marker.texts("versions"),
                "operations": [v.upper() for v in marker.texts("verbs")],
                "resources": marker.texts("resources"),
            }
        ],
    }
    for name in ("failurePolicy", "matchPolicy", "sideEffects", "reinvocationPolicy"):
        if value := given.get(name):
            webhook[name] = _SPELLINGS.get(str(value).lower(), value)
    if given.get("timeoutSeconds"):
        webhook["timeoutSeconds"] = given["timeoutSeconds"]
    return webhook


def _client_config(given: Mapping[str, object]) -> dict[str, object]:
    if given.get("url"):
        return {"url": given["url"]}
    service = {
        "name": given.get("serviceName") or "webhook-service",
        "namespace": given.get("serviceNamespace") or "system",
        "path": given.get("path", ""),
    }
    if "servicePort" in given:
        service["port"] = given["servicePort"]
    return {"service": service}


def _check_configurations(markers: Sequence[Marker], webhooks: Mapping[bool, Sequence[Marker]]) -> Iterator[Diagnostic]:
    """Check the markers that name the two objects. Each exists once, so a second marker for one is an error."""
    first: dict[bool, Marker] = {}
    for marker in markers:
        mutating = bool(marker.arguments["mutating"])
        earlier = first.setdefault(mutating, marker)
        if earlier is not marker:
            yield WEBHOOK_DUPLICATE.at(
                marker.span,
                f"the {_KINDS[mutating]} is named a second time",
                label="only one name can apply",
                labels=(Label(earlier.span, "first here"),),
                help=("remove one of the two",),
            )
        name = str(marker.arguments.get("name", ""))
        if name and not is_subdomain(name):
            yield WEBHOOK_CONFIGURATION.at(
                marker.span_of("name"),
                f"expected a name of lower case letters, digits, hyphens and dots, found `{name}`",
                label="not the name of an object",
                severity=Severity.ERROR,
            )
        if not webhooks.get(mutating):
            word = "mutating" if mutating else "validating"
            message = f"this configuration has no {word} webhooks"
            yield WEBHOOK_CONFIGURATION.at(marker.span, message, label="has no effect")


def _check_duplicates(webhooks: Mapping[bool, Sequence[Marker]]) -> Iterator[Diagnostic]:
    names: dict[tuple[bool, str], Marker] = {}
    paths: dict[str, Marker] = {}
    for mutating, markers in webhooks.items():
        for marker in markers:
            name = str(marker.arguments["name"])
            earlier = names.setdefault((mutating, name), marker)
            if earlier is not marker:
                yield WEBHOOK_DUPLICATE.at(
                    marker.span_of("name"),
                    f"two webhooks of one configuration have the name `{name}`",
                    label="a second time",
                    labels=(Label(earlier.span_of("name"), "first here"),),
                )
            path = str(marker.arguments.get("path", ""))
            other = paths.setdefault(path, marker) if path else marker
            if other is not marker and other.arguments["mutating"] != mutating:
                yield WEBHOOK_PATH.at(
                    marker.span_of("path"),
                    f"a mutating and a validating webhook have the same path `{path}`",
                    label="a second time",
                    labels=(Label(other.span_of("path"), "first here"),),
                    notes=("each path has only one handler",),
                )
