"""Errors and notes of single commands: `create webhook`, `delete`, `edit`, `update` and `import crd`."""

from __future__ import annotations

from pykb.diagnostics.model import Code, note, warning

API_MISSING = Code(
    "api-missing",
    "the project does not have this kind",
    "`pykb delete` needs an API that PROJECT lists. A webhook is for a kind of the project (`pykb create api` creates "
    "one), a kind of Kubernetes itself (`--group apps --version v1 --kind Deployment`), or a kind whose class is in "
    "another package (`--external-api-path`).",
)

WEBHOOK_EXISTS = Code(
    "webhook-exists",
    "the kind already has this webhook",
    "PROJECT already lists the webhook. Another type of webhook, or another version to convert, is added to the "
    "existing file. `--force` writes the files again and keeps the old ones in `.pykb/backup`.",
)

SERVED_PATH = Code(
    "served-path",
    "a webhook cannot be served at this path",
    "`--defaulting-path` and `--validation-path` replace kubebuilder's default paths. A path begins with `/`. Its "
    "parts contain lower-case letters, digits, hyphens and dots. Each webhook of the manager has its own path. "
    "`/convert` is reserved for the conversion of all kinds.",
)

CONVERSION_SPOKE = Code(
    "conversion-spoke",
    "the version cannot be converted to the hub and back",
    "A conversion webhook has one hub: the version given by `--version`, in which objects are stored. Each other "
    "version is a spoke and has a converter. All versions belong to one kind in this project.",
)

WEBHOOK_MODULE = Code(
    "webhook-module",
    "pykb cannot add to a module of webhooks",
    "A new webhook of a kind goes into the existing module. pykb adds a class, and a line in the function "
    "`setup_<kind>_webhook` before the builder's `complete()`. If that function or call is missing, the message shows "
    "the lines to paste. After that, run the command again.",
)

KUSTOMIZATION_FORM = Code(
    "kustomization-form",
    "pykb cannot add to a kustomization",
    "pykb adds entries to a list that has each entry on a line of its own. It does not change a list in brackets, or "
    "a value that is not a list. The message shows the lines to paste.",
)

CORE_WEBHOOK = warning(
    "core-webhook",
    "a webhook is for a kind that the cluster itself needs",
    "A webhook with `failurePolicy=fail` blocks every change of its kind while the webhook does not answer. If the "
    "manager needs this kind in order to run (Pods, Deployments, Secrets and so on), it may never start again: it "
    "waits for its own webhook.",
)

CONVERTER_MISSING = warning(
    "converter-missing",
    "a version of a converted kind has no converter",
    "The API server sends objects of every version to the conversion webhook. The webhook returns an error for a "
    "version without a converter.",
)


EDITED_BY_HAND = Code(
    "edited-by-hand",
    "what would be deleted was edited by hand",
    "`pykb delete`, and `pykb edit` with options like `--certificates`, compare each file with what the scaffold would "
    "be today. They remove files without edits: pykb can make them again. With `--force` they also remove edited "
    "files, and keep them in `.pykb/backup`.",
)

STILL_USED = Code(
    "still-used",
    "code that stays uses what would be deleted",
    "`pykb delete`, and `pykb edit` with options like `--certificates`, remove the lines that pykb wrote. They do not "
    "change your own code and kustomizations. Change the lines that are listed first. With `--force` the commands "
    "delete anyway, and the lines fail until you change them.",
)

WEBHOOK_MISSING = Code(
    "webhook-missing",
    "the kind does not have the webhook to delete",
    "PROJECT lists the webhooks of each kind. A conversion webhook belongs to its hub, the version in which objects "
    "are stored.",
)

CONTROLLER_MISSING = Code(
    "controller-missing",
    "the kind does not have the controller to delete",
    "PROJECT lists the controllers of each kind. A kind with one controller has `controller: true`. The controllers of "
    "a kind with several have names.",
)

CONTROLLER_SHARED = Code(
    "controller-shared",
    "the controller of the version also serves other versions",
    "PROJECT lists a controller with the version that it was created with. When this version is deleted and others "
    "stay, say whether the controller stays as well. It must not use the deleted version then.",
)


NOT_FOLLOWED = Code(
    "not-followed",
    "code cannot be followed to the new layout",
    "`pykb edit --multigroup` moves modules and rewrites their imports, also in your own files. It does not rewrite "
    "names of modules in texts, such as arguments of `importlib.import_module` or `monkeypatch.setattr`, and imports "
    "in unusual forms. Nothing is moved until the listed lines do without the old names.",
)

MOVED_MENTION = warning(
    "moved-mention",
    "a file mentions a module or folder that moves",
    "`pykb edit --multigroup` rewrites Python code, manifests and PROJECT. Other files may name a moved module or "
    "folder, such as a setting in pyproject.toml or a sentence in README.md. Change these lines yourself.",
)

LEFT_AS_EDITED = warning(
    "left-as-edited",
    "a change was left out, since the line was edited",
    "`pykb edit` changes scaffolded lines as a new scaffold would have them. Lines that you edited stay. The message "
    "shows what the scaffold would have there.",
)

