"""Decides which parts of a schema become classes, which share a class, and the names of the classes."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from pykb.api.struct import Struct
from pykb.importer._expression import survives
from pykb.importer.naming import choose_names, class_word
from pykb.meta.names import words

Schema = Mapping[str, object]

# Keywords of any type that describe a field's value. They belong to the field and not to a class.
OF_THE_USE = frozenset({"default", "description", "example", "externalDocs", "nullable", "title"})
_PARTS = ("items", "additionalProperties")


class Fingerprints:
    """Gives equal schemas equal numbers.

    Args:
        described: Whether descriptions count. They do not when built-in types are compared.
    """

    def __init__(self, *, described: bool) -> None:
        self._described = described
        self._numbers: dict[object, int] = {}
        self._own: dict[int, tuple[Schema, int]] = {}

    def of_class(self, schema: Schema) -> int:
        """The number of a schema without the keywords that belong to its field."""
        found = self._own.get(id(schema))
        if found is None:
            found = self._own[id(schema)] = (schema, self._number(schema, OF_THE_USE))
        return found[1]

    def _number(self, schema: Schema, without: frozenset[str]) -> int:
        parts: list[tuple[str, object]] = []
        for name, value in schema.items():
            if name in without or (name == "description" and not self._described):
                continue
            if name == "properties" and isinstance(value, Mapping):
                if value:
                    inner = tuple(sorted((key, self._child(item)) for key, item in value.items()))
                    parts.append((name, inner))
            elif name in _PARTS and isinstance(value, Mapping):
                parts.append((name, self._child(value)))
            elif name == "required" and isinstance(value, list):
                parts.append((name, json.dumps(sorted(map(str, value)))))
            else:
                parts.append((name, json.dumps(value, sort_keys=True, default=str)))
        return self._numbers.setdefault(tuple(sorted(parts, key=lambda part: part[0])), len(self._numbers))

    def _child(self, schema: object) -> object:
        if not isinstance(schema, Mapping):
            return json.dumps(schema)
        use = {name: value for name, value in schema.items() if name in OF_THE_USE}
        if not self._described:
            use.pop("description", None)
        return (self.of_class(schema), json.dumps(use, sort_keys=True, default=str))


Recognise = Callable[[Schema, Sequence[str]], type[Struct] | None]


@dataclass(frozen=True, slots=True)
class Step:
    """One field on the path from a kind to a part of its schema."""

    name: str
    one_of_many: bool = False


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One part of a schema that becomes a class, and where it is."""

    number: int
    schema: Schema
    path: tuple[Step, ...]
    of_field: bool

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its class name: from its field, and from its kind for a direct part of one."""
        steps = self.path if len(self.path) == 2 else self.path[-1:]
        return tuple(word for step in steps for word in words(class_word(step.name, one_of_many=step.one_of_many)))

    def ends_as(self, other: Occurrence) -> bool:
        """Whether its name ends with the other's. The reverse also counts if the other is a direct part of a kind."""
        mine, theirs = self.words, other.words
        return mine[-len(theirs) :] == theirs or (len(other.path) == 2 and theirs[-len(mine) :] == mine)


@dataclass(slots=True)
class Shape:
    """A class to write: one part of a schema with all its occurrences.

    Attributes:
        schema: Its first occurrence.
        path: The path to the occurrence that gives it its name.
        field_texts: The descriptions in fields of this type.
        inner_texts: The descriptions in elements of lists or maps, which are not fields.
        name: The name of the class.
        doc: Its docstring.
    """

    schema: Schema
    path: tuple[Step, ...]
    field_texts: list[str | None] = field(default_factory=list)
    inner_texts: list[str | None] = field(default_factory=list)
    name: str = ""
    doc: str | None = None


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
    found = schema.get("properties")
    return found if isinstance(found, Mapping) else {}


