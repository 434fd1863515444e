"""The built-in markers, one module per family.

Sources: controller-tools v0.23 and Kubernetes' declarative validation.
"""

from __future__ import annotations

from pykb.markers.definition import MarkerDefinition


def definitions() -> list[MarkerDefinition]:
    """Every built-in marker."""
    from pykb.markers.builtin import crd, k8s, schema

    return [*crd.OF_KINDS, *schema.DEFINITIONS, *k8s.DEFINITIONS, *crd.OF_MANAGERS, *crd.OF_GO]
