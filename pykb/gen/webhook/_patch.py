"""Applies the ``patch`` argument of a webhook marker, a strategic merge patch as JSON. Checks its fields.

Source of the fields: admissionregistration.k8s.io/v1. The lists of a webhook that a marker can set have no
merge key, so a patch replaces them. A null removes a field. ``$patch: replace`` and ``$patch: delete`` work on objects.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.webhook import WEBHOOK_PATCH
from pykb.diagnostics.suggest import closest
from pykb.gen.webhook._rules import problems
from pykb.markers.model import Marker

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


def apply_patch(webhook: dict[str, object], marker: Marker, diagnostics: Diagnostics) -> dict[str, object]:
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
        diagnostics.add(
            WEBHOOK_PATCH.at(
                marker.span_of("patch"),
                str(error),
                label="the patch is not applied",
                help=(error.help,) if error.help else (),
            )
        )
        return webhook
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
