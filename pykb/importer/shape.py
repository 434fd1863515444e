"""Decides which parts of a schema become classes, which share a class, and the names of the classes."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from pykb.api.struct import Struct
from pykb.importer._expression import survives
from pykb.importer.naming import choose_names, class_word
from pykb.meta.names import words

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
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


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
