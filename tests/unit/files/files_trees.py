"""Folders as values."""

from __future__ import annotations

from pathlib import Path

Tree = dict[str, bytes]


def read_tree(root: Path) -> Tree:
    """Every file of a folder but pykb's own state; empty folders count too, with a slash behind them."""
    found: Tree = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if name.split("/")[0] == ".pykb":
            continue
        if path.is_file():
            found[name] = path.read_bytes()
        elif path.is_dir() and not any(path.iterdir()):
            found[f"{name}/"] = b""
    return found
