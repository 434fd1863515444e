"""Asks git about a repository, and merges three states of a folder.

The merge has a repository of its own. That of the user is not touched, and none of its hooks, filters, attributes and
settings is in effect.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import COMMAND_FAILED, REPOSITORY_UNREADABLE, TOOL_MISSING
from pykb.files.durable import temporary
from pykb.tools.process import LimitError, Limits, Output, find_program, quote, run_bounded

NAME = "git"
_LIMITS = Limits(seconds=120, size=64 * 1024**2)
_SAFE = (
    "--no-optional-locks",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "safe.bareRepository=explicit"),  # a folder of the project with the files of a repository is none
)
_ALONE = {
    "GIT_ALLOW_PROTOCOL": "",  # no transport: git fetches missing objects with programs that the repository names
    "GIT_NO_LAZY_FETCH": "1",  # newer git says so in better words
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
"""A repository can name programs in its own settings. None of them runs."""
_NO_MATCH = 1
"""The exit code of git when nothing has the name or the pattern."""
_REGULAR = ("100644 blob ", "100755 blob ", "100664 blob ")
"""What `git ls-tree` says of regular files."""


def has_repository(folder: Path) -> bool:
    """Whether a folder is in the work tree of a repository. False without git.

    Raises:
        EnvironmentProblem: There is a repository that git does not read.
    """
    done = _ask(folder, "rev-parse", "--is-inside-work-tree")
    if done is None or b"not a git repository" in done.stderr:
        return False
    return _read(done, "rev-parse") == "true\n"


def uncommitted(folder: Path) -> list[str]:
    """The tracked files below a folder that differ from the last commit. Runs no filters of the repository.

    Raises:
        EnvironmentProblem: git does not read the repository.
    """
    quiet: list[str] = []
    about = ("-z", "--show-scope", "--name-only", "--get-regexp", r"^filter\.")
    found = _answer(folder, "config", *about, fine=(0, _NO_MATCH)).split("\0")
    for scope, name in zip(found[::2], found[1::2], strict=False):
        if scope in {"local", "worktree"}:
            if "=" in name:  # `-c` would end the name there, and the filter would run
                raise _unreadable("config", f"`{name}` has a name with `=`")
            quiet += ["-c", f"{name}={'false' if name.endswith('.required') else ''}"]
    shown = ("--porcelain", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=all")
    lines = _answer(folder, "status", *shown, "--", ".", settings=quiet).split("\0")
    prefix = _answer(folder, "rev-parse", "--show-prefix").rstrip("\n")
    return [line[3:].removeprefix(prefix) for line in lines if line]


def tracked(folder: Path) -> frozenset[str]:
    """The files below a folder that git tracks.

    Raises:
        EnvironmentProblem: git does not read the repository.
    """
    return frozenset(_answer(folder, "ls-files", "-z").split("\0"))


def names(folder: Path) -> list[str]:
    """The tags and branches of a repository.

    Raises:
        EnvironmentProblem: git does not read the repository.
    """
    return _answer(folder, "for-each-ref", "--format=%(refname:short)", "refs/tags", "refs/heads").split()


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of a repository. Its methods raise an ``EnvironmentProblem`` for what git cannot read.

    Attributes:
        folder: A folder of the work tree. Paths are relative to it.
        name: The commit's hash.
    """

    folder: Path
    name: str

    @classmethod
    def find(cls, folder: Path, revision: str) -> Commit | None:
        """The commit of a revision. ``None`` without such a commit, a repository, or git.

        Raises:
            EnvironmentProblem: The revision has a name, but git cannot read its commit.
        """
        if not revision or revision.startswith("-"):
            return None  # an option of git
        if not has_repository(folder):
            return None
        asked = ("rev-parse", "--verify", "--quiet")
        found = _answer(folder, *asked, f"{revision}^{{commit}}", fine=(0, _NO_MATCH)).strip()
        if not found:
            named = _answer(folder, *asked, revision, fine=(0, _NO_MATCH)).strip()
            if named not in {"", revision}:
                _answer(folder, "cat-file", "-t", named)  # fails unless it is something else than a commit
        return cls(folder, found) if found and "\n" not in found else None  # several for a range

    def read(self, path: str) -> str | None:
        """The text of a file, without git's filters; ``None`` when the commit does not have it."""
        about = _answer(self.folder, "ls-tree", "-z", self.name, "--", str(PurePosixPath(path)))
        words = about.split("\t")[0].split(" ")  # its mode, its kind, its hash
        if words[1:2] != ["blob"]:
            return None
        text = _answer(self.folder, "cat-file", "blob", words[2])
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")

    def export(self, target: Path) -> None:
        """Write all files as git stores them: no filter of the repository runs. Leaves out links and submodules.

        Args:
            target: An empty folder.

        Raises:
            EnvironmentProblem: The files are too large, or have names that no file can have.
        """
        listed = _answer(self.folder, "ls-tree", "-r", "-z", self.name).split("\0")
        entries = [entry.partition("\t") for entry in listed if entry.startswith(_REGULAR)]
        hashes = [about.split(" ")[2] for about, _, _ in entries]
        done = _ask(self.folder, "cat-file", "--batch", stdin="".join(f"{each}\n" for each in hashes).encode())
        stored = b"" if done is None else _read_bytes(done, "cat-file")
        place = 0
        for _, _, path in entries:
            begin = stored.index(b"\n", place) + 1
            place = begin + int(stored[place:begin].split(b" ")[2]) + 1
            _write(target, path, stored[begin : place - 1])

    def files(self, directory: str) -> Sequence[str]:
        """The names of the files in a directory. Empty when the commit does not have it."""
        return list(self.hashes(directory))

    def hashes(self, directory: str) -> Mapping[str, str]:
        """The hashes of the files in a directory, by name: see :func:`blob_hash`. One call of git."""
        listed = _answer(self.folder, "ls-tree", "-z", self.name, "--", f"{PurePosixPath(directory)}/")
        found: dict[str, str] = {}
        for entry in listed.split("\0"):
            about, _, path = entry.partition("\t")  # its mode, its kind, its hash
            if about.split(" ")[1:2] == ["blob"]:
                found[PurePosixPath(path).name] = about.split(" ")[2]
        return found


