"""Errors and notes of `pykb create webhook`, `pykb delete` and `pykb edit`."""

from __future__ import annotations

from pykb.diagnostics.model import Code, Severity

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

CORE_WEBHOOK = Code(
    "core-webhook",
    "a webhook is for a kind that the cluster itself needs",
    "A webhook with `failurePolicy=fail` blocks every change of its kind while the webhook does not answer. If the "
    "manager needs this kind in order to run (Pods, Deployments, Secrets and so on), it may never start again: it "
    "waits for its own webhook.",
    Severity.WARNING,
)

CONVERTER_MISSING = Code(
    "converter-missing",
    "a version of a converted kind has no converter",
    "The API server sends objects of every version to the conversion webhook. The webhook returns an error for a "
    "version without a converter.",
    Severity.WARNING,
)


EDITED_BY_HAND = Code(
    "edited-by-hand",
    "what would be deleted was edited by hand",
    "`pykb delete` and `pykb edit --certificates` compare each file with what the scaffold would be today. They "
    "remove files without edits: pykb can make them again. With `--force` they also remove edited files, and keep "
    "them in `.pykb/backup`.",
)

STILL_USED = Code(
    "still-used",
    "code that stays uses what would be deleted",
    "`pykb delete` and `pykb edit --certificates` remove the lines that pykb wrote. They do not change your own code "
    "and kustomizations. Change the lines that are listed first. With `--force` the commands delete anyway, and the "
    "lines fail until you change them.",
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

MOVED_MENTION = Code(
    "moved-mention",
    "a file mentions a module or folder that moves",
    "`pykb edit --multigroup` rewrites Python code, manifests and PROJECT. Other files may name a moved module or "
    "folder, such as a setting in pyproject.toml or a sentence in README.md. Change these lines yourself.",
    Severity.WARNING,
)

LEFT_AS_EDITED = Code(
    "left-as-edited",
    "a change was left out, since the line was edited",
    "`pykb edit` changes scaffolded lines as a new scaffold would have them. Lines that you edited stay. The message "
    "shows what the scaffold would have there.",
    Severity.WARNING,
)

GROUPS_FIXED = Code(
    "groups-fixed",
    "the groups of a project cannot be put together again",
    "`pykb edit --multigroup` gives each API group its own folders. There is no way back by command, since names that "
    "are unique in each group may clash. Use git to return to an earlier state.",
)

CLUSTER_WIDE = Code(
    "cluster-wide",
    "a marker gives a permission in the whole cluster",
    "In a project with `namespaced: true`, scaffolded markers have `namespace=`, which makes a Role of them. Your own "
    "markers without it make a ClusterRole. Keep those for cluster-scoped kinds such as nodes. Add `namespace=` to the "
    "others.",
    Severity.WARNING,
)
