"""Writes a module of types: all kinds of one group and version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pykb.importer._builtin import BuiltinTypes
from pykb.importer._docs import docstring, survives
from pykb.importer._expression import Expression, Name, call, laid, literal, names
from pykb.importer._kind_markers import kind_markers
from pykb.importer._member import Member, spell_member
from pykb.importer._scalar import api
from pykb.importer._spelling import Speller
from pykb.importer.definition import Definition, Version
from pykb.importer.naming import attribute_name
from pykb.importer.shape import Shapes, children, kind_class
from pykb.python_source.imports import Import, block

GROUP_VERSION = "GROUP_VERSION"
_REQUIRED = ("# +required",)
_OF_EVERY_KIND = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}


@dataclass(frozen=True, slots=True)
class Class:
    """The source of a class, in parts."""

    name: str
    head: str
    annotations: tuple[Expression, ...]
    doc: str | None
    members: tuple[Member, ...]
    markers: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Its source."""
        out = list(self.markers)
        if self.annotations:
            out += laid(call(Name("@annotate"), *self.annotations), indent=0, column=0).split("\n")
        out.append(self.head)
        if self.doc:
            out += [*docstring(self.doc, 4).split("\n"), ""]
        for number, member in enumerate(self.members):
            spaced = bool(member.doc or member.markers or (number and self.members[number - 1].doc))
            if number and spaced:
                out.append("")
            out += member.lines()
        if not self.doc and not self.members:
            out.append("    pass")
        while not out[-1]:
            out.pop()
        return out

    def names(self) -> list[Name]:
        """The names to import for it."""
        found = [name for expression in self.annotations for name in names(expression)]
        found += [name for member in self.members for name in member.names()]
        return found + ([api("annotate")] if self.annotations else [])


def module_text(group: str, version: str, kinds: Sequence[tuple[Definition, Version]], builtin: BuiltinTypes) -> str:
    """The source of a module.

    Args:
        group: The API group.
        version: The API version.
        kinds: The CRDs with this group and version, and that version of each.
        builtin: Recognises Kubernetes' own types.
    """
    shapes = Shapes((definition.kind for definition, _ in kinds), builtin.find)
    for definition, entry in kinds:
        shapes.add_kind(definition.kind, entry.schema)
    shapes.finish()
    speller = Speller(shapes)
    classes = [_class(shape.name, shape.schema, shape.doc, speller) for shape in shapes.ordered]
    classes += [_kind(definition, entry, speller) for definition, entry in kinds]
    needed = [name for one in classes for name in one.names()]
    needed += [api("CustomResource"), api("GroupVersion"), *([api("Struct")] if shapes.ordered else [])]
    head = docstring(f"Types of {group}/{version}: {', '.join(d.kind for d, _ in kinds)}.", 0).split("\n")
    constant = f"{GROUP_VERSION} = GroupVersion({laid(literal(group), indent=0, column=0)}, "
    lines = [*head, "", _imports(needed), f"{constant}{laid(literal(version), indent=0, column=0)})"]
    for one in classes:
        lines += ["", "", *one.lines()]
    return "\n".join(lines) + "\n"


def _class(name: str, schema: Any, doc: str | None, speller: Speller) -> Class:
    return Class(name, f"class {name}(Struct):", speller.class_annotations(schema), doc, _members(schema, speller))


def _members(schema: Any, speller: Speller, *, without: Iterable[str] = ()) -> tuple[Member, ...]:
    required = schema.get("required") or []
    found: list[Member] = []
    for name, prop in children(schema).items():
        if name not in without:
            attribute = attribute_name(name, [member.attribute for member in found])
            found.append(spell_member(speller, attribute, name, prop, required=name in required))
    return tuple(found)


def _kind(definition: Definition, version: Version, speller: Speller) -> Class:
    schema = version.schema
    members = list(_members(schema, speller, without=_OF_EVERY_KIND))
    required = [name for name in schema.get("required") or () if name in _OF_EVERY_KIND]
    if "metadata" in required:
        metadata = Name("ObjectMeta", "pykb.api.meta.v1")
        members.insert(0, Member("metadata", metadata, call(api("Field"), default_factory=metadata), None, _REQUIRED))
    patch: dict[str, object] = {}
    if set(required) - {"metadata"}:
        patch["required"] = list(schema["required"])
    odd = _odd_properties(schema)
    if odd:
        patch["properties"] = odd
    annotations = list(speller.class_annotations(schema, patch))
    if definition.conversion is not None and version is definition.versions[0]:
        annotations.append(call(api("Conversion"), literal(definition.conversion)))
    text = schema.get("description")
    doc = text if isinstance(text, str) and survives(text) else None
    if text and doc is None:
        annotations.append(call(api("SchemaPatch"), literal({"description": text})))
    name = kind_class(definition.kind)
    kind = "" if name == definition.kind else f", kind={laid(literal(definition.kind), indent=0, column=0)}"
    head = f"class {name}(CustomResource, group_version={GROUP_VERSION}{kind}):"
    markers = kind_markers(definition, version, is_first=version is definition.versions[0])
    members = [_status(member, speller, schema) for member in members]
    return Class(name, head, tuple(annotations), doc, tuple(members), tuple(markers))


def _odd_properties(schema: Mapping[str, Any]) -> dict[str, object]:
    """The keywords by which ``apiVersion``, ``kind`` and ``metadata`` differ from those of every kind."""
    odd: dict[str, object] = {}
    for name, usual in _OF_EVERY_KIND.items():
        said = {k: v for k, v in children(schema).get(name, usual).items() if k != "description"}
        if said != usual:
            odd[name] = {k: v for k, v in said.items() if usual.get(k) != v}
    return odd


def _status(member: Member, speller: Speller, schema: Mapping[str, Any]) -> Member:
    """Give a status without required fields a default, so that ``obj.status.phase = ...`` type-checks."""
    status = schema.get("properties", {}).get("status")
    if member.attribute != "status" or status is None or not member.is_left_out:
        return member
    shape = speller.shapes.of(status)
    fields = children(status)
    without_default = [n for n in status.get("required") or () if n in fields and "default" not in fields[n]]
    if shape is None or speller.shapes.builtin(status) or without_default:
        return member
    return member.made_by(call(api("Field"), default_factory=Name(shape.name)))


def _imports(needed: Iterable[Name]) -> str:
    return block((Import(name.module, (name.name,)) for name in needed if name.module), width=_SHORTEST)


_SHORTEST = 79
"""The length up to which imports stay on one line in any project. Longer ones are
written so that no sorter joins them.
"""
