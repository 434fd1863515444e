"""An API reference as Markdown, as GitHub and mkdocs show it; the text of authors cannot become markup of ours."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pykb.gen.docs.model import FieldDoc, KindDoc, Piece, Reference, Rule, TypeDoc, VersionDoc

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
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", kind.example)), 0)
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
    # An anchor of ours: those that renderers make from headings differ, and repeat.
    return (f'<a id="{anchor}"></a>', "", f"{'#' * level} {_line(text)}")


def _fields(fields: Iterable[FieldDoc]) -> Iterable[str]:
    yield from ("", "| Field | Type | Description |", "| --- | --- | --- |")
    for field in fields:
        name = _cell_code(field.name) + (" **required**" if field.required else "")
        yield f"| {name} | {_pieces(field.type)} | {_cell(field)} |"


def _cell(field: FieldDoc) -> str:
    parts = [] if field.deprecated is None else [f"**Deprecated.** {_line(field.deprecated)}".rstrip()]
    if field.description:
        parts.append("<br><br>".join(_line(block) for block in _paragraphs(field.description)))
    if field.default:
        parts.append(f"Default: {_cell_code(field.default)}")
    if field.constraints:
        parts.append("; ".join(_line(text) for text in field.constraints))
    parts += [_rule(rule, _cell_code(rule.expression)) for rule in field.rules]
    return "<br>".join(parts)


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
    for block in _paragraphs(text):
        yield from ("", *(_text(line) for line in block.split("\n")))


def _paragraphs(text: str) -> list[str]:
    return [block for block in re.split(r"\n\s*\n", text.strip()) if block]


def _line(text: str) -> str:
    return _text(" ".join(text.split()))


def _text(text: str) -> str:
    """Prose: code spans of authors stay, everything else that means something to Markdown or HTML is escaped."""
    return "".join(
        _code(part[1:-1]) if len(part) > 2 and part[0] == "`" == part[-1] else _escaped(part)
        for part in re.split(r"(`[^`\n]+`)", text)
    )


def _escaped(text: str) -> str:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"^(\s*)([-+]|\d+[.)])(?=\s)", r"\1\\\2", _SPECIAL.sub(r"\\\1", text).replace("`", "\\`"))


def _code(text: str) -> str:
    """A code span; in a table, the bar has to be escaped even there."""
    return _cell_code(text) if "|" in text else _span(" ".join(text.split()))


def _span(text: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _cell_code(text: str) -> str:
    """Code that may hold bars and line breaks: as an element, since a code span in a table would show the escape."""
    text = " ".join(text.split())
    if "|" not in text:
        return _span(text)
    escaped = "".join(char if char.isalnum() or char in " .:/-'\"=(),?+;" else f"&#{ord(char)};" for char in text)
    return f"<code>{escaped}</code>"
