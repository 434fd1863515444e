"""Markers of a kind, its package and its manager: names, scope, columns, permissions, webhooks; and those of Go."""

from __future__ import annotations

from pykb.markers.definition import (
    BOOLEAN,
    INTEGER,
    RAW,
    STRING,
    STRINGS,
    Argument,
    MarkerDefinition,
    MarkerTarget,
    ValueType,
)

_PACKAGE_CATEGORY = "Package"
_PACKAGE = frozenset({MarkerTarget.PACKAGE})

_PACKAGE_DEFINITIONS = (
    MarkerDefinition(
        "groupName",
        _PACKAGE,
        (Argument("", STRING, "The API group, for example `infra.example.com`.", optional=True),),
        summary="The API group of the kinds in this package.",
        example="+groupName=infra.example.com",
        category=_PACKAGE_CATEGORY,
    ),
    MarkerDefinition(
        "versionName",
        _PACKAGE,
        (Argument("", STRING, "The API version, for example `v1alpha1`."),),
        summary="The API version of the kinds in this package. Defaults to the name of the package.",
        example="+versionName=v1alpha1",
        category=_PACKAGE_CATEGORY,
    ),
    MarkerDefinition(
        "kubebuilder:skip",
        _PACKAGE,
        summary="Leaves the package out: no manifests are generated from its types.",
        example="+kubebuilder:skip",
        category=_PACKAGE_CATEGORY,
    ),
)


_COLUMN_TYPES = ("integer", "number", "string", "boolean", "date")
_COLUMN_FORMATS = ("int32", "int64", "float", "double", "byte", "date", "date-time", "password")


def _kind(
    name: str, summary: str, *arguments: Argument, example: str = "", repeatable: bool = False
) -> MarkerDefinition:
    name = f"kubebuilder:{name}"
    return MarkerDefinition(
        name,
        frozenset({MarkerTarget.TYPE}),
        arguments,
        summary=summary,
        example=f"+{name}{example}",
        category="CRD",
        repeatable=repeatable,
    )


OF_KINDS = (
    *_PACKAGE_DEFINITIONS,
    _kind(
        "resource",
        "Names and scope of the kind.",
        Argument("path", STRING, "The plural name, as in URLs.", optional=True),
        Argument("singular", STRING, "The singular name.", optional=True),
        Argument("scope", STRING, "Whether the kind is namespaced.", optional=True, choices=("Namespaced", "Cluster")),
        Argument("shortName", STRINGS, "Abbreviations for kubectl.", optional=True),
        Argument("categories", STRINGS, "Groups of kinds such as `all`.", optional=True),
        example=":path=machines,scope=Cluster,shortName=vm;vms,categories=all",
    ),
    _kind(
        "subresource:status", "Gives the kind a `/status` subresource, so that spec and status are written separately."
    ),
    _kind(
        "subresource:scale",
        "Gives the kind a `/scale` subresource, which `kubectl scale` and autoscalers use.",
        Argument("specpath", STRING, "JSONPath of the desired number of replicas."),
        Argument("statuspath", STRING, "JSONPath of the observed number of replicas."),
        Argument("selectorpath", STRING, "JSONPath of the label selector, a string in the status.", optional=True),
        example=":specpath=.spec.replicas,statuspath=.status.replicas",
    ),
    _kind(
        "printcolumn",
        "Adds a column to what `kubectl get` prints.",
        Argument("name", STRING, "The heading of the column."),
        Argument("type", STRING, "The OpenAPI type of the value.", choices=_COLUMN_TYPES),
        Argument("JSONPath", STRING, "Where the value is in the object."),
        Argument("description", STRING, "What the column shows.", optional=True),
        Argument("format", STRING, "The OpenAPI format of the value.", optional=True, choices=_COLUMN_FORMATS),
        Argument(
            "priority",
            INTEGER,
            "If above 0, the column is shown only with `-o wide`.",
            optional=True,
            minimum=0,
            maximum=2**31 - 1,
        ),
        example=":name=Age,type=date,JSONPath=`.metadata.creationTimestamp`",
        repeatable=True,
    ),
    _kind("storageversion", "Objects are stored in this version. Exactly one version of a kind has this marker."),
    _kind("unservedversion", "The API server does not serve this version, though objects may still be stored in it."),
    _kind(
        "deprecatedversion",
        "Clients that use this version get a warning.",
        Argument("warning", STRING, "The text of the warning. Kubernetes has a default text.", optional=True),
        example=':warning="example.com/v1beta1 Foo is deprecated; use v1"',
    ),
    _kind("skipversion", "Leaves this version out of the CRD."),
    _kind(
        "selectablefield",
        "Lets clients select objects by this field (`kubectl get --field-selector`).",
        Argument("JSONPath", STRING, "Path of a string, boolean or integer field."),
        example=":JSONPath=`.spec.host`",
        repeatable=True,
    ),
    _kind(
        "metadata",
        "Annotations and labels of the CustomResourceDefinition object.",
        Argument("annotations", STRINGS, "`key=value` pairs.", optional=True),
        Argument("labels", STRINGS, "`key=value` pairs.", optional=True),
        example=':annotations="api-approved.kubernetes.io=unapproved"',
        repeatable=True,
    ),
)


