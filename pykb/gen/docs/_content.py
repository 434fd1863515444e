"""The content of an API reference: its parts, the markup of descriptions, and a schema's keywords in short phrases.

Authors write docstrings as Markdown or reStructuredText has them, for readers of ``kubectl explain`` as well. Only
unambiguous markup counts as such; all other text stays as written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pykb.gen.ir import SchemaNode
from pykb.gen.lower.scalars import QUANTITY_PATTERN


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a type's name.

    Attributes:
        text: ``list of`` or ``VirtulMachineSpec``.
        target: The anchor or URL that it links to; none for plain words.
    """

    text: str
    target: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule and its message."""

    expression: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class FieldDoc:
    """A field of an object.

    Attributes:
        name: The name on the wire.
        type: Its type, in pieces with and without a link.
        required: Whether it must be there.
        description: The description as its author wrote it.
        default: The default as JSON; empty for none.
        constraints: One phrase each, such as ``at least 1``.
        rules: CEL rules of the field.
        deprecated: The text of its deprecation; ``None`` when the field is not deprecated.
    """

    name: str
    type: tuple[Piece, ...]
    required: bool
    description: str = ""
    default: str = ""
    constraints: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    deprecated: str | None = None


@dataclass(frozen=True, slots=True)
class TypeDoc:
    """A named type: an object with fields, or a scalar with constraints."""

    name: str
    anchor: str
    description: str
    type: tuple[Piece, ...]
    fields: tuple[FieldDoc, ...] = ()
    constraints: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    used_by: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True)
class KindDoc:
    """A kind in one version.

    Attributes:
        facts: Scope, names, subresources and so on, each as a label and a text.
        warning: The deprecation warning, and whether the version is not served.
        example: A manifest.
        is_sample: Whether the example is a sample of the project. If not, it has only the required fields.
    """

    name: str
    anchor: str
    api_version: str
    description: str
    facts: tuple[tuple[str, str], ...]
    fields: tuple[FieldDoc, ...]
    rules: tuple[Rule, ...]
    example: str
    is_sample: bool
    warning: str = ""


@dataclass(frozen=True, slots=True)
class VersionDoc:
    """A version of a group: its kinds, then the types that they are made of."""

    group: str
    name: str
    anchor: str
    kinds: tuple[KindDoc, ...]
    types: tuple[TypeDoc, ...]

    @property
    def api_version(self) -> str:
        """The ``apiVersion`` in manifests."""
        return f"{self.group}/{self.name}"


@dataclass(frozen=True, slots=True)
class Reference:
    """The whole page."""

    title: str
    versions: tuple[VersionDoc, ...]


_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})[^`]*\Z")
_ITEM = re.compile(r"([ ]{0,3})([-*+]|[0-9]{1,9}[.)])[ ]+(?=\S)")
_INDENT = "    "
_SPAN = re.compile(r"(?<!`)(`+)(?!`)([^\n]*?[^`\n])(?<!`)\1(?!`)")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of text."""

    text: str


@dataclass(frozen=True, slots=True)
class Listing:
    """A list. ``first`` is the number of the first item; ``None`` for a bullet list."""

    items: tuple[str, ...]
    first: int | None = None


@dataclass(frozen=True, slots=True)
class Code:
    """A code block."""

    text: str


def blocks_of(text: str) -> Iterator[Paragraph | Listing | Code]:
    """The blocks of a description."""
    lines = text.strip("\n").rstrip().split("\n")
    at = 0
    while at < len(lines):
        start = at
        fence = _FENCE.match(lines[at])
        if not lines[at].strip():
            at += 1
        elif fence and (end := _closing(lines, at, fence[1])) is not None:
            yield Code("\n".join(lines[at + 1 : end]))
            at = end + 1
        elif lines[at].startswith(_INDENT):
            while at < len(lines) and (lines[at].startswith(_INDENT) or not lines[at].strip()):
                at += 1
            yield Code("\n".join(line[len(_INDENT) :] for line in lines[start:at]).rstrip())
        elif _ITEM.match(lines[at]):
            listing, at = _listing(lines, at)
            yield listing
        else:
            at += 1
            while at < len(lines) and not _ends_paragraph(lines[at]):
                at += 1
            yield Paragraph("\n".join(lines[start:at]).strip())


def spans_of(text: str) -> Iterator[tuple[str, bool]]:
    """Split a text into pieces, each with whether it is code. Code comes without its backticks."""
    at = 0
    for found in _SPAN.finditer(text):
        if found.start() > at:
            yield text[at : found.start()], False
        code = found[2]
        padded = len(found[1]) > 1 and code[0] == code[-1] == " " and code.strip()
        yield (code[1:-1] if padded else code), True
        at = found.end()
    if at < len(text):
        yield text[at:], False


