"""Markers of admission webhooks."""

from __future__ import annotations

from pykb.markers.definition import (
    BOOLEAN,
    INTEGER,
    STRING,
    STRINGS,
    ArgumentDefinition,
    MarkerDefinition,
    MarkerTarget,
)

_PACKAGE = frozenset({MarkerTarget.PACKAGE})
_WEBHOOK = frozenset({"webhook"})
_VERBS = ("create", "update", "delete", "connect", "*")

DEFINITIONS = (
    MarkerDefinition(
        "kubebuilder:webhook",
        _PACKAGE,
        (
            ArgumentDefinition("mutating", BOOLEAN, summary="Whether it may change the object."),
            ArgumentDefinition(
                "failurePolicy",
                STRING,
                summary="What happens when it cannot be reached.",
                choices=("fail", "ignore"),
                folded=True,
            ),
            ArgumentDefinition("groups", STRINGS, summary="API groups of the objects."),
            ArgumentDefinition("resources", STRINGS, summary="Plural names of the kinds."),
            ArgumentDefinition("verbs", STRINGS, summary="The operations it sees.", choices=_VERBS, folded=True),
            ArgumentDefinition("versions", STRINGS, summary="API versions of the objects."),
            ArgumentDefinition("name", STRING, summary="A name of at least three parts, such as `mfoo-v1.kb.io`."),
            ArgumentDefinition(
                "admissionReviewVersions",
                STRINGS,
                summary="Versions of AdmissionReview that it understands.",
            ),
            ArgumentDefinition(
                "matchPolicy",
                STRING,
                optional=True,
                summary="Whether requests by other versions match too.",
                choices=("Exact", "Equivalent"),
                folded=True,
            ),
            ArgumentDefinition(
                "sideEffects",
                STRING,
                optional=True,
                summary="Whether it changes anything besides the object; v1 demands it.",
                choices=("None", "NoneOnDryRun"),
                folded=True,
            ),
            ArgumentDefinition(
                "timeoutSeconds", INTEGER, optional=True, summary="How long to wait.", minimum=1, maximum=30
            ),
            ArgumentDefinition("path", STRING, optional=True, summary="The path at the manager's service."),
            ArgumentDefinition("url", STRING, optional=True, summary="The whole URL, in place of `path`."),
            ArgumentDefinition("serviceName", STRING, optional=True, summary="The service, `webhook-service`."),
            ArgumentDefinition("serviceNamespace", STRING, optional=True, summary="Its namespace, `system`."),
            ArgumentDefinition(
                "servicePort", INTEGER, optional=True, summary="Its port, 443.", minimum=1, maximum=65535
            ),
            ArgumentDefinition(
                "webhookVersions", STRINGS, optional=True, summary="Versions of the configuration.", choices=("v1",)
            ),
            ArgumentDefinition(
                "reinvocationPolicy",
                STRING,
                optional=True,
                summary="Whether it is called again after other webhooks changed the object.",
                choices=("Never", "IfNeeded"),
                folded=True,
            ),
            ArgumentDefinition(
                "patch", STRING, optional=True, summary="A strategic merge patch (JSON) onto the webhook."
            ),
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
            ArgumentDefinition("mutating", BOOLEAN, summary="Which of the two configurations it names."),
            ArgumentDefinition("name", STRING, optional=True, summary="The name of the configuration object."),
        ),
        summary="The name of the object that holds the webhooks.",
        example="+kubebuilder:webhookconfiguration:mutating=true,name=machine-defaults",
        category="Webhook",
        generators=_WEBHOOK,
        repeatable=True,
        anywhere=True,
    ),
)
