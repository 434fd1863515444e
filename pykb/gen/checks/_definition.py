"""Checks the CRD as a whole: its names, its group, its status."""

from __future__ import annotations

import re

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.crd import CRD_NAME, DEPRECATION_WARNING, EMPTY_STATUS, METADATA_FORM, PROTECTED_GROUP
from pykb.gen.ir import Crd, CrdVersion
from pykb.meta.names import is_label_value, is_qualified_name

_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?\Z")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z")
_APPROVAL = "api-approved.kubernetes.io"


def check_definition(crd: Crd, diagnostics: Diagnostics) -> None:
    """Check that names are DNS labels, protected groups are approved, and a status subresource has a status."""
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
    _check_metadata(crd, diagnostics)
    for version in crd.versions:
        _check_warning(version, diagnostics)
        if version.status and "status" not in (version.schema.properties or {}):
            diagnostics.add(
                EMPTY_STATUS.at(
                    version.span,
                    f"`{crd.names.kind}` has a status subresource, but no field `status`",
                    help=(f"status: {crd.names.kind}Status | None = None",),
                ),
            )


_LONGEST_WARNING = 256


def _check_metadata(crd: Crd, diagnostics: Diagnostics) -> None:
    for what, pairs in (("an annotation", crd.annotations), ("a label", crd.labels)):
        for key, value in pairs.items():
            # The API server compares keys of annotations in lower case.
            if not is_qualified_name(key if what == "a label" else key.lower()):
                reason = "expected letters, digits, `-`, `_` and `.`, with an optional `domain/` before it"
                diagnostics.add(METADATA_FORM.at(crd.span, f"`{key}` is not a valid name of {what}: {reason}"))
            elif what == "a label" and not is_label_value(value):
                diagnostics.add(
                    METADATA_FORM.at(
                        crd.span,
                        f"`{value}` is not a valid value of the label `{key}`: expected at most 63 letters, digits, "
                        "`-`, `_` and `.`",
                        help=("use an annotation for other text",),
                    ),
                )


def _check_warning(version: CrdVersion, diagnostics: Diagnostics) -> None:
    warning = version.deprecation_warning
    if warning is None:
        return
    reason = ""
    if not warning:
        reason = "is empty"
    elif len(warning.encode()) > _LONGEST_WARNING:
        reason = f"has {len(warning.encode())} bytes, expected at most {_LONGEST_WARNING}"
    elif not warning.isprintable():
        reason = "has characters that cannot be printed"
    if reason:
        diagnostics.add(
            DEPRECATION_WARNING.at(version.span, f"the deprecation warning of version `{version.name}` {reason}"),
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
                    f"the {what} `{name}` of `{crd.names.kind}` is not a DNS label: expected lower-case letters, "
                    "digits and `-`, at most 63",
                ),
            )
    if not _SUBDOMAIN.match(crd.group) or "." not in crd.group:
        diagnostics.add(
            CRD_NAME.at(
                crd.span,
                f"the group `{crd.group}` of `{crd.names.kind}` is not a domain name: expected a name with a dot, "
                "such as `infra.example.com`",
            ),
        )
