"""Validates an object's metadata, with the API server's messages.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/ and the pages on labels, annotations,
finalizers and owners next to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from pykb.runtime.fake._refusal import cause
from pykb.runtime.fake._resources import Resource

Causes = list[dict[str, str]]

_SUBDOMAIN = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_WORD = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_WORD_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_WORD}')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'({_WORD})?')"
)
_FREE_NAMES = ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
_STANDARD_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")


def metadata_mistakes(resource: Resource, metadata: Mapping[str, Any]) -> Causes:
    """Return how the metadata of an object violates the rules."""
    return [
        *_generate_name(resource, metadata.get("generateName")),
        *_name(resource, metadata.get("name", "")),
        *_labels(metadata.get("labels") or {}),
        *(
            mistake
            for key in metadata.get("annotations") or {}
            for mistake in _qualified(key.lower(), "annotations", key)
        ),
        *_owners(metadata.get("ownerReferences") or ()),
        *_finalizers(resource, metadata.get("finalizers") or ()),
    ]


def _name(resource: Resource, name: str) -> Causes:
    if not name:
        return [cause("metadata.name", "FieldValueRequired", "Required value: name or generateName is required")]
    return _subdomain(resource, name, "metadata.name")


def _generate_name(resource: Resource, prefix: str | None) -> Causes:
    # The generated suffix follows, so it may end in a hyphen or a dot.
    return _subdomain(resource, prefix, "metadata.generateName", shown=prefix.rstrip("-.") or "-") if prefix else []


def _subdomain(resource: Resource, name: str, field: str, *, shown: str = "") -> Causes:
    if resource.gvk.kind in _FREE_NAMES:
        return []
    if resource.gvk.kind == "Namespace" and "." in name:
        return [_bad(field, name, "must not contain dots")]
    found = [] if len(name) <= 253 else [_bad(field, name, "must be no more than 253 characters")]
    return found if re.fullmatch(_SUBDOMAIN, shown or name) else [*found, _bad(field, name, _SUBDOMAIN_RULE)]


def _labels(labels: Mapping[str, str]) -> Causes:
    found: Causes = []
    for key, value in labels.items():
        found += _qualified(key, "labels", key)
        if len(value.encode()) > 63:
            found.append(_bad("metadata.labels", value, "must be no more than 63 bytes"))
        elif value and not re.fullmatch(_WORD, value):
            found.append(_bad("metadata.labels", value, _VALUE_RULE))
    return found


def _qualified(name: str, field: str, shown: str) -> Causes:
    prefix, slash, word = name.rpartition("/")
    found = []
    if slash and not re.fullmatch(_SUBDOMAIN, prefix):
        found.append(_bad(f"metadata.{field}", shown, f"prefix part {_SUBDOMAIN_RULE}"))
    if len(word) > 63:
        found.append(_bad(f"metadata.{field}", shown, "name part must be no more than 63 bytes"))
    if not re.fullmatch(_WORD, word):
        found.append(_bad(f"metadata.{field}", shown, _WORD_RULE))
    return found


def _finalizers(resource: Resource, names: Iterable[str]) -> Causes:
    found: Causes = []
    for index, name in enumerate(names):
        found += _qualified(name, "finalizers", name)
        if "/" not in name and name not in _STANDARD_FINALIZERS and not resource.custom:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            found.append(_bad(f"metadata.finalizers[{index}]", name, why))
    return found


def _owners(references: Iterable[Mapping[str, Any]]) -> Causes:
    found: Causes = []
    for reference in references:
        found += [
            _bad(f"metadata.ownerReferences.{name}", reference.get(name) or "", "must not be empty")
            for name in ("apiVersion", "kind", "name", "uid")
            if not reference.get(name)
        ]
    controllers = [reference for reference in references if reference.get("controller")]
    if len(controllers) > 1:
        first, second = (f"{reference['kind']}/{reference['name']}" for reference in controllers[:2])
        why = f'Only one reference can have Controller set to true. Found "true" in references for {first} and {second}'
        message = f"Invalid value: {orjson.dumps(list(references)).decode()}: {why}"
        found.append(cause("metadata.ownerReferences", "FieldValueInvalid", message))
    return found


def _bad(field: str, value: str, why: str) -> dict[str, str]:
    return cause(field, "FieldValueInvalid", f'Invalid value: "{value}": {why}')
