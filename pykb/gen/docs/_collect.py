"""Collects an API reference from CRDs: kinds and the named types below them, each once per version."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pykb.api.builtin_table import RELEASE, TABLE
from pykb.gen._samples import minimal_example
from pykb.gen.declare import NamedType
from pykb.gen.docs._content import (
    FieldDoc,
    KindDoc,
    Piece,
    Reference,
    TypeDoc,
    VersionDoc,
    constraints_of,
    is_quantity,
    json_text,
    rules_of,
    scalar_name,
)
from pykb.gen.emit.yaml import dump_document
from pykb.gen.ir import Crd, CrdVersion, PropertyNode, SchemaNode

Samples = Mapping[tuple[str, str], str]
"""Manifests by apiVersion and kind."""
_PAGE = f"https://kubernetes.io/docs/reference/generated/kubernetes-api/{RELEASE}/"
_GROUPS = {module: group for (group, _), (module, _) in TABLE.items()}


def collect(crds: Sequence[Crd], samples: Samples, *, title: str) -> Reference:
    """Collect the reference of some kinds. Groups are sorted by name, versions with the most mature first.

    Args:
        crds: The CRDs to describe.
        samples: The samples of the project. A kind without one gets an example with its required fields.
        title: The headline.
    """
    found: dict[tuple[str, str], list[tuple[Crd, CrdVersion]]] = {}
    for crd in crds:
        for version in crd.versions:
            found.setdefault((crd.group, version.name), []).append((crd, version))
    groups = sorted({group for group, _ in found})
    versions = []
    for group in groups:
        names = sorted((name for of, name in found if of == group), key=version_priority, reverse=True)
        versions += [_version(group, name, found[group, name], samples) for name in names]
    return Reference(title, tuple(versions))


_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")


def version_priority(name: str) -> tuple[int, int, int, str]:
    """Kubernetes' order of versions: stable above beta above alpha, then by number.

    >>> sorted(["v1beta1", "v2", "v1alpha3", "v10", "odd"], key=version_priority)
    ['odd', 'v1alpha3', 'v1beta1', 'v2', 'v10']
    """
    match = _VERSION.fullmatch(name)
    if match is None:
        return (0, 0, 0, name)
    stability = {"alpha": 1, "beta": 2}.get(match[2] or "", 3)
    return (stability, int(match[1]), int(match[3] or 0), name)


def _version(group: str, name: str, members: list[tuple[Crd, CrdVersion]], samples: Samples) -> VersionDoc:
    types = _Types(_anchor(group, name))
    kinds = [
        _kind(crd, version, types, samples.get((f"{group}/{name}", crd.names.kind)))
        for crd, version in sorted(members, key=lambda member: member[0].names.kind)
    ]
    return VersionDoc(group, name, types.prefix, tuple(kinds), types.finish())


def _kind(crd: Crd, version: CrdVersion, types: _Types, sample: str | None) -> KindDoc:
    schema = version.schema
    name = crd.names.kind
    api_version = f"{crd.group}/{version.name}"
    anchor = types.claim(name)
    example = sample or dump_document(minimal_example(crd, version))
    return KindDoc(
        name=name,
        anchor=anchor,
        api_version=api_version,
        description=str(schema.get("description") or ""),
        facts=tuple(_facts(crd, version)),
        fields=_kind_fields(schema, Piece(name, f"#{anchor}"), types, api_version=api_version, kind=name),
        rules=rules_of(schema),
        example=example,
        is_sample=sample is not None,
        warning=_warning(version, api_version, name),
    )


def _kind_fields(
    schema: SchemaNode, owner: Piece, types: _Types, *, api_version: str, kind: str
) -> tuple[FieldDoc, ...]:
    """The fields of a kind. All kinds have the same first three."""
    head = (
        FieldDoc("apiVersion", (Piece("string"),), required=True, constraints=(f"always {api_version}",)),
        FieldDoc("kind", (Piece("string"),), required=True, constraints=(f"always {kind}",)),
        FieldDoc(
            "metadata", (Piece("ObjectMeta", _documentation_of("pykb.api.meta.v1", "ObjectMeta")),), required=True
        ),
    )
    own = {n: p for n, p in (schema.properties or {}).items() if n not in {"apiVersion", "kind", "metadata"}}
    return (*head, *types.fields(own, owner, None))


def _warning(version: CrdVersion, api_version: str, kind: str) -> str:
    if not version.served:
        return "This version is not served: objects stored in it are read through another one."
    if version.deprecated:
        return version.deprecation_warning or f"{api_version} {kind} is deprecated."
    return ""


def _facts(crd: Crd, version: CrdVersion) -> list[tuple[str, str]]:
    names = crd.names
    facts = [("Scope", crd.scope), ("Resource", crd.name)]
    if names.short_names:
        facts.append(("Short names", ", ".join(names.short_names)))
    if names.categories:
        facts.append(("Categories", ", ".join(names.categories)))
    if len(crd.versions) > 1:
        facts.append(("Storage version", next((v.name for v in crd.versions if v.storage), "")))
    subresources = [name for name, given in (("status", version.status), ("scale", version.scale)) if given]
    if subresources:
        facts.append(("Subresources", ", ".join(subresources)))
    if version.selectable:
        facts.append(("Field selectors", ", ".join(path for path, _ in version.selectable)))
    if version.columns:
        facts.append(("Columns", ", ".join(column.name for column in version.columns)))
    return facts


def _anchor(*parts: str) -> str:
    text = "-".join(parts).lower()
    return "".join(char if char.isascii() and char.isalnum() else "-" for char in text).strip("-")


@dataclass(slots=True)
class _Types:
    """The named types of one version, collected while fields are described."""

    prefix: str
    _anchors: set[str] = field(default_factory=set)
    _by_type: dict[NamedType, str] = field(default_factory=dict)
    _docs: dict[NamedType, TypeDoc] = field(default_factory=dict)
    _used_by: dict[NamedType, dict[Piece, None]] = field(default_factory=dict)

    def claim(self, name: str) -> str:
        """A unique anchor for a name."""
        anchor = wanted = f"{self.prefix}-{_anchor(name)}"
        number = 1
        while anchor in self._anchors:
            number += 1
            anchor = f"{wanted}-{number}"
        self._anchors.add(anchor)
        return anchor

    def finish(self) -> tuple[TypeDoc, ...]:
        """All types by name, with the places that use each."""
        found = []
        for named, doc in sorted(self._docs.items(), key=lambda item: (item[1].name, item[1].anchor)):
            used_by = tuple(sorted(self._used_by[named], key=lambda piece: piece.text))
            found.append(
                TypeDoc(
                    doc.name, doc.anchor, doc.description, doc.type, doc.fields, doc.constraints, doc.rules, used_by
                )
            )
        return tuple(found)

    def fields(
        self, properties: Mapping[str, PropertyNode], owner: Piece, python: object, prefix: str = ""
    ) -> Iterator[FieldDoc]:
        """Describe the fields of an object. The fields of an unnamed object follow the field that holds it."""
        for prop in properties.values():
            yield self._field(prop, owner, python, prefix)
            node, suffix = prop.schema, ""
            while node.origin is None and (node.items or node.values):
                node, suffix = (node.items, f"{suffix}[]") if node.items else (node.values or node, f"{suffix}.*")
            if node.origin is None and node.properties:
                yield from self.fields(node.properties, owner, None, f"{prefix}{prop.name}{suffix}.")

    def _field(self, prop: PropertyNode, owner: Piece, python: object, prefix: str) -> FieldDoc:
        node = prop.schema
        origin = node.origin.schema if node.origin else None
        description, deprecated = _without_deprecation(str(node.get("description") or ""))
        default = json_text(node.get("default")) if "default" in node.keywords else ""
        return FieldDoc(
            name=prefix + prop.name,
            type=self.pieces(node, owner),
            required=prop.required,
            description=description,
            default=default,
            constraints=constraints_of(node, origin),
            rules=rules_of(node, origin),
            deprecated=_deprecated(python, prop.attribute) if deprecated is None else deprecated,
        )

    def pieces(self, node: SchemaNode, owner: Piece) -> tuple[Piece, ...]:
        """The name of a type."""
        if node.origin is not None:
            return (self._named(node.origin.type, node.origin.schema, owner),)
        if node.items is not None:
            return (Piece("list of "), *self.pieces(node.items, owner))
        if node.values is not None:
            return (Piece("map of "), *self.pieces(node.values, owner))
        if is_quantity(node):
            return (Piece("quantity", _documentation_of("pykb.api.core.resource", "quantity")),)
        return (Piece(scalar_name(node)),)

    def _named(self, named: NamedType, schema: SchemaNode, owner: Piece) -> Piece:
        if named.built_in:
            module = str(getattr(named.python, "__module__", ""))
            return Piece(named.name, _documentation_of(module, named.name))
        if named not in self._by_type:
            self._by_type[named] = self.claim(named.name)
            self._used_by[named] = {}
            self._describe(named, schema)
        self._used_by[named][owner] = None
        return Piece(named.name, f"#{self._by_type[named]}")

    def _describe(self, named: NamedType, schema: SchemaNode) -> None:
        own = Piece(named.name, f"#{self._by_type[named]}")
        fields = tuple(self.fields(schema.properties or {}, own, named.python))
        self._docs[named] = TypeDoc(
            name=named.name,
            anchor=self._by_type[named],
            description=str(schema.get("description") or ""),
            type=(Piece("object"),) if schema.properties is not None else self.pieces(schema, own),
            fields=fields,
            constraints=constraints_of(schema, None),
            rules=rules_of(schema),
        )


_DEPRECATION = re.compile(r"(?:\A|\n\s*\n)Deprecated(?::\s*(?P<advice>(?:.|\n(?!\s*\n))+)|\.?(?=\n\s*\n|\Z))")


def _without_deprecation(description: str) -> tuple[str, str | None]:
    """A description without its paragraph ``Deprecated: ...``, and the text of that paragraph."""
    match = _DEPRECATION.search(description)
    if match is None:
        return description, None
    rest = description[: match.start()] + description[match.end() :]
    return rest.strip("\n"), (match["advice"] or "").strip()


def _deprecated(python: object, attribute: str) -> str | None:
    fields = getattr(python, "__pydantic_fields__", None)
    info = fields.get(attribute) if isinstance(fields, dict) else None
    said = getattr(info, "deprecated", None)
    if not said:
        return None
    return said if isinstance(said, str) else str(getattr(said, "message", ""))


def _documentation_of(module: str, name: str) -> str:
    """The URL of a built-in type's documentation.

    >>> _documentation_of("pykb.api.core.v1", "PodSpec")[-16:]
    '#podspec-v1-core'
    >>> _documentation_of("pykb.api.networking.v1", "IngressRule")[-33:]
    '#ingressrule-v1-networking-k8s-io'
    """
    parts = module.split(".")
    if len(parts) < 4:
        return _PAGE
    group = _GROUPS.get(module) or parts[-2]
    return f"{_PAGE}#{name.lower()}-{parts[-1]}-{group.replace('.', '-')}"
