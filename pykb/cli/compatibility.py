"""Reports changes of CRDs in ``pykb generate`` that break stored objects or clients."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pykb.diagnostics import Diagnostic, Severity
from pykb.diagnostics.codes.generate import OPTION, REVISION
from pykb.files.plan import Change
from pykb.gen import compat
from pykb.gen.request import Request
from pykb.gen.run import GenerateResult
from pykb.tools.git import Commit


def replaced(root: Path, changes: Iterable[Change], result: GenerateResult) -> Iterable[Diagnostic]:
    """Compare the new CRDs with the files that they replace. Breaking changes are warnings."""
    old = compat.replaced(root, changes)
    return compat.find_breaking_changes(old, {crd.name: crd for crd in result.crds}, severity=Severity.WARNING)


def since(root: Path, revision: str, request: Request, result: GenerateResult) -> Iterable[Diagnostic]:
    """Compare the new CRDs with those of a commit. Breaking changes are errors."""
    if "crd" not in result.artifacts:
        return [OPTION.at(None, "`--check-compat` compares CRDs, and none are generated", help=("pykb generate crd",))]
    commit = Commit.find(root, revision)
    if commit is None:
        return [
            REVISION.at(
                None,
                f"git does not know the commit `{revision}` here",
                help=("git log --oneline  # shows some", "git fetch origin main  # in CI, for `origin/main`"),
            )
        ]
    if request.allow_breaking:
        return []
    old = compat.of_commit(commit, request.rules.folders["crd"], _groups(root, result))
    new = {crd.name: crd for crd in result.crds}
    if not request.is_whole_project:
        old = {name: document for name, document in old.items() if name in new}
    return compat.find_breaking_changes(old, new, severity=Severity.ERROR)


def _groups(root: Path, result: GenerateResult) -> frozenset[str]:
    from pykb.project.file import read

    return result.groups | read(root)[0].groups
