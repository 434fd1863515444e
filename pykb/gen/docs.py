"""The API reference: a page in Markdown that describes a project's types to people who write manifests.

Authors' text is escaped for GitHub and MkDocs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pykb._regular_file import real_path
from pykb.api.builtin_table import RELEASE, TABLE
from pykb.diagnostics import NOTHING_WRITTEN, Diagnostics
from pykb.diagnostics.codes.generate import NOTHING_FOUND, OPTION, PATH_OUTSIDE
from pykb.diagnostics.render import visible
from pykb.gen._samples import minimal_example
from pykb.gen.declare import NamedType
from pykb.gen.emit.yaml import dump_document
from pykb.gen.ir import Crd, CrdVersion, PropertyNode, SchemaNode
from pykb.gen.lower.scalars import QUANTITY_PATTERN
from pykb.gen.options import GenerateOptions
from pykb.gen.run import find_crds, read_sources
from pykb.markers.registry import builtin_registry
from pykb.project.file import read

# Authors' texts as Markdown for GitHub and MkDocs.
#
# Authors write docstrings as Markdown or reStructuredText has them, for readers of `kubectl explain` as well. Only
# unambiguous markup counts as such; all other text stays as written, with its special characters escaped.


_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})[^`]*\Z")
_ITEM = re.compile(r"([ ]{0,3})([-*+]|[0-9]{1,9}[.)])[ ]+(?=\S)")
_INDENT = "    "
_SPAN = re.compile(r"(?<!`)(`+)(?!`)([^\n]*?[^`\n])(?<!`)\1(?!`)")
_SPECIAL = re.compile(r"([\\*_\[\]#|~])")


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
    first = _number(lines[at])
    items: list[list[str]] = []
    while at < len(lines):
        item = _ITEM.match(lines[at])
        if item is not None and (_number(lines[at]) is None) == (first is None):
            items.append([lines[at][item.end() :]])
        elif lines[at].strip() and (lines[at].startswith("  ") or lines[at - 1].strip()):
            items[-1].append(lines[at].strip())
        elif not (not lines[at].strip() and at + 1 < len(lines) and _continues(lines[at + 1], first)):
            break
        at += 1
    return Listing(tuple(" ".join(item) for item in items), first), at


def _continues(line: str, first: int | None) -> bool:
    item = _ITEM.match(line)
    return line.startswith("  ") if item is None else (_number(line) is None) == (first is None)


def _number(line: str) -> int | None:
    item = _ITEM.match(line)
    digits = item[2][:-1] if item else ""
    return int(digits) if digits else None


def prose(text: str) -> Iterator[str]:
    """A description as lines, with an empty one before each block."""
    for block in blocks_of(text):
        yield ""
        if isinstance(block, Paragraph):
            yield from (escaped(line) for line in block.text.split("\n"))
        elif isinstance(block, Code):
            yield from fenced(block.text)
        else:
            for number, item in enumerate(block.items, block.first or 0):
                yield f"{'-' if block.first is None else f'{number}.'} {one_line(item)}"


def fenced(text: str, language: str = "") -> tuple[str, ...]:
    """The lines of a code block."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text)), 0)
    return (f"{fence}{language}", *text.split("\n"), fence)


def cell_prose(text: str) -> str:
    """A description in a table cell, on one line."""
    out = ""
    for part in map(_cell_block, blocks_of(text)):
        # Lists have their own margins.
        gap = "" if not out or out.endswith(("</ul>", "</ol>")) or part.startswith(("<ul>", "<ol")) else "<br><br>"
        out += gap + part
    return out


def _cell_block(block: Paragraph | Listing | Code) -> str:
    if isinstance(block, Paragraph):
        return one_line(block.text)
    if isinstance(block, Code):
        return "<br>".join(_element(line) for line in block.text.split("\n"))
    items = "".join(f"<li>{one_line(item)}</li>" for item in block.items)
    if block.first is None:
        return f"<ul>{items}</ul>"
    start = "" if block.first == 1 else f' start="{block.first}"'
    return f"<ol{start}>{items}</ol>"


