"""Lowers a named type to its own schema, with references to other named types. Lowering starts here.

Python defaults of fields become defaults of the schema.
"""

from __future__ import annotations

import contextlib
import enum
import re
import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pykb.api.annotations import Nullable, SchemaRequired
from pykb.api.object import CustomResource, Object
from pykb.api.struct import Struct
from pykb.api.wire import wire_name
from pykb.diagnostics import Label, Severity
from pykb.diagnostics.codes.crd import ALIAS, DESCRIPTION_CONFLICT, DUPLICATE_NAME, HIDDEN_METHOD
from pykb.gen.declare import NamedType
from pykb.gen.ir import Place, PropertyNode, SchemaNode, object_node
from pykb.gen.lower.annotation import Lowering, applied, evaluated, is_type_alias
from pykb.gen.lower.constraints import flatten
from pykb.gen.lower.scalars import kind_field, lower_builtin, lower_enum, split_optional
from pykb.markers.model import FieldDeclaration

if TYPE_CHECKING:
    from pykb.gen.declare import Declarations
import datetime as dt
import math

from pydantic_core import PydanticUndefined

from pykb.diagnostics import Diagnostic, Diagnostics
from pykb.diagnostics.codes.crd import DEFAULT_NOT_JSON, DEFAULT_VALUE

_TAKEN = frozenset(name for name in dir(Struct) if not name.startswith("_"))
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class FieldType:
    """The declared type of a field.

    Attributes:
        annotation: Its type, without the outermost ``Annotated``.
        metadata: The metadata of ``Annotated`` and ``Field``.
        owner: The class that declares it.
        declaration: Its place in the source; ``None`` in built-in types.
    """

    annotation: object
    metadata: tuple[object, ...]
    owner: type
    declaration: FieldDeclaration | None


def lower_named(named: NamedType, lowering: Lowering, *, embedded_metadata: bool) -> SchemaNode:
    """The schema of a class, ``NewType`` or alias.

    Args:
        named: The type.
        lowering: Turns its annotations into schemas.
        embedded_metadata: Whether an embedded ObjectMeta has its known fields.
    """
    python = named.python
    place = Place(named.span, f"`{named.name}`", sys.modules.get(getattr(python, "__module__", "")))
    if isinstance(python, typing.NewType):
        return lowering.lower(python.__supertype__, place)
    if is_type_alias(python):
        return lowering.lower(python.__value__, place)  # type: ignore[attr-defined]
    if is_type_alias(typing.get_origin(python)):
        return lowering.lower(applied(typing.get_origin(python), typing.get_args(python)), place)
    if isinstance(python, type) and issubclass(python, enum.Enum):
        return lower_enum(python, place, lowering.diagnostics)
    if isinstance(python, type) and issubclass(python, BaseModel):
        return _model(python, named, lowering, embedded_metadata=embedded_metadata)
    return lowering.lower(python, place)


def _model(cls: type[BaseModel], named: NamedType, lowering: Lowering, *, embedded_metadata: bool) -> SchemaNode:
    """The schema of a class: its fields in order of declaration, inherited ones first."""
    special = lower_builtin(named, embedded_metadata=embedded_metadata)
    if special is not None:
        return special
    is_kind = issubclass(cls, Object)
    properties: dict[str, PropertyNode] = {}
    for attribute, info in fields_of(cls).items():
        if info.exclude:
            continue
        prop = None
        if is_kind:
            described = issubclass(cls, CustomResource)
            prop = kind_field(attribute, described=described, embedded_metadata=embedded_metadata)
        prop = prop or _property(cls, attribute, info, named, lowering)
        other = properties.get(prop.name)
        if other is not None:
            lowering.diagnostics.report(
                DUPLICATE_NAME,
                prop.span,
                f"the fields `{other.attribute}` and `{prop.attribute}` both have the JSON name `{prop.name}`",
                'give one of them another JSON name: `Annotated[..., Wire("...")]`',
                labels=(Label(other.span, "the first one"),) if other.span else (),
            )
        properties[prop.name] = prop
    return object_node(list(properties.values()), named.span)


