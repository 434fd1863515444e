"""A plan: all file changes of a command, checked in memory before any is made."""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import takewhile
from pathlib import Path, PurePosixPath

from pykb._regular_file import read_bytes
from pykb.diagnostics import NOTHING_WRITTEN, Diagnostic, Diagnostics, Edit
from pykb.diagnostics.codes.scaffold import FILE_CHANGED, NOT_A_FILE, PATH_OUTSIDE
from pykb.files.state import STATE


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A file as it was when first read. ``content`` is ``None`` when it did not exist."""

    path: str
    target: Path
    content: bytes | None
    mode: int | None

    @property
    def exists(self) -> bool:
        """Whether the file existed."""
        return self.content is not None


class OutsideError(Exception):
    """A path that no command may write to. Carries the finding to show."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


def snapshot(root: Path, path: str) -> Snapshot:
    """Read the file at a path below ``root``. The path has forward slashes.

    Raises:
        OutsideError: The path, or a symbolic link on it, leads out of the folder or to something other than a file.
    """
    target = locate(root, path)
    try:
        status = target.stat()
    except (FileNotFoundError, NotADirectoryError):
        return Snapshot(path, target, None, None)
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if stat.S_ISDIR(status.st_mode) else "a device or a pipe"
        raise OutsideError(_in_the_way(f"`{path}` is {what}, but must be a file"))
    return Snapshot(path, target, read_bytes(target), stat.S_IMODE(status.st_mode))


def locate(root: Path, path: str) -> Path:
    """Resolve a path below ``root``. Follows links inside the folder and refuses others.

    Raises:
        OutsideError: The path is not below ``root``, belongs to git or to a transaction, or goes through a file.
    """
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\\" in path or not path.isprintable():
        raise OutsideError(_outside(f"`{path}` is not a path below the project"))
    place = root / pure
    real = Path(os.path.realpath(place))
    if not real.is_relative_to(root) or real == root:
        raise OutsideError(_leads_out(root, place))
    if _is_reserved(real.relative_to(root).parts):
        raise OutsideError(_outside(f"`{path}` is where git or pykb keeps its own files"))
    above = () if real.parent.is_dir() else takewhile(lambda parent: parent != root, real.parents)
    for parent in above:
        if parent.exists() and not parent.is_dir():
            shown = parent.relative_to(root).as_posix()
            raise OutsideError(_in_the_way(f"`{shown}` is a file, but must be a folder"))
    return real


def _leads_out(root: Path, place: Path) -> Diagnostic:
    """The finding for the symbolic link on the path to ``place``."""
    parts = (*reversed(place.parents), place)
    link = next(part for part in parts if part.is_relative_to(root) and part.is_symlink())
    shown = link.relative_to(root).as_posix()
    helps = (f"replace the link with its target: `rm {shown}`",)
    return _outside(f"`{shown}` is a symbolic link that leads out of the project", helps)


def _outside(message: str, helps: tuple[str, ...] = ()) -> Diagnostic:
    return PATH_OUTSIDE.at(None, message, *helps, notes=NOTHING_WRITTEN)


def _in_the_way(message: str) -> Diagnostic:
    return NOT_A_FILE.at(None, message, "move it away", notes=NOTHING_WRITTEN)


def _is_reserved(parts: tuple[str, ...]) -> bool:
    """Whether the path belongs to git, which could run a file there, or to a transaction."""
    own = parts[1] if parts[0] == STATE and len(parts) > 1 else ""
    is_git = any(part.casefold() == ".git" for part in parts)
    return is_git or parts == (STATE,) or own == "lock" or own.startswith("transaction")


