"""Shows the fields of Kubernetes' types, as `kubectl explain` does."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pykb.cli import console
from pykb.cli.errors import EXIT_USAGE, finish

if TYPE_CHECKING:
    from pykb.api import Struct
    from pykb.meta.gvk import GroupVersionKind


def kinds() -> list[GroupVersionKind]:
    """Kubernetes' kinds. Of two with one name, that of the core group comes first, and then the newest version."""
    from pykb.api import builtin

    return sorted(sorted(builtin.kinds(), key=lambda each: each.version, reverse=True), key=lambda each: each.group)


def types_named(name: str) -> list[type[Struct]]:
    """Kubernetes' types of a name: kinds, also in lower case or in the plural as for kubectl, else parts of them."""
    from pykb.api.builtin import find_class, structs
    from pykb.meta.plural import pluralize

    folded = name.casefold()
    found = [find_class(each) for each in kinds() if folded in (each.kind.casefold(), pluralize(each.kind))]
    if found or not name[:1].isupper():
        return [cls for cls in found if cls is not None]
    return [cls for cls in structs() if cls.__name__ == name]


def is_builtin(found: Any) -> bool:
    """Whether it is one of Kubernetes' types."""
    from pykb.api import Struct
    from pykb.api.builtin_table import OTHER_MODULES, TABLE

    modules = (*OTHER_MODULES, *(module for module, _ in TABLE.values()))
    return isinstance(found, type) and issubclass(found, Struct) and found.__module__ in modules


def show_fields(called: str, cls: type[Struct], below: str) -> None:
    """Show the fields of a type, or those of one of its fields.

    Args:
        called: What to type for the type.
        cls: The type.
        below: The names of the fields that lead to the one to show, with dots.
    """
    from pykb.diagnostics.codes.cli import UNKNOWN_CODE
    from pykb.diagnostics.suggest import closest

    annotation: Any = cls
    for word in filter(None, below.split(".")):
        known = fields_of(_type_within(annotation))
        field = next((each for each in known if word in (each.name, each.wire)), None)
        if field is None:
            near = closest(word, [each.wire for each in known])
            what = f"a similar name exists: `pykb explain {called}.{near}`" if near else f"`pykb explain {called}`"
            message = f"`{called}` has no field `{word}`"
            finish([UNKNOWN_CODE.at(None, message, help=(what,))], code=EXIT_USAGE)
            return
        called, annotation = f"{called}.{field.wire}", field.annotation
    shown = fields_of(_type_within(annotation))
    if console.data({"name": called, "type": type_text(annotation), "fields": [each.to_json() for each in shown]}):
        return
    console.out(_headline(cls) if annotation is cls else f"{called}: {type_text(annotation)}")
    if not shown:
        return
    names = [each.wire if each.name == each.wire else f"{each.wire} ({each.name})" for each in shown]
    types = [type_text(each.annotation) for each in shown]
    console.out()
    for field, name, text in zip(shown, names, types, strict=True):
        console.out(f"  {name:<{max(map(len, names))}}  {text:<{max(map(len, types))}}  {field.remarks}".rstrip())
    deeper = [each.wire for each in shown if each.name != "metadata" and is_builtin(_type_within(each.annotation))]
    if deeper:
        console.out(f"\nThe fields of a field: `pykb explain {called}.{deeper[0]}`")


def _headline(cls: type[Struct]) -> str:
    from pykb.api.object import Object

    path = f"{cls.__module__}.{cls.__name__}"
    if not issubclass(cls, Object) or cls.resource is None:
        return path
    scope = "namespaced" if cls.resource.namespaced else "cluster-wide"
    return f"{cls.gvk.kind} of {cls.gvk.api_version} ({cls.resource.plural}, {scope})\n{path}"


class FieldText(NamedTuple):
    """A field of a type, for people."""

    name: str
    wire: str
    annotation: Any
    required: bool
    default: Any
    values: tuple[str, ...]

    @property
    def remarks(self) -> str:
        """Whether it is required, its default and its values."""
        parts = ["required"] * self.required
        parts += [f"default {self.default}"] * (self.default is not None)
        return ", ".join([*parts, *([f"one of {', '.join(self.values)}"] if self.values else [])])

    def to_json(self) -> dict[str, Any]:
        """The field as JSON."""
        texts = {"name": self.name, "wire": self.wire, "type": type_text(self.annotation)}
        return {**texts, "required": self.required, "default": self.default, "values": list(self.values)}


def fields_of(cls: Any) -> list[FieldText]:
    """The fields of a type of Kubernetes; none of others. An object's apiVersion and kind are left out."""
    if not is_builtin(cls):
        return []
    from pydantic_core import PydanticUndefined

    from pykb.api.annotations import KnownValues, SchemaRequired
    from pykb.api.object import Object

    fixed = ("api_version", "kind") if issubclass(cls, Object) else ()
    found = []
    for name, field in cls.model_fields.items():
        if name in fixed:
            continue
        required = field.is_required() or any(isinstance(each, SchemaRequired) for each in field.metadata)
        values = tuple(value for each in field.metadata if isinstance(each, KnownValues) for value in each.values)
        default = None if field.default is PydanticUndefined else field.default
        found.append(FieldText(name, field.alias or name, field.annotation, required, default, values))
    return found


def type_text(annotation: Any) -> str:
    """A type as people write it, without `None` and what is annotated."""
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation.__name__
    origin, parts = get_origin(annotation), [each for each in get_args(annotation) if each is not NoneType]
    if origin is Annotated:
        return type_text(parts[0])
    if origin is Literal:
        return " | ".join(map(repr, parts))
    if origin in (Union, UnionType):
        return " | ".join(map(type_text, parts))
    if isinstance(origin, type):
        return f"{origin.__name__}[{', '.join(map(type_text, parts))}]"
    return getattr(annotation, "__name__", None) or str(annotation).rpartition(".")[2]


def _type_within(annotation: Any) -> Any:
    """The type of a field's value, or of its elements."""
    while (parts := [each for each in get_args(annotation) if each is not NoneType]) and not is_builtin(annotation):
        annotation = parts[0] if get_origin(annotation) is Annotated else parts[-1]
    return annotation
