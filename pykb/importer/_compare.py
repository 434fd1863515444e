"""Compares an imported CRD with the CRD generated from its types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pykb.importer._fingerprint import Schema
from pykb.importer.definition import cleaned

IsKnown = Callable[[Schema], bool]
_OF_EVERY_KIND = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
_UNLESS_SAID: Mapping[str, object] = {"deprecated": False, "subresources": {}, "additionalPrinterColumns": []}


def differences(imported: Mapping[str, Any], generated: Mapping[str, Any], is_known: IsKnown) -> Iterator[str]:
    """The differences, as ``path: expected ..., found ...``. Yields nothing when the two are equivalent.

    Ignores what the API server fills in (``listKind``, ``singular``, ``subresources: {}``), the order of ``required``,
    the three fields that every kind has, and the descriptions of built-in types.

    Args:
        imported: The imported CRD.
        generated: The CRD generated from its types.
        is_known: Whether a schema is that of a built-in type, apart from descriptions.
    """
    before, after = _usual(imported["spec"]), _usual(generated["spec"])
    for name, version in before["versions"].items():
        found = after["versions"].get(name)
        if found is not None:
            yield from _schemas(version.pop("schema"), found.pop("schema"), f"versions/{name}/schema", is_known)
    yield from _values(before, after, "spec")


def _usual(spec: Mapping[str, Any]) -> dict[str, Any]:
    names = {name: value for name, value in spec["names"].items() if value}
    names = {"listKind": f"{names['kind']}List", "singular": names["kind"].lower()} | names
    conversion = spec.get("conversion") or {}
    versions = {}
    for entry in spec["versions"]:
        version = {k: v for k, v in entry.items() if v is not None and v != _UNLESS_SAID.get(k, entry)}
        columns = version.get("additionalPrinterColumns")
        if columns:
            version["additionalPrinterColumns"] = [{k: v for k, v in c.items() if v} for c in columns]
        schema = cleaned(version["schema"]["openAPIV3Schema"])
        schema["properties"] = {**_OF_EVERY_KIND, **schema.get("properties", {})}
        for name in _OF_EVERY_KIND:
            schema["properties"][name] = {k: v for k, v in schema["properties"][name].items() if k != "description"}
        versions[entry["name"]] = version | {"schema": schema}
    return {
        "group": spec["group"],
        "names": names,
        "scope": spec.get("scope", "Namespaced"),
        "versions": versions,
        "conversion": conversion if conversion.get("strategy", "None") != "None" else None,
    }


def _schemas(before: Schema, after: Schema, path: str, is_known: IsKnown, *, plain: bool = False) -> Iterator[str]:
    """Differences between schemas. With ``plain``, descriptions may be missing."""
    inner_plain = plain or (bool(before.get("properties")) and is_known(before))
    for name in _keys(before, after):
        one, other = before.get(name), after.get(name)
        where = f"{path}/{name}"
        if name == "description" and other is None and inner_plain:
            continue
        if name in {"items", "additionalProperties"}:
            yield from _parts(one, other, where, is_known, plain=inner_plain)
        elif name == "properties" and isinstance(one, Mapping) and isinstance(other, Mapping):
            for key in _keys(one, other):
                yield from _parts(one.get(key), other.get(key), f"{where}/{key}", is_known, plain=inner_plain)
        elif name == "required" and isinstance(one, list) and isinstance(other, list):
            yield from _values(sorted(one), sorted(other), where)
        elif one != other or (name in before) != (name in after):
            yield _difference(where, one, other)


def _keys(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterable[str]:
    return dict.fromkeys([*one, *other])


def _parts(one: object, other: object, path: str, is_known: IsKnown, *, plain: bool) -> Iterator[str]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        yield from _schemas(one, other, path, is_known, plain=plain)
    elif one != other:
        yield _difference(path, one, other)


def _values(one: object, other: object, path: str) -> Iterator[str]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for name in _keys(one, other):
            yield from _values(one.get(name), other.get(name), f"{path}/{name}")
    elif one != other:
        yield _difference(path, one, other)


def _difference(path: str, one: object, other: object) -> str:
    return f"`{path}`: expected {_shown(one)}, found {_shown(other)}"


def _shown(value: object) -> str:
    text = "nothing" if value is None else f"`{value}`"
    return text if len(text) < 80 else f"{text[:76]}...`"
