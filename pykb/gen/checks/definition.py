"""The CRD as a whole: its names, its group, its status."""

from __future__ import annotations

import re

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.crd import CRD_NAME, EMPTY_STATUS, PROTECTED_GROUP
from pykb.gen.ir import Crd

_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?\Z")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_APPROVAL = "api-approved.kubernetes.io"


def check_definition(crd: Crd, diagnostics: Diagnostics) -> None:
    """Names are DNS labels, protected groups are approved, a status subresource has a status."""
    _check_names(crd, diagnostics)
    if _is_protected(crd.group) and not crd.annotations.get(_APPROVAL):
        diagnostics.add(
            PROTECTED_GROUP.at(
                crd.span,
                f"the group `{crd.group}` is protected: the API server refuses its CRDs without the annotation "
                f"`{_APPROVAL}`",
                help=(f'# +kubebuilder:metadata:annotations="{_APPROVAL}=unapproved, for tests only"',),
            ),
        )
    for version in crd.versions:
        if version.status and "status" not in (version.schema.properties or {}):
            diagnostics.add(
                EMPTY_STATUS.at(
                    version.span,
                    f"`{crd.names.kind}` has a status subresource, but no field `status`",
                    help=(f"status: {crd.names.kind}Status | None = None",),
                ),
            )


def _is_protected(group: str) -> bool:
    return any(group == name or group.endswith(f".{name}") for name in ("k8s.io", "kubernetes.io"))


def _check_names(crd: Crd, diagnostics: Diagnostics) -> None:
    labels = [("plural", crd.names.plural), ("singular", crd.names.singular)]
    labels += [("short name", name) for name in crd.names.short_names]
    labels += [("category", name) for name in crd.names.categories]
    labels += [("version", version.name) for version in crd.versions]
    for what, name in labels:
        if not _LABEL.match(name):
            diagnostics.add(
                CRD_NAME.at(
                    crd.span,
                    f"the {what} `{name}` of `{crd.names.kind}` is no DNS label: expected lower-case letters, "
                    "digits and `-`, at most 63",
                ),
            )
    if not _SUBDOMAIN.match(crd.group) or "." not in crd.group:
        diagnostics.add(
            CRD_NAME.at(
                crd.span,
                f"the group `{crd.group}` of `{crd.names.kind}` is no domain name: expected a name with a dot, as in "
                "`infra.example.com`",
            ),
        )
