"""Assembles the file system of an operator's image: this Python, its packages, and what they need of the system.

The scaffolded Dockerfile calls it in its build stage, and copies the result to an empty image. Shell, package managers,
pip and debug symbols stay behind. Only the standard library is used.
"""

from __future__ import annotations

import compileall
import os
import re
import shutil
import ssl
import struct
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import NamedTuple

__all__ = ["assemble"]

_UNUSED = (
    *("site-packages", "dist-packages", "ensurepip", "config-*", "_test*.so", "xxlimited*.so"),
    *("test", "tests", "idlelib", "lib2to3", "pydoc_data", "tkinter", "turtledemo", "_tkinter*.so"),
)
"""The parts of the standard library that no server imports."""

_SYSTEM = (
    *("/etc/ld.so.cache", "/etc/nsswitch.conf", "/etc/os-release", "/etc/protocols", "/etc/services"),
    "/usr/share/zoneinfo",
)
_OTHER_CLOCKS = ("/usr/share/zoneinfo/posix", "/usr/share/zoneinfo/right")
_OPENED_LATER = ("libgcc_s.so.1", "libnss_dns.so.2", "libnss_files.so.2")
"""Libraries that the C library opens when it needs them: to end threads, and to resolve names before version 2.34."""

_ACCOUNTS = {
    "/etc/passwd": "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n",
    "/etc/group": "root:x:0:\nnonroot:x:65532:\n",
}


def assemble(into: str, *extra: str) -> None:
    """Collect the file system of an image: the running Python, its environment, and what they need of the system.

    Args:
        into: The folder for it.
        extra: More files and folders, for example a library that a package opens by its name.
    """
    root = Root(Path(into))
    executable, environment = Path(sys.executable), Path(sys.prefix)
    root.add(executable)
    standard = Path(sysconfig.get_path("stdlib"))
    root.add(standard, skip=lambda path: _is_cache(path) or any(fnmatch(path.name, each) for each in _UNUSED))
    root.add(environment, skip=_is_cache)
    _add_system(root)
    for path in extra:
        root.add(Path(path))
    root.add_libraries()
    _add_opened_later(root)
    _add_packages(root)
    for folder in (standard, environment):
        _compile(root, folder)


def _is_cache(path: Path) -> bool:
    """Whether it is a folder of bytecode, which is made anew. A package may have bytecode in place of its source."""
    return path.name == "__pycache__"


def _add_system(root: Root) -> None:
    for path in _SYSTEM:
        root.add(Path(path), skip=lambda path: str(path) in _OTHER_CLOCKS)
    trust = ssl.get_default_verify_paths()
    for place in (trust.openssl_cafile, trust.openssl_capath, Path(trust.openssl_cafile).with_name("openssl.cnf")):
        root.add(Path(place))
    for name, text in _ACCOUNTS.items():
        root.write(name, text)
    temporary = root.at("/tmp")  # noqa: S108 - the folder itself
    temporary.mkdir(exist_ok=True)
    temporary.chmod(0o1777)


def _add_opened_later(root: Root) -> None:
    folders = {path.parent for path in root.files() if path.name.startswith("libc.so.")}
    for folder in sorted(folders):
        for name in _OPENED_LATER:
            root.add(folder / name)


def _compile(root: Root, folder: Path) -> None:
    """Compile for a file system that is read-only: bytecode that is valid whatever the time of its source."""
    compileall.compile_dir(
        root.at(folder),
        quiet=2,
        stripdir=str(root.at("/")),
        prependdir="/",
        invalidation_mode=PycInvalidationMode.UNCHECKED_HASH,
        workers=0,
    )


_DPKG = Path("/var/lib/dpkg")
_SHARED = "/usr/share/doc/"


def _add_packages(root: Root) -> None:
    """Record which Debian packages the files are from, with their licences, in the form that scanners read.

    It is that of distroless images. On another distribution, do nothing.
    """
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


_LOADED = re.compile(r"(/\S+) \(0x")


class Root:
    """The root of the image. It collects files of this system under their own paths, with their libraries."""

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


MAGIC = b"\x7fELF"
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_LITTLE_64 = b"\x02\x01"
_ALLOCATED = 2
_STRING_TABLE, _NO_BITS = 3, 8


class _Section(NamedTuple):
    """An entry of the section table; the names are those of the specification, without the prefix."""

    name: int
    type: int
    flags: int
    addr: int
    offset: int
    size: int
    link: int
    info: int
    addralign: int
    entsize: int


def stripped(content: bytes) -> bytes:
    """A program or library without symbols and debug information, which are half of many wheels.

    No slim base image has `strip`, and installing it needs a mirror of the distribution. Here, nothing moves: the file
    ends after what the loader maps, followed by a new table of the sections that are left. So it is safe for libraries
    that patchelf has rearranged. What has an unusual form is returned as it is.

    Source: https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html
    """
    if not content.startswith(MAGIC + _LITTLE_64) or len(content) < _HEADER.size:
        return content
    try:
        return _stripped(content)
    except struct.error:
        return content


def _stripped(content: bytes) -> bytes:
    header = list(_HEADER.unpack_from(content))
    segments_at, sections_at, segments, sections, names_index = *header[5:7], header[10], header[12], header[13]
    table = [_Section(*_SECTION.unpack_from(content, sections_at + i * _SECTION.size)) for i in range(sections)]
    kept = 1 + max((i for i, each in enumerate(table) if each.flags & _ALLOCATED), default=0)
    end = max(
        (sum(_SEGMENT.unpack_from(content, segments_at + i * _SEGMENT.size)[2:6:3]) for i in range(segments)), default=0
    )
    if kept == 1 or not all(map(_is_mapped, table[1:kept], [end] * kept)):
        return content
    names = table[names_index]
    texts = content[names.offset : names.offset + names.size]
    names_at = _aligned(end)
    new_names = _Section(names.name, _STRING_TABLE, 0, 0, names_at, len(texts), 0, 0, 1, 0)
    header[6], header[12], header[13] = _aligned(names_at + len(texts)), kept + 1, kept
    made = bytearray(content[:end])
    made[: _HEADER.size] = _HEADER.pack(*header)
    made += bytes(names_at - end) + texts
    made += bytes(header[6] - len(made)) + b"".join(_SECTION.pack(*each) for each in (*table[:kept], new_names))
    return bytes(made) if len(made) < len(content) else content


def _is_mapped(section: _Section, end: int) -> bool:
    """Whether a section belongs to what the loader maps, so that it stays where it is."""
    fits = section.type == _NO_BITS or section.offset + section.size <= end
    return bool(section.flags & _ALLOCATED) and fits


def _aligned(offset: int) -> int:
    return -(-offset // 8) * 8
