"""One run of ``pykb generate docs``: options in, the file and the text of the page out."""

from __future__ import annotations

import re
from pathlib import Path

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.generate import NOTHING_FOUND, OPTION, PATH_OUTSIDE
from pykb.gen._crd import find_crds
from pykb.gen.docs._collect import collect
from pykb.gen.docs._markdown import render_markdown
from pykb.gen.options import GenerateOptions
from pykb.gen.sources import read_sources
from pykb.markers.registry import builtin_registry
from pykb.project.file import read

_FOLDER = "docs"
_FILE = "api.md"
_SAMPLES = "config/samples"


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
        diagnostics.add(
            NOTHING_FOUND.at(
                None,
                "there are no kinds to document",
                notes=("pykb looks for kinds in `api` packages",),
                help=("pykb create api --group GROUP --version v1 --kind KIND", "or name the files: `--paths DIR`"),
            )
        )
    if diagnostics.has_errors() or not crds:
        return "", diagnostics
    name = read(options.root)[0].project_name
    title = f"API reference of {name}" if name else "API reference"
    return render_markdown(collect(crds, _read_samples(options.root), title=title)), diagnostics


def target_file(root: Path, output: Path | None, diagnostics: Diagnostics) -> str:
    """The file of the page, relative to the project.

    Args:
        root: The project.
        output: A folder for ``api.md``, or a file that ends with ``.md``. Defaults to the project's ``docs``.
        diagnostics: Gets a path outside of the project, and a file of another format.
    """
    root = root.resolve()
    place = (output or root / _FOLDER).resolve()
    if not place.is_relative_to(root):
        diagnostics.add(
            PATH_OUTSIDE.at(
                None,
                f"the output `{output}` is outside the project `{root.name}`",
                notes=("nothing was written",),
                help=("name a place inside the project",),
            )
        )
    elif place.suffix not in ("", ".md") and not place.is_dir():
        diagnostics.add(
            OPTION.at(
                None,
                f"`--output` names the file `{place.name}`, and the page is Markdown",
                help=(f"--output {place.with_suffix('.md').relative_to(root).as_posix()}", "or name a folder"),
            )
        )
    else:
        return (place if place.suffix == ".md" else place / _FILE).relative_to(root).as_posix()
    return ""


def _read_samples(root: Path) -> dict[tuple[str, str], str]:
    """The text of the first sample of each apiVersion and kind, without the comments above it.

    Files that are not YAML or not manifests are ignored.
    """
    import yaml

    from pykb.gen.manifest import load_manifest

    found: dict[tuple[str, str], str] = {}
    for path in sorted((root / _SAMPLES).glob("*.yaml")):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        for document in re.split(r"^---.*\n", text.replace("\r\n", "\n"), flags=re.MULTILINE):
            try:
                data = load_manifest(document)
            except yaml.YAMLError:
                continue
            if isinstance(data, dict) and isinstance(data.get("metadata"), dict):
                key = (str(data.get("apiVersion")), str(data.get("kind")))
                found.setdefault(key, _without_head(document))
    return found


def _without_head(text: str) -> str:
    lines = text.strip("\n").split("\n")
    while lines and (not lines[0].strip() or lines[0].startswith("#")):
        del lines[0]
    return "\n".join(lines).rstrip() + "\n"