def one_line(text: str) -> str:
    """A text as one line of prose."""
    return escaped(" ".join(text.split()))


def escaped(text: str) -> str:
    """Prose with code spans kept. All other characters with a meaning in Markdown or HTML are escaped."""
    return "".join(code(part) if is_code else _escaped(part) for part, is_code in spans_of(text))


def spans_of(text: str) -> Iterator[tuple[str, bool]]:
    """Split a text into pieces, each with whether it is code. Code comes without its backticks."""
    at = 0
    for match in _SPAN.finditer(text):
        if match.start() > at:
            yield text[at : match.start()], False
        inner = match[2]
        padded = len(match[1]) > 1 and inner[0] == inner[-1] == " " and inner.strip()
        yield (inner[1:-1] if padded else inner), True
        at = match.end()
    if at < len(text):
        yield text[at:], False


def _escaped(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"^(\s*)([-+]|\d+[.)])(?=\s)", r"\1\\\2", _SPECIAL.sub(r"\\\1", text).replace("`", "\\`"))


def code(text: str) -> str:
    """Code that may contain bars and line breaks, as an HTML element. A code span in a table would show the escapes."""
    text = " ".join(text.split())
    return _element(text) if "|" in text else code_span(text)


def code_span(text: str) -> str:
    """One line of text as a code span, with as many backticks as needed."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _element(text: str) -> str:
    safe = "".join(char if char.isalnum() or char in " .:/-'\"=(),?+;" else f"&#{ord(char)};" for char in text)
    blanks = len(safe) - len(safe.lstrip(" "))
    return f"<code>{'&nbsp;' * blanks}{safe[blanks:]}</code>"


def link(text: str, target: str) -> str:
    """A link to an anchor or URL; only the text without a target."""
    return f"[{one_line(text)}]({target})" if target else one_line(text)


Samples = Mapping[tuple[str, str], str]
"""Manifests by apiVersion and kind."""
_KUBERNETES = f"https://kubernetes.io/docs/reference/generated/kubernetes-api/{RELEASE}/"
_GROUPS = {module: group for (group, _), (module, _) in TABLE.items()}


def render_page(crds: Sequence[Crd], samples: Samples, *, title: str) -> str:
    """The page, ending with a line break. Groups are sorted by name, versions with the most mature first.

    Args:
        crds: The CRDs to describe.
        samples: The samples of the project. A kind without one gets an example with its required fields.
        title: The headline.
    """
    members: dict[tuple[str, str], list[tuple[Crd, CrdVersion]]] = {}
    for crd in crds:
        for version in crd.versions:
            members.setdefault((crd.group, version.name), []).append((crd, version))
    versions = []
    for group in sorted({group for group, _ in members}):
        names = sorted((name for of, name in members if of == group), key=version_priority, reverse=True)
        versions += [_Version(group, name, members[group, name], samples) for name in names]
    contents = [line for version in versions for line in version.contents]
    body = [line for version in versions for line in version.body]
    return visible("\n".join([f"# {one_line(title)}", "", *contents, *body]).rstrip() + "\n")


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


class _Section(NamedTuple):
    """A section with an anchor, about a kind or a type."""

    name: str
    anchor: str

    @property
    def link(self) -> str:
        return link(self.name, f"#{self.anchor}")


@dataclass(slots=True)
class _Type:
    """The section of a named type.

    Attributes:
        before: What stands above the places that use it: the description, the type, the constraints.
        after: What stands below them: the fields and rules.
        used_by: The sections of those places.
    """

    section: _Section
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    used_by: dict[_Section, None] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        yield from ("", *_heading(3, *self.section), *self.before)
        users = sorted(self.used_by, key=lambda section: section.name)
        yield from ("", f"Used by: {', '.join(section.link for section in users)}")
        yield from self.after


class _Version:
    """The part about a version of a group: its kinds, then the types that they are made of."""

    def __init__(self, group: str, name: str, members: list[tuple[Crd, CrdVersion]], samples: Samples) -> None:
        self._anchor = _anchor(group, name)
        self._anchors: set[str] = set()
        self._types: dict[NamedType, _Type] = {}
        api_version = f"{group}/{name}"
        self.contents = [f"- {link(api_version, f'#{self._anchor}')}"]
        self.body = ["", *_heading(2, api_version, self._anchor)]
        for crd, version in sorted(members, key=lambda member: member[0].names.kind):
            kind = self._section(crd.names.kind)
            self.contents.append(f"  - {kind.link}")
            self.body += self._kind(kind, api_version, crd, version, samples.get((api_version, kind.name)))
        for type_ in sorted(self._types.values(), key=lambda each: each.section):
            self.body += type_.lines()

    def _section(self, name: str) -> _Section:
        """A section with a unique anchor."""
        anchor = wanted = f"{self._anchor}-{_anchor(name)}"
        number = 1
        while anchor in self._anchors:
            number += 1
            anchor = f"{wanted}-{number}"
        self._anchors.add(anchor)
        return _Section(name, anchor)

    def _kind(
        self, kind: _Section, api_version: str, crd: Crd, version: CrdVersion, sample: str | None
    ) -> Iterator[str]:
        schema = version.schema
        yield from ("", *_heading(3, *kind))
        warning = _warning(version, api_version, kind.name)
        if warning:
            yield from ("", f"> **Warning:** {one_line(warning)}")
        yield from prose(str(schema.get("description") or ""))
        yield ""
        yield from (f"- {label}: {code(text)}" for label, text in _facts(crd, version))
        yield from _TABLE_HEAD
        yield _row("apiVersion", "string", one_line(f"always {api_version}"), required=True)
        yield _row("kind", "string", one_line(f"always {kind.name}"), required=True)
        yield _row("metadata", link("ObjectMeta", _documentation_of("pykb.api.meta.v1", "ObjectMeta")), required=True)
        own = {n: p for n, p in (schema.properties or {}).items() if n not in {"apiVersion", "kind", "metadata"}}
        yield from self._rows(own, kind, None)
        yield from _rule_list(schema)
        yield from ("", "Minimal example:" if sample is None else "Sample:", "")
        yield from fenced((sample or dump_document(minimal_example(crd, version))).rstrip("\n"), "yaml")

    def _rows(
        self, properties: Mapping[str, PropertyNode], owner: _Section, python: object, prefix: str = ""
    ) -> Iterator[str]:
        """Describe the fields of an object. The fields of an unnamed object follow the field that holds it."""
        for prop in properties.values():
            type_ = self._type(prop.schema, owner)
            yield _row(prefix + prop.name, type_, _cell(prop, python), required=prop.required)
            node, suffix = prop.schema, ""
            while node.origin is None and (node.items or node.values):
                node, suffix = (node.items, f"{suffix}[]") if node.items else (node.values or node, f"{suffix}.*")
            if node.origin is None and node.properties:
                yield from self._rows(node.properties, owner, None, f"{prefix}{prop.name}{suffix}.")

    def _type(self, node: SchemaNode, owner: _Section) -> str:
        """The name of a type, with links."""
        if node.origin is not None:
            return self._named(node.origin.type, node.origin.schema, owner)
        if node.items is not None:
            return f"list of {self._type(node.items, owner)}"
        if node.values is not None:
            return f"map of {self._type(node.values, owner)}"
        if is_quantity(node):
            return link("quantity", _documentation_of("pykb.api.core.resource", "quantity"))
        return one_line(_scalar_name(node))

    def _named(self, named: NamedType, schema: SchemaNode, owner: _Section) -> str:
        if named.built_in:
            module = str(getattr(named.python, "__module__", ""))
            return link(named.name, _documentation_of(module, named.name))
        type_ = self._types.get(named)
        if type_ is None:
            type_ = self._types[named] = _Type(self._section(named.name))
            self._describe(type_, named, schema)
        type_.used_by[owner] = None
        return type_.section.link

    def _describe(self, type_: _Type, named: NamedType, schema: SchemaNode) -> None:
        rows = list(self._rows(schema.properties or {}, type_.section, named.python))
        type_.before += prose(str(schema.get("description") or ""))
        if not rows:
            name = "object" if schema.properties is not None else self._type(schema, type_.section)
            type_.before += ("", f"Type: {name}")
        constraints = constraints_of(schema, None)
        if constraints:
            type_.before += ("", *(f"- {one_line(text)}" for text in constraints))
        if rows:
            type_.after += (*_TABLE_HEAD, *rows)
        type_.after += _rule_list(schema)


_TABLE_HEAD = ("", "| Field | Type | Description |", "| --- | --- | --- |")


def _heading(level: int, text: str, anchor: str) -> tuple[str, ...]:
    # An explicit anchor: those that renderers make from headings differ and are not unique.
    return (f'<a id="{anchor}"></a>', "", f"{'#' * level} {one_line(text)}")


def _row(name: str, type_: str, text: str = "", *, required: bool) -> str:
    return f"| {code(name)}{' **required**' if required else ''} | {type_} | {text} |"


def _cell(prop: PropertyNode, python: object) -> str:
    """What is said about a field besides its name and type."""
    node = prop.schema
    origin = node.origin.schema if node.origin else None
    description, deprecated = _without_deprecation(str(node.get("description") or ""))
    if deprecated is None:
        deprecated = _deprecated(python, prop.attribute)
    parts = [] if deprecated is None else [f"**Deprecated.** {one_line(deprecated)}".rstrip()]
    if description:
        parts.append(cell_prose(description))
    if "default" in node.keywords:
        parts.append(f"Default: {code(_json_text(node.get('default')))}")
    parts.append("; ".join(one_line(text) for text in constraints_of(node, origin)))
    parts += _rules(node, origin)
    return "<br>".join(filter(None, parts)).replace("</ul><br>", "</ul>").replace("</ol><br>", "</ol>")


def _rule_list(node: SchemaNode) -> Iterator[str]:
    rules = _rules(node)
    if rules:
        yield from ("", "Rules:", "", *(f"- {rule}" for rule in rules))


def _rules(node: SchemaNode, origin: SchemaNode | None = None) -> list[str]:
    """The CEL rules of a schema, without those of its named type."""
    own = (rule for rule in node.rules if origin is None or rule not in origin.rules)
    messages = ((rule.rule, rule.message or rule.message_expression) for rule in own)
    return [f"{code(text)}: {one_line(message)}" if message else code(text) for text, message in messages]


def _warning(version: CrdVersion, api_version: str, kind: str) -> str:
    if not version.served:
        return "This version is not served: objects stored in it are read through another one."
    if version.deprecated:
        return version.deprecation_warning or f"{api_version} {kind} is deprecated."
    return ""


def _facts(crd: Crd, version: CrdVersion) -> Iterator[tuple[str, str]]:
    """Scope, names, subresources and so on."""
    stored = next((each.name for each in crd.versions if each.storage), "")
    subresources = [name for name, given in (("status", version.status), ("scale", version.scale)) if given]
    yield "Scope", crd.scope
    yield "Resource", crd.name
    for label, values in (
        ("Short names", crd.names.short_names),
        ("Categories", crd.names.categories),
        ("Storage version", (stored,) if len(crd.versions) > 1 else ()),
        ("Subresources", subresources),
        ("Field selectors", [path for path, _ in version.selectable]),
        ("Columns", [column.name for column in version.columns]),
    ):
        if values:
            yield label, ", ".join(values)


def _anchor(*parts: str) -> str:
    text = "-".join(parts).lower()
    return "".join(char if char.isascii() and char.isalnum() else "-" for char in text).strip("-")


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
        return _KUBERNETES
    group = _GROUPS.get(module) or parts[-2]
    return f"{_KUBERNETES}#{name.lower()}-{parts[-1]}-{group.replace('.', '-')}"


def _json_text(value: object) -> str:
    """A value as JSON text."""
    return json.dumps(value, ensure_ascii=False)


def _scalar_name(node: SchemaNode) -> str:
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


def constraints_of(node: SchemaNode, origin: SchemaNode | None) -> tuple[str, ...]:
    """The constraints of a schema, one phrase each, without those of its named object type."""
    known = origin if origin is not None and node.properties is not None else SchemaNode()
    found = [text for text in _own_constraints(node, known) if text]
    for part in node.all_of:
        found += [text for text in constraints_of(part, None) if text not in found]
    for word, inner in (("each element", node.items), ("each value", node.values)):
        if inner is not None and inner.origin is None:
            found += [f"{word}: {text}" for text in constraints_of(inner, None)]
            found += [f"{word}: {rule.message or rule.message_expression or rule.rule}" for rule in inner.rules]
    return tuple(found)


def _own_constraints(node: SchemaNode, known: SchemaNode) -> Iterator[str]:
    for keyword, phrase in _PHRASES.items():
        value = node.get(keyword)
        if value is not None and value is not False and value != known.get(keyword):
            yield phrase(value, node)


def is_quantity(node: SchemaNode) -> bool:
    """Whether this is a Kubernetes quantity, such as ``500m`` or ``2Gi``."""
    return node.is_int_or_string and node.get("pattern") == QUANTITY_PATTERN


def _span(text: str) -> str:
    return text if "\n" in text else code_span(text)


def _count(noun: str, word: str) -> Callable[[object, SchemaNode], str]:
    return lambda value, _: f"at {word} {value} {noun}{'' if value == 1 else 's'}"


def _bound(exclusive: str, strict: str, loose: str) -> Callable[[object, SchemaNode], str]:
    return lambda value, node: f"{strict if node.get(exclusive) else loose} {value}"


def _values(value: object, _: SchemaNode) -> str:
    values = value if isinstance(value, list) else [value]
    return "one of " + ", ".join(_span(_json_text(item)) for item in values)


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
    "pattern": lambda value, node: "" if is_quantity(node) else f"matches {_span(str(value))}",
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
    "example": lambda value, _: f"for example {_span(_json_text(value))}",
    "externalDocs": _external,
}


_FOLDER = "docs"
_FILE = "api.md"


def generate_docs(options: GenerateOptions) -> tuple[str, Diagnostics]:
    """The API reference of a project, in Markdown.

    Args:
        options: What to read. Options about manifests have no effect.

    Returns:
        The page, and all findings. With an error among them, or without a kind, the page is empty.
    """
    diagnostics = Diagnostics()
    sources = read_sources(options, builtin_registry(), diagnostics)
    crds = find_crds(sources, options, diagnostics) if sources.modules else []
    if not crds and not diagnostics.has_errors():
        diagnostics.report(
            NOTHING_FOUND,
            None,
            "there are no kinds to document",
            "pykb create api --group GROUP --version v1 --kind KIND",
            "or name the files: `--paths DIR`",
            notes="pykb looks for kinds in `api` packages",
        )
    if diagnostics.has_errors() or not crds:
        return "", diagnostics
    name = read(options.root)[0].project_name
    title = f"API reference of {name}" if name else "API reference"
    from pykb.gen._samples import read_samples  # loads YAML

    return render_page(crds, read_samples(options.root), title=title), diagnostics


def target_file(root: Path, output: Path | None, diagnostics: Diagnostics) -> str:
    """The file of the page, relative to the project.

    Args:
        root: The project.
        output: A folder for ``api.md``, or a file that ends with ``.md``. Defaults to the project's ``docs``.
        diagnostics: Gets a path outside of the project, and a file of another format.
    """
    root = root.resolve()
    place = real_path(output or root / _FOLDER)
    if not place.is_relative_to(root):
        diagnostics.report(
            PATH_OUTSIDE,
            None,
            f"the output `{output}` is outside the project `{root.name}`",
            "name a place inside the project",
            notes=NOTHING_WRITTEN,
        )
    elif place.suffix not in ("", ".md") and not place.is_dir():
        diagnostics.report(
            OPTION,
            None,
            f"`--output` names the file `{place.name}`, and the page is Markdown",
            f"--output {place.with_suffix('.md').relative_to(root).as_posix()}",
            "or name a folder",
        )
    else:
        return (place if place.suffix == ".md" else place / _FILE).relative_to(root).as_posix()
    return ""
