"""A plan: every change of files that a command would make, judged in memory before one of them is made."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pykb.files.workspace import Snapshot


class Action(StrEnum):
    """What happens to a file, in the words that are shown."""

    CREATE = "create"
    UPDATE = "update"
    OVERWRITE = "overwrite"
    REMOVE = "remove"
    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class Change:
    """One file before and after; ``after`` is ``None`` for a file that goes."""

    snapshot: Snapshot
    after: bytes | None
    action: Action
    mode: int

    @property
    def path(self) -> str:
        """Where, relative to the project."""
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
    """The changes of one command in the order in which they are made."""

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
