"""What a scaffolding command would write, gathered from plugins into a plan, and checked before it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from pykb.diagnostics import Diagnostic, Diagnostics, Span
from pykb.diagnostics.codes.scaffold import FILE_EXISTS, FILE_MISSING, NOT_A_FILE
from pykb.files.plan import Action, Change, Plan
from pykb.files.workspace import OutsideError, Snapshot, Workspace
from pykb.project import FILE_NAME
from pykb.scaffold.check import check
from pykb.scaffold.insert import Fragment, insert, missing


class OnExists(StrEnum):
    """What to do where a file that would be made is there already, with other content."""

    REFUSE = "refuse"
    KEEP = "keep"
    OVERWRITE = "overwrite"


class PlanBuilder:
    """Gathers what plugins want written. Later wishes see the result of earlier ones."""

    def __init__(self, root: Path) -> None:
        self.workspace = Workspace(root)
        self.diagnostics = Diagnostics()
        self._after: dict[str, bytes] = {}
        self._mode: dict[str, int] = {}
        self._action: dict[str, Action] = {}
        self._kept: dict[str, None] = {}

    def current(self, path: str) -> bytes | None:
        """A file as it will be; ``None`` where there is none."""
        if path in self._after:
            return self._after[path]
        snapshot = self._read(path)
        return snapshot.content if snapshot else None

    def text(self, path: str) -> str | None:
        """The text of a file as it will be; ``None`` where there is none, or, with a finding, where it is no text."""
        content = self.current(path)
        if content is None:
            return None
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            self.diagnostics.add(NOT_A_FILE.at(None, f"`{path}` is no UTF-8 text", notes=("nothing was written",)))
            return None

    def create(self, path: str, content: bytes, *, on_exists: OnExists = OnExists.REFUSE, mode: int = 0o644) -> None:
        """Make a file. The same content in place already is no change at all."""
        snapshot = self._read(path)
        if snapshot is None:
            return
        broken = check(path, content)
        if broken is not None:
            self.diagnostics.add(broken)
            return
        if snapshot.content == content:
            return
        if not snapshot.exists:
            self._set(path, content, Action.CREATE, mode)
        elif on_exists is OnExists.OVERWRITE:
            self._set(path, content, Action.OVERWRITE, snapshot.mode or mode)
        elif on_exists is OnExists.KEEP:
            self._kept[path] = None
        else:
            self.diagnostics.add(
                FILE_EXISTS.at(
                    Span(path, 1, 1),
                    f"`{path}` is already there, with other content",
                    notes=("nothing was written",),
                    help=(
                        "`--diff` shows what would change; `--force` overwrites it and keeps a copy in `.pykb/backup`",
                    ),
                )
            )

    def update(self, path: str, content: bytes) -> None:
        """Give a file new content that was made from its old."""
        snapshot = self._read(path)
        if snapshot is None or content == self.current(path):
            return
        self._set(path, content, Action.UPDATE if snapshot.exists else Action.CREATE, snapshot.mode or 0o644)

    def insert(self, path: str, *fragments: Fragment) -> None:
        """Insert above an anchor, the same for all fragments; those that are there already are left alone."""
        if self._read(path) is None:
            return
        before = self.current(path)
        if before is None:
            absent = missing(fragments, path)
            self.diagnostics.add(
                FILE_MISSING.at(None, f"`{path}` is not there to be added to", notes=absent.notes, help=absent.help)
            )
            return
        text = self.text(path)
        if text is None:
            return
        after, problem = insert(text, fragments, path=path)
        if problem is not None:
            self.diagnostics.add(_as_on_disk(problem, text, self.workspace.read(path).content or before))
        elif after != text:
            self.update(path, after.encode())

    def edit(self, path: str, change: Callable[[str], str]) -> None:
        """Apply a function to the text of a file that is there."""
        before = self.current(path)
        if before is not None:
            self.update(path, change(before.decode("utf-8")).encode())

    def build(self) -> Plan:
        """The plan, PROJECT last, so it never claims too much. To be applied only when there are no errors."""
        paths = sorted(self._after, key=lambda path: (path == FILE_NAME, path))
        changes = (
            Change(self.workspace.read(path), self._after[path], self._action[path], self._mode[path]) for path in paths
        )
        needed = tuple(change for change in changes if change.is_needed)
        return Plan(self.workspace.root, needed, tuple(sorted(self._kept)))

    def _set(self, path: str, content: bytes, action: Action, mode: int) -> None:
        self._after[path] = content
        self._mode[path] = mode
        self._action.setdefault(path, action)

    def _read(self, path: str) -> Snapshot | None:
        try:
            return self.workspace.read(path)
        except OutsideError as error:
            self.diagnostics.add(error.diagnostic)
            return None


def _as_on_disk(problem: Diagnostic, planned: str, on_disk: bytes) -> Diagnostic:
    """A finding about a text to which the plan has added lines, at the line that its reader will find."""
    if problem.span is None or planned.encode() == on_disk:
        return problem
    line = planned.splitlines()[problem.span.line - 1]
    lines = on_disk.decode("utf-8").splitlines()
    if line not in lines:
        return problem
    return replace(problem, span=Span(problem.span.path, lines.index(line) + 1, problem.span.column))