def _write(target: Path, path: str, content: bytes) -> None:
    if not {"", ".", ".."}.isdisjoint(path.split("/")):
        raise _unreadable("ls-tree", f"the path {path!r} leads out of the tree")
    file = target / path
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    except (OSError, ValueError) as error:
        raise _unreadable("ls-tree", f"{path!r} cannot be written: {error}") from error


def blob_hash(content: bytes, like: str) -> str:
    """The hash under which git stores a content, by the algorithm of another hash."""
    made = hashlib.sha256 if len(like) == hashlib.sha256().digest_size * 2 else hashlib.sha1
    return made(b"blob %d\0%s" % (len(content), content), usedforsecurity=False).hexdigest()


def _answer(folder: Path, *words: str, settings: Sequence[str] = (), fine: tuple[int, ...] = (0,)) -> str:
    """What git writes; empty without git."""
    done = _ask(folder, *settings, *words)
    return "" if done is None else _read(done, words[0], fine)


def _read(done: Output, command: str, fine: tuple[int, ...] = (0,)) -> str:
    return _read_bytes(done, command, fine).decode("utf-8", "surrogateescape")


def _read_bytes(done: Output, command: str, fine: tuple[int, ...] = (0,)) -> bytes:
    if done.code not in fine:
        raise _unreadable(command, done.stderr.decode("utf-8", "replace"))
    return done.stdout


def _ask(folder: Path, *words: str, stdin: bytes = b"") -> Output | None:
    """Run git in a folder. ``None`` without git."""
    program = find_program(NAME)
    if program is None:
        return None
    try:
        return run_bounded((program, *_SAFE, *words), cwd=folder, stdin=stdin, limits=_LIMITS, env=_variables())
    except (LimitError, OSError) as error:
        raise _unreadable(words[0], str(error)) from error


def _variables() -> dict[str, str]:
    variables = os.environ | _ALONE
    # git set them for a hook, and they are right in the root of the work tree only.
    if "GIT_WORK_TREE" not in variables:
        for name in ("GIT_DIR", "GIT_INDEX_FILE"):
            variables.pop(name, None)
    return variables


def _unreadable(command: str, said: str) -> EnvironmentProblem:
    return REPOSITORY_UNREADABLE.problem(
        f"git cannot read the repository: `git {command}` failed",
        "if it is a partial clone that you trust: `git fetch --refetch --no-filter`",
        notes=(*quote(said, source="it wrote"), "pykb does not let git fetch what is missing"),
    )


_CONFLICTS = 1
"""The exit code of `git merge` that found conflicts."""
_ATTRIBUTES = "* merge -text -ident -filter !eol !working-tree-encoding !conflict-marker-size\n"
"""Wins over every `.gitattributes`: files are merged as text, and written as they are."""
_SETTINGS = (
    "core.autocrlf=false",
    "core.fileMode=true",
    "core.fsync=none",  # the repository is temporary
    "core.hooksPath=/dev/null",
    "core.protectHFS=false",  # these would refuse names that are fine here
    "core.protectNTFS=false",
    "core.quotePath=false",
    "gc.auto=0",
    "merge.directoryRenames=true",
    "merge.renameLimit=20000",
    "merge.verbosity=0",
)


@dataclass(frozen=True, slots=True)
class File:
    """A file of a tree."""

    content: bytes
    executable: bool = False


Tree = Mapping[str, File]
"""Files by path, with forward slashes."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The result of a merge.

    Attributes:
        files: The files. Conflicts in text have git's markers.
        conflicts: The paths with conflicts, each with the states that have a file there: base, mine, theirs.
    """

    files: dict[str, File] = field(default_factory=dict)
    conflicts: dict[str, frozenset[str]] = field(default_factory=dict)