def code_span(text: str) -> str:
    """One line of text as a code span, with as many backticks as needed."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _closing(lines: list[str], at: int, fence: str) -> int | None:
    for index in range(at + 1, len(lines)):
        if lines[index].strip().startswith(fence) and not lines[index].strip().strip(fence[0]):
            return index
    return None


def _ends_paragraph(line: str) -> bool:
    item = _ITEM.match(line)
    # A number at the start of a wrapped line does not start a list, except for 1.
    return not line.strip() or bool(_FENCE.match(line)) or (item is not None and item[2] in {"-", "*", "+", "1.", "1)"})


def _listing(lines: list[str], at: int) -> tuple[Listing, int]:
    """Read a list from a line on: items of one sort, with the lines indented below each."""
    numbers = [_number(lines[at])]
    items: list[list[str]] = []
    while at < len(lines):
        item = _ITEM.match(lines[at])
        if item is not None and (_number(lines[at]) is None) == (numbers[0] is None):
            items.append([lines[at][item.end() :]])
        elif lines[at].strip() and (lines[at].startswith("  ") or lines[at - 1].strip()):
            items[-1].append(lines[at].strip())
        elif not (not lines[at].strip() and at + 1 < len(lines) and _continues(lines[at + 1], numbers[0])):
            break
        at += 1
    return Listing(tuple(" ".join(item) for item in items), numbers[0]), at


def _continues(line: str, first: int | None) -> bool:
    item = _ITEM.match(line)
    return line.startswith("  ") if item is None else (_number(line) is None) == (first is None)


def _number(line: str) -> int | None:
    item = _ITEM.match(line)
    digits = item[2][:-1] if item else ""
    return int(digits) if digits else None


def json_text(value: object) -> str:
    """A value as JSON text."""
    return json.dumps(value, ensure_ascii=False)


def scalar_name(node: SchemaNode) -> str:
    """The name of an unnamed schema's type."""
    if is_quantity(node):
        return "quantity"
    if node.is_int_or_string:
        return "integer or string"
    if node.type is None:
        return "any value"
    if node.type == "object" and node.properties is None and node.get("x-kubernetes-embedded-resource"):
        return "any Kubernetes object"
    form = node.get("format")
    return f"{node.type} ({form})" if form else node.type


def rules_of(node: SchemaNode, origin: SchemaNode | None = None) -> tuple[Rule, ...]:
    """The CEL rules of a schema, without those of its named type."""
    known = origin.rules if origin is not None else ()
    return tuple(
        Rule(rule.rule, rule.message or rule.message_expression or "") for rule in node.rules if rule not in known
    )


def constraints_of(node: SchemaNode, origin: SchemaNode | None) -> tuple[str, ...]:
    """The constraints of a schema, one phrase each, without those of its named object type."""
    known = origin if origin is not None and node.properties is not None else SchemaNode()
    found = [text for text in _own_constraints(node, known) if text]
    for part in node.all_of:
        found += [text for text in constraints_of(part, None) if text not in found]
    for word, inner in (("each element", node.items), ("each value", node.values)):
        if inner is not None and inner.origin is None:
            found += [f"{word}: {text}" for text in constraints_of(inner, None)]
            found += [f"{word}: {rule.message or rule.expression}" for rule in rules_of(inner)]
    return tuple(found)


def _own_constraints(node: SchemaNode, known: SchemaNode) -> Iterator[str]:
    for keyword, phrase in _PHRASES.items():
        value = node.get(keyword)
        if value is not None and value is not False and value != known.get(keyword):
            yield phrase(value, node)


def is_quantity(node: SchemaNode) -> bool:
    """Whether this is a Kubernetes quantity, such as ``500m`` or ``2Gi``."""
    return node.is_int_or_string and node.get("pattern") == QUANTITY_PATTERN


def _code(text: str) -> str:
    return text if "\n" in text else code_span(text)


def _count(noun: str, word: str) -> Callable[[object, SchemaNode], str]:
    return lambda value, _: f"at {word} {value} {noun}{'' if value == 1 else 's'}"


def _bound(exclusive: str, strict: str, loose: str) -> Callable[[object, SchemaNode], str]:
    return lambda value, node: f"{strict if node.get(exclusive) else loose} {value}"


def _values(value: object, _: SchemaNode) -> str:
    values = value if isinstance(value, list) else [value]
    return "one of " + ", ".join(_code(json_text(item)) for item in values)


def _list_type(value: object, node: SchemaNode) -> str:
    if value == "map":
        keys = node.get("x-kubernetes-list-map-keys")
        return "one element for each " + " and ".join(str(key) for key in (keys if isinstance(keys, list) else []))
    return {"set": "no element twice", "atomic": "replaced as a whole"}.get(str(value), "")


def _map_type(value: object, _: SchemaNode) -> str:
    return "replaced as a whole" if value == "atomic" else ""


def _same(text: str) -> Callable[[object, SchemaNode], str]:
    return lambda _value, _node: text


def _external(value: object, _: SchemaNode) -> str:
    return f"see {value['url']}" if isinstance(value, Mapping) and value.get("url") else ""


_PHRASES: Mapping[str, Callable[[object, SchemaNode], str]] = {
    "enum": _values,
    "minLength": _count("character", "least"),
    "maxLength": _count("character", "most"),
    "pattern": lambda value, node: "" if is_quantity(node) else f"matches {_code(str(value))}",
    "minimum": _bound("exclusiveMinimum", "above", "at least"),
    "maximum": _bound("exclusiveMaximum", "below", "at most"),
    "multipleOf": lambda value, _: f"a multiple of {value}",
    "minItems": _count("element", "least"),
    "maxItems": _count("element", "most"),
    "uniqueItems": _same("no element twice"),
    "x-kubernetes-list-type": _list_type,
    "minProperties": lambda value, _: f"at least {value} entries",
    "maxProperties": lambda value, _: f"at most {value} entries",
    "x-kubernetes-map-type": _map_type,
    "nullable": _same("may be null"),
    "x-kubernetes-preserve-unknown-fields": _same("fields that are not listed are kept"),
    "x-kubernetes-embedded-resource": _same("has apiVersion, kind and metadata"),
    "example": lambda value, _: f"for example {_code(json_text(value))}",
    "externalDocs": _external,
}
