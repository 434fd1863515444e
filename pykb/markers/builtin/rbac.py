"""The RBAC marker: what the manager may do."""

from __future__ import annotations

from pykb.markers.definition import STRING, STRINGS, ArgumentDefinition, MarkerDefinition, MarkerTarget

DEFINITIONS = (
    MarkerDefinition(
        "kubebuilder:rbac",
        frozenset({MarkerTarget.PACKAGE}),
        (
            ArgumentDefinition("groups", STRINGS, 'API groups; `""` or `core` is the core group.', optional=True),
            ArgumentDefinition(
                "resources",
                STRINGS,
                "Plural names of resources, or of subresources such as `pods/status`.",
                optional=True,
            ),
            ArgumentDefinition("resourceNames", STRINGS, "Limits the rule to objects with these names.", optional=True),
            ArgumentDefinition("verbs", STRINGS, "The allowed verbs: `get`, `list`, `watch`, `create`, ..."),
            ArgumentDefinition("urls", STRINGS, "URL paths that are not resources, such as `/metrics`.", optional=True),
            ArgumentDefinition("namespace", STRING, "Puts the rule into a Role in this namespace.", optional=True),
            ArgumentDefinition(
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
