"""Decides which parts of a schema become classes or are Kubernetes' own types, which share a class, and all names."""

from __future__ import annotations

import builtins
import json
import keyword
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from pykb.api import builtin
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.importer._expression import survives
from pykb.meta.names import pluralize, to_camel, to_snake, words
from pykb.reading import mapping

# Names that annotations in the same class body may use.
_IN_ANNOTATIONS = frozenset({"bool", "bytes", "date", "datetime", "dict", "float", "int", "list", "str"})
_UNCHANGED = frozenset({"data", "https", "kubernetes", "media", "news", "series", "species"})
_IRREGULAR = {"caches": "cache", "children": "child", "indices": "index", "people": "person", "vertices": "vertex"}


def attribute_name(wire_name: str, taken: Container[str] = ()) -> str:
    """The attribute for a wire name. Avoids the names that every ``Struct`` has.

    >>> attribute_name("hostIP"), attribute_name("from"), attribute_name("copy"), attribute_name("$ref")
    ('host_ip', 'from_', 'copy_', 'ref')
    """
    name = to_snake(wire_name) or "field"
    if name[0].isdigit():
        name = f"field_{name}"
    if keyword.iskeyword(name) or name in _reserved() or name.startswith("model_"):
        name += "_"
    if not name.isidentifier():
        name = "field"
    found, count = name, 2
    while found in taken:
        found, count = f"{name.rstrip('_')}_{count}", count + 1
    return found


def needs_wire(attribute: str, wire_name: str) -> bool:
    """Whether the attribute needs an explicit wire name."""
    return to_camel(attribute) != wire_name


@cache
def _reserved() -> frozenset[str]:
    from pykb.api.object import CustomResource

    return frozenset(dir(CustomResource)) | _IN_ANNOTATIONS


def singular(word: str) -> str:
    """The singular of a plural. Other words are unchanged.

    >>> [singular(w) for w in ("containers", "policies", "addresses", "databases", "status", "IPs", "matches")]
    ['container', 'policy', 'address', 'database', 'status', 'IP', 'match']
    """
    low = word.lower()
    if low in _IRREGULAR:
        return word[:1] + _IRREGULAR[low][1:]
    if len(word) < 3 or not low.endswith("s") or low in _UNCHANGED or low.endswith(("ss", "us", "is")):
        return word
    stems = [low[:-3] + "y"] if low.endswith("ies") else []
    stems += [low[:-2]] if low.endswith("es") else []
    stems.append(low[:-1])
    stem = next((stem for stem in stems if pluralize(stem) == low), low[:-1])
    return stem if word.islower() else word[:1] + (word[1:-1] if stem == low[:-1] else stem[1:])


def class_word(segment: str, *, one_of_many: bool) -> str:
    """A part of a path as a part of a class's name.

    >>> class_word("initContainers", one_of_many=True), class_word("hostIP", one_of_many=False)
    ('InitContainer', 'HostIP')
    """
    parts = words(segment)
    if parts and one_of_many:
        parts[-1] = singular(parts[-1])
    return "".join(part[:1].upper() + part[1:] for part in parts)


def group_folder(group: str) -> str:
    """The folder of an API group.

    >>> group_folder("cert-manager.io"), group_folder("3scale.net")
    ('cert_manager_io', '_3scale_net')
    """
    name = re.sub(r"[^a-z0-9]+", "_", group.lower()).strip("_") or "core"
    return f"_{name}" if name[0].isdigit() or keyword.iskeyword(name) else name


def version_module(version: str) -> str:
    """The name of the module of an API version."""
    return re.sub(r"[^a-z0-9]", "_", version)


def choose_names(paths: Sequence[Sequence[str]], reserved: Iterable[str]) -> list[str]:
    """Choose a name for each class: the shortest unique end of its path.

    Args:
        paths: For each class, the words from the kind's name down to the field.
        reserved: Names that are taken.
    """
    taken = {*reserved, *dir(builtins)}
    names: list[str] = []
    for base in _shortest_ends(paths, taken):
        start = base if base.isidentifier() else f"T{base}"
        found, count = start, 2
        while found in taken:
            found, count = f"{start}{count}", count + 1
        taken.add(found)
        names.append(found)
    return names


