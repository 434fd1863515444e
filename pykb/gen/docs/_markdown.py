"""Renders an API reference as Markdown for GitHub and MkDocs. Authors' text is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pykb.gen.docs._model import FieldDoc, KindDoc, Piece, Reference, Rule, TypeDoc, VersionDoc
from pykb.gen.docs._prose import Code, Listing, Paragraph, blocks_of, code_span, spans_of

_SPECIAL = re.compile(r"([\\*_\[\]#|~])")


def render_markdown(reference: Reference) -> str:
    """The page, ending with a line break."""
    out = [f"# {_line(reference.title)}", ""]
    for version in reference.versions:
        out.append(f"- {_pieces((Piece(version.api_version, f'#{version.anchor}'),))}")
        out += [f"  - {_pieces((Piece(kind.name, f'#{kind.anchor}'),))}" for kind in version.kinds]
    for version in reference.versions:
        out += _version(version)
    return "\n".join(out).rstrip() + "\n"


def _version(version: VersionDoc) -> Iterable[str]:
    yield from ("", *_heading(2, version.api_version, version.anchor))
    for kind in version.kinds:
        yield from _kind(kind)
    for type_ in version.types:
        yield from _type(type_)


def _kind(kind: KindDoc) -> Iterable[str]:
    yield from ("", *_heading(3, kind.name, kind.anchor))
    if kind.warning:
        yield from ("", f"> **Warning:** {_line(kind.warning)}")
    yield from _prose(kind.description)
    yield ""
    for label, text in kind.facts:
        yield f"- {_line(label)}: {_code(text)}"
    yield from _fields(kind.fields)
    yield from _rules(kind.rules)
    yield from ("", "Sample:" if kind.is_sample else "Minimal example:", "")
    fence = _fence(kind.example)
    yield from (f"{fence}yaml", *kind.example.rstrip("\n").split("\n"), fence)


def _type(type_: TypeDoc) -> Iterable[str]:
    yield from ("", *_heading(3, type_.name, type_.anchor))
    yield from _prose(type_.description)
    if not type_.fields:
        yield from ("", f"Type: {_pieces(type_.type)}")
    if type_.constraints:
        yield from ("", *(f"- {_line(text)}" for text in type_.constraints))
    if type_.used_by:
        yield from ("", f"Used by: {', '.join(_pieces((piece,)) for piece in type_.used_by)}")
    if type_.fields:
        yield from _fields(type_.fields)
    yield from _rules(type_.rules)


def _heading(level: int, text: str, anchor: str) -> tuple[str, ...]:
    # An explicit anchor: those that renderers make from headings differ and are not unique.
    return (f'<a id="{anchor}"></a>', "", f"{'#' * level} {_line(text)}")


def _fields(fields: Iterable[FieldDoc]) -> Iterable[str]:
    yield from ("", "| Field | Type | Description |", "| --- | --- | --- |")
    for field in fields:
        name = _code(field.name) + (" **required**" if field.required else "")
        yield f"| {name} | {_pieces(field.type)} | {_cell(field)} |"


def _cell(field: FieldDoc) -> str:
    parts = [] if field.deprecated is None else [f"**Deprecated.** {_line(field.deprecated)}".rstrip()]
    if field.description:
        parts.append(_cell_prose(field.description))
    if field.default:
        parts.append(f"Default: {_code(field.default)}")
    if field.constraints:
        parts.append("; ".join(_line(text) for text in field.constraints))
    parts += [_rule(rule, _code(rule.expression)) for rule in field.rules]
    return "<br>".join(parts).replace("</ul><br>", "</ul>").replace("</ol><br>", "</ol>")


def _rules(rules: tuple[Rule, ...]) -> Iterable[str]:
    if rules:
        yield from ("", "Rules:", "")
        yield from (f"- {_rule(rule, _code(rule.expression))}" for rule in rules)


def _rule(rule: Rule, expression: str) -> str:
    return f"{expression}: {_line(rule.message)}" if rule.message else expression


def _pieces(pieces: Iterable[Piece]) -> str:
    found = ((_text(re.sub(r"\s+", " ", piece.text)), piece.target) for piece in pieces)
    return "".join(f"[{text}]({target})" if target else text for text, target in found)


def _prose(text: str) -> Iterable[str]:
    for block in blocks_of(text):
        yield ""
        if isinstance(block, Paragraph):
            yield from (_text(line) for line in block.text.split("\n"))
        elif isinstance(block, Code):
            fence = _fence(block.text)
            yield from (fence, *block.text.split("\n"), fence)
        else:
            for number, item in enumerate(block.items, block.first or 0):
                yield f"{'-' if block.first is None else f'{number}.'} {_line(item)}"


def _cell_prose(text: str) -> str:
    """A description in a table cell, on one line."""
    parts = [_cell_block(block) for block in blocks_of(text)]
    out = ""
    for part in parts:
        # Lists have their own margins.
        gap = "" if not out or out.endswith(("</ul>", "</ol>")) or part.startswith(("<ul>", "<ol")) else "<br><br>"
        out += gap + part
    return out


def _cell_block(block: Paragraph | Listing | Code) -> str:
    if isinstance(block, Paragraph):
        return _line(block.text)
    if isinstance(block, Code):
        return "<br>".join(_element(line) for line in block.text.split("\n"))
    items = "".join(f"<li>{_line(item)}</li>" for item in block.items)
    if block.first is None:
        return f"<ul>{items}</ul>"
    start = "" if block.first == 1 else f' start="{block.first}"'
    return f"<ol{start}>{items}</ol>"


def _fence(text: str) -> str:
    return "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text)), 0)


def _line(text: str) -> str:
    return _text(" ".join(text.split()))


def _text(text: str) -> str:
    """Prose with code spans kept. All other characters with a meaning in Markdown or HTML are escaped."""
    return "".join(_code(part) if is_code else _escaped(part) for part, is_code in spans_of(text))


def _escaped(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"^(\s*)([-+]|\d+[.)])(?=\s)", r"\1\\\2", _SPECIAL.sub(r"\\\1", text).replace("`", "\\`"))


def _code(text: str) -> str:
    """Code that may contain bars and line breaks, as an HTML element. A code span in a table would show the escapes."""
    text = " ".join(text.split())
    return _element(text) if "|" in text else code_span(text)


def _element(text: str) -> str:
    escaped = "".join(char if char.isalnum() or char in " .:/-'\"=(),?+;" else f"&#{ord(char)};" for char in text)
    blanks = len(escaped) - len(escaped.lstrip(" "))
    return f"<code>{'&nbsp;' * blanks}{escaped[blanks:]}</code>"
