"""The API reference: a page in Markdown that describes a project's types to people who write manifests.

Authors' text is escaped for GitHub and MkDocs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from pykb._regular_file import real_path
from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.generate import NOTHING_FOUND, OPTION, PATH_OUTSIDE
from pykb.gen.docs._collect import collect
from pykb.gen.docs._content import (
    Code,
    FieldDoc,
    KindDoc,
    Listing,
    Paragraph,
    Piece,
    Reference,
    Rule,
    TypeDoc,
    VersionDoc,
    blocks_of,
    code_span,
    spans_of,
)
from pykb.gen.options import GenerateOptions
from pykb.gen.run import find_crds, read_sources
from pykb.markers.registry import builtin_registry
from pykb.project.file import read

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
            notes=("pykb looks for kinds in `api` packages",),
        )
    if diagnostics.has_errors() or not crds:
        return "", diagnostics
    name = read(options.root)[0].project_name
    title = f"API reference of {name}" if name else "API reference"
    from pykb.gen._samples import read_samples  # loads YAML

    return render_markdown(collect(crds, read_samples(options.root), title=title)), diagnostics


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
            notes=("nothing was written",),
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
