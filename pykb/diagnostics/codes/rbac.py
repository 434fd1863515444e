"""Mistakes in RBAC markers."""

from __future__ import annotations

from pykb.diagnostics.model import Code, Severity

RBAC_VERB = Code(
    "rbac-verb",
    "a verb that the Kubernetes API does not have",
    "A rule with such a verb is stored by the API server and never allows anything. Verbs are lower case: get, list, "
    "watch, create, update, patch, delete, deletecollection; a few resources add their own (bind, escalate, "
    "impersonate, approve, sign, use). Rules about URLs use those of HTTP.",
)
RBAC_INCOMPLETE = Code(
    "rbac-incomplete",
    "a rule that lacks a part without which it allows nothing",
    "A rule is about resources (`groups` and `resources`) or about paths (`urls`), and has at least one verb. The "
    'core group, with pods, services, secrets and so on, is written `groups=""` or `groups=core`.',
)
RBAC_GROUP = Code(
    "rbac-group",
    "something that is no API group",
    "`groups` takes names such as `apps` or `infra.example.com`, without a version: a rule holds for all versions of a "
    "group.",
)
RBAC_RESOURCE = Code(
    "rbac-resource",
    "something that is no resource",
    "`resources` takes the plural names of URLs, in lower case (`deployments`, not `Deployment`), with an optional "
    "subresource (`deployments/status`).",
)
RBAC_NAMES = Code(
    "rbac-names",
    "names on verbs whose requests carry none",
    "The name of an object that is about to be created is not known to the authorizer, nor are the names of a whole "
    "collection: `create` and `deletecollection` are never allowed by a rule with `resourceNames`. `list` and `watch` "
    "are, but only for requests with a field selector on `metadata.name`.",
    Severity.WARNING,
)
RBAC_URL = Code(
    "rbac-url",
    "a rule about URLs that cannot hold",
    "Paths such as `/metrics` belong to no namespace and no API group: such a rule goes into a ClusterRole and stands "
    "alone. `*` is a wildcard as the last character only.",
)
RBAC_ROLE = Code(
    "rbac-role",
    "a name that a role or a namespace cannot have",
    "`namespace` is a DNS label; `roleName` may have any characters of a path segment, so no slash and no per cent "
    "sign.",
)
