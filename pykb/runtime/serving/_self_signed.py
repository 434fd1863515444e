"""Makes self-signed certificates for servers without a certificate."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from pykb.runtime.serving._elsewhere import Json, call

VALIDITY = timedelta(days=365)


def self_signed(hosts: tuple[str, ...]) -> tuple[bytes, bytes]:
    """Make a self-signed certificate for these names and addresses, and its key, in PEM."""
    made = call(f"{__name__}:made", {"hosts": hosts})
    return made["certificate"].encode(), made["key"].encode()


def made(given: Json) -> Json:
    """The same from JSON to JSON, in this process."""
    from pykb.runtime.serving._x509 import Validity, make

    hosts = given["hosts"]
    pair = make(hosts[0], Validity.of(VALIDITY, datetime.now(UTC)), names=hosts, signs=True)
    certificate, key = pair.pem
    return {"certificate": certificate, "key": key}