class Action(StrEnum):
    """What happens to a file, in the words of the output."""

    CREATE = "create"
    UPDATE = "update"
    OVERWRITE = "overwrite"
    REMOVE = "remove"
    MOVE = "move"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Change:
    """One file before and after.

    Attributes:
        snapshot: The file before.
        after: Its content; ``None`` for a file to remove.
        action: What happens to it.
        mode: Its mode.
        backup: Whether a copy of the old file is kept.
        origin: For a moved file, its path before. The plan has another change that removes it.
    """

    snapshot: Snapshot
    after: bytes | None
    action: Action
    mode: int
    backup: bool = False
    origin: str = ""

    @property
    def path(self) -> str:
        """The path relative to the project."""
        return self.snapshot.path

    @property
    def is_needed(self) -> bool:
        """Whether anything differs."""
        return self.snapshot.content != self.after

    def diff(self) -> str:
        """The change as ``git diff`` would show it."""
        return _diff(self.path, self.snapshot.content, self.after, self.mode)


@dataclass(frozen=True, slots=True)
class Plan:
    """The changes of one command, in order."""

    root: Path
    changes: tuple[Change, ...]
    kept: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not self.changes

    def diff(self) -> str:
        """All changes as one unified diff, as ``git diff`` would show them."""
        return "".join(change.diff() for change in self.changes)


class Draft:
    """Collects changes of the files below a folder. Later changes see the result of earlier ones."""

    def __init__(self, root: Path, *, new_mode: int = 0o644) -> None:
        self.root = root.resolve()
        self.diagnostics = Diagnostics()
        self._new_mode = new_mode
        self._seen: dict[str, Snapshot | None] = {}
        self._changes: dict[str, Change] = {}

    def place(self, path: str) -> str:
        """Where the file of a path is; for the place of a file, its path. Subclasses may know other places."""
        return path

    def read(self, path: str) -> Snapshot | None:
        """The file at a path before any change. Returns ``None`` and reports it when no command may write there."""
        if path not in self._seen:
            try:
                self._seen[path] = snapshot(self.root, self.place(path))
            except OutsideError as error:
                self._seen[path] = None
                self.diagnostics.add(error.diagnostic)
        return self._seen[path]

    @property
    def changed(self) -> frozenset[str]:
        """The paths of the changes."""
        return frozenset(self._changes)

    def before(self, path: str) -> bytes | None:
        """The content of a file before any change; ``None`` when it does not exist."""
        before = self.read(path)
        return before.content if before else None

    def current(self, path: str) -> bytes | None:
        """The content of a file after the changes; ``None`` when it does not exist."""
        if path in self._changes:
            return self._changes[path].after
        return self.before(path)

    def text(self, path: str) -> str | None:
        """The text of a file after the changes. ``None`` when it does not exist, or, with a finding, is not text."""
        content = self.current(path)
        if content is None:
            return None
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            self.diagnostics.report(NOT_A_FILE, None, f"`{path}` is not UTF-8 text", notes=NOTHING_WRITTEN)
            return None

    def update(self, path: str, content: bytes | None) -> None:
        """Change the content of a file. ``None`` removes it."""
        self.check_types(path, content)
        before = self.read(path)
        if before is not None and content != self.current(path):
            action = Action.UPDATE if before.exists else Action.CREATE
            self.put(before, content, Action.REMOVE if content is None else action)

    @staticmethod
    def check_types(path: object, content: object, mode: object = None) -> None:
        """Check the values that code of other packages gives, where no type checker does.

        Raises:
            TypeError: A value has the wrong type.
        """
        if not isinstance(path, str):
            raise TypeError(f"the path of a file must be a str, not {type(path).__name__}")
        if not isinstance(content, bytes | None):
            raise TypeError(f"the content of `{path}` must be bytes, not {type(content).__name__}")
        if not isinstance(mode, int | None):
            raise TypeError(f"the mode of `{path}` must be an int, not {type(mode).__name__}")

    def put(self, before: Snapshot, content: bytes | None, action: Action, *, new_mode: int | None = None) -> None:
        """Add a change. A file keeps its mode and the action of its first change."""
        path = self.place(before.path)
        known = self._changes.get(path)
        mode = before.mode or new_mode or (known.mode if known else self._new_mode)
        is_removal = Action.REMOVE in {action, known.action if known else action}
        self._changes[path] = Change(before, content, action if is_removal or not known else known.action, mode)

    def move(self, path: str, target: str, content: bytes) -> None:
        """Move a file to another path, with another content. It keeps its mode."""
        before, there = self.read(path), self.read(target)
        if before is not None and there is not None:
            self.update(path, None)
            self.put(there, content, Action.MOVE, new_mode=before.mode)
            self._changes[target] = replace(self._changes[target], origin=self.place(path))

    def back_up(self, path: str) -> None:
        """Keep a copy of a file that was changed or removed."""
        if path in self._changes:
            self._changes[path] = replace(self._changes[path], backup=True)

    def build(self) -> Plan:
        """The plan, with changes in the order given. Apply it only when there are no errors."""
        return Plan(self.root, tuple(change for change in self._changes.values() if change.is_needed))


