"""The RBAC marker: what the manager may do."""

from __future__ import annotations

from pykb.markers.definition import STRING, STRINGS, ArgumentDefinition, MarkerDefinition, MarkerTarget

DEFINITIONS = (
    MarkerDefinition(
        "kubebuilder:rbac",
        frozenset({MarkerTarget.PACKAGE}),
        (
            ArgumentDefinition(
                "groups", STRINGS, optional=True, summary='API groups; `""` or `core` is the core group.'
            ),
            ArgumentDefinition("resources", STRINGS, optional=True, summary="Plural names, also `pods/status`."),
            ArgumentDefinition("resourceNames", STRINGS, optional=True, summary="Only objects of these names."),
            ArgumentDefinition("verbs", STRINGS, summary="What is allowed: `get`, `list`, `watch`, `create`, ..."),
            ArgumentDefinition("urls", STRINGS, optional=True, summary="Paths that are no resources, `/metrics`."),
            ArgumentDefinition("namespace", STRING, optional=True, summary="Makes it a Role of this namespace."),
            ArgumentDefinition("roleName", STRING, optional=True, summary="The role it goes to, if not the default."),
        ),
        summary="Allows the manager something; all of them together make the Role or ClusterRole.",
        example="+kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch",
        category="RBAC",
        generators=frozenset({"rbac"}),
        repeatable=True,
        anywhere=True,
    ),
)
