"""Turns schemas of any kind into Python types with all their keywords, and properties into fields of a class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pykb.gen.ir import LIMITS, RULE_PARTS, RULES
from pykb.gen.lower.constraints import FLAGS
from pykb.gen.lower.scalars import QUANTITY_PATTERN
from pykb.importer._expression import (
    ANY,
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
    subscript,
    survives,
)
from pykb.importer.shape import OF_THE_USE, Schema, Shapes, children, is_struct, needs_wire
from pykb.python_source import quoting
from pykb.python_source.layout import WIDTH, columns

Metadata = tuple[Expression, ...]
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_BOUNDS = (("minimum", "exclusiveMinimum", "ge", "gt"), ("maximum", "exclusiveMaximum", "le", "lt"))
_SIZES = {
    kind: dict(zip(LIMITS[kind], ("min_length", "max_length"), strict=True)) for kind in ("string", "array", "object")
}
_TEXTUAL = {**_SIZES["string"], "pattern": "pattern"}
_MOMENTS = {"date-time": Name("datetime", "datetime"), "date": Name("date", "datetime"), "byte": Name("bytes")}
_INTEGERS = {"int32": "Int32", "int64": "Int64"}


@dataclass(frozen=True, slots=True)
class Spelled:
    """A type, its metadata in ``Annotated``, and the keywords that the generator makes of both."""

    type: Expression
    metadata: Metadata = ()
    produces: Mapping[str, object] = field(default_factory=dict)


def api(name: str) -> Name:
    """A name of ``pykb.api``."""
    return Name(name, "pykb.api")


def annotated(base: Expression, *metadata: Expression) -> Expression:
    """``Annotated[base, ...]``; only the base when there is no metadata."""
    return subscript(Name("Annotated", "typing"), base, *metadata) if metadata else base


def spell_scalar(schema: Schema) -> Spelled | None:
    """A scalar as a type; ``None`` for anything else."""
    if schema.get("x-kubernetes-int-or-string") is True:
        return _int_or_string(schema)
    match schema.get("type"):
        case "string":
            return _string(schema)
        case "integer":
            return _number(schema, Name("int"), whole=True)
        case "number":
            return _number(schema, Name("float"), whole=False)
        case "boolean":
            return Spelled(Name("bool"), (), {"type": "boolean"})
        case None if schema.get("x-kubernetes-preserve-unknown-fields") is True:
            return Spelled(ANY, (), {"x-kubernetes-preserve-unknown-fields": True})
    return None


def _string(schema: Schema) -> Spelled:
    produces: dict[str, object] = {"type": "string"}
    values = schema.get("enum")
    if isinstance(values, list):
        texts = [value for value in values if value is not None]  # a nullable enum contains null
        if texts and all(isinstance(value, str) for value in texts):
            constraints = _field(schema, _TEXTUAL, produces)
            return Spelled(_choice(texts), constraints, {**produces, "enum": texts})
    constraints = _field(schema, _TEXTUAL, produces)
    form = schema.get("format")
    if not isinstance(form, str):
        return Spelled(Name("str"), constraints, produces)
    produces["format"] = form
    if form in _MOMENTS and not constraints:
        return Spelled(_MOMENTS[form], (), produces)
    return Spelled(Name("str"), (*constraints, call(api("Format"), literal(form))), produces)


def _number(schema: Schema, base: Expression, *, whole: bool) -> Spelled:
    produces: dict[str, object] = {"type": schema["type"]}
    values = schema.get("enum")
    if whole and isinstance(values, list) and values and all(type(value) is int for value in values):
        return Spelled(_choice(values), (), {**produces, "enum": values})
    constraints = _numeric(schema, produces)
    form = schema.get("format")
    if not isinstance(form, str):
        return Spelled(base, constraints, produces)
    produces["format"] = form
    if whole and form in _INTEGERS:
        return Spelled(api(_INTEGERS[form]), constraints, produces)
    return Spelled(base, (call(api("Format"), literal(form)), *constraints), produces)


def _int_or_string(schema: Schema) -> Spelled:
    produces: dict[str, object] = {"anyOf": _INT_OR_STRING, "x-kubernetes-int-or-string": True}
    if schema.get("pattern") == QUANTITY_PATTERN:
        return Spelled(api("Quantity"), (), {**produces, "pattern": QUANTITY_PATTERN})
    text, number = _field(schema, _TEXTUAL, produces), _numeric(schema, produces)
    if not text and not number:
        return Spelled(api("IntOrString"), (), produces)
    return Spelled(Either((annotated(Name("int"), *number), annotated(Name("str"), *text))), (), produces)


def _field(schema: Schema, arguments: Mapping[str, str], produces: dict[str, object]) -> Metadata:
    """`Field` with the arguments for keywords that the type does not give yet."""
    keywords: dict[str, Expression] = {}
    for name, argument in arguments.items():
        value = schema.get(name)
        if name in produces or value is None or (value == 0 and argument == "min_length"):  # as the generator does
            continue
        keywords[argument] = literal(value)
        produces[name] = value
    return (call(api("Field"), **keywords),) if keywords else ()


def _numeric(schema: Schema, produces: dict[str, object]) -> Metadata:
    keywords: dict[str, Expression] = {}
    for bound, flag, inclusive, exclusive in _BOUNDS:
        if bound in schema:
            is_exclusive = schema.get(flag) is True
            keywords[exclusive if is_exclusive else inclusive] = literal(schema[bound])
            produces[bound] = schema[bound]
            if is_exclusive:
                produces[flag] = True
    if "multipleOf" in schema:
        keywords["multiple_of"] = literal(schema["multipleOf"])
        produces["multipleOf"] = schema["multipleOf"]
    return (call(api("Field"), **keywords),) if keywords else ()


def _choice(values: list[object]) -> Expression:
    return subscript(Name("Literal", "typing"), *(literal(value) for value in values))


_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_PARTS = frozenset({"properties", "items", "additionalProperties", "required"})
_RULE_ARGUMENTS = {wire: name for name, wire in RULE_PARTS.items() if name != "rule"}


@dataclass(frozen=True, slots=True)
class Speller:
    """Writes the types of one module."""

    shapes: Shapes

    def value(self, schema: Schema) -> Spelled:
        """The type of a value, without the keywords that belong to its field."""
        spelled = self._named(schema) or spell_scalar(schema) or self._container(schema)
        return _with_the_rest(schema, spelled) if spelled else _raw(schema)

    def element(self, schema: Schema) -> Expression:
        """The type of the elements of a list or map, as one expression."""
        spelled = self.value(schema)
        metadata = spelled.metadata
        shape = self.shapes.of(schema) if is_struct(schema) else None
        own = {k: v for k, v in schema.items() if k in OF_THE_USE - {"nullable"}}
        if self.shapes.builtin(schema) or (shape is not None and own.get("description") == shape.doc):
            own.pop("description", None)  # descriptions of built-in types are not copied
        if isinstance(own.get("description"), str):  # an element cannot have a docstring
            metadata = (*metadata, call(api("Field"), description=literal(own.pop("description"))))
        if own:
            metadata = (*metadata, call(api("SchemaPatch"), literal(own)))
        base = spelled.type
        if schema.get("nullable") is True:
            base = optional(base)
            metadata = (*metadata, call(api("Nullable"))) if base == ANY else metadata
        return annotated(base, *metadata)

    def class_annotations(self, schema: Schema, patch: Mapping[str, object] | None = None) -> tuple[Expression, ...]:
        """The arguments of `annotate` for a class.

        Args:
            schema: The object schema of the class.
            patch: Other differences from the schema of the class.
        """
        patched = dict(patch or {})
        required = schema.get("required")
        if isinstance(required, list) and not set(required) <= set(children(schema)):
            patched.setdefault("required", required)
        return _with_the_rest(schema, Spelled(Name("object"), (), {"type": "object"}), patched).metadata

    def _named(self, schema: Schema) -> Spelled | None:
        if not is_struct(schema):
            return None
        # The class itself has all its keywords. A built-in type was chosen because all keywords are equal.
        everything = {k: v for k, v in schema.items() if k not in _PARTS | OF_THE_USE}
        known = self.shapes.builtin(schema)
        if known is not None:
            return Spelled(Name(known.__name__, known.__module__), (), everything)
        shape = self.shapes.of(schema)
        return Spelled(Name(shape.name), (), everything) if shape else None

    def _container(self, schema: Schema) -> Spelled | None:
        kind = schema.get("type")
        if kind == "array":
            items = schema.get("items")
            if not isinstance(items, Mapping):
                return None
            return Spelled(subscript(Name("list"), self.element(items)), (), {"type": "array"})
        if kind != "object" or schema.get("properties"):
            return None
        values = schema.get("additionalProperties")
        text = Name("str")
        if isinstance(values, Mapping):
            element = self.element(values)
            if element == ANY:  # `dict[str, Any]` is an object that keeps unknown fields
                element = annotated(element, call(api("PreserveUnknown")))
            return Spelled(subscript(Name("dict"), text, element), (), {"type": "object"})
        anything = subscript(Name("dict"), text, ANY)
        if values is None:
            return Spelled(anything, (), {"type": "object", _PRESERVE: True})
        patch = call(api("SchemaPatch"), literal({_PRESERVE: None, "additionalProperties": values}))
        return Spelled(anything, (patch,), {"type": "object"})


def _with_the_rest(schema: Schema, spelled: Spelled, patch: Mapping[str, object] | None = None) -> Spelled:
    """Add annotations for every keyword that the type does not give yet."""
    produces = dict(spelled.produces)
    metadata = [*spelled.metadata, *_rules(schema, produces), *_topology(schema, produces)]
    kind = schema.get("type")
    if kind in ("array", "object") and not schema.get("properties"):  # Python ignores the length of a class
        metadata += _field(schema, _SIZES[str(kind)], produces)
    own = {k: v for k, v in schema.items() if k not in OF_THE_USE | _PARTS}
    rest: dict[str, object] = {k: v for k, v in own.items() if k not in produces or produces[k] != v}
    rest |= {k: None for k in produces if k not in own}
    rest |= patch or {}
    if rest:
        metadata.append(call(api("SchemaPatch"), literal(rest)))
    return Spelled(spelled.type, tuple(metadata), produces)


def _raw(schema: Schema) -> Spelled:
    own = {k: v for k, v in schema.items() if k not in OF_THE_USE}
    return Spelled(ANY, (call(api("RawSchema"), literal(own)),), own)


def _rules(schema: Schema, produces: dict[str, object]) -> Iterable[Expression]:
    rules = schema.get(RULES)
    if RULES in produces or not isinstance(rules, list):
        return []
    if not all(isinstance(rule, dict) and set(rule) <= {"rule", *_RULE_ARGUMENTS} for rule in rules):
        return []
    produces[RULES] = rules
    return [rule_call(rule) for rule in rules]


def rule_call(rule: Mapping[str, object]) -> Expression:
    """A rule as ``CEL(...)``."""
    arguments = {_RULE_ARGUMENTS[name]: literal(value) for name, value in rule.items() if name in _RULE_ARGUMENTS}
    return call(api("CEL"), literal(rule.get("rule", "")), **arguments)


def _topology(schema: Schema, produces: dict[str, object]) -> Iterable[Expression]:
    expressions: list[Expression] = []
    keys = schema.get("x-kubernetes-list-map-keys")
    kind = schema.get("x-kubernetes-list-type")
    if kind == "map" and isinstance(keys, list) and "x-kubernetes-list-type" not in produces:
        expressions.append(call(api("ListMap"), *(literal(key) for key in keys)))
        produces |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
    for annotation, (keyword, value) in FLAGS.items():
        if keyword != "nullable" and keyword not in produces and keyword in schema and schema[keyword] == value:
            expressions.append(call(api(annotation.__name__)))
            produces[keyword] = value
    return expressions


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
        return [*names(self.annotation), *(names(self.default) if self.default is not None else ())]


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
