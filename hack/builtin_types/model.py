"""Turns OpenAPI schemas into modules, classes and fields."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from hack.builtin_types.constraints import ATOMIC, CONSTRAINTS, HIDDEN, REQUIRED, Constraint
from hack.builtin_types.source import JSON, Resource, Source
from pykb.api.struct import Struct
from pykb.meta.names import to_camel, to_snake

META = "io.k8s.apimachinery.pkg.apis.meta.v1."
# Definitions that are not classes: their type in annotations, and its import.
ALIASES = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": ("Quantity", "pykb.api.quantity"),
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": ("IntOrString", "pykb.api.annotations"),
    "io.k8s.apimachinery.pkg.runtime.RawExtension": ("RawExtension", "pykb.api.annotations"),
    META + "Time": ("datetime", "datetime"),
    META + "MicroTime": ("MicroTime", "pykb.api.time"),
    META + "FieldsV1": ("dict[str, Any]", "typing:Any"),
    META + "Patch": ("dict[str, Any]", "typing:Any"),
}
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
# Types without a schema in OpenAPI, since they have alternatives.
UNIONS = {
    _EXTENSIONS + "JSON": ("Any",),
    _EXTENSIONS + "JSONSchemaPropsOrArray": (_EXTENSIONS + "JSONSchemaProps", "list", _EXTENSIONS + "JSONSchemaProps"),
    _EXTENSIONS + "JSONSchemaPropsOrBool": (_EXTENSIONS + "JSONSchemaProps", "bool", ""),
    _EXTENSIONS + "JSONSchemaPropsOrStringArray": (_EXTENSIONS + "JSONSchemaProps", "list", "str"),
}
_SCALARS = {
    ("string", ""): "str",
    ("string", "byte"): "bytes",
    ("integer", ""): "int",
    ("integer", "int32"): "Int32",
    ("integer", "int64"): "Int64",
    ("number", "double"): "float",
    ("number", ""): "float",
    ("boolean", ""): "bool",
}
_NAMES_IN_ANNOTATIONS = {"str", "int", "float", "bool", "bytes", "list", "dict", "datetime"}
_ATTRIBUTES = {"openAPIV3Schema": "open_api_v3_schema"}  # where the rule gives a bad name
_TAKEN = set(keyword.kwlist) | _NAMES_IN_ANNOTATIONS | {name for name in dir(Struct) if name[:1] != "_"}


@dataclass
class Field:
    """One attribute: `name: Annotated[type, *extras] = default`."""

    name: str
    type: str
    extras: list[str]
    default: str | None


@dataclass
class Class:
    """One definition."""

    name: str
    definition: str
    resource: Resource | None = None
    is_object: bool = False
    annotations: list[str] = field(default_factory=list)
    fields: list[Field] = field(default_factory=list)
    needs: set[str] = field(default_factory=set)  # definitions of the same module that must come first


@dataclass
class Module:
    """One file: a group and version."""

    package: str
    version: str
    group: str | None  # None: no group of its own (meta)
    classes: list[Class] = field(default_factory=list)
    imports: set[tuple[str, str]] = field(default_factory=set)

    @property
    def path(self) -> str:
        """Dotted."""
        return f"pykb.api.{self.package}.{self.version}"


def build(source: Source) -> list[Module]:
    """All modules, each with its classes in an order that needs no forward references."""
    modules: dict[tuple[str, str], Module] = {}
    resources = {(r.group, r.version, r.kind): r for r in source.resources}
    for definition, schema in source.schemas.items():
        if definition in ALIASES or definition in UNIONS or _is_list(schema):
            continue
        package, version, name = location(definition)
        module = modules.setdefault((package, version), Module(package, version, None))
        made = Class(name, definition)
        own = _own_kind(schema, name, version, package)
        if own is not None:
            module.group = own
            made.is_object = True
            made.resource = resources.get((own, version, name))
        _Reader(module, made, source).read(schema)
        module.classes.append(made)
    for module in modules.values():
        module.classes = list(_ordered(module.classes))
    return [modules[key] for key in sorted(modules)]


def location(definition: str) -> tuple[str, str, str]:
    """Package, version and class of a definition such as ``io.k8s.api.core.v1.Pod``."""
    package, version, name = definition.rsplit(".", 3)[-3:]
    return package, version, name


def _is_list(schema: JSON) -> bool:
    properties = schema.get("properties", {})
    return "items" in properties and "ListMeta" in str(properties.get("metadata"))


def _own_kind(schema: JSON, name: str, version: str, package: str) -> str | None:
    """The group of a top-level kind, or None for other types. The kinds of meta belong to every group."""
    if package == "meta" or "ObjectMeta" not in str(schema.get("properties", {}).get("metadata")):
        return None
    for gvk in schema.get("x-kubernetes-group-version-kind", ()):
        if gvk["kind"] == name and gvk["version"] == version:
            return str(gvk["group"])
    return None


def _ordered(classes: list[Class]) -> Iterator[Class]:
    """Sort classes alphabetically, each after the classes that it needs."""
    waiting = {c.definition: c for c in sorted(classes, key=lambda c: c.name)}

    def take(made: Class) -> Iterator[Class]:
        waiting.pop(made.definition, None)
        for need in sorted(made.needs):
            if need in waiting:
                yield from take(waiting[need])
        yield made

    while waiting:
        yield from take(next(iter(waiting.values())))


class _Reader:
    """Reads one definition into a class, noting imports."""

    def __init__(self, module: Module, made: Class, source: Source) -> None:
        self.module, self.made, self.source = module, made, source

    def read(self, schema: JSON) -> None:
        if schema.get("x-kubernetes-map-type") == "atomic" or self.made.definition in ATOMIC:
            self.made.annotations.append(self._annotation("MapAtomic"))
        required = {*schema.get("required", ()), *(name for made, name in REQUIRED if made == self.made.definition)}
        properties = schema.get("properties", {})
        skip = {"apiVersion", "kind", "metadata"} if self.made.is_object else set()
        for wire in sorted(properties, key=lambda name: (name not in required, name)):
            if wire not in skip:
                self.made.fields.append(self._field(wire, properties[wire], wire in required))

    def _field(self, wire: str, schema: JSON, required: bool) -> Field:
        name = attribute(wire)
        annotation = self._type(schema)
        constraint = CONSTRAINTS.get((self.made.definition, wire), Constraint())
        default = schema.get("default")
        value = None if default in (None, {}, [], "", 0, False) else repr(default)
        # The server sends null for a time that is not set, even where its schema requires one (events.k8s.io).
        is_condition = self.made.definition == META + "Condition"
        unset = required and not is_condition and annotation in ("datetime", "MicroTime")
        value = constraint.default or value or (None if required and not unset else "None")
        if value == "None":
            annotation += " | None"
        if '"' in annotation:  # a recursive class: the whole annotation is a forward reference
            annotation = '"' + annotation.replace('"', "") + '"'
        extras = list(self._extras(wire, name, schema, value is None))
        if constraint.required or unset:
            extras.append(self._annotation("SchemaRequired"))
        if constraint.type:
            annotation = annotation.replace("str", constraint.type, 1)
            self.module.imports.add(("typing", constraint.type.partition("[")[0]))
        if constraint.field:
            extras.append(self._annotation("SchemaOnly", f"Field({constraint.field})"))
        if constraint.patch:
            extras.append(self._annotation("SchemaPatch", constraint.patch))
        if (self.made.definition, wire) in HIDDEN:
            extras.append("Field(repr=False)")
        if any("Field(" in extra for extra in extras):
            self.module.imports.add(("pydantic", "Field"))
        if extras:
            self.module.imports.add(("typing", "Annotated"))
        return Field(name, annotation, extras, value)

    def _extras(self, wire: str, name: str, schema: JSON, required: bool) -> Iterator[str]:
        if to_camel(name) != wire:
            yield self._annotation("Wire", repr(wire))
        if required and schema.get("type") in ("array", "object"):
            yield self._annotation("NullIsEmpty")
        kind = schema.get("x-kubernetes-list-type")
        if kind == "map":
            yield self._annotation("ListMap", *map(repr, schema["x-kubernetes-list-map-keys"]))
        elif kind:
            yield self._annotation({"set": "ListSet", "atomic": "ListAtomic"}[kind])
        kind = schema.get("x-kubernetes-map-type")
        if kind:
            yield self._annotation({"granular": "MapGranular", "atomic": "MapAtomic"}[kind])
        if schema.get("enum"):
            yield self._annotation("KnownValues", repr(tuple(sorted(schema["enum"]))))
        strategy = schema.get("x-kubernetes-patch-strategy")
        if strategy:
            key = schema.get("x-kubernetes-patch-merge-key")
            own = key if key not in schema.get("x-kubernetes-list-map-keys", ())[:1] else None
            yield self._annotation("PatchStrategy", repr(strategy), *([repr(own)] if own else []))

    def _annotation(self, name: str, *arguments: str) -> str:
        self.module.imports.add(("pykb.api.annotations", name))
        return f"{name}({', '.join(arguments)})"

    def _type(self, schema: JSON) -> str:
        if "allOf" in schema:
            (schema,) = schema["allOf"]
        if "$ref" in schema:
            return self._reference(schema["$ref"].rsplit("/", 1)[1])
        kind = schema.get("type", "")
        if kind == "array":
            return f"list[{self._type(schema['items'])}]"
        if kind == "object":
            values = schema.get("additionalProperties")
            return f"dict[str, {self._type(values) if values else self._any()}]"
        if not kind:
            return self._any()
        made = _SCALARS[kind, schema.get("format", "")]
        if made in ("Int32", "Int64"):
            self.module.imports.add(("pykb.api.annotations", made))
        return made

    def _any(self) -> str:
        self.module.imports.add(("typing", "Any"))
        return "Any"

    def _reference(self, definition: str) -> str:
        if definition in ALIASES:
            text, where = ALIASES[definition]
            place, _, name = where.partition(":")
            self.module.imports.add((place, name or text))
            return text
        if definition in UNIONS:
            return self._union(*UNIONS[definition])
        package, version, name = location(definition)
        if (package, version) == (self.module.package, self.module.version):
            if definition == self.made.definition:
                return f'"{name}"'
            self.made.needs.add(definition)
            return name
        self.module.imports.add((f"pykb.api.{package}", f"{version} as {package}_{version}"))
        return f"{package}_{version}.{name}"

    def _union(self, first: str, shape: str = "", item: str = "") -> str:
        if not shape:
            return self._any()
        inner = item if "." not in item else self._reference(item)
        other = f"list[{inner}]" if shape == "list" else shape
        return f"{self._reference(first)} | {other}"


def attribute(wire: str) -> str:
    """The Python attribute of a wire name."""
    name = _ATTRIBUTES.get(wire) or re.sub(r"\W", "_", to_snake(wire))
    return f"{name}_" if name in _TAKEN else name
