"""Finds out whether a server may have refused credentials because they have expired."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime

import orjson

from pykb.runtime.login.credentials import Credentials


def expired_part(credentials: Credentials, now: datetime) -> str:
    """Return which part of credentials has expired, and when. Empty if no expired part is known.

    Args:
        credentials: The refused credentials.
        now: The present time.
    """
    for part, moment in (
        ("client certificate", _end_of_certificate(credentials.client_certificate)),
        ("token", _end_of_token(credentials.token)),
    ):
        if moment is not None and moment <= now:
            return f"the {part} of {credentials.origin or credentials.server} expired at {moment:%Y-%m-%dT%H:%M:%SZ}"
    return ""


def _end_of_certificate(pem: bytes | None) -> datetime | None:
    if not pem:
        return None
    from cryptography import x509  # imported here: it takes a tenth of a second, and the message is rarely needed

    try:
        return x509.load_pem_x509_certificate(pem).not_valid_after_utc
    except ValueError:
        return None


def _end_of_token(token: str | None) -> datetime | None:
    """The ``exp`` of a JWT. Other tokens do not contain their end."""
    parts = (token or "").split(".")
    if len(parts) != 3:
        return None
    try:
        claims = orjson.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return datetime.fromtimestamp(float(claims["exp"]), UTC)
    except (binascii.Error, ValueError, KeyError, TypeError, OverflowError):
        return None
