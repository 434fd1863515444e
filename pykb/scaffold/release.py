"""Renders a project as a release of pykb scaffolds it: the running one, or an earlier one from its own wheel.

A release carries out the commands that make the project, in an empty folder. Commands are what releases have in common.
A wheel comes from the package index, or the user names it. It is installed with its own dependencies into a temporary
environment. Nothing is built, so only the release itself runs, and only there.
"""

from __future__ import annotations

import json
import os
import re
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pykb
from pykb._regular_file import is_bytecode
from pykb.diagnostics import NOTHING_WRITTEN, Diagnostics
from pykb.diagnostics.codes.commands import NOT_RENDERED, RELEASE_UNKNOWN
from pykb.files.durable import temporary
from pykb.files.state import STATE
from pykb.project import FILE_NAME
from pykb.scaffold.locate import NAME, PACKAGE, WHEEL, templates
from pykb.tools.git import File
from pykb.tools.process import LimitError, Limits, Output, find_program, quote, run_bounded

HEADER = "../header.txt"
"""The licence header of the project, seen from the folder that a recipe runs in."""
_INIT = "pykb/__init__.py"
_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
_WHEEL = re.compile(rf"{NAME}-([0-9][0-9A-Za-z.+]*)-py3-none-any\.whl")
_REPLAY = Limits(seconds=300, size=16 * 1024**2)
_INSTALLATION = Limits(seconds=900, size=16 * 1024**2)
_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR")
"""The variables that a release gets. It needs neither the home of the user nor what is secret."""


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
    """A release of pykb.

    Attributes:
        version: Its version.
        requirement: What to install, as for pip.
        package: In place of a requirement, the folder of its package. It runs with the packages of the running pykb.
        templates: The folder of its templates, if it is not installed.
        advice: What else the user can do if it cannot be installed.
    """

    version: str
    requirement: str = ""
    package: Path = PACKAGE
    templates: Path = PACKAGE
    advice: str = ""


def running() -> Release:
    """The running pykb."""
    return Release(pykb.__version__, templates=templates())


def published(version: str, root: Path) -> Release:
    """A release on the package index of the user. A wheel that a project has is not run unless the user names it."""
    wheel = WHEEL.replace(f"-{pykb.__version__}-", f"-{version}-")
    advice = f"`pip download --no-deps {NAME}=={version}`, then `pykb update --from THE-WHEEL`"
    if (root / wheel).is_file():
        advice = f"if you trust the wheel in the project: `pykb update --from {wheel}`"
    return Release(version, f"{NAME}[cli]=={version}", advice=advice)


def given(place: Path, diagnostics: Diagnostics) -> Release | None:
    """A wheel or a checkout of pykb. ``None``, with a finding, if it is neither."""
    root = place.resolve()
    version = _VERSION.search(_text(root / _INIT))
    if version and (root / "templates").is_dir():
        return Release(version[1], package=root / "pykb", templates=root / "templates")
    wheel = _WHEEL.fullmatch(place.name)
    if wheel and root.is_file() and zipfile.is_zipfile(root):
        return Release(wheel[1], f"{NAME}[cli] @ {root.as_uri()}")
    message = f"`--from {place}` is neither a wheel nor a checkout of pykb"
    diagnostics.report(RELEASE_UNKNOWN, None, message, notes=NOTHING_WRITTEN)
    return None


