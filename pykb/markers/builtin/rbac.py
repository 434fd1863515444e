"""The RBAC marker: what the manager may do."""

from __future__ import annotations

from pykb.markers.definition import STRING, STRINGS, ArgumentDefinition, MarkerDefinition, MarkerTarget

DEFINITIONS = (
    MarkerDefinition(
        "kubebuilder:rbac",
        frozenset({MarkerTarget.PACKAGE}),
        (
            ArgumentDefinition("groups", STRINGS, 'API groups; `""` or `core` is the core group.', optional=True),
            ArgumentDefinition("resources", STRINGS, "Plural names, also `pods/status`.", optional=True),
            ArgumentDefinition("resourceNames", STRINGS, "Only objects of these names.", optional=True),
            ArgumentDefinition("verbs", STRINGS, "What is allowed: `get`, `list`, `watch`, `create`, ..."),
            ArgumentDefinition("urls", STRINGS, "Paths that are no resources, `/metrics`.", optional=True),
            ArgumentDefinition("namespace", STRING, "Makes it a Role of this namespace.", optional=True),
            ArgumentDefinition("roleName", STRING, "The role it goes to, if not the default.", optional=True),
        ),
        summary="Allows the manager something; all of them together make the Role or ClusterRole.",
        example="+kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch",
        category="RBAC",
        generators=frozenset({"rbac"}),
        repeatable=True,
        anywhere=True,
    ),
)
