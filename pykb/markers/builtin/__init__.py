"""The built-in markers, one module per family.

Sources: controller-tools v0.23 and Kubernetes' declarative validation.
"""

from __future__ import annotations

from pykb.markers.definition import MarkerDefinition


def definitions() -> list[MarkerDefinition]:
    """Every built-in marker."""
    from pykb.markers.builtin import crd, go_only, k8s, manager, schema

    modules = (crd, schema, k8s, manager, go_only)
    return [definition for module in modules for definition in module.DEFINITIONS]
