"""The PROJECT file, and what it says against a command."""

from __future__ import annotations

from pykb.diagnostics.model import Code, Severity

PROJECT_MISSING = Code(
    "project-missing",
    "there is no project here",
    "Commands that grow a project look for the file PROJECT in the working directory and the directories above it.",
)

PROJECT_OWNER = Code(
    "project-owner",
    "the project belongs to another user",
    "A project in a directory above is only used when its directory and its PROJECT belong to you, or to root. "
    "Otherwise whoever can make a file in a shared directory such as /tmp could have your commands run their code. "
    "A project in the working directory itself is always used: you went there.",
)

PROJECT_EXISTS = Code(
    "project-exists",
    "the directory already is a project",
    "`pykb init` starts a project once. To start over, remove the files; to add a kind, use `pykb create api`.",
)

RESTORE = "correct the line, or go back to the last commit: `git checkout PROJECT`"
PROJECT_SYNTAX = Code(
    "project-syntax",
    "PROJECT is no YAML",
    "PROJECT is a YAML file that pykb writes. It was edited by hand into something that cannot be read.",
)

PROJECT_FIELD = Code(
    "project-field",
    "a field of PROJECT has a value that it cannot have",
    "PROJECT follows kubebuilder's version 3: `version`, `domain`, `projectName`, `repo`, `layout`, `multigroup`,"
    " `namespaced`, `resources`, `plugins`. Unknown keys are kept and ignored.",
)

PROJECT_VERSION = Code(
    "project-version",
    "PROJECT has a version that pykb does not know",
    'pykb writes and reads version "3" of the file, the version of kubebuilder\'s v3 and v4.',
)

PROJECT_CLI_VERSION = Code(
    "project-cli-version",
    "the project was made by another version of pykb",
    "`cliVersion` in PROJECT is the pykb that made the project. What another one adds may expect another run time than "
    "the project pins: use the project's own pykb, or bring pyproject.toml and `cliVersion` to the version that you "
    "use. The changelog says what has changed between the two.",
    Severity.WARNING,
)

PROJECT_LAYOUT = Code(
    "project-layout",
    "the project was made by another tool",
    "The `layout` of PROJECT names the plugins that made the project. pykb grows projects of its own layout only;"
    " a Go project stays with kubebuilder.",
)

RESOURCE_EXISTS = Code(
    "resource-exists",
    "the API is already in the project",
    "PROJECT lists a resource of the same group, version and kind. `--force` writes its files again and keeps the"
    " old ones in `.pykb/backup`.",
)

RESOURCE_CONFLICT = Code(
    "resource-conflict",
    "the API contradicts one that is already in the project",
    "Two resources of a project may not share a plural within a group, a kind in different letters, or a kind "
    "with different plurals; a kind `<Other>List` is the list of the kind `<Other>`.",
)

VERSION_SOURCE = Code(
    "version-source",
    "a new version cannot start as a copy of another",
    "`pykb create api --from VERSION` takes types and sample over from a version of the same kind in this project. "
    "Its module of types must import `GROUP_VERSION` as the scaffold does: the copy imports that of the new version.",
)

MULTIGROUP_OFF = Code(
    "multigroup-off",
    "the project holds one API group only",
    "A project has one API group unless it was started with `--multigroup`, which puts each group into a folder "
    "of its own.",
)

CONTROLLER_EXISTS = Code(
    "controller-exists",
    "the resource already has a controller",
    "A second controller of the same resource needs a name of its own, by `--controller-name`.",
)

NOTHING_TO_DO = Code(
    "nothing-to-do",
    "the command would scaffold nothing",
    "With neither a resource nor a controller there is nothing to write.",
)

UNCHANGED = Code(
    "unchanged",
    "everything is already there",
    "The project already has all that the command would write, so nothing was changed.",
    Severity.NOTE,
)