def plan_of(root: Path, texts: Mapping[str, str | None], diagnostics: Diagnostics) -> Plan:
    """The plan for files with these texts, by path. ``None`` removes a file. The umask sets the mode of new files."""
    umask = os.umask(0o077)
    os.umask(umask)
    draft = Draft(root, new_mode=0o666 & ~umask)
    for path, text in texts.items():
        draft.update(path, None if text is None else text.encode())
    diagnostics.extend(draft.diagnostics)
    return draft.build()


def _diff(path: str, old: bytes | None, new: bytes | None, mode: int) -> str:
    head = f"diff --git a/{path} b/{path}\n"
    if old is None:
        head += f"new file mode 100{mode:o}\n"
    if new is None:
        head += f"deleted file mode 100{mode:o}\n"
    before = "/dev/null" if old is None else f"a/{path}"
    after = "/dev/null" if new is None else f"b/{path}"
    if b"\0" in (new or b"") or b"\0" in (old or b""):
        return head + f"Binary files {before} and {after} differ\n"
    lines = difflib.unified_diff(
        (old or b"").decode("utf-8", "backslashreplace").splitlines(keepends=True),
        (new or b"").decode("utf-8", "backslashreplace").splitlines(keepends=True),
        before,
        after,
    )
    body = "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
    return head + body


def digest(content: bytes | None) -> str:
    """The SHA-256 of a file; empty when it does not exist."""
    return "" if content is None else hashlib.sha256(content).hexdigest()


_LINE_END = re.compile(r"\r\n|\r|\n")
_MARK = "\ufeff"


def add_fixes(draft: Draft, diagnostics: Iterable[Diagnostic]) -> None:
    """Add the fixes of all findings to a draft. A fix that overlaps an earlier one is left for the next run.

    Reports files that no longer have the text that an edit replaces.
    """
    by_path: dict[str, list[tuple[Edit, ...]]] = {}
    for fix in dict.fromkeys(each.fix for each in diagnostics if each.fix):
        by_path.setdefault(fix[0].span.path, []).append(fix)
    for path, fixes in by_path.items():
        text = draft.text(path)
        if text is None and draft.read(path) is None:
            continue  # it was reported
        edited = _edited(text or "", fixes)
        if edited is None:
            message = f"`{path}` changed while the command ran"
            draft.diagnostics.report(FILE_CHANGED, None, message, notes=NOTHING_WRITTEN)
        else:
            draft.update(path, edited.encode())


def _edited(text: str, fixes: Iterable[tuple[Edit, ...]]) -> str | None:
    """The text after the fixes, or ``None`` if it is not the text that they were made for."""
    mark = _MARK if text.startswith(_MARK) else ""
    text = text.removeprefix(_MARK)
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    taken: list[tuple[int, int, str]] = []
    for fix in fixes:
        places = []
        for edit in fix:
            span = edit.span
            if span.end_line > len(starts):
                return None
            start, end = starts[span.line - 1] + span.column - 1, starts[span.end_line - 1] + span.end_column - 1
            if text[start:end] != edit.old:
                return None
            places.append((start, end, edit.new))
        if not any(start < last and first < end for start, end, _ in places for first, last, _ in taken):
            taken += places
    for start, end, new in sorted(taken, reverse=True):
        text = text[:start] + new + text[end:]
    return mark + text