USUAL_VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
"""Of access control. Source: https://kubernetes.io/docs/reference/access-authn-authz/authorization/"""

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
            Argument("verbs", STRINGS, "The allowed verbs: `get`, `list`, `watch`, `create`, ...", usual=USUAL_VERBS),
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

OF_MANAGERS = (*_RBAC, *_WEBHOOKS)
# Markers of Go code generators: accepted with a note, so that ported files stay valid.


_ALL = frozenset(MarkerTarget)
_TYPE = frozenset({MarkerTarget.TYPE})


def _go(
    name: str, summary: str, kind: ValueType | None = RAW, *, targets: frozenset[MarkerTarget] = _ALL
) -> MarkerDefinition:
    # Markers that controller-gen registers have the same targets and required values as there.
    arguments = (Argument("", kind, optional=targets is _ALL),) if kind else ()
    return MarkerDefinition(
        name,
        targets,
        arguments,
        summary=summary,
        example=f"+{name}" + ("=true" if kind in {BOOLEAN, RAW} else "=value" if kind else ""),
        category="Go only",
        generators=frozenset(),
        go_only=True,
        repeatable=True,
    )


_STEERED = {
    "Steers client-gen.": (
        "genclient genclient:nonNamespaced genclient:noVerbs genclient:onlyVerbs genclient:skipVerbs "
        "genclient:noStatus genclient:readonly genclient:method"
    ),
    "Steers openapi-gen.": "k8s:openapi-gen k8s:openapi-model-package",
    "Steers defaulter-gen.": "k8s:defaulter-gen k8s:defaulter-gen-input",
    "Steers conversion-gen.": (
        "k8s:conversion-gen k8s:conversion-gen:explicit-from k8s:conversion-gen-external-types k8s:conversion-fn"
    ),
    "Steers prerelease-lifecycle-gen.": (
        "k8s:prerelease-lifecycle-gen k8s:prerelease-lifecycle-gen:introduced "
        "k8s:prerelease-lifecycle-gen:deprecated k8s:prerelease-lifecycle-gen:removed "
        "k8s:prerelease-lifecycle-gen:replacement"
    ),
    "Steers validation-gen.": (
        "k8s:supportsSubresource k8s:isSubresource k8s:validation-gen k8s:validation-gen-input "
        "k8s:validation-gen-scheme-registry k8s:validation-gen-test-fixture"
    ),
    "Steers go-to-protobuf.": (
        "k8s:protobuf-gen protobuf protobuf.nullable protobuf.options.marshal "
        "protobuf.options.(gogoproto.goproto_stringer) protobuf.as protobuf.embed protobuf.castrepeated"
    ),
    "Marks a union for documentation.": "union unionDiscriminator unionDeprecated",
}
OF_GO = (
    _go("kubebuilder:object:root", "Steers deepcopy generation of a kind.", BOOLEAN, targets=_TYPE),
    _go("kubebuilder:object:generate", "Steers deepcopy generation.", BOOLEAN, targets=_PACKAGE | _TYPE),
    _go("k8s:deepcopy-gen", "Steers deepcopy-gen.", targets=_PACKAGE | _TYPE),
    _go("k8s:deepcopy-gen:interfaces", "Steers deepcopy-gen.", STRING, targets=_TYPE),
    _go("kubebuilder:ac:generate", "Steers apply configurations.", BOOLEAN, targets=_PACKAGE | _TYPE),
    _go("kubebuilder:ac:output:package", "Steers apply configurations.", STRING, targets=_PACKAGE),
    _go("kubebuilder:conversion:hub", "Marks the hub of a conversion.", None),
    _go("k8s:deepcopy-gen:nonpointer-interfaces", "Steers deepcopy-gen."),
    _go("groupGoName", "The Go name of the group, for client-gen."),
    _go("k8s:register-gen", "Steers register-gen."),
    _go("patchStrategy", "Strategic merge patch of built-in types; a custom resource uses `+listType`."),
    _go("patchMergeKey", "Strategic merge patch of built-in types; a custom resource uses `+listMapKey`."),
    _go("featureGate", "Names a feature gate for documentation."),
    _go("enum", "Marks an enumeration for openapi-gen; `+k8s:enum` is the one that has an effect."),
    *(_go(name, summary) for summary, names in _STEERED.items() for name in names.split()),
)
