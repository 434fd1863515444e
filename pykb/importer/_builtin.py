"""Recognises Kubernetes' own types in an expanded schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from pykb.api import builtin
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.importer.naming import singular
from pykb.importer.shape import Fingerprints, Schema, children
from pykb.meta.names import words

# Types of general use come first. If several have the same fields, the name of the field decides.
_PACKAGES = (
    *("core", "meta", "apps", "batch", "networking", "rbac", "autoscaling", "policy", "admissionregistration"),
    *("storage", "resource", "scheduling", "discovery", "certificates", "node", "coordination"),
)
# Types with few fields that are recognised by their fields alone.
_TELLING = frozenset(
    [
        *("Affinity", "Condition", "LabelSelector", "NodeSelector", "ObjectMeta", "OwnerReference", "PodAffinity"),
        *("PodAntiAffinity", "ResourceRequirements", "VolumeResourceRequirements", "Capabilities", "PodTemplateSpec"),
        *("EnvVarSource", "NodeAffinity", "LabelSelectorRequirement", "NodeSelectorRequirement"),
        *("ConfigMapKeySelector", "SecretKeySelector"),
    ],
)
_ENOUGH_FIELDS = 5
_OF_EVERY_KIND = frozenset({"spec", "status"})
"""Words that do not identify a type. A status with only conditions is not a ServiceCIDRStatus."""


class BuiltinTypes:
    """The built-in types, by the schemas that the generator makes of them."""

    def __init__(self) -> None:
        self._fingerprints = Fingerprints(described=False)
        self._by_number: dict[int, list[tuple[type[Struct], int]]] = {}
        for cls, schema in _schemas():
            number = self._fingerprints.of_class(schema)
            properties = schema.get("properties")
            count = len(properties) if isinstance(properties, dict) else 0
            if count and not issubclass(cls, Object):
                self._by_number.setdefault(number, []).append((cls, count))

    def is_known(self, schema: Schema) -> bool:
        """Whether a schema is that of a built-in type, in any field."""
        return self._fingerprints.of_class(schema) in self._by_number

    def find(self, schema: Schema, path: Sequence[str]) -> type[Struct] | None:
        """The built-in type with exactly this schema, apart from descriptions.

        A type with few fields, such as ``{name, value}``, can have many meanings. It counts as built-in only when the
        path matches.

        Args:
            schema: An object with properties.
            path: The wire names of the fields that lead to it.
        """
        alike = self._by_number.get(self._fingerprints.of_class(schema), [])
        said = frozenset().union(*(_words(segment) for segment in path[-2:])) - _OF_EVERY_KIND
        if not any(
            cls.__name__ in _TELLING or count >= _ENOUGH_FIELDS or said & _words(cls.__name__) for cls, count in alike
        ):
            return None
        # Of several types with one name, the one in the most general group.
        general = sorted((cls for cls, _ in alike), key=_rank, reverse=True)
        fitting = list({cls.__name__: cls for cls in general}.values())
        return fitting[0] if len(fitting) == 1 else _decide(fitting, schema, path[-1] if path else "")


def _decide(fitting: Sequence[type[Struct]], schema: Schema, field: str) -> type[Struct] | None:
    """Choose between types with the same fields. The field and the descriptions mention the words of one most often.

    SecretKeySelector and ConfigMapKeySelector are such a pair. Returns ``None`` when the words do not decide.
    """
    shared = frozenset.intersection(*(_words(cls.__name__) for cls in fitting))
    texts = [schema.get("description"), *(_description(prop) for prop in children(schema).values())]
    prose = " ".join(text for text in texts if isinstance(text, str)).lower()
    ranked = []
    for cls in sorted(fitting, key=lambda cls: (_rank(cls), cls.__name__)):
        own = "".join(word.lower() for word in words(cls.__name__) if singular(word).lower() not in shared)
        ranked.append((prose.count(own) + 3 * field.lower().count(own) if own else 0, cls))
    most = max(count for count, _ in ranked)
    best = [cls for count, cls in ranked if count == most]
    return best[0] if most and len(best) == 1 else None


def _description(schema: object) -> object:
    return schema.get("description") if isinstance(schema, Mapping) else None


def _words(name: str) -> frozenset[str]:
    return frozenset(singular(word).lower() for word in words(name))


@cache
def builtin_types() -> BuiltinTypes:
    """The built-in types, cached: making them takes longer than most imports."""
    return BuiltinTypes()


def _rank(cls: type[Struct]) -> int:
    package = cls.__module__.removeprefix("pykb.api.").partition(".")[0]
    return _PACKAGES.index(package) if package in _PACKAGES else len(_PACKAGES)


@cache
def _schemas() -> tuple[tuple[type[Struct], Schema], ...]:
    from pykb.diagnostics import Diagnostics
    from pykb.gen.declare import Declarations
    from pykb.gen.emit.crd import schema_object
    from pykb.gen.options import SchemaOptions
    from pykb.gen.passes.resolve import Resolver
    from pykb.markers.registry import builtin_registry

    diagnostics = Diagnostics()
    declarations = Declarations(Path(), builtin_registry(), diagnostics)
    resolver = Resolver(declarations, diagnostics, SchemaOptions(allow_dangerous_types=True))
    return tuple((cls, schema_object(resolver.schema_of(cls))) for cls in builtin.structs())
