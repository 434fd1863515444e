"""One run of ``pykb generate docs``: options in, the text of the page out."""

from __future__ import annotations

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.generate import NOTHING_FOUND
from pykb.gen._crd import find_crds
from pykb.gen.docs._collect import collect
from pykb.gen.docs._html import render_html
from pykb.gen.docs._markdown import render_markdown
from pykb.gen.docs._samples import read_samples
from pykb.gen.options import GenerateOptions
from pykb.gen.sources import read_sources
from pykb.markers.registry import builtin_registry
from pykb.project.file import read

RENDERERS = {"markdown": render_markdown, "html": render_html}


def generate_docs(options: GenerateOptions, formats: tuple[str, ...]) -> tuple[dict[str, str], Diagnostics]:
    """The API reference of a project in some formats (``markdown``, ``html``).

    Args:
        options: What to read. Options about manifests have no effect.
        formats: The formats to render.

    Returns:
        The text by format, and all findings; with an error among them, or without a kind, there are no texts.
    """
    diagnostics = Diagnostics()
    sources = read_sources(options, builtin_registry(), diagnostics)
    crds = find_crds(sources, options, diagnostics) if sources.modules else []
    if not crds and not diagnostics.has_errors:
        diagnostics.add(
            NOTHING_FOUND.at(
                None,
                "there are no kinds to document",
                notes=("kinds are looked for in `api` packages",),
                help=("pykb create api --group GROUP --version v1 --kind KIND", "or name the files: `--paths DIR`"),
            )
        )
    if diagnostics.has_errors or not crds:
        return {}, diagnostics
    name = read(options.root)[0].project_name
    title = f"API reference of {name}" if name else "API reference"
    reference = collect(crds, read_samples(options.root), title=title)
    return {name: RENDERERS[name](reference) for name in formats}, diagnostics