def _shortest_ends(paths: Sequence[Sequence[str]], taken: Iterable[str]) -> list[str]:
    """The shortest end of each path that no other path has, or the whole path."""
    lengths = [2 if len(path) == 2 else 1 for path in paths]  # `Kind.spec` becomes KindSpec and not Spec
    while True:
        ends = ["".join(path[-length:]) for path, length in zip(paths, lengths, strict=True)]
        count = Counter(ends)
        clashing = [
            index
            for index, end in enumerate(ends)
            if lengths[index] < len(paths[index]) and (count[end] > 1 or end in taken or not end.isidentifier())
        ]
        if not clashing:
            return ends
        for index in clashing:
            lengths[index] += 1


Schema = Mapping[str, object]

# Keywords of any type that describe a field's value. They belong to the field and not to a class.
OF_THE_USE = frozenset({"default", "description", "example", "externalDocs", "nullable", "title"})
_PARTS = ("items", "additionalProperties")
_NO_FIELDS: tuple[str, object] = ("properties", {})


class Fingerprints:
    """Gives equal schemas equal numbers.

    Args:
        described: Whether descriptions of fields count. They do not when built-in types are compared.
    """

    def __init__(self, *, described: bool) -> None:
        self._of_use = OF_THE_USE if described else OF_THE_USE - {"description"}
        self._numbers: dict[object, int] = {}
        self._known: dict[int, tuple[Schema, int]] = {}  # by id, which is unique while the schema lives

    def of_class(self, schema: Schema) -> int:
        """The number of a schema without the keywords that belong to its field."""
        if id(schema) not in self._known:
            own = ((name, value) for name, value in schema.items() if name not in OF_THE_USE)
            parts = tuple(sorted((name, self._part(name, value)) for name, value in own if (name, value) != _NO_FIELDS))
            self._known[id(schema)] = schema, self._numbers.setdefault(parts, len(self._numbers))
        return self._known[id(schema)][1]

    def _part(self, name: str, value: object) -> object:
        if name == "properties" and isinstance(value, Mapping):
            return tuple(sorted((key, self._of_field(item)) for key, item in value.items()))
        if name in _PARTS and isinstance(value, Mapping):
            return self._of_field(value)
        return _json(sorted(map(str, value)) if name == "required" and isinstance(value, list) else value)

    def _of_field(self, schema: object) -> object:
        if not isinstance(schema, Mapping):
            return _json(schema)
        return self.of_class(schema), _json({name: schema[name] for name in self._of_use if name in schema})


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)


Recognise = Callable[[Schema, Sequence[str]], type[Struct] | None]


@dataclass(frozen=True, slots=True)
class Step:
    """One field on the path from a kind to a part of its schema."""

    name: str
    one_of_many: bool = False


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One part of a schema that becomes a class.

    Attributes:
        schema: The part.
        path: Where it is.
        of_field: Whether it is the value of a field, not an element of a list or map.
    """

    schema: Schema
    path: tuple[Step, ...]
    of_field: bool

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its class name: from its field, and from its kind for a direct part of one."""
        steps = self.path if len(self.path) == 2 else self.path[-1:]
        return tuple(word for step in steps for word in words(class_word(step.name, one_of_many=step.one_of_many)))

    @property
    def text(self) -> str | None:
        """Its description."""
        text = self.schema.get("description")
        return text if isinstance(text, str) else None

    def ends_as(self, other: Occurrence) -> bool:
        """Whether its name ends with the other's. The reverse also counts if the other is a direct part of a kind."""
        mine, theirs = self.words, other.words
        return mine[-len(theirs) :] == theirs or (len(other.path) == 2 and theirs[-len(mine) :] == mine)


@dataclass
class Shape:
    """A class to write.

    Attributes:
        namesake: The occurrence that gives it its name.
        occurrences: All parts of schemas that it stands for, in the order in which they were found.
        name: The name of the class.
    """

    namesake: Occurrence
    occurrences: list[Occurrence] = field(default_factory=list)
    name: str = ""

    @property
    def schema(self) -> Schema:
        """Its first occurrence: classes that this one uses are written above it."""
        return self.occurrences[0].schema

    @cached_property
    def doc(self) -> str | None:
        """Its docstring: the description for all places where no field has its own."""
        of_elements = [each.text for each in self.occurrences if not each.of_field]
        texts = of_elements + [each.text for each in self.occurrences if each.of_field]
        is_shared = None not in texts and (of_elements or len(set(texts)) == 1)
        return texts[0] if is_shared and texts[0] and survives(texts[0]) else None


def kind_class(kind: str) -> str:
    """The class name of a kind, in Python's spelling and different from all imported names."""
    name = kind[:1].upper() + kind[1:]
    return f"{name}Kind" if name in _reserved_names() else name


