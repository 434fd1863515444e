"""Writes properties as fields of a class: annotation, default, docstring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pykb.gen.lower.scalars import QUANTITY_PATTERN
from pykb.importer._expression import (
    NONE,
    Either,
    Expression,
    Name,
    call,
    flat,
    laid,
    literal,
    names,
    optional,
    survives,
)
from pykb.importer._spelling import Speller, annotated, api
from pykb.importer.naming import needs_wire
from pykb.importer.shape import Schema, is_struct
from pykb.python_source import quoting
from pykb.python_source.layout import WIDTH, columns

_INDENT = 4
_PLAIN: Mapping[str, tuple[type, ...]] = {"boolean": (bool,), "integer": (int,), "number": (int, float)}


@dataclass(frozen=True, slots=True)
class Member:
    """One field of a class."""

    attribute: str
    annotation: Expression
    default: Expression | None
    doc: str | None
    markers: tuple[str, ...] = ()

    @property
    def is_left_out(self) -> bool:
        """Whether its default is `None` and its type includes `None`."""
        return self.default == NONE and isinstance(self.annotation, Either)

    def made_by(self, factory: Expression) -> Member:
        """The field with a default factory, and without `None`."""
        parts = self.annotation.parts[:-1] if isinstance(self.annotation, Either) else (self.annotation,)
        annotation = parts[0] if len(parts) == 1 else Either(parts)
        return replace(self, annotation=annotation, default=factory)

    def lines(self) -> list[str]:
        """The source lines."""
        pad = " " * _INDENT
        head = f"{pad}{quoting.identifier(self.attribute)}: "
        default = "" if self.default is None else f" = {flat(self.default)}"
        out = [pad + quoting.comment(f"+{marker}") for marker in self.markers]
        if isinstance(self.annotation, Either) and len(head) + columns(flat(self.annotation)) + len(default) > WIDTH:
            text = self._parenthesised(head, pad)
        else:
            text = head + laid(self.annotation, indent=_INDENT, column=len(head), tail=len(default)) + default
        out += text.split("\n")
        if self.doc:
            out += quoting.docstring(self.doc, _INDENT).split("\n")
        return out

    def _parenthesised(self, head: str, pad: str) -> str:
        inner = 2 * _INDENT
        start = head + flat(self.annotation) + " = ("
        if self.default is not None and columns(start) <= WIDTH:
            return f"{start}\n{' ' * inner}{flat(self.default)}\n{pad})"
        text = laid(self.annotation, indent=inner, column=inner)
        default = "" if self.default is None else f" = {flat(self.default)}"
        return f"{head}(\n{' ' * inner}{text}\n{pad}){default}"

    def names(self) -> list[Name]:
        """The names to import for it."""
        found = list(names(self.annotation))
        return found + (list(names(self.default)) if self.default is not None else [])


def spell_member(speller: Speller, attribute: str, name: str, schema: Schema, *, required: bool) -> Member:
    """A property as a field.

    Args:
        speller: Writes the type.
        attribute: Its name in Python.
        name: Its name on the wire.
        schema: Its schema.
        required: Whether it must be there.
    """
    spelled = speller.value(schema)
    metadata = list(spelled.metadata)
    if needs_wire(attribute, name):
        metadata.append(call(api("Wire"), literal(name)))
    default = _python_default(schema)
    if "default" in schema and default is None:
        metadata.append(call(api("ServerDefault"), literal(schema["default"])))
    nullable = schema.get("nullable") is True
    if nullable:
        metadata.append(call(api("Nullable")))
    doc = _texts(speller, schema, metadata)
    markers: tuple[str, ...] = ()
    base = spelled.type
    if "default" in schema and required:
        markers = ("required",)  # optional in Python: the server fills it in before validation
    if default is None and (not required or "default" in schema):
        base, default = optional(base), NONE
    elif nullable:
        base = optional(base)
    return Member(attribute, annotated(base, *metadata), default, doc, markers)


def _texts(speller: Speller, schema: Schema, metadata: list[Expression]) -> str | None:
    """The docstring. Texts that a docstring cannot hold go into the metadata."""
    arguments: dict[str, Expression] = {}
    if schema.get("title"):
        arguments["title"] = literal(schema["title"])
    if "example" in schema:
        arguments["examples"] = literal([schema["example"]])
    text = schema.get("description")
    shape = speller.shapes.of(schema) if is_struct(schema) and not speller.shapes.builtin(schema) else None
    doc = None
    if isinstance(text, str) and text and not (shape is not None and shape.doc == text):
        if survives(text):
            doc = text
        else:
            arguments["description"] = literal(text)
    docs = schema.get("externalDocs")
    if isinstance(docs, Mapping) and docs.get("url"):
        description = {"description": literal(docs["description"])} if docs.get("description") else {}
        metadata.append(call(api("ExternalDocs"), literal(docs["url"]), **description))
    if arguments:
        metadata.append(call(api("Field"), **arguments))
    return doc


def _python_default(schema: Schema) -> Expression | None:
    """The default in Python; ``None`` when only the server can fill it in."""
    value, kind = schema.get("default"), schema.get("type")
    if schema.get("x-kubernetes-int-or-string"):
        if schema.get("pattern") == QUANTITY_PATTERN:
            return call(api("Quantity"), literal(value)) if isinstance(value, str) and _is_quantity(value) else None
        return literal(value) if type(value) in (int, str) else None
    if kind == "string" and isinstance(value, str):
        is_odd = schema.get("format") in ("date-time", "date", "byte") or not value.isprintable()
        return None if is_odd or len(value) > WIDTH // 3 else literal(value)
    return literal(value) if type(value) in _PLAIN.get(str(kind), ()) else None


def _is_quantity(value: str) -> bool:
    from pykb.api.quantity import Quantity

    try:
        return str(Quantity(value)) == value
    except ValueError:
        return False
