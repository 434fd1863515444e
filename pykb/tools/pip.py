"""The packages that a project requires: reads them, installs them into its virtual environment, uninstalls others."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from pykb._regular_file import MOST_SETTINGS, read_bytes, read_text
from pykb.diagnostics import Diagnostic, Diagnostics, Span
from pykb.diagnostics.codes.project import REQUIREMENTS
from pykb.diagnostics.suggest import closest
from pykb.meta.names import normalized
from pykb.reading import TomlError, read_toml
from pykb.tools import process

_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?")
_EXTRA = re.compile(r"\bextra\s*==\s*['\"]([^'\"]+)")
_WHEEL = " sha256:"
_BROUGHT = "# "


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an environment should have.

    Attributes:
        requirements: What to install.
        others: More that it may have. A package that is required by neither is uninstalled.
        lock: A file with hashes to install from, in place of the requirements.
        wheels: A folder of wheels that no index has. One that changes is installed again, also with the same version.
    """

    requirements: tuple[str, ...]
    others: tuple[str, ...] = ()
    lock: Path | None = None
    wheels: Path | None = None


class Environment:
    """A virtual environment with pip."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "bin/python"
        self._record = folder / "pykb-requirements.txt"

    def lacks(self, wanted: Wanted) -> bool:
        """Whether there is something to install or to uninstall."""
        before, lines = self._recorded()[0], _lines(wanted)
        return not lines <= before <= lines | {*wanted.others}

    def update(self, wanted: Wanted) -> None:
        """Install and uninstall. Call it under the lock.

        Raises:
            EnvironmentProblem: pip fails. The next call tries again.
        """
        (before, brought), lines = self._recorded(), _lines(wanted)
        after = lines | (before & {*wanted.others})
        self._record.write_text(_as_text((), brought), encoding="utf-8")
        if any(_WHEEL in line for line in before - after):
            self._install(wanted, "--force-reinstall", "--no-deps")
        self._install(wanted)
        required = self._required(after | {*wanted.others})
        gone = sorted(brought & self._packages().keys() - required)
        if gone:
            self._pip("uninstall", "--yes", *gone)
        self._record.write_text(_as_text(after, required), encoding="utf-8")

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Let only one process at a time change the environment."""
        with (self.folder / ".lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _recorded(self) -> tuple[set[str], set[str]]:
        """The requirements that were fulfilled, and the packages that they brought."""
        text = read_text(self._record) if self._record.exists() else ""
        brought = {line.removeprefix(_BROUGHT) for line in text.splitlines() if line.startswith(_BROUGHT)}
        return {line for line in text.splitlines() if not line.startswith(_BROUGHT)}, brought

    def _install(self, wanted: Wanted, *options: str) -> None:
        links = ("--find-links", wanted.wheels) if wanted.wheels else ()
        what = ("--requirement", wanted.lock) if wanted.lock else wanted.requirements
        if what:
            self._pip("install", "--no-compile", *options, *links, *what)

    def _pip(self, *arguments: str | Path) -> None:
        variables = {"PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        process.check((self.python, "-P", "-m", "pip", *arguments), cwd=self.folder.parent, env=variables)

    def _packages(self) -> dict[str, Sequence[str]]:
        """The installed packages, each with its requirements."""
        places = [str(place) for place in self.folder.glob("lib/python3*/site-packages")]
        # A package that a killed pip left has no name.
        return {normalized(each.metadata["Name"] or ""): each.requires or () for each in distributions(path=places)}

    def _required(self, lines: Iterable[str]) -> set[str]:
        """The installed packages that some requirements bring. Markers about the system count as fulfilled."""
        packages = self._packages()
        found: set[tuple[str, str]] = set()
        waiting = list(_needs(lines))
        while waiting:
            name, extra = need = waiting.pop()
            if name in packages and need not in found:
                found.add(need)
                waiting += _needs(line for line in packages[name] if _extra(line) == extra)
        return {name for name, _ in found}


def locked(file: Path) -> tuple[str, ...]:
    """The requirements of a lock file, without their hashes and comments."""
    lines = read_text(file).splitlines()
    return tuple(line.rstrip("\\ ") for line in lines if _REQUIREMENT.match(line))


def _needs(requirements: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The packages that some requirements name, each with no extra and with each of its extras."""
    for found in filter(None, map(_REQUIREMENT.match, requirements)):
        name = normalized(found[1])
        yield name, ""
        yield from ((name, normalized(extra.strip())) for extra in (found[2] or "").split(",") if extra.strip())


def _extra(requirement: str) -> str:
    """The extra of a package that has this requirement."""
    found = _EXTRA.search(requirement)
    return normalized(found[1]) if found else ""


def _lines(wanted: Wanted) -> set[str]:
    """The requirements and the content of the wheels."""
    wheels: Sequence[Path] = sorted(wanted.wheels.glob("*.whl")) if wanted.wheels else ()
    return {*wanted.requirements, *(f"{file.name}{_WHEEL}{_digest(file)}" for file in wheels)}


def _as_text(requirements: Iterable[str], brought: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in (*sorted(requirements), *(f"{_BROUGHT}{name}" for name in sorted(brought))))


def _digest(file: Path) -> str:
    return hashlib.sha256(read_bytes(file)).hexdigest()


FILE = "pyproject.toml"


def read_requirements(root: Path, group: str | None, found: Diagnostics) -> tuple[str, ...]:
    """Read the dependencies of the project, then those of a group and of the groups that it includes.

    Args:
        root: The folder of the project.
        group: The name of a dependency group. ``None`` means all groups.
        found: Gets the mistakes in the file.
    """
    try:
        table = read_toml(read_bytes(root / FILE, most=MOST_SETTINGS))
    except OSError as error:
        found.add(REQUIREMENTS.at(None, f"cannot read `{FILE}`: {error.strerror}"))
        return ()
    except TomlError as error:
        found.add(REQUIREMENTS.at(Span(FILE, error.line, error.column), str(error)))
        return ()
    own, groups = _table(table, "project").get("dependencies", []), _table(table, "dependency-groups")
    known = {normalized(name): entries for name, entries in groups.items()}
    entries = list(_listed("project.dependencies", own))
    for name in known if group is None else (group,):
        entries += _entries(known, name, ())
    found.extend(entry for entry in entries if isinstance(entry, Diagnostic))
    return tuple(dict.fromkeys(entry for entry in entries if isinstance(entry, str)))


def _entries(groups: Mapping[str, Any], name: str, above: tuple[str, ...]) -> Iterator[str | Diagnostic]:
    own = normalized(name)
    if own in above:
        yield _wrong(f"the dependency group `{name}` includes itself")
        return
    if own not in groups:
        near = closest(own, groups)
        yield _wrong(f"there is no dependency group `{name}`", f"did you mean `{near}`?" if near else "")
        return
    for entry in _listed(f"dependency-groups.{name}", groups[own], tables=True):
        if isinstance(entry, dict):
            yield from _entries(groups, str(entry.get("include-group", "")), (*above, own))
        else:
            yield entry


def _listed(key: str, value: object, *, tables: bool = False) -> Iterator[Any]:
    """The members of a list: requirements, tables that include a group, or what is wrong with it."""
    if not isinstance(value, list):
        yield _wrong(f"`{key}` takes a list of requirements")
        return
    for entry in value:
        fits = isinstance(entry, str) or (tables and isinstance(entry, dict))
        yield entry if fits else _wrong(f"`{key}` takes requirements, which are strings, found `{entry}`")


def _table(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = table.get(key, {})
    return found if isinstance(found, dict) else {}


def _wrong(message: str, *helps: str) -> Diagnostic:
    return REQUIREMENTS.at(None, f"`{FILE}`: {message}", help=tuple(filter(None, helps)))
