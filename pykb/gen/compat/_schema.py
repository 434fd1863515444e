"""Compares two schemas of one field: which old values does the new one not accept?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

from pykb.gen.compat._change import (
    DEFAULTED,
    ITEM,
    PRUNED,
    REQUIRED,
    REQUIRED_AT_ROOT,
    RETYPED,
    Effect,
    Incompatibility,
)
from pykb.gen.compat._keywords import compare_keywords

Schema = Mapping[str, Any]
Path = tuple[str, ...]

_SERVERS = frozenset({"apiVersion", "kind", "metadata"})
"""Fields at the root that the API server validates without the schema."""
_PROSE = frozenset({"description", "title", "example", "externalDocs"})


def compare_schemas(old: Schema, new: Schema, path: Path = ()) -> Iterator[Incompatibility]:
    """Find values that the old schema accepted and the new one refuses, drops or reads differently.

    Args:
        old: The current schema.
        new: The schema that replaces it.
        path: The path of the field in the object.
    """
    before, after = _types(old), _types(new)
    if after is not None and (before is None or not before <= after):
        what = f"takes {_shown(new)}, and took {_shown(old)}"
        yield Incompatibility(what, RETYPED, path, keyword="type")
        return
    yield from compare_keywords(old, new, path)
    yield from _default(old, new, path)
    yield from _fields(old, new, path)
    for keyword in ("items", "additionalProperties"):
        left, right = old.get(keyword), new.get(keyword)
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            yield from compare_schemas(left, right, (*path, ITEM))


def _types(schema: Schema) -> frozenset[str] | None:
    """The JSON types that it accepts; ``None`` for any."""
    if schema.get("x-kubernetes-int-or-string"):
        return frozenset({"integer", "string"})
    found = schema.get("type")
    if found is None:
        return None
    return frozenset({"number", "integer"}) if found == "number" else frozenset({str(found)})


def _shown(schema: Schema) -> str:
    types = _types(schema)
    if types is None:
        return "anything"
    if len(types) > 1:
        return "numbers" if "number" in types else "integers and strings"
    (name,) = types
    return {"array": "lists", "object": "objects", "boolean": "booleans"}.get(name, f"{name}s")


def _default(old: Schema, new: Schema, path: Path) -> Iterator[Incompatibility]:
    if "default" not in old or old["default"] == new.get("default", _NOTHING):
        return
    what = "has another default than before" if "default" in new else "has no default any more"
    yield Incompatibility(what, DEFAULTED, path, keyword="default")


_NOTHING = object()


def _fields(old: Schema, new: Schema, path: Path) -> Iterator[Incompatibility]:
    before, after = _properties(old, path), _properties(new, path)
    for name in sorted(before.keys() & after.keys()):
        yield from compare_schemas(before[name], after[name], (*path, name))
    added = {name: schema for name, schema in after.items() if name not in before}
    values = new.get("additionalProperties")
    for name in sorted(before.keys() - after.keys()):
        if isinstance(values, Mapping):
            yield from compare_schemas(before[name], values, (*path, name))
        elif not _is_open(new):
            yield _removed(name, before[name], added, path)
    if _is_open(old) and not _is_open(new):
        yield Incompatibility("takes no other fields than its own any more", PRUNED, path)
    yield from _required(old, new, path)


def _properties(schema: Schema, path: Path) -> Mapping[str, Schema]:
    found: Mapping[str, Schema] = schema.get("properties") or {}
    return found if path else {name: each for name, each in found.items() if name not in _SERVERS}


def _is_open(schema: Schema) -> bool:
    """Whether it keeps unknown fields."""
    return bool(schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("additionalProperties"))


def _removed(name: str, schema: Schema, added: Mapping[str, Schema], path: Path) -> Incompatibility:
    alike = [other for other, each in added.items() if _bare(each) == _bare(schema)]
    if not alike:
        return Incompatibility("is gone", PRUNED, (*path, name))
    likely = max(alike, key=lambda other: (SequenceMatcher(None, name.lower(), other.lower()).ratio(), other))
    way = f'if it is the same field, keep its name on the wire: `Annotated[..., Wire("{name}")]`'
    effect = Effect(PRUNED.consequence, (way, *PRUNED.ways))
    return Incompatibility(f"is gone, and `{likely}` of the same type is new", effect, (*path, name))


def _bare(schema: object) -> object:
    """A schema without descriptions and defaults."""
    if isinstance(schema, Mapping):
        return {key: _bare(value) for key, value in schema.items() if key not in _PROSE and key != "default"}
    return schema


def _required(old: Schema, new: Schema, path: Path) -> Iterator[Incompatibility]:
    before, after = _properties(old, path), _properties(new, path)
    for name in sorted(set(new.get("required") or ()) - set(old.get("required") or ()) - _SERVERS):
        if "default" in after.get(name, {}):
            continue
        what = "is required, and was optional" if name in before else "is new and required"
        yield Incompatibility(what, REQUIRED if path else REQUIRED_AT_ROOT, (*path, name))