class Shapes:
    """The classes of one module."""

    def __init__(self, kinds: Iterable[str], recognise: Recognise) -> None:
        self._kinds = frozenset(kind_class(kind) for kind in kinds)
        self._recognise = recognise
        self._fingerprints = Fingerprints(described=True)
        self._found: dict[int, list[Occurrence]] = {}
        self._count = 0
        self._shapes: dict[int, Shape] = {}
        self._builtin: dict[int, type[Struct]] = {}
        self._modules: dict[str, str] = {}  # modules of the built-in types in use, by type name
        self.ordered: list[Shape] = []

    def add_kind(self, kind: str, schema: Schema) -> None:
        """Collect the classes of a kind."""
        for name, prop in children(schema).items():
            if name not in {"apiVersion", "kind", "metadata"}:
                self._visit(prop, (Step(kind), Step(name)), of_field=True)

    def of(self, schema: Schema) -> Shape | None:
        """The class of a part of a schema."""
        return self._shapes.get(id(schema))

    def builtin(self, schema: Schema) -> type[Struct] | None:
        """The built-in type of a part of a schema."""
        return self._builtin.get(id(schema))

    def finish(self) -> None:
        """Decide on classes, names and docstrings. Call it after all kinds were added."""
        made = [found for alike in self._found.values() for found in self._classes(alike)]
        self.ordered = [shape for _, shape in sorted(made, key=lambda each: each[0])]
        paths = [[class_word(s.name, one_of_many=s.one_of_many) for s in shape.path] for shape in self.ordered]
        for path, shape in zip(paths, self.ordered, strict=True):
            path[0] = kind_class(shape.path[0].name)
        for shape, found in zip(
            self.ordered, choose_names(paths, {*_reserved_names(), *self._kinds, *self._modules}), strict=True
        ):
            shape.name = found
            shape.doc = _docstring(shape)

    def _visit(self, schema: Schema, path: tuple[Step, ...], *, of_field: bool) -> None:
        items, values = schema.get("items"), schema.get("additionalProperties")
        for inner in (items, values):
            if isinstance(inner, Mapping):
                self._visit(inner, (*path[:-1], Step(path[-1].name, one_of_many=True)), of_field=False)
        if not is_struct(schema):
            return
        if self._is_builtin(schema, path):
            return
        for name, prop in children(schema).items():
            self._visit(prop, (*path, Step(name)), of_field=True)
        alike = self._found.setdefault(self._fingerprints.of_class(schema), [])
        alike.append(Occurrence(self._count, schema, path, of_field=of_field))
        self._count += 1

    def _classes(self, alike: Sequence[Occurrence]) -> Iterator[tuple[int, Shape]]:
        """The classes for parts with the same schema, each with its position among all.

        Parts share a class when the name of one ends with the name of the other, like `proxy` and `httpProxy`. Readers
        expect a class named after a field to be about that field, so `tlas` do not become `ExtVar`.
        """
        made: list[tuple[Occurrence, Shape]] = []
        for found in sorted(alike, key=lambda each: (len(each.path) > 2, len(each.words), each.number)):
            shape = next((shape for first, shape in made if found.ends_as(first)), None)
            if shape is None:
                shape = Shape(found.schema, found.path)
                made.append((found, shape))
            self._shapes[id(found.schema)] = shape
        firsts: dict[int, Occurrence] = {}
        for found in alike:
            shape = self._shapes[id(found.schema)]
            firsts.setdefault(id(shape), found)
            text = found.schema.get("description")
            texts = shape.field_texts if found.of_field else shape.inner_texts
            texts.append(text if isinstance(text, str) else None)
        for _, shape in made:
            first = firsts[id(shape)]
            shape.schema = first.schema  # classes that it uses are written above it
            yield first.number, shape

    def _is_builtin(self, schema: Schema, path: tuple[Step, ...]) -> bool:
        known = self._recognise(schema, [step.name for step in path]) if children(schema) else None
        if known is None or known.__name__ in self._kinds:
            return False
        if self._modules.setdefault(known.__name__, known.__module__) != known.__module__:
            return False  # another type with this name is already in use
        self._builtin[id(schema)] = known
        return True


def _docstring(shape: Shape) -> str | None:
    """The description for all places where no field has its own."""
    texts = [*shape.inner_texts, *shape.field_texts]
    if None in texts:
        return None
    if shape.inner_texts or len(set(texts)) == 1:
        found = texts[0]
        return found if found and survives(found) else None
    return None
