"""Other valid specs near a sample's: each changes one field, to another value or to an edge of its schema."""

from __future__ import annotations

import base64
import binascii
import copy
import json
import re
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from pykb.explore._constants import Constant, plain
from pykb.explore._history import Manifest
from pykb.gen.checks.value import is_match
from pykb.meta.json_diff import MISSING, Path, at
from pykb.reading import mapping

_DEPTH = 8
_INT32 = 2**31 - 1
_FORMATTED = frozenset({"date-time", "duration", "byte", "uri", "email", "ipv4", "ipv6", "quantity"})

T = TypeVar("T")


def schema_of(crds: Sequence[Mapping[str, Any]], manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of an object's spec; empty if its CRD has none."""
    group, _, version = manifest["apiVersion"].rpartition("/")
    for crd in crds:
        spec = crd["spec"]
        if spec["group"] == group and spec["names"]["kind"] == manifest["kind"]:
            for each in spec["versions"]:
                if each["name"] == version:
                    schema = (each.get("schema") or {}).get("openAPIV3Schema") or {}
                    return (schema.get("properties") or {}).get("spec") or {}
    return {}


def spread(every: Sequence[T], most: int) -> Sequence[T]:
    """At most so many, at equal distances."""
    return every[:: max(1, -(-len(every) // most))]


def variants(schema: Mapping[str, Any], manifest: Manifest, *, edges: bool) -> Iterator[tuple[str, Manifest]]:
    """Yield manifests that differ from one in a field of the spec, with a text about the field.

    Args:
        schema: The schema of the spec.
        manifest: The sample.
        edges: Values at the edges of the schema, rather than other ordinary values.
    """
    for path, value in _changes(schema, manifest.get("spec"), (), edges=edges):
        changed = copy.deepcopy(manifest)
        put(changed, ("spec", *path), value)
        name = spell(("spec", *path))
        yield f"no {name}" if value is MISSING else f"{name} = {shorten(value)}", changed


def near(
    schema: Mapping[str, Any], manifest: Manifest, constants: Sequence[Constant]
) -> tuple[list[tuple[str, Manifest]], list[tuple[str, Manifest]]]:
    """Manifests in which one field is near a constant of the code, each with a text about it.

    Objects that the field is in are made, too.

    Args:
        schema: The schema of the spec.
        manifest: The sample.
        constants: What the code compares with.

    Returns:
        Those whose field is named as what the code compares, and the others.
    """
    spec = manifest.get("spec") or {}
    named: list[tuple[str, Manifest]] = []
    others: list[tuple[str, Manifest]] = []
    for made, path, inner in _fields(schema, spec, ()):
        present, name = at(spec, path), plain(str(path[-1]))
        for each in (named, others):
            of_field = [constant for constant in constants if (constant.name == name) == (each is named)]
            values = [value for constant in of_field for value in _near(inner, present, constant.value)]
            for value in _distinct(values):
                if value != present:
                    changed = copy.deepcopy(manifest)
                    changed.setdefault("spec", {})
                    for around, content in made:
                        put(changed, ("spec", *around), copy.deepcopy(content))
                    put(changed, ("spec", *path), value)
                    each.append((f"{spell(('spec', *path))} = {shorten(value)}", changed))
    return named, others


def _fields(
    schema: Mapping[str, Any], value: Any, path: Path, made: tuple[tuple[Path, Any], ...] = ()
) -> Iterator[tuple[tuple[tuple[Path, Any], ...], Path, Mapping[str, Any]]]:
    """Yield the fields of an object with their schemas, and what must be made before they can be set."""
    if len(path) > _DEPTH:
        return
    for name, inner in (schema.get("properties") or {}).items():
        at_name = (*path, name)
        if inner.get("properties"):
            is_there = isinstance(value, dict) and isinstance(value.get(name), dict)
            within = value[name] if is_there else _sample(inner)
            if within is not None:
                yield from _fields(inner, within, at_name, made if is_there else (*made, (at_name, within)))
        else:
            yield made, at_name, inner
    if isinstance(value, dict):
        for name, each in value.items():
            for index, element in enumerate(each if isinstance(each, list) else ()):
                inner = (schema.get("properties") or {}).get(name, {}).get("items") or {}
                yield from _fields(inner, element, (*path, name, index), made)


def _near(schema: Mapping[str, Any], present: Any, constant: int | str) -> Iterator[Any]:
    """Values of a field near a constant: it, its neighbours, or what has such a length."""
    kind = schema.get("type")
    if isinstance(constant, str):
        choices = schema.get("enum")
        is_short = len(constant) <= schema.get("maxLength", len(constant))
        if kind == "string" and (constant in choices if choices else is_short):
            yield constant
        return
    around = (constant + 1, constant, constant - 1)
    if kind in ("integer", "number"):
        yield from (each for each in around if schema.get("minimum", each) <= each <= schema.get("maximum", each))
    elif kind == "string" and not schema.get("enum") and not schema.get("pattern"):
        yield from ("a" * each for each in around if 0 < each <= min(schema.get("maxLength", _LONGEST), _LONGEST))
    elif kind == "array":
        yield from (_of_length(schema, present, each) for each in around if 0 <= each <= _LONGEST_LIST)


def _of_length(schema: Mapping[str, Any], present: Any, length: int) -> list[Any]:
    """A list with so many elements, whose texts differ."""
    known = list(present) if isinstance(present, list) else []
    last = known[-1] if known else _sample(schema.get("items") or {})
    more = [f"{last}-{number}" if isinstance(last, str) else last for number in range(len(known), length)]
    return (known + more)[:length]


def _distinct(values: Iterable[Any]) -> Iterator[Any]:
    seen: set[str] = set()
    for value in values:
        if (text := json.dumps(value)) not in seen:
            seen.add(text)
            yield value


_LONGEST = 63
"""Characters of a text whose length the code compares."""

_LONGEST_LIST = 16


def lower(schema: Mapping[str, Any], manifest: Manifest) -> Iterator[tuple[str, Manifest]]:
    """Yield manifests in which one number of the spec is smaller by one, each with a text about it."""
    for path, value in leaves(manifest.get("spec")):
        if type(value) is int and value > max(_at(schema, path).get("minimum", 0), 0):
            changed = copy.deepcopy(manifest)
            put(changed, ("spec", *path), value - 1)
            yield f"{spell(('spec', *path))} = {value - 1}", changed


def _at(schema: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """The schema of a field; empty if there is none."""
    for step in path:
        extra = schema.get("additionalProperties")
        fields = schema.get("properties") or {}
        schema = mapping(schema.get("items") if isinstance(step, int) else fields.get(step) or extra)
    return schema


def spell(path: Path) -> str:
    """A path as people write it: ``spec.ports[0].name``."""
    return "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in path).lstrip(".")


AND = "`, `"
"""Between the fields that one act changes, in what is told of it."""


def shorten(value: Any) -> str:
    """A value as in JSON, in at most 60 characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _changes(schema: Mapping[str, Any], value: Any, path: Path, *, edges: bool) -> Iterator[tuple[Path, Any]]:
    if len(path) > _DEPTH:
        return
    if isinstance(value, dict):
        yield from _of_object(schema, value, path, edges=edges)
    elif isinstance(value, list):
        yield from _of_list(schema, value, path, edges=edges)
    elif value is not None:
        yield from ((path, each) for each in _others(schema, value, edges=edges) if each != value)


def _of_object(
    schema: Mapping[str, Any], value: dict[str, Any], path: Path, *, edges: bool
) -> Iterator[tuple[Path, Any]]:
    properties: Mapping[str, Any] = schema.get("properties") or {}
    required = schema.get("required") or ()
    extra = schema.get("additionalProperties")
    for name, each in value.items():
        inner = properties.get(name) or mapping(extra)
        yield from _changes(inner, each, (*path, name), edges=edges)
        if name in properties and name not in required and inner.get("default", MISSING) != each:
            yield (*path, name), MISSING
    if extra and not edges and len(value) > schema.get("minProperties", 0):
        yield (*path, [*value][-1]), MISSING
    for name, inner in properties.items():
        if name not in value:
            every = () if path else _choices(inner)
            yield from (((*path, name), each) for each in every or (_sample(inner),) if each is not None)
    if extra and not edges and not properties:
        yield (*path, "other"), _sample(mapping(extra)) or "other"


def _choices(schema: Mapping[str, Any]) -> list[Any]:
    """The values of a field that is not there, if it has only a few: each may be a mode of its own."""
    every = schema.get("enum") or ([True, False] if schema.get("type") == "boolean" else [])
    return [each for each in every[:_MOST_CHOICES] if each != schema.get("default", MISSING)]


_MOST_CHOICES = 4


def _of_list(schema: Mapping[str, Any], value: list[Any], path: Path, *, edges: bool) -> Iterator[tuple[Path, Any]]:
    items = schema.get("items") or {}
    if len(value) > schema.get("minItems", 0):
        yield path, [] if edges and not schema.get("minItems") else value[:-1]
    for index, each in enumerate(value):
        yield from _changes(items, each, (*path, index), edges=edges)


def _others(schema: Mapping[str, Any], value: Any, *, edges: bool) -> Iterator[Any]:
    """Other values: at the edges of the schema, or ordinary ones."""
    if schema.get("enum"):
        yield from schema["enum"]
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int) and edges:
        yield schema.get("minimum", 0)
        yield min(schema.get("maximum", _INT32), _INT32)
    elif isinstance(value, int):
        yield value + 1 if value < schema.get("maximum", _INT32) else value - 1
    elif isinstance(value, str) and schema.get("format") not in _FORMATTED and edges:
        if not schema.get("minLength") and not schema.get("pattern"):
            yield ""
        yield "a" * min(schema.get("maxLength", 63), 253)
    elif isinstance(value, str) and schema.get("format") not in _FORMATTED:
        yield from _other_texts(schema, value)


def _other_texts(schema: Mapping[str, Any], value: str) -> Iterator[str]:
    """Yield a text that is almost the same, and before it the next number if the text begins with one."""
    pattern = schema.get("pattern", "")
    if re.match(r"\d+(?!.*-)", value):  # a number or a quantity as text
        number = re.sub(r"\d+", lambda found: str(int(found[0]) + 1), value, count=1)
        yield from [number] if is_match(pattern, number) else []
    if not pattern:
        yield f"{value}-b" if len(value) + 2 <= schema.get("maxLength", 253) else value[:-1]
        return
    least, most = schema.get("minLength", 0), schema.get("maxLength", 253)
    others = (f"{value}-b", f"{value}b", *_with_another_character(value), value[:-1])
    fitting = (each for each in others if least <= len(each) <= most and is_match(pattern, each))
    yield from islice(fitting, 1)


def _with_another_character(value: str) -> Iterator[str]:
    """Yield texts with a neighbour of one letter or digit, the last ones first."""
    for index in reversed(range(len(value))):
        for other in _NEIGHBOURS.get(value[index], ()):
            yield f"{value[:index]}{other}{value[index + 1 :]}"


_NEIGHBOURS = {
    each: (characters[(index + 1) % len(characters)], characters[index - 1])
    for characters in (string.ascii_lowercase, string.ascii_uppercase, string.digits)
    for index, each in enumerate(characters)
}
"""The next character of the same class, and the one before."""


def _sample(schema: Mapping[str, Any]) -> Any:
    """A small value of a schema; ``None`` if none is known."""
    if "default" in schema:  # another value, since an object without the field has this one
        return next(
            (each for each in _others(schema, schema["default"], edges=False) if each != schema["default"]), None
        )
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("format") in _FORMATTED or schema.get("pattern"):
        return None
    match schema.get("type"):
        case "string":
            return "a" * max(1, schema.get("minLength", 1))
        case "integer":
            return max(1, schema.get("minimum", 1))
        case "boolean":
            return True
        case "array":
            inner = _sample(schema.get("items") or {})
            return None if inner is None else [inner]
        case "object":
            needed = {name: _sample(schema["properties"][name]) for name in schema.get("required") or ()}
            return None if any(each is None for each in needed.values()) else needed
    return None


_CHOICES = {
    "accessModes": ("ReadWriteOnce", "ReadWriteMany"),
    "concurrencyPolicy": ("Allow", "Forbid"),
    "imagePullPolicy": ("IfNotPresent", "Always"),
    "pathType": ("Prefix", "Exact"),
    "sessionAffinity": ("None", "ClientIP"),
    "volumeMode": ("Filesystem", "Block"),
}
"""Fields of Kubernetes' kinds with few values, and two of them. Source: its API reference."""

_NUMBER = re.compile(r"\d+(?=(\.\d+)?[a-zA-Z]{0,2}$)")


def another(kind: str, path: Path, value: Any) -> Any:
    """Another value of the same type for a field of an object: a number, a quantity, bytes, a choice or a text."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if not isinstance(value, str):
        return value
    names = [step for step in path if isinstance(step, str)]
    if choices := _CHOICES.get(names[-1]):
        return next(each for each in choices if each != value)
    if names[0] == "binaryData" or (kind == "Secret" and names[0] == "data") or names[-1] == "caBundle":
        return _other_bytes(value)
    if found := _NUMBER.match(value):  # a number, a quantity or a duration
        return f"{int(found[0]) + 1}{value[found.end() :]}"
    return f"{value}x"


def _other_bytes(value: str) -> str:
    try:
        plain = base64.b64decode(value, validate=True)
    except binascii.Error:
        plain = b""
    return base64.b64encode(plain + b"x").decode()


def put(obj: Any, path: Path, value: Any) -> None:
    """Set one value of an object, or remove it (``MISSING``)."""
    for step in path[:-1]:
        obj = obj[step] if isinstance(step, int) else obj.setdefault(step, {})
    if value is MISSING:
        del obj[path[-1]]
    else:
        obj[path[-1]] = value


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The values of an object that are neither objects nor lists, with their paths."""
    if isinstance(value, dict):
        for name in sorted(value):
            yield from leaves(value[name], (*path, name))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from leaves(each, (*path, index))
    elif value is not None:
        yield path, value


def patch_of(obj: Mapping[str, Any], path: Path, value: Any) -> Manifest:
    """A merge patch that changes one value. Lists are replaced whole, as merge patches do."""
    top = str(path[0])
    changed = {top: copy.deepcopy(obj[top])}
    put(changed, path, value)
    patch: Any = changed
    within: list[str] = []
    for step in path:
        if isinstance(step, int):
            break
        within.append(step)
    for step in within:
        patch = patch[step]
    for step in reversed(within):
        patch = {step: patch}
    return dict(patch)
