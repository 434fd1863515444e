"""The files that the pages are written to."""

from __future__ import annotations

from pathlib import Path

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.generate import OPTION, PATH_OUTSIDE

SUFFIXES = {"markdown": ".md", "html": ".html"}
_FOLDER = "docs"


def target_files(root: Path, output: Path | None, formats: tuple[str, ...], diagnostics: Diagnostics) -> dict[str, str]:
    """The file of each format, relative to the project.

    Args:
        root: The project.
        output: A folder for ``api.md`` and ``api.html``, or one file. Defaults to the project's ``docs``.
        formats: The formats to write. When empty, the extension of the file decides, or both are written.
        diagnostics: Gets a path outside of the project, and a file name with the extension of another format.
    """
    root = root.resolve()
    place = (output or root / _FOLDER).resolve()
    if not place.is_relative_to(root):
        diagnostics.add(
            PATH_OUTSIDE.at(
                None,
                f"the output `{output}` leaves the project `{root.name}`",
                notes=("nothing was written",),
                help=("name a place inside the project",),
            )
        )
        return {}
    relative = place.relative_to(root)
    of_name = next((name for name, suffix in SUFFIXES.items() if relative.suffix == suffix), None)
    if of_name is None:
        return {name: (relative / f"api{SUFFIXES[name]}").as_posix() for name in formats or tuple(SUFFIXES)}
    others = [name for name in formats if name != of_name]
    if others:
        diagnostics.add(
            OPTION.at(
                None,
                f"`--output` names the file `{relative.as_posix()}`, and `--format` asks for {others[0]}",
                help=(f"--format {of_name}", "or name a folder"),
            )
        )
    return {of_name: relative.as_posix()}
