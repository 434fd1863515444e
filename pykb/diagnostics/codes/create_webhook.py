"""What stops `pykb create webhook` before it writes anything, or is said of what it makes."""

from __future__ import annotations

from pykb.diagnostics.model import Code, Severity

API_MISSING = Code(
    "api-missing",
    "the kind that the webhook would be for is not there",
    "A webhook is for a kind of the project (`pykb create api` makes one), for a kind of Kubernetes itself "
    "(`--group apps --version v1 --kind Deployment`), or for one whose class another package has "
    "(`--external-api-path`).",
)

WEBHOOK_EXISTS = Code(
    "webhook-exists",
    "the kind already has this webhook",
    "PROJECT lists the webhook. Another type of webhook, or another version to convert, is added to the file that is "
    "there. `--force` writes the files anew and keeps the old ones in `.pykb/backup`.",
)

SERVED_PATH = Code(
    "served-path",
    "a webhook cannot be served at this path",
    "`--defaulting-path` and `--validation-path` replace the paths that kubebuilder's webhooks have. A path begins "
    "with `/`, its parts have lower case letters, digits, hyphens and dots, and each webhook of the manager has its "
    "own; `/convert` belongs to the conversion of all kinds.",
)

CONVERSION_SPOKE = Code(
    "conversion-spoke",
    "the version cannot be converted to the hub and back",
    "A conversion webhook has one hub, the version of `--version`, in which objects are stored, and a converter for "
    "each other version, its spokes. All are versions of one kind in this project.",
)

WEBHOOK_MODULE = Code(
    "webhook-module",
    "a module of webhooks has a form that nothing can be added to",
    "A webhook that joins others goes into their module: a class, and a line in the function "
    "`setup_<kind>_webhook` before the builder's `complete()`. Where that is no longer there, the message carries the "
    "lines to paste; once they are in the module, the command goes on.",
)

KUSTOMIZATION_FORM = Code(
    "kustomization-form",
    "a kustomization has a form that nothing can be added to",
    "Members are added below the last one of a list whose members stand on lines of their own. A list in brackets, or "
    "something that is no list, is left alone; the message carries the lines to paste.",
)

CORE_WEBHOOK = Code(
    "core-webhook",
    "a webhook for a kind that the cluster itself needs",
    "A webhook with `failurePolicy=fail` stops every change of its kind while nobody answers. For a kind that the "
    "manager itself needs in order to run (Pods, Deployments, Secrets and the like) nobody would answer ever again: "
    "the manager waits for its own webhook.",
    Severity.WARNING,
)

CONVERTER_MISSING = Code(
    "converter-missing",
    "a version of a converted kind has no converter",
    "The API server sends objects of every version to the conversion webhook, which answers with an error where it has "
    "no converter.",
    Severity.WARNING,
)
