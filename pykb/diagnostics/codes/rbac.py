"""Mistakes in RBAC markers."""

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
