"""Reads and parses the files of a run, and finds the API modules."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pykb.diagnostics import Diagnostic, Diagnostics, Span
from pykb.diagnostics.codes.markers import SOURCE_UNREADABLE
from pykb.gen._load import find_files, is_api_file
from pykb.gen.declare import Declarations
from pykb.gen.options import GenerateOptions
from pykb.markers.model import SourceFile
from pykb.markers.registry import MarkerRegistry

IMPORTED = "# Made by `pykb import crd`; "
"""The first text of a module that ``pykb import`` made."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The input of the generators.

    Attributes:
        files: The source files that have markers or declare kinds.
        modules: The files to import for kinds.
        declarations: Finds the source of types.
    """

    files: tuple[SourceFile, ...]
    modules: tuple[Path, ...]
    declarations: Declarations


def read_sources(options: GenerateOptions, registry: MarkerRegistry, diagnostics: Diagnostics) -> Sources:
    """Read all files below the paths.

    Files without a comment that looks like a marker and without a kind are skipped quickly.
    """
    root = options.root.resolve()
    declarations = Declarations(root, registry, diagnostics)
    paths = options.paths or (".",)
    whole = find_files(root, [path for path in paths if _is_whole(root, path)], diagnostics)
    named = find_files(root, [path for path in paths if not _is_whole(root, path)], diagnostics)
    files: list[SourceFile] = []
    modules: list[Path] = []
    for path in sorted({*whole, *named}):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            diagnostics.add(_unreadable(path, root, error))
            continue
        is_api = is_api_file(path, root, text, named=path in set(named))
        if not is_api and text.startswith(IMPORTED):  # its markers belong to another operator's CRDs
            continue
        source = declarations.read(path, text, always=is_api)
        if source is None:
            continue
        files.append(source)
        if is_api:
            modules.append(path)
    return Sources(tuple(files), tuple(modules), declarations)


def _is_whole(root: Path, path: str) -> bool:
    return (root / path.removesuffix("...")).resolve() == root


def _unreadable(path: Path, root: Path, error: OSError | UnicodeDecodeError) -> Diagnostic:
    reason = error.strerror if isinstance(error, OSError) else "it is not encoded in UTF-8"
    return SOURCE_UNREADABLE.at(
        Span(path.relative_to(root).as_posix(), 1, 1),
        f"expected Python source, but the file cannot be read: {reason}",
        help=("save it as UTF-8",) if isinstance(error, UnicodeDecodeError) else (),
    )