def merge(base: Tree, mine: Tree, theirs: Tree, *, label: str) -> Merged:
    """Merge what changed from ``base`` to ``theirs`` into ``mine``. Follows renamed files.

    Args:
        base: The common ancestor.
        mine: The files of the user.
        theirs: The files with the change to merge.
        label: The name of ``theirs`` in conflict markers: a word.

    Raises:
        EnvironmentProblem: There is no git, or it fails.
    """
    program = find_program(NAME)
    if program is None:
        raise TOOL_MISSING.problem("git merges the files, and there is no `git` on PATH")
    with temporary("merge") as folder:
        repository = _Repository(program, folder)
        repository.fill(base, mine, theirs, label)
        is_clean = repository.merge(label)
        return Merged(dict(repository.files()), {} if is_clean else repository.conflicts())


class _Repository:
    def __init__(self, program: Path, folder: Path) -> None:
        self._program = program
        self._git = folder / "git"
        self._tree = folder / "tree"
        self._tree.mkdir()
        none = str(folder / "none")
        self._variables = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": none,
            "XDG_CONFIG_HOME": none,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
        }
        for who in ("AUTHOR", "COMMITTER"):
            self._variables |= {
                f"GIT_{who}_NAME": "pykb",
                f"GIT_{who}_EMAIL": "pykb@localhost",
                f"GIT_{who}_DATE": "@0 +0000",
            }
        for name in ("objects", "refs", "info"):  # all that `git init` would make
            (self._git / name).mkdir(parents=True)
        (self._git / "HEAD").write_text("ref: refs/heads/mine\n", encoding="utf-8")
        (self._git / "info/attributes").write_text(_ATTRIBUTES, encoding="utf-8")

    def fill(self, base: Tree, mine: Tree, theirs: Tree, label: str) -> None:
        """Commit the three states, and check out that of the user."""
        stream = b"".join(
            (
                *_commit("base", base, ""),
                *_commit("mine", mine, "base"),
                *_commit(label, theirs, "base"),
            )
        )
        self._run("fast-import", "--quiet", "--date-format=raw", stdin=stream)
        self._run("reset", "--quiet", "--hard")

    def merge(self, label: str) -> bool:
        """Merge, without a commit. Returns whether there are no conflicts."""
        words = ("merge", "--quiet", "--no-commit", "--no-ff", "--allow-unrelated-histories", label)
        return self._run(*words, fine=(0, _CONFLICTS)).code == 0

    def files(self) -> Iterator[tuple[str, File]]:
        """The files after the merge."""
        for path in sorted(self._tree.rglob("*")):
            if path.is_file() and not path.is_symlink():
                is_executable = bool(path.stat().st_mode & 0o100)
                yield path.relative_to(self._tree).as_posix(), File(path.read_bytes(), is_executable)

    def conflicts(self) -> dict[str, frozenset[str]]:
        """The unmerged paths with their states."""
        found: dict[str, frozenset[str]] = {}
        names = {b"1": "base", b"2": "mine", b"3": "theirs"}
        for entry in self._run("ls-files", "--unmerged", "-z").stdout.split(b"\0"):
            about, _, name = entry.partition(b"\t")
            if name:
                path = os.fsdecode(name)
                found[path] = found.get(path, frozenset()) | {names[about.split()[2]]}
        return found

    def _run(self, *words: str, stdin: bytes = b"", fine: tuple[int, ...] = (0,)) -> Output:
        settings = [word for each in _SETTINGS for word in ("-c", each)]
        where = (f"--git-dir={self._git}", f"--work-tree={self._tree}")
        argv: tuple[str | Path, ...] = (self._program, *where, *settings, *words)
        try:
            done = run_bounded(argv, cwd=self._tree, stdin=stdin, limits=_LIMITS, env=self._variables)
        except (LimitError, OSError) as error:
            raise _failed(words[0], str(error)) from error
        if done.code not in fine:
            raise _failed(words[0], (done.stderr or done.stdout).decode("utf-8", "replace"))
        return done


def _commit(name: str, tree: Tree, parent: str) -> Iterator[bytes]:
    """A commit in the format of `git fast-import`."""
    yield b"commit refs/heads/%s\ncommitter pykb <pykb@localhost> 0 +0000\ndata 0\n" % name.encode()
    yield b"from refs/heads/%s\ndeleteall\n" % parent.encode() if parent else b"deleteall\n"
    for path, file in sorted(tree.items()):
        quoted = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
        mode = b"100755" if file.executable else b"100644"
        yield b'M %s inline "%s"\ndata %d\n%s\n' % (mode, quoted, len(file.content), file.content)


def _failed(command: str, said: str) -> EnvironmentProblem:
    message = f"`git {command}` failed while the files were merged"
    return COMMAND_FAILED.problem(message, notes=quote(said, source="it wrote"))
