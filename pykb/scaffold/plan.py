"""Collects what plugins want to write: into a plan, which is checked before it is applied, or into a record.

The records of what a project keeps and of what it loses tell what a deletion removes.
"""

from __future__ import annotations

import contextlib
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path, PurePosixPath

import yaml

from pykb._regular_file import read_settings
from pykb.diagnostics import NOTHING_WRITTEN, Diagnostic, EnvironmentProblem, Span
from pykb.diagnostics.codes.scaffold import FILE_EXISTS, FILE_MISSING, RENDERED_BROKEN
from pykb.files.plan import Action, Draft, Plan, Snapshot
from pykb.project import FILE_NAME
from pykb.project.settings import CONFIG, config_folder, swapped
from pykb.python_source.layout import WIDTH, line_length
from pykb.reading import read_python, yaml_text
from pykb.scaffold.insert import Fragment, Member, extend, insert, missing, pasted


class OnExists(StrEnum):
    """What to do when a file to create already exists with other content."""

    REFUSE = "refuse"
    KEEP = "keep"
    OVERWRITE = "overwrite"


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit that a plan loses: a line, or with line 0 a whole file."""

    path: str
    line: int = 0


class PlanBuilder(Draft):
    """Collects the changes that plugins want. Paths below `config/` are those of the manifests, wherever they are.

    Attributes:
        config: The folder of the manifests.
        edits: The edits that the plan loses.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._kept: set[str] = set()
        self.edits: list[Edit] = []
        self.config = CONFIG
        try:
            self.config = config_folder(root)
        except EnvironmentProblem as problem:
            self.diagnostics.add(problem.diagnostic)

    @cached_property
    def width(self) -> int:
        """The maximum width of a line of Python, from the project's settings."""
        with contextlib.suppress(OSError):
            return line_length(read_settings(self.root)) or WIDTH
        return WIDTH

    def place(self, path: str) -> str:
        """Where the file of a path is, and the other way round."""
        return swapped(path, self.config)

    def create(self, path: str, content: bytes, *, on_exists: OnExists = OnExists.REFUSE, mode: int = 0o644) -> None:
        """Create a file. An existing file with the same content is not a change."""
        self.check_types(path, content, mode)
        snapshot = self.read(path)
        if snapshot is None:
            return
        broken = check(path, content)
        if broken is not None:
            self.diagnostics.add(broken)
            return
        if snapshot.content == content:
            return
        if not snapshot.exists:
            self.put(snapshot, content, Action.CREATE, new_mode=mode)
        elif on_exists is OnExists.OVERWRITE:
            self.put(snapshot, content, Action.OVERWRITE)
        elif on_exists is OnExists.KEEP:
            self.keep(path)
        else:
            message = f"`{path}` already exists, with different content"
            helps = ("`--diff` shows what would change; `--force` overwrites it and keeps a copy in `.pykb/backup`",)
            self.diagnostics.report(FILE_EXISTS, Span(path, 1, 1), message, *helps, notes=NOTHING_WRITTEN)

    def once(self, path: str, content: Callable[[], bytes]) -> None:
        """Create a file that several commands share. A file that exists stays as it is."""
        if self.current(path) is None:
            self.create(path, content())

    def insert(self, path: str, *fragments: Fragment, width: int = WIDTH) -> None:
        """Insert fragments above their anchor, which must be the same for all. Skips those that are present."""
        snapshot = self.read(path)
        if snapshot is None:
            return
        if self.current(path) is None:
            absent = missing(fragments, path)
            message = f"`{path}` does not exist, so nothing can be added to it"
            self.diagnostics.report(FILE_MISSING, None, message, *absent.help, notes=absent.notes)
            return
        text = self.text(path)
        if text is None:
            return
        after, problem = insert(text, fragments, path=path, width=width)
        if problem is not None:
            self.diagnostics.add(_as_on_disk(problem, text, snapshot.content or text.encode()))
        elif after != text:
            self.update(path, after.encode())

    def extend(self, path: str, *members: Member) -> None:
        """Add members to the lists of a kustomization. Skips those that are present."""
        before = self.text(path)
        if before is None and self.current(path) is not None:
            return
        if before is None:
            message = f"`{path}` does not exist, so nothing can be added to it"
            lines = pasted(members)
            helps = (f"bring it back, or make it with these lines, then run the command again:\n{lines}",)
            self.diagnostics.report(FILE_MISSING, None, message, *helps, notes=NOTHING_WRITTEN)
            return
        text, problem = extend(before, members, path=path)
        if problem is not None:
            self.diagnostics.add(problem)
        else:
            self.update(path, text.encode())

    def edit(self, path: str, change: Callable[[str], str]) -> None:
        """Apply a function to the text of an existing file."""
        before = self.text(path)
        if before is not None:
            self.update(path, change(before).encode())

    def lose(self, path: str, line: int = 0) -> None:
        """Report an edit that the plan loses, and keep a copy of the file."""
        self.edits.append(Edit(path, line))
        self.back_up(path)

    def keep(self, path: str) -> None:
        """List a file that stays although the command could have changed it."""
        self._kept.add(self.place(path))

    def build(self) -> Plan:
        """The plan, with PROJECT last, so that it never lists files that do not exist yet."""
        changes = sorted(super().build().changes, key=lambda change: (change.path == FILE_NAME, change.path))
        return Plan(self.root, tuple(changes), tuple(sorted(self._kept)))


