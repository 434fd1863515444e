"""Asks git about a repository: the files of a commit, and what is not committed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pykb.tools.process import find_program, run

NAME = "git"
_QUIET = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "--no-optional-locks")
"""A repository can name programs in its own settings. They are not run."""


def has_repository(folder: Path) -> bool:
    """Whether a folder is in the work tree of a repository. False without git."""
    return _answer(folder, "rev-parse", "--is-inside-work-tree") == "true\n"


def uncommitted(folder: Path) -> list[str]:
    """The tracked files below a folder that differ from the last commit. Runs no filters of the repository."""
    quiet: list[str] = []
    found = _answer(folder, "config", "-z", "--show-scope", "--name-only", "--get-regexp", r"^filter\.") or ""
    scopes = found.split("\0")
    for scope, name in zip(scopes[::2], scopes[1::2], strict=False):
        if scope in {"local", "worktree"}:
            quiet += ["-c", f"{name}={'false' if name.endswith('.required') else ''}"]
    about = ("--porcelain", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=all")
    lines = (_answer(folder, *quiet, "status", *about, "--", ".") or "").split("\0")
    prefix = (_answer(folder, "rev-parse", "--show-prefix") or "").rstrip("\n")
    return [line[3:].removeprefix(prefix) for line in lines if line]


def tracked(folder: Path) -> frozenset[str]:
    """The files below a folder that git tracks."""
    return frozenset((_answer(folder, "ls-files", "-z") or "").split("\0"))


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of a repository.

    Attributes:
        folder: A folder of the work tree. Paths are relative to it.
        name: The commit's hash.
    """

    folder: Path
    name: str

    @classmethod
    def find(cls, folder: Path, revision: str) -> Commit | None:
        """The commit of a revision. ``None`` without such a commit, a repository, or git."""
        if not revision or revision.startswith("-"):
            return None  # an option of git
        found = _answer(folder, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
        return None if found is None else cls(folder, found.strip())

    def read(self, path: str) -> str | None:
        """The text of a file, without git's filters; ``None`` when the commit does not have it."""
        return _answer(self.folder, "cat-file", "blob", f"{self.name}:./{PurePosixPath(path)}")

    def files(self, directory: str) -> Sequence[str]:
        """The names of the entries in a directory."""
        listed = _answer(
            self.folder, "ls-tree", "--full-tree", "-z", "--name-only", f"{self.name}:./{PurePosixPath(directory)}"
        )
        return [] if listed is None else [name for name in listed.split("\0") if name]


def _answer(folder: Path, *words: str) -> str | None:
    program = find_program(NAME)
    if program is None:
        return None
    done = run(
        (program, *_QUIET, *words), cwd=folder, env={"GIT_TERMINAL_PROMPT": "0"}
    )  # a partial clone may ask its origin
    return done.stdout if done.ok else None
