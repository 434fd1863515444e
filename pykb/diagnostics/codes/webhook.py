"""Mistakes in webhook markers."""

from __future__ import annotations

from pykb.diagnostics.model import Code, Severity

WEBHOOK_NAME = Code(
    "webhook-name",
    "a webhook's name that the API server refuses",
    "The name of an admission webhook is a DNS name of at least three parts, such as `mfoo-v1.kb.io`. It must be "
    "unique in its configuration.",
)
WEBHOOK_CLIENT = Code(
    "webhook-client",
    "a webhook that cannot be reached as written",
    "The API server calls a webhook either at a service of the cluster (`path`, with `serviceName`, `serviceNamespace` "
    "and `servicePort` if they differ from the scaffolded ones) or at a `url`, which is https, with a host, without "
    "user, query and fragment.",
)
WEBHOOK_PATH = Code(
    "webhook-path",
    "a webhook's path that is refused or misleads",
    "Each part of the path has lower case letters, digits, hyphens and dots only. By convention it is "
    "`/mutate-<group>-<version>-<kind>` or `/validate-...`, with hyphens for the dots of the group; the manager serves "
    "its webhooks there.",
)
WEBHOOK_RULE = Code(
    "webhook-rule",
    "a webhook's rule that matches nothing or is refused",
    "Groups, versions, resources and verbs say which requests the webhook sees. None may be empty, and `*` stands "
    "alone. Resources are the lower case plural names of URLs.",
)
WEBHOOK_SIDE_EFFECTS = Code(
    "webhook-side-effects",
    "a webhook that does not say whether it has side effects",
    "admissionregistration.k8s.io/v1 demands `sideEffects`: `None`, or `NoneOnDryRun` for a webhook that changes other "
    "things unless the request is a dry run.",
)
WEBHOOK_REVIEW = Code(
    "webhook-review",
    "a setting of a webhook that has no effect or can never work",
    "The API server sends AdmissionReview in version v1 (or v1beta1), so one of them must be understood. Only mutating "
    "webhooks are called again after other webhooks.",
)
WEBHOOK_PATCH = Code(
    "webhook-patch",
    "a webhook's patch that cannot be applied",
    "`patch` is a JSON object that is merged onto the generated webhook: objects are merged, lists are replaced, null "
    "removes. Its keys are fields of a webhook, as in "
    'patch=`{"namespaceSelector":{"matchLabels":{"team":"infra"}}}`.',
)
WEBHOOK_DUPLICATE = Code(
    "webhook-duplicate",
    "two webhooks or configurations of one name",
    "All mutating webhooks of a project are in one configuration object, all validating ones in another. Their names "
    "are unique in it, and each object has one name.",
)
WEBHOOK_CONFIGURATION = Code(
    "webhook-configuration",
    "a webhook configuration that has no effect, or a name that no object can have",
    "`+kubebuilder:webhookconfiguration` only names the object that holds webhooks; without a webhook of that kind "
    "there is no such object.",
    Severity.WARNING,
)