def _as_on_disk(problem: Diagnostic, planned: str, on_disk: bytes) -> Diagnostic:
    """Move a finding in a planned text to the line number of the file on disk."""
    if problem.span is None or planned.encode() == on_disk:
        return problem
    line = planned.splitlines()[problem.span.line - 1]
    lines = on_disk.decode("utf-8").splitlines()
    if line not in lines:
        return problem
    return replace(problem, span=Span(problem.span.path, lines.index(line) + 1, problem.span.column))


def check(path: str, content: bytes) -> Diagnostic | None:
    """What is wrong with a rendered file, or ``None``."""
    pure = PurePosixPath(path)
    if pure.suffix not in {".py", ".yaml", ".yml", ".toml"} and pure.name != "Makefile":
        return None
    if pure.suffix in {".yaml", ".yml"} and "templates" in pure.parts[:-1]:
        return None  # of a Helm chart: not YAML before Helm has rendered it
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        return _finding(path, 1, f"is not UTF-8 text: {error.reason}")
    if pure.suffix == ".py":
        return _python(path, text)
    if pure.name == "Makefile":
        return _makefile(path, text)
    if pure.suffix == ".toml":
        try:
            tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            return _finding(path, 1, f"is not TOML: {error}")
        return None
    try:
        twice = [key for document in yaml_text.documents(text) for key in _repeated(document.node)]
    except yaml.MarkedYAMLError as error:
        return _finding(path, yaml_text.place(error, path).line, f"is not YAML: {error.problem}")
    return _finding(path, twice[0].start_mark.line + 1, f"has `{twice[0].value}` twice") if twice else None


def _repeated(root: yaml.Node) -> Iterator[yaml.Node]:
    """The keys of a document that are there again. PyYAML takes the last one, kustomize refuses them."""
    seen = set()
    for key, _ in root.value if isinstance(root, yaml.MappingNode) else ():
        if key.value in seen:
            yield key
        seen.add(key.value)


def breaks(path: str, before: bytes, after: bytes) -> bool:
    """Whether a merge without conflicts broke a file, such as with a table that a TOML file has twice now."""
    return before != after and check(path, after) is not None and check(path, before) is None


def _python(path: str, text: str) -> Diagnostic | None:
    try:
        read_python(text)
    except SyntaxError as error:
        return _finding(path, error.lineno or 1, f"is not Python: {error.msg}")
    return None


def _makefile(path: str, text: str) -> Diagnostic | None:
    """Find recipe lines that begin with blanks in place of a tab."""
    in_rule = False
    for number, line in enumerate(text.splitlines(), start=1):
        if re.match(r"[A-Za-z0-9_.$()/%-]+(?: [A-Za-z0-9_.$()/%-]+)*:(?!=)", line):
            in_rule = True
        elif in_rule and line.startswith("  ") and line.strip():
            return _finding(path, number, "has a recipe that does not begin with a tab")
        elif not line.startswith("\t") and line.strip() and not line.startswith("#"):
            in_rule = False
    return None


def _finding(path: str, line: int, problem: str) -> Diagnostic:
    message = f"the rendered file `{path}` {problem}"
    return RENDERED_BROKEN.at(Span(path, line, 1), message, notes=NOTHING_WRITTEN)


_SHARED = frozenset({".github", ".devcontainer", ".gitlab"})
"""Hidden folders that are part of a project."""


