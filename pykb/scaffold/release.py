"""Renders a project as a release of pykb scaffolds it: the running one, one of the archive, or one that the user has.

A release carries out the commands that make the project, in an empty folder. Commands are what releases have in common.
The dependencies are those of the running pykb.
"""

from __future__ import annotations

import io
import json
import lzma
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

import pykb
from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.commands import NOT_RENDERED, RELEASE_UNKNOWN
from pykb.files.state import STATE
from pykb.files.temporary import temporary
from pykb.project import FILE_NAME
from pykb.scaffold.locate import NAME, PACKAGE, is_bytecode, templates
from pykb.tools.git import File
from pykb.tools.process import quote, run

ARCHIVE = Path(__file__).with_name("releases.tar.xz")
"""The earlier releases, written by hack/releases.py. It does not exist before the second release."""
HEADER = "../header.txt"
"""The licence header of the project, seen from the folder that a recipe runs in."""
_INIT = "pykb/__init__.py"
_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Step:
    """A command.

    Attributes:
        words: Its words: ``create``, ``api``.
        options: Its options, each with its value after a ``=``.
        newer: Options that older releases do not have. They get the command without them.
        is_newer: Whether releases without these options skip the command.
    """

    words: tuple[str, ...]
    options: tuple[str, ...]
    newer: tuple[str, ...] = ()
    is_newer: bool = False


@dataclass(frozen=True, slots=True)
class Recipe:
    """The commands that make a project, and its licence header."""

    steps: Sequence[Step]
    header: str


@dataclass(frozen=True, slots=True)
class Release:
    """A release in a temporary folder."""

    version: str
    folder: Path


@contextmanager
def running() -> Iterator[Release]:
    """The running pykb."""
    with _folder() as folder:
        _link(PACKAGE, templates(), folder)
        yield _described(folder)


@contextmanager
def archived(version: str, found: Diagnostics) -> Iterator[Release | None]:
    """A release of the archive. ``None``, with a finding, if it has no such release."""
    known = contents(ARCHIVE) if ARCHIVE.is_file() else {}
    if version not in known:
        message = f"this pykb {pykb.__version__} does not know what pykb {version} scaffolds"
        notes = (f"it knows {', '.join(known)}",) if known else ()
        helps = (f"`pip download --no-deps {NAME}=={version}`, then `pykb update --from THE-WHEEL`",)
        found.add(RELEASE_UNKNOWN.at(None, message, notes=(*notes, "nothing was written"), help=helps))
        yield None
        return
    with _folder() as folder:
        for path, content in known[version].items():
            _write(folder / path, content)
        yield _described(folder)


@contextmanager
def given(place: Path, found: Diagnostics) -> Iterator[Release | None]:
    """A wheel or a checkout of pykb. ``None``, with a finding, if it is neither."""
    with _folder() as folder:
        if (place / _INIT).is_file() and (place / "templates").is_dir():
            _link(place.resolve() / "pykb", place.resolve() / "templates", folder)
        elif place.is_file() and zipfile.is_zipfile(place):
            _unpack(place, folder)
        if not _VERSION.search(_text(folder / _INIT)) or not (folder / "pykb/_templates").is_dir():
            message = f"`--from {place}` is neither a wheel nor a checkout of pykb"
            found.add(RELEASE_UNKNOWN.at(None, message, notes=("nothing was written",)))
            yield None
            return
        yield _described(folder)


def contents(archive: Path) -> dict[str, dict[str, bytes]]:
    """The files of each release of an archive. A file that releases have in common is there once."""
    found: dict[str, dict[str, bytes]] = {}
    with tarfile.open(fileobj=io.BytesIO(lzma.decompress(archive.read_bytes()))) as files:
        for member in files:
            version, _, path = member.name.partition("/")
            stream = files.extractfile(member)
            if stream is not None and ".." not in PurePosixPath(path).parts:
                found.setdefault(version, {})[path] = stream.read()
    return found


def render(release: Release, recipe: Recipe, found: Diagnostics) -> dict[str, File]:
    """The project as the release scaffolds it, without PROJECT. Empty, with a finding, if a command fails."""
    with _folder() as folder:
        project = folder / "project"
        project.mkdir()
        (folder / "header.txt").write_text(recipe.header + "\n", encoding="utf-8")
        words = (sys.executable, "-I", Path(__file__).with_name("_replay.py"), release.folder)
        steps = json.dumps([asdict(step) for step in recipe.steps])
        done = run(words, cwd=project, stdin=steps, env={"NO_COLOR": "1"})
        files = dict(_files(project)) if done.ok else {}
        if not files:
            message = f"pykb {release.version} cannot scaffold this project again"
            notes = (*quote(done.stderr or done.stdout, source="it wrote"), "nothing was written")
            found.add(NOT_RENDERED.at(None, message, notes=notes))
        return files


def _files(project: Path) -> Iterator[tuple[str, File]]:
    for path in sorted(each for each in project.rglob("*") if each.is_file()):
        name = path.relative_to(project)
        if name.parts[0] not in {STATE, FILE_NAME}:
            yield name.as_posix(), File(path.read_bytes(), bool(path.stat().st_mode & 0o100))


def _described(folder: Path) -> Release:
    """The release in a folder. With metadata as of an index, it puts no wheel of itself into the project."""
    found = _VERSION.search(_text(folder / _INIT))
    assert found is not None  # noqa: S101 - checked where it can be otherwise
    metadata = f"Metadata-Version: 2.4\nName: {NAME}\nVersion: {found[1]}\n"
    _write(folder / f"{NAME}-{found[1]}.dist-info/METADATA", metadata.encode())
    return Release(found[1], folder)


def _link(package: Path, files: Path, folder: Path) -> None:
    """Make a package whose modules are those of another one, so that it finds its templates in itself."""
    _write(folder / _INIT, (package / "__init__.py").read_bytes())
    for path in package.iterdir():
        if path.name not in {"__init__.py", "_templates"} and not is_bytecode(path):
            (folder / "pykb" / path.name).symlink_to(path)
    (folder / "pykb/_templates").symlink_to(files)


def _unpack(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            pure = PurePosixPath(name)
            if pure.parts[:1] == ("pykb",) and ".." not in pure.parts and not name.endswith("/"):
                _write(folder / pure, archive.read(name))


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


@contextmanager
def _folder() -> Iterator[Path]:
    with temporary("release") as folder:
        yield folder
