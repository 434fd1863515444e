"""Who issues the certificates of the webhooks. In its own module, so that the command line loads nothing else."""

from __future__ import annotations

from enum import StrEnum


class Certificates(StrEnum):
    """Who issues the certificates of a project's webhooks."""

    BUILT_IN = "built-in"
    CERT_MANAGER = "cert-manager"
