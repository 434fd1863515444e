"""Errors and notes of `pykb create webhook` and its inverse."""

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