@cache
def _reserved_names() -> frozenset[str]:
    """Names that a module of types imports, and Python's built-in names."""
    from pykb import api

    return frozenset([*api.__all__, *dir(builtins), "Annotated", "Any", "GROUP_VERSION", "Literal", "ObjectMeta"])


def is_struct(schema: Schema) -> bool:
    """Whether a schema becomes a class: an object with fields, or an empty object."""
    if schema.get("type") != "object" or "additionalProperties" in schema:
        return False
    return bool(schema.get("properties")) or not schema.get("x-kubernetes-preserve-unknown-fields")


def children(schema: Schema) -> Mapping[str, Schema]:
    """The properties of a schema."""
    return mapping(schema.get("properties"))


class Shapes:
    """The classes of one module.

    Attributes:
        ordered: All classes, those that others use before them.
    """

    def __init__(self, kinds: Iterable[tuple[str, Schema]], recognise: Recognise) -> None:
        """Decide on the classes below some kinds, each with its schema."""
        kinds = list(kinds)
        self._kinds = frozenset(kind_class(kind) for kind, _ in kinds)
        self._recognise = recognise
        self._builtin: dict[int, type[Struct]] = {}  # by the id of the schema
        self._modules: dict[str, str] = {}  # modules of the built-in types in use, by type name
        occurrences = [
            each
            for kind, schema in kinds
            for name, prop in children(schema).items()
            if name not in {"apiVersion", "kind", "metadata"}
            for each in self._occurrences(prop, (Step(kind), Step(name)), of_field=True)
        ]
        self._shapes = _classes(occurrences)  # by the id of the schema
        self.ordered = list({id(shape): shape for shape in self._shapes.values()}.values())
        paths = [
            [kind_class(kind.name), *(class_word(step.name, one_of_many=step.one_of_many) for step in steps)]
            for kind, *steps in (shape.namesake.path for shape in self.ordered)
        ]
        names = choose_names(paths, {*_reserved_names(), *self._kinds, *self._modules})
        for shape, name in zip(self.ordered, names, strict=True):
            shape.name = name

    def of(self, schema: Schema) -> Shape | None:
        """The class of a part of a schema."""
        return self._shapes.get(id(schema))

    def builtin(self, schema: Schema) -> type[Struct] | None:
        """The built-in type of a part of a schema."""
        return self._builtin.get(id(schema))

    def _occurrences(self, schema: Schema, path: tuple[Step, ...], *, of_field: bool) -> Iterator[Occurrence]:
        """The parts of a schema that become classes, inner ones first."""
        for part in (schema.get("items"), schema.get("additionalProperties")):
            if isinstance(part, Mapping):
                yield from self._occurrences(part, (*path[:-1], Step(path[-1].name, one_of_many=True)), of_field=False)
        if is_struct(schema) and not self._is_builtin(schema, path):
            for name, prop in children(schema).items():
                yield from self._occurrences(prop, (*path, Step(name)), of_field=True)
            yield Occurrence(schema, path, of_field)

    def _is_builtin(self, schema: Schema, path: tuple[Step, ...]) -> bool:
        known = self._recognise(schema, [step.name for step in path]) if children(schema) else None
        if known is None or known.__name__ in self._kinds:
            return False
        if self._modules.setdefault(known.__name__, known.__module__) != known.__module__:
            return False  # another type with this name is already in use
        self._builtin[id(schema)] = known
        return True


def _classes(occurrences: Sequence[Occurrence]) -> dict[int, Shape]:
    """The class of each part, by the id of its schema and in the order of the first parts.

    Parts with the same schema share a class when the name of one ends with the name of the other, like `proxy` and
    `httpProxy`. Readers expect a class named after a field to be about that field, so `tlas` do not become `ExtVar`.
    """
    fingerprints = Fingerprints(described=True)
    alike: dict[int, list[Occurrence]] = {}
    for each in occurrences:
        alike.setdefault(fingerprints.of_class(each.schema), []).append(each)
    shapes: dict[int, Shape] = {}
    for group in alike.values():
        made: list[Shape] = []
        for each in sorted(group, key=lambda each: (len(each.path) > 2, len(each.words))):
            shape = next((shape for shape in made if each.ends_as(shape.namesake)), None)
            if shape is None:
                shape = Shape(each)
                made.append(shape)
            shapes[id(each.schema)] = shape
    for each in occurrences:
        shapes[id(each.schema)].occurrences.append(each)
    return {id(each.schema): shapes[id(each.schema)] for each in occurrences}


# Recognises Kubernetes' own types in an expanded schema.


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