GROUPS_FIXED = Code(
    "groups-fixed",
    "the folders of API groups cannot be changed",
    "`pykb edit --multigroup` gives each API group its own folders. It moves what is below the folder `api` of the "
    "package that `repo` in PROJECT names, and nothing else. `--no-multigroup` takes these folders away again in a "
    "project with one group. Kinds of Kubernetes and of other packages need no folders, unless two groups have a kind "
    "of the same name. With several groups, names that are unique in each group may clash. Use git to return to an "
    "earlier state.",
)

CLUSTER_WIDE = warning(
    "cluster-wide",
    "a marker gives a permission in the whole cluster",
    "In a project with `namespaced: true`, scaffolded markers have `namespace=`, which makes a Role of them. Your own "
    "markers without it make a ClusterRole. Keep those for cluster-scoped kinds such as nodes. Add `namespace=` to the "
    "others.",
)

SHARDS_UNSET = Code(
    "shards-unset",
    "the manager's flag for shards was edited",
    "`pykb edit --shards` changes one line in the arguments of the container `manager`: `--leader-elect` becomes "
    "`--shards=N`, and back. If that line was edited, change it yourself. The command then does the rest.",
)

SHARDS_FEW = Code(
    "shards-few",
    "there are fewer ranges than replicas",
    "A range of objects belongs to one replica at a time, so a replica without a range has no work. Four ranges for "
    "each replica make the shares even.",
)


UPDATE_CONFLICT = Code(
    "update-conflict",
    "an edit and a change of the scaffold meet in the same lines",
    "`pykb update` merges what changed in the scaffold between two versions of pykb into your files, as `git merge` "
    "does. It does not choose between your lines and those of the scaffold. `--diff` shows both. `--conflicts markers` "
    "writes them into the file with git's markers. Keep what you want there and remove the markers.",
)

UPDATE_KEPT = warning(
    "update-kept",
    "a file stays that the scaffold no longer has",
    "The scaffold of the new version has no such file, but yours has edits. Delete it if nothing uses it. The "
    "changelog says what replaces it.",
)

UPDATE_DELETED = note(
    "update-deleted",
    "the scaffold changed a file that you deleted",
    "A file that you deleted stays deleted. The scaffold of the new version changed it. If you moved its content, make "
    "the change there.",
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
    "in PROJECT names the former. pykb installs it from the package index, into a temporary environment. If the index "
    "does not have it, give a wheel or a checkout with `--from`.",
)

NOT_RENDERED = Code(
    "not-rendered",
    "a version of pykb cannot scaffold the project again",
    "`pykb update` makes the project again from what PROJECT lists: `init`, `create api` and `create webhook` in an "
    "empty folder. The message quotes the command that failed. PROJECT may list what that version does not allow.",
)


SOURCE_MISSING = Code(
    "import-source-missing",
    "A source of an import cannot be read",
    "A source is a file, a folder with YAML or JSON files in it, `-` for standard input, or `cluster://NAME` for CRDs "
    "in the cluster of the kubeconfig.",
)
SOURCE_BROKEN = Code(
    "import-source-broken",
    "A source of an import is not YAML",
    "Manifests are YAML or JSON in UTF-8, with one or several documents in a file. They may be nested up to 100 "
    "levels deep and have up to five million values with all aliases expanded.",
)
NO_CRD = Code(
    "import-no-crd",
    "A source has no CustomResourceDefinition to import",
    "Types are generated from CRDs (`apiextensions.k8s.io/v1`), single ones or in a List. Give each CRD only once.",
)
CRD_OLD = Code(
    "import-crd-old",
    "A CRD has a version that API servers no longer read",
    "Kubernetes 1.22 removed `apiextensions.k8s.io/v1beta1`. Its schemas need not be structural, so pykb cannot "
    "import them unchanged.",
)
CRD_INCOMPLETE = Code(
    "import-crd-incomplete",
    "A CRD lacks a required part",
    "A CRD has a group, names, and versions that each have a schema.",
)
CRD_FORM = Code(
    "import-crd-form",
    "A CRD has a value of the wrong form",
    "An API server would reject this CRD, for example because it has a list instead of a string, or a plural with "
    "upper-case letters. Some such values come from YAML: `name: 1` is a number, `- true` a boolean.",
)
CRD_NOT_KEPT = warning(
    "import-not-kept",
    "A detail of a CRD has no counterpart in Python",
    "A CRD that is generated from the imported types differs from the original in this detail. Schemas never differ.",
)
OUTPUT_NAME = Code(
    "import-output",
    "The output folder cannot be a Python package",
    "The folder becomes a Python package, so its name must work in `import`: letters, digits and `_`, no digit first, "
    "not a Python keyword. At the top level of a project, it must not hide a Python module or a library that an "
    "operator uses. Inside a package any valid name works.",
)
FOLDER_CLASH = Code(
    "import-folder-clash",
    "Two API groups would share one folder",
    "A group's folder is the group's name with `_` in place of every other character. Different groups can therefore "
    "have the same folder.",
)
KINDS_LOST = Code(
    "import-kinds-lost",
    "An import would remove kinds of an earlier import",
    "All kinds of a group and version share one module, because they share types. pykb writes the whole module, so "
    "import all CRDs of the group together.",
)
