"""Generated files as data, and where they go: into directories, to standard output, or nowhere.

Compares them for ``--check``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from pykb._regular_file import real_path
from pykb.diagnostics import NOTHING_WRITTEN, Diagnostic, Diagnostics, Span
from pykb.diagnostics.codes.generate import OUT_OF_DATE, PATH_OUTSIDE
from pykb.files.plan import Plan
from pykb.gen.emit.yaml import dump_document

DEFAULT_FOLDERS: Mapping[str, str] = {"crd": "config/crd/bases", "rbac": "config/rbac", "webhook": "config/webhook"}


@dataclass(frozen=True, slots=True)
class Artifact:
    """A generated file.

    Attributes:
        path: Where it goes, relative to the output directory of its generator, with forward slashes.
        documents: The YAML documents in order, as plain data.
        header: Text written before the first document (a licence); ends with a line break unless empty.
    """

    path: str
    documents: tuple[Mapping[str, object], ...]
    header: str = ""

    def render(self) -> str:
        """The file's text: the header, then each document after its ``---``."""
        return self.header + "".join("---\n" + dump_document(document) for document in self.documents)


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

    def written(self, generators: Iterable[str]) -> list[str]:
        """The directories that these generators write to."""
        kept = (name for name in generators if name not in self.discarded | self.printed)
        return list(dict.fromkeys(self.folders[name] for name in kept))


def common_folder(root: Path, rules: OutputRules, generators: Iterable[str]) -> Path:
    """The common parent of all output: the project, or the nearest folder that contains all outputs."""
    places = [root.resolve(), *(real_path(root / folder) for folder in rules.written(generators))]
    return Path(os.path.commonpath(places))


def check_places(root: Path, rules: OutputRules, generators: Iterable[str]) -> Iterator[Diagnostic]:
    """Report output directories outside of the project.

    The settings of a cloned repository could name any directory.
    """
    for folder in rules.written(generators):
        if not real_path(root / folder).is_relative_to(root.resolve()):
            yield PATH_OUTSIDE.at(
                None,
                f"the output directory `{folder}` is outside the project `{root.resolve().name}`",
                "if this is intended: `--allow-outside`; else use a directory inside the project, or `--stdout`",
                notes=NOTHING_WRITTEN,
            )


def texts(
    root: Path, artifacts: Mapping[str, Iterable[Artifact]], rules: OutputRules, *, below: Path | None = None
) -> dict[str, str]:
    """The texts of a run's files by path. Paths are relative to ``below``, by default the project."""
    found: dict[str, str] = {}
    for generator, files in artifacts.items():
        if generator not in rules.discarded | rules.printed:
            folder = moved(rules.folders[generator], root, below)
            found |= {str(PurePosixPath(folder) / artifact.path): artifact.render() for artifact in files}
    return dict(sorted(found.items()))


def moved(path: str, root: Path, below: Path | None) -> str:
    """A path of the project, relative to another folder."""
    if below is None or below == root.resolve():
        return path
    return Path(os.path.relpath(real_path(root / path), below)).as_posix()


def printed(artifacts: Mapping[str, Iterable[Artifact]], rules: OutputRules) -> str:
    """The files that go to standard output, as one stream of documents."""
    return "".join(
        artifact.render() for generator, files in artifacts.items() if generator in rules.printed for artifact in files
    )


def check(plan: Plan, *, command: str = "pykb generate") -> tuple[str, Diagnostics]:
    """The output of ``--check``: a diff, and one finding for each file that is not up to date.

    Args:
        plan: The changes that the run would make.
        command: The command that makes the changes.
    """
    diagnostics = Diagnostics()
    for change in plan.changes:
        if change.after is None:
            message = f"`{change.path}` is stale: no kind of the project generates it"
        elif not change.snapshot.exists:
            message = f"`{change.path}` is missing"
        else:
            message = f"`{change.path}` does not match the types"
        span = Span(change.path, 1, 1) if change.snapshot.exists else None
        diagnostics.report(OUT_OF_DATE, span, message, command, notes=NOTHING_WRITTEN)
    return plan.diff(), diagnostics
