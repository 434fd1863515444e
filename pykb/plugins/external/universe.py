"""The files of a project as an external plugin sees them: texts by path."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pykb.scaffold.plan import PlanBuilder

MOST_BYTES = 1024 * 1024
"""The size of a file that is not sent: no plugin edits such a file."""

_SKIPPED = frozenset({"__pycache__", "node_modules", "bin"})
_SEEN = frozenset({".github", ".devcontainer", ".gitlab"})


def universe(plan: PlanBuilder) -> dict[str, str]:
    """The text files of the project after the changes of the plan.

    Leaves out what is not part of the project: git's and pykb's own files, virtual environments and caches, binary
    and large files, and links, which may lead out of the project.
    """
    paths = {*_paths(plan.root), *plan.changed}
    texts = {path: _text(plan.current(path)) for path in sorted(paths)}
    return {path: text for path, text in texts.items() if text is not None}


def _paths(root: Path) -> Iterator[str]:
    for folder, names, files in os.walk(root):
        here = Path(folder)
        names[:] = [name for name in names if not _is_skipped(here / name)]
        for file in files:
            path = here / file
            if not path.is_symlink() and path.is_file() and path.stat().st_size <= MOST_BYTES:
                yield path.relative_to(root).as_posix()


def _is_skipped(folder: Path) -> bool:
    is_hidden = folder.name.startswith(".") and folder.name not in _SEEN
    return is_hidden or folder.name in _SKIPPED or (folder / "pyvenv.cfg").exists()


def _text(content: bytes | None) -> str | None:
    if content is None or len(content) > MOST_BYTES or b"\0" in content:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None
