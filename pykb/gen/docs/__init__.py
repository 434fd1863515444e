"""The API reference: a page in Markdown that describes a project's types to people who write manifests.

Authors' text is escaped for GitHub and MkDocs.
"""

from __future__ import annotations

from pathlib import Path

from pykb._regular_file import real_path
from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.generate import NOTHING_FOUND, OPTION, PATH_OUTSIDE
from pykb.gen.options import GenerateOptions
from pykb.gen.run import find_crds, read_sources
from pykb.markers.registry import builtin_registry
from pykb.project.file import read

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
    from pykb.gen.docs._page import render_page

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
            notes="nothing was written",
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
