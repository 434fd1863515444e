"""Where artifacts go: into directories, to standard output, nowhere, or only compared. All or nothing is written."""

from __future__ import annotations

import contextlib
import difflib
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from pykb.diagnostics import Diagnostics, Span
from pykb.diagnostics.codes.generate import OUT_OF_DATE, PATH_OUTSIDE
from pykb.diagnostics.codes.scaffold import NOT_A_FILE
from pykb.gen.artifact import Artifact
from pykb.gen.options import DEFAULT_FOLDERS


@dataclass(frozen=True, slots=True)
class OutputRules:
    """The destination of each generator.

    Attributes:
        folders: A directory by generator, relative to the project.
        discarded: Generators whose files go nowhere.
        printed: Generators whose files go to standard output.
    """

    folders: Mapping[str, str] = field(default_factory=lambda: DEFAULT_FOLDERS)
    discarded: frozenset[str] = frozenset()
    printed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Change:
    """A file to write, or to remove when it has no text.

    Attributes:
        path: Relative to the project, with forward slashes.
        before: What is there now; ``None`` when nothing is.
        after: What shall be there; ``None`` for a stale file.
    """

    path: str
    before: str | None
    after: str | None

    @property
    def is_needed(self) -> bool:
        """Whether anything differs."""
        return self.before != self.after

    def diff(self) -> str:
        """The change as a unified diff."""
        lines = difflib.unified_diff(
            (self.before or "").splitlines(keepends=True),
            (self.after or "").splitlines(keepends=True),
            fromfile=f"a/{self.path}" if self.before is not None else "/dev/null",
            tofile=f"b/{self.path}" if self.after is not None else "/dev/null",
        )
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def plan_changes(
    root: Path,
    artifacts: Mapping[str, Iterable[Artifact]],
    rules: OutputRules,
    diagnostics: Diagnostics,
) -> list[Change]:
    """What writing the artifacts would change, by path."""
    found: dict[str, Change] = {}
    for generator, files in artifacts.items():
        if generator in rules.discarded or generator in rules.printed:
            continue
        folder = PurePosixPath(rules.folders[generator])
        if not (root / folder).resolve().is_relative_to(root.resolve()):
            diagnostics.add(
                PATH_OUTSIDE.at(
                    None,
                    f"the output directory `{folder}` leaves the project `{root.resolve().name}`",
                    notes=("nothing was written",),
                    help=("name a directory inside the project, or use `--stdout`",),
                ),
            )
            continue
        for artifact in files:
            path = str(folder / artifact.path)
            blocked = _blocked(root, PurePosixPath(path))
            if blocked:
                diagnostics.add(NOT_A_FILE.at(None, blocked, notes=("nothing was written",), help=("move it away",)))
                continue
            found[path] = Change(path, read_text(root / path), artifact.render())
    return [found[path] for path in sorted(found)]


def _blocked(root: Path, path: PurePosixPath) -> str:
    """What stands in the way of a file, in words."""
    if (root / path).is_dir():
        return f"`{path}` is a folder, but must be a file"
    for parent in reversed(path.parents):
        if (root / parent).exists() and not (root / parent).is_dir():
            return f"`{parent}` is a file, but must be a folder"
    return ""


def read_text(path: Path) -> str | None:
    """The text of a file; ``None`` when there is none, an unreadable one counts as different from anything."""
    try:
        return path.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError):
        return ""


def printed(artifacts: Mapping[str, Iterable[Artifact]], rules: OutputRules) -> str:
    """The files that go to standard output, as one stream of documents."""
    return "".join(
        artifact.render() for generator, files in artifacts.items() if generator in rules.printed for artifact in files
    )


def check(changes: Iterable[Change], *, command: str = "pykb generate") -> tuple[str, Diagnostics]:
    """What ``--check`` says: a diff, and one finding for each file that is not up to date.

    Args:
        changes: What the run would change.
        command: What to type to change it.
    """
    diagnostics = Diagnostics()
    needed = [change for change in changes if change.is_needed]
    for change in needed:
        if change.after is None:
            message = f"`{change.path}` is stale: no kind of the project generates it"
        elif change.before is None:
            message = f"`{change.path}` is missing"
        else:
            message = f"`{change.path}` is not what the types say"
        span = Span(change.path, 1, 1) if change.before is not None else None
        diagnostics.add(OUT_OF_DATE.at(span, message, notes=("nothing was written",), help=(command,)))
    return "".join(change.diff() for change in needed), diagnostics


def write(root: Path, changes: Iterable[Change]) -> list[Change]:
    """Make the changes, each file replaced in one step; gives those that were needed.

    All texts are on disk under temporary names before the first file is replaced.
    """
    needed = [change for change in changes if change.is_needed]
    staged: list[tuple[Path, Path]] = []
    try:
        for change in needed:
            if change.after is not None:
                target = root / change.path
                target.parent.mkdir(parents=True, exist_ok=True)
                staged.append((_stage(target, change.after), target))
        while staged:
            os.replace(*staged[0])  # noqa: PTH105 - the one call that is atomic everywhere
            del staged[0]
        for change in needed:
            if change.after is None:
                (root / change.path).unlink(missing_ok=True)
    finally:
        for temporary, _ in staged:
            temporary.unlink(missing_ok=True)
    return needed


def _stage(target: Path, text: str) -> Path:
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:200]}.", suffix=".tmp")
    path = Path(name)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    with contextlib.suppress(OSError):
        # Temporary files are private; a manifest is as public as the file it replaces, or as the umask says.
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        path.chmod(mode)
    return path


def _umask() -> int:
    current = os.umask(0o077)
    os.umask(current)
    return current
