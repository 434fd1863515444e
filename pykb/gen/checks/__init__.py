"""Finds what the apiserver would refuse in a CRD. Each area has a module."""

from __future__ import annotations

from collections.abc import Iterable

from pykb.diagnostics import Diagnostics
from pykb.gen.ir import Crd
from pykb.project.settings import Minor


def check(crds: Iterable[Crd], oldest: Minor | None, diagnostics: Diagnostics) -> None:
    """Check CRDs: first their schemas, field by field, then each CRD as a whole.

    Args:
        crds: The CRDs.
        oldest: The oldest Kubernetes that must accept them, if the project names one.
        diagnostics: Gets what is found.
    """
    from pykb.gen._since import check_selectable
    from pykb.gen.checks._definition import check_definition, check_paths, check_versions
    from pykb.gen.checks._schema import SchemaChecks

    schemas = SchemaChecks(diagnostics, oldest)
    for crd in crds:
        diagnostics.extend(check_definition(crd))
        diagnostics.extend(check_versions(crd))
        for version in crd.versions:
            diagnostics.extend(check_paths(version))
            diagnostics.extend(check_selectable(version, oldest))
            cost = schemas.check_root(version.schema, has_status=version.status)
            if cost:
                from pykb.gen.checks._rules import check_total

                diagnostics.extend(check_total(cost, version))
