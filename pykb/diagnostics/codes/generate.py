"""Mistakes around a run of ``pykb generate``: its inputs, its output, its environment."""

from __future__ import annotations

from pykb.diagnostics.model import Code, Severity

PATH_NOT_FOUND = Code(
    "generate-path",
    "A path given to `pykb generate` has nothing to read",
    "`--paths` names a Python file, a package directory, or a directory tree (`./...` as in Go, or `DIR/...`). "
    "Without it the whole project is read: every package that has an `api` folder, and all files for RBAC and webhook "
    "markers.",
)
PATH_OUTSIDE = Code(
    "generate-path-outside",
    "A path leaves the project",
    "Only files below the project directory are read and imported, so that the same project gives the same output "
    "everywhere.",
)
IMPORT_FAILED = Code(
    "import-failed",
    "An API module cannot be imported",
    "Schemas come from the real types, so the modules of the `api` packages are imported. The place shown is the "
    "line of "
    "your code that raised.",
)
NO_GROUP = Code(
    "no-group-version",
    "A kind has no group and version",
    "A kind gets its group and version from `class Foo(CustomResource, group_version=GROUP_VERSION)`, or from "
    "the package "
    "markers `+groupName=` and `+versionName=`.",
)
DUPLICATE_KIND = Code(
    "duplicate-kind",
    "A kind is declared twice, or two kinds share a name",
    "Within a group, each kind and each plural belongs to one CRD; within a version, a kind is declared once.",
)
OUT_OF_DATE = Code(
    "out-of-date",
    "A generated file differs from what the types say",
    "`pykb generate --check` compares without writing. Run `pykb generate` and commit the result.",
)
HEADER_FILE = Code(
    "header-file",
    "The header file cannot be read",
    "`--header-file` names a text file that is put before the first document of each generated file; ` YEAR` in it is "
    "replaced by the value of `--year`.",
)
OPTION = Code(
    "generate-option",
    "An option of the generator has no such value",
    "Options come from the command line, from `[tool.pykb.generate]` in pyproject.toml, or from a command line in "
    "controller-gen's form.",
)
OPENAPI_FILE = Code(
    "openapi-file",
    "The descriptions of built-in types cannot be read",
    "`--builtin-descriptions` takes a file with the OpenAPI of a cluster (`kubectl get --raw /openapi/v2`), or "
    "`cluster`, which reads it from the cluster of the kubeconfig and keeps it in `.pykb/openapi.json`.",
)
NOTHING_FOUND = Code(
    "nothing-to-generate",
    "No kinds and no markers were found",
    "Nothing below the paths declares a kind or carries an RBAC or webhook marker.",
    Severity.WARNING,
)