def render(release: Release, recipe: Recipe, diagnostics: Diagnostics) -> dict[str, File]:
    """The project as the release scaffolds it, without PROJECT. Empty, with a finding, if it cannot do so."""
    with temporary("release") as folder:
        project, home = folder / "project", folder / "home"
        project.mkdir()
        home.mkdir()
        (folder / "header.txt").write_text(recipe.header + "\n", encoding="utf-8")
        words: tuple[str | Path, ...]
        if release.requirement:
            python = _install(release, folder / "environment", diagnostics)
            if python is None:
                return {}
            words = (python, "-I", Path(__file__).with_name("_replay.py"))
        else:
            words = (sys.executable, "-I", Path(__file__).with_name("_replay.py"), _linked(release, folder))
        steps = json.dumps([asdict(step) for step in recipe.steps])
        own = {name: os.environ[name] for name in _KEPT if name in os.environ}
        own |= {"NO_COLOR": "1", "HOME": str(home)}
        done = _run(words, project, _REPLAY, stdin=steps, env=own)
        files = _files(project) if isinstance(done, Output) and done.code == 0 else {}
        if not files:
            message = f"pykb {release.version} cannot scaffold this project again"
            diagnostics.report(NOT_RENDERED, None, message, notes=(*_said(done), NOTHING_WRITTEN))
        return files


def _install(release: Release, folder: Path, diagnostics: Diagnostics) -> Path | None:
    """Install a release with its dependencies, by uv or else by pip. Returns the Python of the environment.

    Both run in a folder without settings: those of a project are somebody else's.
    """
    uv, python = find_program("uv"), folder / "bin/python"
    venv = (sys.executable, "-I", "-m", "venv", *(("--without-pip",) if uv else ()), folder)
    by_uv = (uv or "", "pip", "install", *_settings_of_uv(), "--python", python)
    pip = by_uv if uv else (python, "-I", "-m", "pip", "install")
    for words in (venv, (*pip, "--quiet", "--only-binary", ":all:", release.requirement)):
        done = _run(words, folder.parent / "home", _INSTALLATION)
        if isinstance(done, LimitError) or done.code:
            message = f"pykb {release.version}, which made the project, cannot be installed"
            helps = (release.advice,) if release.advice else ()
            diagnostics.report(RELEASE_UNKNOWN, None, message, *helps, notes=(*_said(done), NOTHING_WRITTEN))
            return None
    for path in folder.glob(f"lib/*/site-packages/{NAME}-*.dist-info/direct_url.json"):
        path.unlink()  # as of an index: it puts no wheel of itself into the project
    return python


def _settings_of_uv() -> tuple[str | Path, ...]:
    """The settings of the user, and not what uv finds in folders above a temporary one."""
    if "UV_CONFIG_FILE" in os.environ:
        return ()
    own = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "uv/uv.toml"
    return ("--config-file", own) if own.is_file() else ("--no-config",)


def _run(
    words: Sequence[str | Path], cwd: Path, limits: Limits, *, stdin: str = "", env: dict[str, str] | None = None
) -> Output | LimitError:
    try:
        return run_bounded(words, cwd=cwd, stdin=stdin.encode(), limits=limits, env=env)
    except LimitError as error:
        return error
    except OSError as error:
        return LimitError(f"cannot be started: {error}")


def _said(done: Output | LimitError) -> tuple[str, ...]:
    if isinstance(done, LimitError):
        return (f"it {done}",)
    return quote((done.stderr or done.stdout).decode("utf-8", "replace"), source="it wrote")


def _files(project: Path) -> dict[str, File]:
    found = {}
    for path in sorted(each for each in project.rglob("*") if each.is_file() and not each.is_symlink()):
        name = path.relative_to(project)
        if name.parts[0] not in {STATE, FILE_NAME}:
            found[name.as_posix()] = File(path.read_bytes(), bool(path.stat().st_mode & 0o100))
    return found


def _linked(release: Release, folder: Path) -> Path:
    """A package whose modules are those of another one, so that it finds its templates in itself.

    With metadata as of an index, it puts no wheel of itself into the project.
    """
    root = folder / "release"
    package = root / "pykb"
    info = root / f"{NAME}-{release.version}.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {NAME}\nVersion: {release.version}\n")
    (package / "__init__.py").write_bytes((release.package / "__init__.py").read_bytes())
    for path in release.package.iterdir():
        if path.name not in {"__init__.py", "_templates"} and not is_bytecode(path):
            (package / path.name).symlink_to(path)
    (package / "_templates").symlink_to(release.templates)
    return root


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
