"""What fits at a place in the YAML of an object, and the line of a field: by the schemas of the project's definitions.

The place is found by a mark. With it instead of the word at the cursor, the text is read as YAML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from pykb.reading import mapping, yaml_text

Schemas = Mapping[tuple[str, str], Mapping[str, Any]]
"""The schema of each kind, by its API version and its name."""

_MARK = "pykb.the.cursor.is.here"
_BEFORE = re.compile(r"[A-Za-z0-9_./-]*\Z")
_AFTER = re.compile(r"[A-Za-z0-9_./-]*")
_HAS_COLON = re.compile(r" *:(?: |$)", re.MULTILINE)
_STEP = re.compile(r"\[([^\]]+)\]|([^.\[\]]+)")
_ITEM = None
"""The step of a path into an item of a list."""

_NAMED = (("apiVersion",), ("kind",))
"""The fields that say which schema holds."""

_MOST = 100
_LONGEST = 300
_TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}
_METADATA = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "description": "The name, unique among the objects of a kind in a namespace."},
        "namespace": {"type": "string", "description": "The namespace. The default is that of the kubeconfig."},
        "labels": {**_TEXTS, "description": "Names and values by which objects are selected."},
        "annotations": {**_TEXTS, "description": "Further names and values."},
    },
}
_OBJECT = {
    "type": "object",
    "required": ["apiVersion", "kind", "metadata"],
    "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": _METADATA},
}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the mark is.

    Attributes:
        path: The names of the fields that contain it, and ``None`` for each list.
        siblings: The other fields beside it, if it is the name of a field; ``None`` if it is a value.
    """

    path: tuple[str | None, ...]
    siblings: frozenset[str] | None


def fitting(before: str, after: str, schemas: Schemas) -> dict[str, Any]:
    """What fits at a cursor.

    Args:
        before: The text before the cursor.
        after: The text after it.
        schemas: The schemas.

    Returns:
        The fields or values that begin with the word before the cursor, and how long the word is before and after it.
    """
    word, rest = _BEFORE.findall(before)[0], _AFTER.findall(after)[0]
    head, tail = before[: len(before) - len(word)], after[len(rest) :]
    column = len(head) - head.rfind("\n") - 1
    has_colon = _HAS_COLON.match(tail) is not None
    items: list[dict[str, Any]] = []
    for mark in (_MARK,) if has_colon else (f"{_MARK}: ", _MARK):
        if not items and isinstance(root := _composed(head + mark + tail), yaml.MappingNode):
            place = next(_places(root, (), set()), None)
            items = [] if place is None else _offered(place, root, schemas, column, has_colon=has_colon)
    found = [each for each in items if each["label"].lower().startswith(word.lower())]
    return {"items": found[:_MOST], "before": len(word), "after": len(rest)}


def line_of(text: str, field: str) -> int:
    """The line of a field such as ``spec.items[0].name``, or of what would contain it; 0 if there is none."""
    root = _composed(text)
    found = [] if root is None else list(yaml_text.follow(root, map("".join, _STEP.findall(field))))
    return int(found[-1][0].start_mark.line) + 1 if found else 0


def _composed(text: str) -> yaml.Node | None:
    try:
        return yaml_text.compose(text)
    except yaml.YAMLError:
        return None


def _places(node: yaml.Node, path: tuple[str | None, ...], seen: set[int]) -> Iterator[_Place]:
    if id(node) in seen:  # an alias
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if _MARK in names:
            yield _Place(path, frozenset(names) - {_MARK})
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                yield from _places(value, (*path, key.value), seen)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _places(item, (*path, _ITEM), seen)
    elif node.value == _MARK:
        yield _Place(path, None)


def _offered(
    place: _Place, root: yaml.MappingNode, schemas: Schemas, column: int, *, has_colon: bool
) -> list[dict[str, Any]]:
    pairs = [pair for pair in root.value if all(isinstance(each, yaml.ScalarNode) for each in pair)]
    named = {key.value: value.value for key, value in pairs}
    if place.siblings is None and place.path in _NAMED:
        return [_value(each) for each in _names(_NAMED.index(place.path), named, schemas)]
    schema = _inner(_schema_of(named, schemas), place.path)
    if place.siblings is not None:
        fields = _fields(schema, place.siblings)
        return [_field(name, each, is_required, column, has_colon=has_colon) for name, each, is_required in fields]
    values = schema.get("enum") or ([True, False] if schema.get("type") == "boolean" else [])
    return [_value(each, schema) for each in values]


def _names(which: int, named: Mapping[str, str], schemas: Schemas) -> list[str]:
    """The API versions of the kind (0), or the kinds of the API version (1)."""
    [other] = _NAMED[1 - which]
    fit = {each[which] for each in schemas if each[1 - which] == named.get(other)}
    return sorted(fit or {each[which] for each in schemas})


def _schema_of(named: Mapping[str, str], schemas: Schemas) -> Mapping[str, Any]:
    schema = schemas.get((named.get("apiVersion", ""), named.get("kind", "")), {})
    inner = {name: each for name, each in mapping(schema.get("properties")).items() if name != "status"}
    required = [*_OBJECT["required"], *schema.get("required", ())]
    return {"properties": {**inner, **mapping(_OBJECT["properties"])}, "required": required}


def _inner(schema: Mapping[str, Any], path: Iterable[str | None]) -> Mapping[str, Any]:
    for step in path:
        if step is _ITEM:
            schema = mapping(schema.get("items"))
        else:
            known = mapping(schema.get("properties"))
            schema = mapping(known.get(step, schema.get("additionalProperties")))
    return schema


def _fields(schema: Mapping[str, Any], present: frozenset[str]) -> list[tuple[str, Mapping[str, Any], bool]]:
    """The fields that are missing, required ones first."""
    required = schema.get("required", ())
    missing = [(name, each) for name, each in mapping(schema.get("properties")).items() if name not in present]
    return sorted(
        ((name, mapping(each), name in required) for name, each in missing), key=lambda it: (not it[2], it[0])
    )


def _field(name: str, schema: Mapping[str, Any], is_required: bool, column: int, *, has_colon: bool) -> dict[str, Any]:
    deeper = "\n" + " " * (column + 2)
    ending = {"object": f":{deeper}", "array": f":{deeper}- "}.get(schema.get("type", ""), ": ")
    return _item(name, name if has_colon else f"{name}{ending}", schema, is_required=is_required)


def _value(value: object, schema: Mapping[str, Any] | None = None) -> dict[str, Any]:
    text = yaml.safe_dump(value, width=float("inf"), allow_unicode=True).removesuffix("\n").removesuffix("\n...")
    return _item(text.strip("'\""), text, schema or {}, is_required=False)


def _item(label: str, text: str, schema: Mapping[str, Any], *, is_required: bool) -> dict[str, Any]:
    about = " ".join(str(schema.get("description", "")).split())
    return {
        "label": label,
        "text": text,
        "type": _type_of(schema),
        "required": is_required,
        "description": about if len(about) <= _LONGEST else f"{about[:_LONGEST]}...",
    }


def _type_of(schema: Mapping[str, Any]) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "integer or string"
    kind = str(schema.get("type", ""))
    if kind == "array":
        return f"list of {_type_of(mapping(schema.get('items'))) or 'anything'}"
    if kind == "object" and schema.get("additionalProperties"):
        return f"map of {_type_of(mapping(schema['additionalProperties'])) or 'anything'}"
    return f"{kind} ({schema['format']})" if schema.get("format") else kind
