"""Markers of the manager: its permissions and its admission webhooks."""

from __future__ import annotations

from pykb.markers.definition import (
    BOOLEAN,
    INTEGER,
    STRING,
    STRINGS,
    Argument,
    MarkerDefinition,
    MarkerTarget,
)

_RBAC = (
    MarkerDefinition(
        "kubebuilder:rbac",
        frozenset({MarkerTarget.PACKAGE}),
        (
            Argument("groups", STRINGS, 'API groups; `""` or `core` is the core group.', optional=True),
            Argument(
                "resources",
                STRINGS,
                "Plural names of resources, or of subresources such as `pods/status`.",
                optional=True,
            ),
            Argument("resourceNames", STRINGS, "Limits the rule to objects with these names.", optional=True),
            Argument("verbs", STRINGS, "The allowed verbs: `get`, `list`, `watch`, `create`, ..."),
            Argument("urls", STRINGS, "URL paths that are not resources, such as `/metrics`.", optional=True),
            Argument("namespace", STRING, "Puts the rule into a Role in this namespace.", optional=True),
            Argument(
                "roleName", STRING, "The role that gets the rule. Defaults to the role of the manager.", optional=True
            ),
        ),
        summary="Grants the manager permissions. All these markers together make the Role or ClusterRole.",
        example="+kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch",
        category="RBAC",
        generators=frozenset({"rbac"}),
        repeatable=True,
        anywhere=True,
    ),
)


_PACKAGE = frozenset({MarkerTarget.PACKAGE})
_WEBHOOK = frozenset({"webhook"})
_VERBS = ("create", "update", "delete", "connect", "*")

_WEBHOOKS = (
    MarkerDefinition(
        "kubebuilder:webhook",
        _PACKAGE,
        (
            Argument("mutating", BOOLEAN, "Whether it may change the object."),
            Argument(
                "failurePolicy",
                STRING,
                "What happens if it cannot be reached.",
                choices=("fail", "ignore"),
                folded=True,
            ),
            Argument("groups", STRINGS, "API groups of the objects."),
            Argument("resources", STRINGS, "Plural names of the kinds."),
            Argument("verbs", STRINGS, "The operations it sees.", choices=_VERBS, folded=True),
            Argument("versions", STRINGS, "API versions of the objects."),
            Argument("name", STRING, "A name of at least three parts, such as `mfoo-v1.kb.io`."),
            Argument("admissionReviewVersions", STRINGS, "Versions of AdmissionReview that it understands."),
            Argument(
                "matchPolicy",
                STRING,
                "Whether requests by other versions match too.",
                optional=True,
                choices=("Exact", "Equivalent"),
                folded=True,
            ),
            Argument(
                "sideEffects",
                STRING,
                "Whether it changes anything besides the object. Required in v1.",
                optional=True,
                choices=("None", "NoneOnDryRun"),
                folded=True,
            ),
            Argument(
                "timeoutSeconds", INTEGER, "Seconds to wait for the answer.", optional=True, minimum=1, maximum=30
            ),
            Argument("path", STRING, "The path at the manager's service.", optional=True),
            Argument("url", STRING, "The whole URL, instead of `path`.", optional=True),
            Argument("serviceName", STRING, "The name of the service. Defaults to `webhook-service`.", optional=True),
            Argument("serviceNamespace", STRING, "The namespace of the service. Defaults to `system`.", optional=True),
            Argument(
                "servicePort",
                INTEGER,
                "The port of the service. Defaults to 443.",
                optional=True,
                minimum=1,
                maximum=65535,
            ),
            Argument("webhookVersions", STRINGS, "Versions of the configuration.", optional=True, choices=("v1",)),
            Argument(
                "reinvocationPolicy",
                STRING,
                "Whether it is called again after other webhooks changed the object.",
                optional=True,
                choices=("Never", "IfNeeded"),
                folded=True,
            ),
            Argument("patch", STRING, "A strategic merge patch (JSON) onto the webhook.", optional=True),
        ),
        summary="An admission webhook that the manager serves.",
        example="+kubebuilder:webhook:path=/mutate-infra-example-com-v1-machine,mutating=true,failurePolicy=fail,"
        "sideEffects=None,groups=infra.example.com,resources=machines,verbs=create;update,versions=v1,"
        "name=mmachine-v1.kb.io,admissionReviewVersions=v1",
        category="Webhook",
        generators=_WEBHOOK,
        repeatable=True,
        anywhere=True,
    ),
    MarkerDefinition(
        "kubebuilder:webhookconfiguration",
        _PACKAGE,
        (
            Argument("mutating", BOOLEAN, "Which of the two configurations it names."),
            Argument("name", STRING, "The name of the configuration object.", optional=True),
        ),
        summary="The name of the object that holds the webhooks.",
        example="+kubebuilder:webhookconfiguration:mutating=true,name=machine-defaults",
        category="Webhook",
        generators=_WEBHOOK,
        repeatable=True,
        anywhere=True,
    ),
)

DEFINITIONS = (*_RBAC, *_WEBHOOKS)
