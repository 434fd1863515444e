"""Mistakes in RBAC and webhook markers."""

from __future__ import annotations

from pykb.diagnostics.model import Code, Severity

RBAC_VERB = Code(
    "rbac-verb",
    "a verb that the Kubernetes API does not have",
    "The API server stores a rule with such a verb, but the rule never allows anything. Verbs are lower case: get, "
    "list, watch, create, update, patch, delete, deletecollection. A few resources have their own verbs (bind, "
    "escalate, impersonate, approve, sign, use). Rules for URLs use HTTP methods in lower case.",
)
RBAC_INCOMPLETE = Code(
    "rbac-incomplete",
    "a rule lacks a required part",
    "A rule is for resources (`groups` and `resources`) or for paths (`urls`), and has at least one verb. Write the "
    'core group, which has pods, services, secrets and so on, as `groups=""` or `groups=core`.',
)
RBAC_GROUP = Code(
    "rbac-group",
    "a value of `groups` is not an API group",
    "`groups` takes names such as `apps` or `infra.example.com`, without a version. A rule applies to all versions of "
    "a group.",
)
RBAC_RESOURCE = Code(
    "rbac-resource",
    "a value of `resources` is not a resource",
    "`resources` takes plural names in lower case (`deployments`, not `Deployment`), with an optional subresource "
    "(`deployments/status`).",
)
RBAC_NAMES = Code(
    "rbac-names",
    "resource names do not work with these verbs",
    "When a request creates an object or deletes a collection, the authorizer does not know any object name. A rule "
    "with `resourceNames` therefore never allows `create` or `deletecollection`. It allows `list` and `watch` only "
    "for requests with a field selector on `metadata.name`.",
    Severity.WARNING,
)
RBAC_URL = Code(
    "rbac-url",
    "a rule for URLs is invalid",
    "Paths such as `/metrics` have no namespace and no API group. Such a rule belongs in a ClusterRole and cannot be "
    "combined with resources. `*` is a wildcard only as the last character.",
)
RBAC_ROLE = Code(
    "rbac-role",
    "a role or namespace cannot have this name",
    "`namespace` is a DNS label. `roleName` is a path segment, which cannot contain a slash or a per cent sign.",
)


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
