"""Renders an API reference as one self-contained HTML page, without external fonts, scripts or styles."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from string import Template

from pykb.gen.docs._model import FieldDoc, KindDoc, Piece, Reference, Rule, TypeDoc, VersionDoc
from pykb.gen.docs._page import PAGE, SCRIPT, STYLE
from pykb.gen.docs._prose import Code, Listing, Paragraph, blocks_of, html_list, spans_of

_URL = re.compile(r"https?://[^\s<>()\"'`]*[^\s<>()\"'`.,;:!?]")


def render_html(reference: Reference) -> str:
    """The page, ending with a line break."""
    return Template(PAGE).substitute(
        title=_text(reference.title),
        style=STYLE,
        script=SCRIPT,
        contents="\n".join(_contents(version) for version in reference.versions),
        body="\n".join(_version(version) for version in reference.versions),
    )


def _contents(version: VersionDoc) -> str:
    kinds = "".join(f'<li class="kind">{_link(kind.name, f"#{kind.anchor}")}</li>' for kind in version.kinds)
    types = "".join(f"<li>{_link(type_.name, f'#{type_.anchor}')}</li>" for type_ in version.types)
    return f"<h2>{_link(version.api_version, f'#{version.anchor}')}</h2>\n<ul>{kinds}{types}</ul>"


def _version(version: VersionDoc) -> str:
    parts = [f'<section id="{version.anchor}" class="version">', f"<h2>{_text(version.api_version)}</h2>"]
    parts += [_kind(kind) for kind in version.kinds]
    parts += [_type(type_) for type_ in version.types]
    return "\n".join([*parts, "</section>"])


def _kind(kind: KindDoc) -> str:
    facts = "".join(f"<dt>{_text(label)}</dt><dd>{_text(text)}</dd>" for label, text in kind.facts)
    parts = [
        f'<article id="{kind.anchor}" class="entry">',
        _heading(kind.name, kind.anchor, "kind"),
        f'<p class="warning" role="note">{_inline(kind.warning)}</p>' if kind.warning else "",
        _prose(kind.description),
        f'<dl class="facts">{facts}</dl>',
        _fields(kind.name, kind.fields),
        _rules(kind.rules),
        f"<h4>{'Sample' if kind.is_sample else 'Minimal example'}</h4>",
        f'<pre tabindex="0"><code>{_text(kind.example)}</code></pre>',
    ]
    return "\n".join([*filter(None, parts), "</article>"])


def _type(type_: TypeDoc) -> str:
    used_by = ", ".join(_pieces((piece,)) for piece in type_.used_by)
    parts = [
        f'<article id="{type_.anchor}" class="entry">',
        _heading(type_.name, type_.anchor, "type"),
        f'<p class="used">Used by {used_by}</p>' if used_by else "",
        _prose(type_.description),
        "" if type_.fields else f'<p>Type: <span class="type">{_pieces(type_.type)}</span></p>',
        _list(type_.constraints),
        _fields(type_.name, type_.fields) if type_.fields else "",
        _rules(type_.rules),
    ]
    return "\n".join([*filter(None, parts), "</article>"])


def _heading(name: str, anchor: str, what: str) -> str:
    label = f"Link to {name}"
    mark = f'<a class="anchor" href="#{anchor}" aria-label="{_text(label)}">#</a>'
    return f'<h3><span class="{what}">{_text(name)}</span> <small>{what}</small>{mark}</h3>'


def _fields(owner: str, fields: Iterable[FieldDoc]) -> str:
    rows = "\n".join(_row(field) for field in fields)
    head = '<tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">Description</th></tr>'
    caption = f'<caption class="hidden">Fields of {_text(owner)}</caption>'
    return f'<div class="wide"><table>{caption}<thead>{head}</thead>\n<tbody>\n{rows}\n</tbody></table></div>'


def _row(field: FieldDoc) -> str:
    required = '<br><span class="required">required</span>' if field.required else ""
    return (
        f'<tr><th scope="row"><code>{_text(field.name)}</code>{required}</th>'
        f'<td class="type">{_pieces(field.type)}</td><td>{_about(field)}</td></tr>'
    )


def _about(field: FieldDoc) -> str:
    parts: list[str] = []
    if field.deprecated is not None:
        parts.append(f'<p class="warning"><strong>Deprecated.</strong> {_inline(field.deprecated)}</p>')
    parts.append(_prose(field.description))
    if field.default:
        parts.append(f'<p class="default">Default: <code>{_text(field.default)}</code></p>')
    parts += [_list(field.constraints), _rules(field.rules, heading=False)]
    return "".join(parts)


def _list(texts: Iterable[str]) -> str:
    items = "".join(f"<li>{_inline(text)}</li>" for text in texts)
    return f'<ul class="constraints">{items}</ul>' if items else ""


def _rules(rules: Iterable[Rule], *, heading: bool = True) -> str:
    items = "".join(
        f"<li><code>{_text(rule.expression)}</code>{f'<br>{_inline(rule.message)}' if rule.message else ''}</li>"
        for rule in rules
    )
    return (f'{"<h4>Rules</h4>" if heading else ""}<ul class="rules">{items}</ul>') if items else ""


def _pieces(pieces: Iterable[Piece]) -> str:
    return "".join(_link(piece.text, piece.target) if piece.target else _text(piece.text) for piece in pieces)


def _link(text: str, target: str) -> str:
    return f'<a href="{_text(target)}">{_text(text)}</a>'


def _prose(text: str) -> str:
    return "".join(_block(block) for block in blocks_of(text))


def _block(block: Paragraph | Listing | Code) -> str:
    if isinstance(block, Paragraph):
        return f"<p>{_inline(block.text)}</p>"
    if isinstance(block, Code):
        return f'<pre tabindex="0"><code>{_text(block.text)}</code></pre>'
    return html_list(block, _inline)


def _inline(text: str) -> str:
    """Prose as HTML. Code spans and URLs become markup; all other text stays as written."""
    out = []
    for part, is_code in spans_of(text):
        if is_code:
            out.append(f"<code>{_text(part)}</code>")
            continue
        at = 0
        for match in _URL.finditer(part):
            out += [_text(part[at : match.start()]), _link(match[0], match[0])]
            at = match.end()
        out.append(_text(part[at:]))
    return "".join(out)


def _text(text: str) -> str:
    return html.escape(text, quote=True)
