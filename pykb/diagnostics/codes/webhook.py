"""Mistakes in webhook markers."""

from __future__ import annotations

from pykb.diagnostics.model import Code, Severity

WEBHOOK_NAME = Code(
    "webhook-name",
    "the API server rejects the name of a webhook",
    "The name of an admission webhook is a DNS name with at least three parts, such as `mfoo-v1.kb.io`. It must be "
    "unique in its configuration.",
)
WEBHOOK_CLIENT = Code(
    "webhook-client",
    "the address of a webhook is invalid",
    "The API server calls a webhook either through a Service of the cluster or at a `url`. For a Service, set `path`, "
    "and `serviceName`, `serviceNamespace` and `servicePort` if they differ from the scaffolded ones. A `url` uses "
    "https and has a host, but no user, query or fragment.",
)
WEBHOOK_PATH = Code(
    "webhook-path",
    "the path of a webhook is invalid or misleading",
    "Each part of the path has only lower-case letters, digits, hyphens and dots. By convention the path is "
    "`/mutate-<group>-<version>-<kind>` or `/validate-...`, with hyphens in place of the dots of the group. The "
    "manager serves its webhooks there.",
)
WEBHOOK_RULE = Code(
    "webhook-rule",
    "the rule of a webhook matches nothing or is invalid",
    "Groups, versions, resources and verbs select the requests for the webhook. None may be empty. `*` cannot be "
    "combined with other values. Resources are plural names in lower case, as in URLs.",
)
WEBHOOK_SIDE_EFFECTS = Code(
    "webhook-side-effects",
    "a webhook does not declare its side effects",
    "admissionregistration.k8s.io/v1 requires `sideEffects`. Use `None`, or `NoneOnDryRun` for a webhook that changes "
    "other things except in a dry run.",
)
WEBHOOK_REVIEW = Code(
    "webhook-review",
    "a setting of a webhook has no effect or can never work",
    "The API server sends AdmissionReview in version v1 or v1beta1, so the webhook must accept one of them. Only "
    "mutating webhooks can be called again after other webhooks.",
)
WEBHOOK_PATCH = Code(
    "webhook-patch",
    "the patch of a webhook cannot be applied",
    "`patch` is a JSON object that is merged into the generated webhook. Objects are merged, lists are replaced, and "
    "null removes a field. Its keys are fields of a webhook, as in "
    'patch=`{"namespaceSelector":{"matchLabels":{"team":"infra"}}}`.',
)
WEBHOOK_DUPLICATE = Code(
    "webhook-duplicate",
    "two webhooks or configurations have the same name",
    "All mutating webhooks of a project are in one configuration object, all validating webhooks in another. Webhook "
    "names are unique within an object, and each object has one name.",
)
WEBHOOK_CONFIGURATION = Code(
    "webhook-configuration",
    "a webhook configuration has no effect or an invalid name",
    "`+kubebuilder:webhookconfiguration` only names the object that contains the webhooks. Without a webhook of that "
    "type, the object does not exist.",
    Severity.WARNING,
)