def fields_of(cls: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields of a model, with forward references resolved where possible."""
    if not cls.__pydantic_fields_complete__:
        from pydantic.errors import PydanticUndefinedAnnotation

        with contextlib.suppress(PydanticUndefinedAnnotation, NameError):  # reported when the annotation is lowered
            cls.model_rebuild(raise_errors=False)
    return cls.__pydantic_fields__


def _property(
    cls: type[BaseModel], attribute: str, info: FieldInfo, named: NamedType, lowering: Lowering
) -> PropertyNode:
    kind = _field_type(cls, attribute, info, lowering.declarations)
    declaration, module = kind.declaration, sys.modules.get(kind.owner.__module__)
    place, span = Place(None, f"the field `{attribute}` of `{named.name}`", module), None
    if declaration is not None:
        place, span = Place(declaration.annotation_span, f"the field `{attribute}`", module), declaration.span
    node = _value(kind, info, place, lowering)
    description = None if named.built_in else _with_deprecation(_description(info, declaration, lowering), info)
    if description:
        node = node.put("description", description, span)
    if declaration is not None and declaration.arguments:
        _check_alias(attribute, declaration, lowering)
    if attribute in _TAKEN and not named.built_in:
        _check_hidden(attribute, wire_name(attribute, info), declaration, lowering)
    default, spelling = python_default(info, place, lowering.diagnostics)
    if spelling:
        node = node.put("default", default, place.span, spelling)
    required = info.is_required() or any(isinstance(item, SchemaRequired) for item in kind.metadata)
    return PropertyNode(wire_name(attribute, info), attribute, node, required, span)


def _description(info: FieldInfo, declaration: FieldDeclaration | None, lowering: Lowering) -> str | None:
    """The description: ``Field(description=)``, else the field's docstring or comment, else that of the alias."""
    if declaration is None:
        return info.description
    at = declaration.arguments.get("description")
    if at is None:
        return declaration.description or info.description
    if declaration.description and declaration.description != info.description:
        lowering.diagnostics.report(
            DESCRIPTION_CONFLICT,
            at,
            f"the field `{declaration.name}` has two descriptions, and only this one goes into the schema",
            "keep one of the two",
            labels=(Label(declaration.span, "its docstring or comment is another one"),),
        )
    return info.description


def _with_deprecation(description: str | None, info: FieldInfo) -> str | None:
    """Add a deprecation to the description. Schemas have no keyword for it, and Kubernetes' own types do the same."""
    if not info.deprecated:
        return description
    given = info.deprecation_message
    message = f"Deprecated: {given}" if given and info.deprecated is not True else "Deprecated."
    return f"{description}\n\n{message}" if description else message


def _check_alias(attribute: str, declaration: FieldDeclaration, lowering: Lowering) -> None:
    """Report a Pydantic alias. ``Wire`` sets the wire name; an alias would also rename the constructor's argument."""
    for argument in ("alias", "serialization_alias", "validation_alias"):
        at = declaration.arguments.get(argument)
        if at is not None:
            name = lowering.declarations.text(at).partition("=")[2].strip() or '"..."'
            lowering.diagnostics.report(
                ALIAS,
                at,
                f"the field `{attribute}` gets its JSON name from `{argument}=`",
                f"{attribute}: Annotated[..., Wire({name})]",
                "with `from pykb.api import Wire`",
                label="type checkers use it as the name of the constructor's argument",
            )


def _check_hidden(attribute: str, wire: str, declaration: FieldDeclaration | None, lowering: Lowering) -> None:
    """Report a field that hides a method which pykb, Pydantic or a type checker needs."""
    is_deprecated = attribute in dir(BaseModel) and not attribute.startswith("model_")
    lowering.diagnostics.report(
        HIDDEN_METHOD,
        declaration.span if declaration else None,
        f"the field `{attribute}` hides the method `{attribute}` that every `Struct` has",
        f'{attribute}_: Annotated[..., Wire("{wire}")]',
        "with `from pykb.api import Wire`",
        severity=Severity.WARNING if is_deprecated else Severity.ERROR,
    )


def _value(kind: FieldType, info: FieldInfo, place: Place, lowering: Lowering) -> SchemaNode:
    annotation, optional = split_optional(kind.annotation)
    node = lowering.lower(annotation, place)
    metadata: tuple[Any, ...] = kind.metadata
    # `X | None = None` is an optional field. Without the default, `null` must be an allowed value.
    if optional and info.is_required() and not any(isinstance(item, Nullable) for item in metadata):
        metadata = (*metadata, Nullable())
    if info.title is not None or info.examples:  # the metadata already has the rest of the ``Field``
        metadata = (*metadata, FieldInfo(title=info.title, examples=info.examples))
    return lowering.constrain(node, metadata, place)


def _field_type(cls: type, name: str, info: FieldInfo, declarations: Declarations) -> FieldType:
    """The type of a field.

    Pydantic has evaluated the annotation and folded ``Annotated`` aliases into it. Where the source mentions an alias
    that has markers or a description of its own, the annotation is evaluated once more with a stand-in for the alias.
    """
    declaration, owner = declarations.field(cls, name)
    module = sys.modules.get(owner.__module__)
    metadata = tuple(info.metadata)
    if declaration is not None and _is_open(info.annotation):
        # Python 3.14 evaluates the rest around an unknown name. The whole gives one finding, and as it was written.
        return FieldType(declarations.text(declaration.annotation_span), (), owner, declaration)
    if declaration is not None and module is not None:
        aliases = declarations.alias_names(module)
        if aliases:
            text = declarations.text(declaration.annotation_span)
            mentioned = {n: aliases[n].python for n in _NAME.findall(text) if n in aliases}
            if mentioned:
                return _with_aliases(text, mentioned, vars(module), FieldType(None, metadata, owner, declaration), info)
    return FieldType(info.annotation, metadata, owner, declaration)


def _is_open(annotation: object) -> bool:
    """Whether a name in an annotation could not be evaluated."""
    return isinstance(annotation, typing.ForwardRef) or any(map(_is_open, typing.get_args(annotation)))


def _with_aliases(
    text: str, aliases: Mapping[str, object], namespace: Mapping[str, object], found: FieldType, info: FieldInfo
) -> FieldType:
    try:
        annotation = evaluated(text.strip("'\""), {**namespace, **aliases})
    except Exception:  # noqa: BLE001 - Pydantic could evaluate it, so a stand-in is in the way: do without
        return FieldType(info.annotation, found.metadata, found.owner, found.declaration)
    own: tuple[object, ...] = ()
    if typing.get_origin(annotation) is typing.Annotated:
        annotation, *rest = typing.get_args(annotation)
        own = tuple(rest)
    known = {id(item) for value in aliases.values() for item in _metadata_of(value)}
    # Metadata that Pydantic took from the alias belongs to the alias. The rest comes from `= Field(...)`.
    in_alias = {id(item) for item in flatten(own)} | known
    return FieldType(
        annotation,
        (*own, *(item for item in found.metadata if id(item) not in in_alias)),
        found.owner,
        found.declaration,
    )


def _metadata_of(alias: object) -> list[object]:
    value = getattr(alias, "__value__", alias)
    return list(flatten(getattr(value, "__metadata__", ())))


_EMPTY: tuple[type, ...] = (list, dict, set, frozenset, tuple)


def python_default(info: FieldInfo, place: Place, diagnostics: Diagnostics) -> tuple[object, str]:
    """The JSON value of a field's default, and its spelling. The spelling is empty when there is no default.

    ``None`` means that there is no default. Python code uses an empty container, or a model without arguments, to avoid
    checks for ``None``. The server should not fill those in.
    """
    try:
        value = _value_of(info)
    except Exception as error:  # noqa: BLE001 - whatever the user's factory raises
        diagnostics.report(
            DEFAULT_NOT_JSON,
            place.span,
            f"making the default of {place.what} fails: {type(error).__name__}: {error}",
            "fix the `default_factory`",
        )
        return None, ""
    if value is PydanticUndefined or value is None:
        if value is None:
            _check_none(info.annotation, place, diagnostics)
        return None, ""
    if isinstance(value, _EMPTY) and not value:
        return None, ""
    if isinstance(value, BaseModel) and not value.model_fields_set:
        return None, ""
    shown = f"= {value!r}"
    if isinstance(value, dt.datetime) and value.tzinfo is None:
        diagnostics.add(_naive(value, place))
    try:
        return _encode(value), shown
    except (TypeError, ValueError) as error:
        diagnostics.report(
            DEFAULT_NOT_JSON,
            place.span,
            f"the default of {place.what}, `{_shown(value)}`, has no JSON form",
            "use a plain value, or use `None` and set the value in your code",
            notes=str(error),
        )
        return None, ""


def _check_none(annotation: Any, place: Place, diagnostics: Diagnostics) -> None:
    """Report a default of ``None`` for a plain type. The type behind an alias or a type variable may allow ``None``."""
    plain = typing.get_origin(annotation) or annotation
    if not isinstance(plain, type) or plain in {Any, object, types.NoneType, types.UnionType}:
        return
    name = annotation.__name__ if isinstance(annotation, type) and annotation is plain else str(annotation)
    diagnostics.report(
        DEFAULT_VALUE,
        place.span,
        f"the default of {place.what} is `None`, which is not of type `{name}`",
        f"{name} | None = None",
        "or leave the default out: then the field is required",
        notes="in the schema, the field is optional and has no default; your code gets `None` if it is absent",
        severity=Severity.WARNING,
    )


def _naive(value: dt.datetime, place: Place) -> Diagnostic:
    return DEFAULT_VALUE.at(
        place.span,
        f"the default of {place.what}, `{value}`, has no time zone, so the schema gets it as UTC",
        "datetime(..., tzinfo=UTC)",
        "with `from datetime import UTC`",
        notes="times from the API server have one, and Python cannot compare times with and without a zone",
        severity=Severity.WARNING,
    )


def _value_of(info: FieldInfo) -> Any:
    factory = info.default_factory
    if factory is None:
        return info.default
    if factory in _EMPTY or info.default_factory_takes_validated_data:
        return PydanticUndefined
    if isinstance(factory, type) and issubclass(factory, BaseModel):
        return PydanticUndefined  # a model without arguments; a call would build its validator
    make = typing.cast("typing.Callable[[], Any]", factory)
    first = make()
    # A clock or a random number differs from call to call, and cannot be a default of the API.
    return first if _encode_or_none(first) == _encode_or_none(make()) else PydanticUndefined


def _encode_or_none(value: object) -> object:
    try:
        return _encode(value)
    except (TypeError, ValueError):
        return None


def _encode(value: object) -> object:
    from pykb.api.wire import encode

    found = encode(value)
    _check_numbers(found)
    return found


def _check_numbers(value: object) -> None:
    """Raise ``ValueError`` for numbers that JSON or the API server cannot represent."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _check_numbers(item)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"JSON has no `{value}`")
    elif isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError(f"`{value}` does not fit into 64 bits")


def _shown(value: object) -> str:
    """The ``repr`` of an object without its address, which differs from run to run."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