def project_files(plan: PlanBuilder) -> Iterator[str]:
    """The files of a project by their paths in the plan.

    Environments, nested projects, what tools make, and other hidden folders are left out.
    """
    for folder, names, files in os.walk(plan.root):
        here = Path(folder)
        names[:] = sorted(name for name in names if not _is_foreign(here / name))
        yield from sorted(plan.place((here / name).relative_to(plan.root).as_posix()) for name in files)


def _is_foreign(folder: Path) -> bool:
    is_hidden = folder.name.startswith(".") and folder.name not in _SHARED
    is_made = folder.name in {"__pycache__", "node_modules"}
    return is_hidden or is_made or (folder / "pyvenv.cfg").exists() or (folder / FILE_NAME).is_file()


@dataclass(slots=True)
class Scaffold:
    """What requests scaffold.

    Attributes:
        files: Each file with the contents that it may have. Options that PROJECT does not record lead to several.
        shared: The files that several commands share.
        fragments: The lines at anchors, by file.
        members: The members of kustomizations' lists, by file.
    """

    files: dict[str, list[bytes]] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    fragments: dict[tuple[str, Fragment], None] = field(default_factory=dict)
    members: dict[tuple[str, Member], None] = field(default_factory=dict)

    def add(self, other: Scaffold) -> None:
        """Add what another request scaffolds."""
        for path, contents in other.files.items():
            known = self.files.setdefault(path, [])
            known += [content for content in contents if content not in known]
        self.shared |= other.shared
        self.fragments |= other.fragments
        self.members |= other.members

    def without(self, kept: Scaffold) -> Scaffold:
        """What only this scaffolds."""
        return Scaffold(
            files={path: contents for path, contents in self.files.items() if path not in kept.files},
            shared=self.shared - set(kept.files),
            fragments={each: None for each in self.fragments if each not in kept.fragments},
            members=dict.fromkeys(_without(self.members, kept.members)),
        )


class Recorder(PlanBuilder):
    """Records in place of planning. It reads the files of the project, and what it has recorded itself.

    Args:
        root: The project.
        places: Where files are now that are to be read from another path.
        read: The files that were read. Recorders that share it read each file once.
    """

    def __init__(
        self, root: Path, places: Mapping[str, str] | None = None, *, read: dict[str, Snapshot | None] | None = None
    ) -> None:
        super().__init__(root)
        self._seen = {} if read is None else read
        self._places = places or {}
        self._files: dict[str, bytes] = {}
        self._rest = Scaffold()

    @property
    def scaffold(self) -> Scaffold:
        """What was recorded."""
        files = {path: [content] for path, content in self._files.items()}
        return Scaffold(files, self._rest.shared, self._rest.fragments, self._rest.members)

    def current(self, path: str) -> bytes | None:
        """The recorded content of a file, or its content in the project."""
        return self._files[path] if path in self._files else super().current(self._places.get(path, path))

    def create(self, path: str, content: bytes, *, on_exists: OnExists = OnExists.REFUSE, mode: int = 0o644) -> None:
        """Record a file."""
        del mode
        if path not in self._files or on_exists is OnExists.OVERWRITE:
            self._files[path] = content

    def once(self, path: str, content: Callable[[], bytes]) -> None:
        """Record a file that several commands share."""
        self._rest.shared.add(path)
        if path not in self._files:
            self._files[path] = content()

    def insert(self, path: str, *fragments: Fragment, width: int = WIDTH) -> None:
        """Record fragments."""
        del width
        self._rest.fragments |= {(path, fragment): None for fragment in fragments}

    def extend(self, path: str, *members: Member) -> None:
        """Record members."""
        self._rest.members |= {(path, member): None for member in members}

    def update(self, path: str, content: bytes | None) -> None:
        """Record the change of a recorded file. Other files stay as they are."""
        if path in self._files and content is not None:
            self._files[path] = content


def _without(members: Iterable[tuple[str, Member]], kept: Iterable[tuple[str, Member]]) -> Iterable[tuple[str, Member]]:
    """The members that are not kept. Of a replacement, the targets that are not kept."""
    remaining: dict[str, list[Member]] = {}
    for path, member in kept:
        remaining.setdefault(path, []).append(member)
    for path, member in members:
        rest = member.without(remaining.get(path, ()))
        if rest is not None:
            yield path, rest
