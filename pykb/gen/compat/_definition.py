"""Compares two definitions of a kind: versions, names, subresources and schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pykb.gen.compat._change import (
    GONE,
    IMMUTABLE,
    MIGRATED,
    RENAMED_KIND,
    SCALE_GONE,
    STATUS_GONE,
    STORAGE,
    UNCONVERTED,
    UNKNOWN_NAME,
    UNSELECTABLE,
    UNSERVED,
    UNSHOWN,
    VERSION_GONE,
    Incompatibility,
)
from pykb.gen.compat._schema import compare_schemas

Document = Mapping[str, Any]


def compare_definitions(old: Document, new: Document | None) -> Iterator[Incompatibility]:
    """Find incompatible changes between two CustomResourceDefinitions.

    Args:
        old: The current definition, as plain data.
        new: The definition that replaces it; ``None`` when it is removed.
    """
    if new is None:
        yield Incompatibility("is not generated any more", GONE)
        return
    before, after = old["spec"], new["spec"]
    yield from _names(before, after)
    versions = {version["name"]: version for version in after["versions"]}
    stored = next(name for name, version in versions.items() if version["storage"])
    for version in before["versions"]:
        name = version["name"]
        now = versions.get(name)
        if now is None:
            yield Incompatibility(f"has no version `{name}` any more", VERSION_GONE)
            continue
        if version.get("served") and not now.get("served"):
            yield Incompatibility("is not served any more", UNSERVED, version=name)
        if version.get("storage") and name != stored:
            effect = MIGRATED if _strategy(after) == "Webhook" else STORAGE
            yield Incompatibility(f"is the stored version, and `{name}` was", effect, version=stored, keyword="storage")
        yield from (found.of(name) for found in _version(version, now))
    if _strategy(before) == "Webhook" != _strategy(after) and len(versions) > 1:
        yield Incompatibility("has no conversion webhook any more", UNCONVERTED)


def _names(before: Document, after: Document) -> Iterator[Incompatibility]:
    if before.get("scope") != after.get("scope"):
        yield Incompatibility(f"is {after['scope']}, and was {before['scope']}", IMMUTABLE)
    old, new = before["names"], after["names"]
    if old["kind"] != new["kind"]:
        yield Incompatibility(f"was called `{old['kind']}`", RENAMED_KIND)
    for key, noun in (("shortNames", "short name"), ("categories", "category")):
        for name in old.get(key) or ():
            if name not in (new.get(key) or ()):
                yield Incompatibility(f"has lost the {noun} `{name}`", UNKNOWN_NAME)


def _strategy(spec: Document) -> str:
    return str((spec.get("conversion") or {}).get("strategy") or "None")


def _version(before: Document, after: Document) -> Iterator[Incompatibility]:
    yield from compare_schemas(_schema(before), _schema(after))
    old, new = before.get("subresources") or {}, after.get("subresources") or {}
    for name, effect in (("status", STATUS_GONE), ("scale", SCALE_GONE)):
        if name in old and name not in new:
            yield Incompatibility(f"has no subresource `{name}` any more", effect)
    for key, noun, effect, label in (
        ("selectableFields", "selectable field", UNSELECTABLE, "jsonPath"),
        ("additionalPrinterColumns", "column", UNSHOWN, "name"),
    ):
        kept = {item.get(label) for item in after.get(key) or ()}
        for item in before.get(key) or ():
            if item.get(label) not in kept:
                yield Incompatibility(f"has no {noun} `{item.get(label)}` any more", effect)


def _schema(version: Document) -> Document:
    found: Document = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    return found
