"""Errors and warnings of `pykb update`."""

from __future__ import annotations

from pykb.diagnostics.model import Code, Severity

UPDATE_CONFLICT = Code(
    "update-conflict",
    "an edit and a change of the scaffold meet in the same lines",
    "`pykb update` merges what changed in the scaffold between two versions of pykb into your files, as `git merge` "
    "does. It does not choose between your lines and those of the scaffold. `--diff` shows both. `--conflicts markers` "
    "writes them into the file with git's markers. Keep what you want there and remove the markers.",
)

UPDATE_KEPT = Code(
    "update-kept",
    "a file stays that the scaffold no longer has",
    "The scaffold of the new version has no such file, but yours has edits. Delete it if nothing uses it. The "
    "changelog says what replaces it.",
    Severity.WARNING,
)

UPDATE_DELETED = Code(
    "update-deleted",
    "the scaffold changed a file that you deleted",
    "A file that you deleted stays deleted. The scaffold of the new version changed it. If you moved its content, make "
    "the change there.",
    Severity.NOTE,
)

UPDATE_UNCOMMITTED = Code(
    "update-uncommitted",
    "the project has changes that are not committed",
    "`pykb update` changes many files at once. With everything committed, `git diff` shows what it did, and `git "
    "restore .` takes it back. Files that git does not track do not stop the command, unless it would change them.",
)

UPDATE_NO_REPOSITORY = Code(
    "update-no-repository",
    "the project is not in a git repository",
    "`pykb update` changes many files at once. In a git repository you can look at the changes, and take them back.",
)

RELEASE_UNKNOWN = Code(
    "release-unknown",
    "it is not known what that version of pykb scaffolds",
    "`pykb update` scaffolds the project with the version of pykb that made it, and with the running one. `cliVersion` "
    "in PROJECT names the former. pykb has an archive of the releases before it. For any other version give a wheel or "
    "a checkout with `--from`.",
)

NOT_RENDERED = Code(
    "not-rendered",
    "a version of pykb cannot scaffold the project again",
    "`pykb update` makes the project again from what PROJECT lists: `init`, `create api` and `create webhook` in an "
    "empty folder. The message quotes the command that failed. PROJECT may list what that version does not allow.",
)
