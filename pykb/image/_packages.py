"""The record of the Debian packages in an image, in the form of distroless images, which scanners read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pykb.image._root import Root

_DPKG = Path("/var/lib/dpkg")
_SHARED = "/usr/share/doc/"


def add_packages(root: Root) -> None:
    """Record which packages the files are from, with their licences. On another distribution, do nothing."""
    files = {str(path) for path in root.files()}
    paragraphs = dict(_paragraphs())
    for listing in sorted((_DPKG / "info").glob("*.list")):
        package = listing.stem.partition(":")[0]
        if any(_real(line) in files for line in listing.read_text(encoding="utf-8").splitlines()):
            root.write(f"{_DPKG}/status.d/{package}", f"{paragraphs.get(package, '')}\n")
            root.add(Path(f"{_SHARED}{package}/copyright"))


def _paragraphs() -> Iterator[tuple[str, str]]:
    status = _DPKG / "status"
    if status.is_file():
        for paragraph in status.read_text(encoding="utf-8").split("\n\n"):
            yield paragraph.partition("\n")[0].removeprefix("Package: "), paragraph.strip("\n")


def _real(line: str) -> str:
    """A path of the list. The package may name it by a folder that is now a link, such as `/lib`."""
    folder, _, name = line.rpartition("/")
    return f"{_resolved(folder or '/')}/{name}"


@cache
def _resolved(folder: str) -> str:
    return str(Path(folder).resolve())
