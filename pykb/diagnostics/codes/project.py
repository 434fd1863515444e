"""Mistakes in PROJECT, and commands that conflict with it."""

from __future__ import annotations

from pykb.diagnostics.model import Code, Severity

PROJECT_MISSING = Code(
    "project-missing",
    "no project was found",
    "The command looks for the file PROJECT in the working directory and its parent directories.",
)

PROJECT_OWNER = Code(
    "project-owner",
    "the project belongs to another user",
    "pykb uses a project in a parent directory only if you or root own its directory and its PROJECT. Otherwise, "
    "anyone who can create a file in a shared directory such as /tmp could make your commands run their code. pykb "
    "always uses a project in the working directory itself.",
)

PROJECT_EXISTS = Code(
    "project-exists",
    "the directory already contains a project",
    "`pykb init` starts a project only once. To start over, remove the files. To add a kind, use `pykb create api`.",
)

RESTORE = "correct the line, or go back to the last commit: `git checkout PROJECT`"
PROJECT_SYNTAX = Code(
    "project-syntax",
    "PROJECT is not YAML",
    "PROJECT is a YAML file that pykb writes. After a manual edit it can no longer be read.",
)

PROJECT_FIELD = Code(
    "project-field",
    "a field of PROJECT has an invalid value",
    "PROJECT follows kubebuilder's version 3: `version`, `domain`, `projectName`, `repo`, `layout`, `multigroup`,"
    " `namespaced`, `resources`, `plugins`. Unknown keys are kept and ignored.",
)

PROJECT_VERSION = Code(
    "project-version",
    "PROJECT has a version that pykb does not know",
    'pykb reads and writes version "3" of the file, which kubebuilder v3 and v4 use.',
)

PROJECT_CLI_VERSION = Code(
    "project-cli-version",
    "the project was made by another version of pykb",
    "`cliVersion` in PROJECT is the version of pykb that created the project. What another version adds may need "
    "another runtime than the project pins. Use the project's own pykb, or bring the project to the version that you "
    "use: `pykb update`. The changelog lists the changes between the two.",
    Severity.WARNING,
)

PROJECT_LAYOUT = Code(
    "project-layout",
    "the project was made by another tool",
    "The `layout` of PROJECT names the plugins that created the project. pykb only extends projects of its own "
    "layout. Use kubebuilder for a Go project.",
)

RESOURCE_EXISTS = Code(
    "resource-exists",
    "the API is already in the project",
    "PROJECT lists a resource with the same group, version and kind. `--force` writes its files again and keeps the "
    "old ones in `.pykb/backup`.",
)

RESOURCE_CONFLICT = Code(
    "resource-conflict",
    "the API contradicts one that is already in the project",
    "Within a group, two kinds must not share a plural or differ only in upper and lower case. A kind has one plural "
    "in all versions. A kind `<Other>List` is the list of the kind `<Other>`.",
)

VERSION_SOURCE = Code(
    "version-source",
    "a new version cannot be a copy of this version",
    "`pykb create api --from VERSION` copies types and sample from a version of the same kind in this project. Its "
    "module of types must import `GROUP_VERSION` in the scaffolded form, because the copy must import that of the new "
    "version.",
)

MULTIGROUP_OFF = Code(
    "multigroup-off",
    "the project supports only one API group",
    "A project has one API group. `pykb edit --multigroup` gives each group its own folders and moves the files there, "
    "as `pykb init --multigroup` does from the start.",
)

CONTROLLER_EXISTS = Code(
    "controller-exists",
    "the resource already has a controller",
    "To add a second controller of the same resource, give it a name with `--controller-name`.",
)

NOTHING_TO_DO = Code(
    "nothing-to-do",
    "the command would scaffold nothing",
    "Without a resource and without a controller there is nothing to write.",
)

UNCHANGED = Code(
    "unchanged",
    "the project is already up to date",
    "The project already has everything that the command would write. Nothing was changed.",
    Severity.NOTE,
)

REQUIREMENTS = Code(
    "requirements",
    "pyproject.toml does not say what to install",
    "`pykb environment` installs `project.dependencies` and a group of `dependency-groups`. Both are lists of "
    'requirements such as `"httpx>=0.28"`. A group includes another one with `{ include-group = "NAME" }`.',
)
