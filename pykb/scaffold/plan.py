"""Collects what plugins want to write into a plan, and checks it before it is applied."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path, PurePosixPath

import yaml

from pykb.diagnostics import Diagnostic, Span
from pykb.diagnostics.codes.scaffold import FILE_EXISTS, FILE_MISSING, RENDERED_BROKEN
from pykb.files.plan import Action, Draft, Plan
from pykb.project import FILE_NAME
from pykb.python_source.layout import WIDTH
from pykb.reading import read_python, yaml_text
from pykb.scaffold import kustomization
from pykb.scaffold.insert import Fragment, insert, missing
from pykb.scaffold.kustomization import Member


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
    """Collects the changes that plugins want."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._kept: set[str] = set()
        self.edits: list[Edit] = []

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
            self.diagnostics.add(
                FILE_EXISTS.at(
                    Span(path, 1, 1),
                    f"`{path}` already exists, with different content",
                    notes=("nothing was written",),
                    help=(
                        "`--diff` shows what would change; `--force` overwrites it and keeps a copy in `.pykb/backup`",
                    ),
                )
            )

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
            self.diagnostics.add(
                FILE_MISSING.at(
                    None,
                    f"`{path}` does not exist, so nothing can be added to it",
                    notes=absent.notes,
                    help=absent.help,
                )
            )
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
            lines = kustomization.pasted(members)
            helps = (f"bring it back, or make it with these lines, then run the command again:\n{lines}",)
            self.diagnostics.add(FILE_MISSING.at(None, message, notes=("nothing was written",), help=helps))
            return
        text, problem = kustomization.extend(before, members, path=path)
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
        self._kept.add(path)

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
        yaml_text.load_all(text)
    except yaml.MarkedYAMLError as error:
        return _finding(path, yaml_text.place(error, path).line, f"is not YAML: {error.problem}")
    return None


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
    return RENDERED_BROKEN.at(
        Span(path, line, 1),
        f"the rendered file `{path}` {problem}",
        notes=("nothing was written",),
    )
