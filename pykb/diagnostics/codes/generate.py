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
KIND_GONE = Code(
    "kind-gone",
    "A CRD has no kind any more",
    "The class of a kind was removed or renamed, so its CRD is not generated and its file is removed. Nothing changes "
    "in a cluster until its CRD is deleted there. Tools that delete what a repository no longer has do that, and all "
    "objects of the kind go with it. A kind cannot be renamed: a class with another name is another kind, without "
    "objects. To move, make the new kind beside the old one, copy the objects, and remove the old one last. Its roles, "
    "samples and tests and its entries in kustomizations and in PROJECT are yours to remove: the message names the "
    "files.",
    Severity.WARNING,
)
MARKERS_GONE = Code(
    "markers-gone",
    "A manifest has no markers any more",
    "The last marker for a manifest was removed. Roles and webhook configurations are emptied and not deleted: "
    "kustomizations and bindings name them, and a cluster goes by what was applied last. A role of rules that nobody "
    "asks for any more would go on to allow all of them, and a webhook that nobody serves would refuse requests.",
    Severity.WARNING,
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
BREAKING_CHANGE = Code(
    "breaking-change",
    "A CRD does not take what the one before took",
    "Definitions change while objects stay. The API server keeps what it stored, but drops fields that the new schema "
    "does not know, and refuses changes of what it does not allow. An operator cannot read an object without a field "
    "that its type requires, unless the object is being deleted. So `pykb generate` compares a CRD, before it replaces "
    "it, with the one that was committed last; without git, with the file. It says nothing of a kind that nobody has "
    "committed, or that still has the example field. `--allow-breaking` silences the warnings, for a project also "
    "`allow-breaking = true` in `[tool.pykb.generate]`. `--check-compat REV` compares with any revision of git, writes "
    "nothing, and ends with 1 when something breaks.",
    Severity.WARNING,
)
REVISION = Code(
    "git-revision",
    "A revision of git cannot be read",
    "`--check-compat` takes whatever git takes for a commit: a branch, a tag, an abbreviated hash, `HEAD~3`. It needs "
    "git, and the history: a shallow clone in CI has to fetch the commit first.",
)
NOTHING_FOUND = Code(
    "nothing-to-generate",
    "No kinds and no markers were found",
    "Nothing below the paths declares a kind or carries an RBAC or webhook marker.",
    Severity.WARNING,
)
