"""A folder that becomes the root of a file system."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from pykb.image._elf import MAGIC, stripped

_LOADED = re.compile(r"(/\S+) \(0x")


class Root:
    """Collects files of this system under their own paths, with the libraries that they are linked to."""

    def __init__(self, path: Path) -> None:
        """Collect into this folder."""
        self._path = path
        self._programs: set[Path] = set()

    def at(self, path: str | Path) -> Path:
        """Where a path of the image is now."""
        return self._path / Path(path).relative_to("/")

    def add(self, path: Path, *, skip: Callable[[Path], bool] = lambda _: False) -> None:
        """Copy a file or folder, if it exists. Symbolic links on the way stay links, and their targets are copied.

        Args:
            path: An absolute path.
            skip: Which files and folders in it to leave out.
        """
        if self.at(path).exists() and not path.is_dir():
            return
        for here in (*reversed(path.parents), path):
            if here.is_symlink():
                target = Path(os.path.normpath(here.parent / here.readlink()))
                self._link(here)
                self.add(target / path.relative_to(here), skip=skip)
                return
        if path.is_dir():
            for each in sorted(path.iterdir()):
                if not skip(each):
                    self.add(each, skip=skip)
        elif path.is_file():
            self._copy(path)

    def write(self, path: str, text: str) -> None:
        """Make a text file, with its folder."""
        place = self.at(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def add_libraries(self) -> None:
        """Copy the libraries that the programs and libraries so far are linked to.

        A library that is not on this system is left out: what needs it does not work here either.
        """
        for path in sorted(self._programs):
            done = subprocess.run(("ldd", path), capture_output=True, text=True, check=False)
            for library in _LOADED.findall(done.stdout):
                self.add(Path(library))

    def files(self) -> Iterator[Path]:
        """The files so far, as absolute paths of the image."""
        for path in sorted(self._path.rglob("*")):
            if path.is_file() and not path.is_symlink():
                yield Path("/") / path.relative_to(self._path)

    def _link(self, link: Path) -> None:
        place = self.at(link)
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.is_symlink():
            place.symlink_to(link.readlink())

    def _copy(self, path: Path) -> None:
        place = self.at(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as file:
            is_program = file.read(len(MAGIC)) == MAGIC
        if is_program:
            self._programs.add(path)
            place.write_bytes(stripped(path.read_bytes()))
            shutil.copystat(path, place)
        else:
            shutil.copy2(path, place)
