"""Credentials that ran out say so: a 401 says nothing."""

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from pykb.client.login import Credentials, KubeconfigSource
from pykb.client.login.credentials import expired_part

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def _certificate(until: datetime) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ann")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, until - timedelta(days=365), until)
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _token(claims: object) -> str:
    coded = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({}, claims))
    return ".".join((*coded, "signature"))


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({}, ""),
        ({"client_certificate": _certificate(NOW + timedelta(days=1))}, ""),
        (
            {"client_certificate": _certificate(NOW - timedelta(days=1))},
            "client certificate of here expired at 2026-11-20",
        ),
        ({"client_certificate": b"no certificate"}, ""),
        ({"token": _token({"exp": (NOW + timedelta(hours=1)).timestamp()})}, ""),
        (
            {"token": _token({"exp": (NOW - timedelta(hours=1)).timestamp()})},
            "token of here expired at 2026-11-20T23:00:00Z",
        ),
        ({"token": _token({})}, ""),
        ({"token": _token([1])}, ""),
        ({"token": "opaque"}, ""),
        ({"token": "a.b.c"}, ""),
    ],
)
def test_what_has_run_out_is_named(parts, said):
    """A certificate or a JWT, with its moment; what says nothing is no reason."""
    found = expired_part(Credentials("https://one.example", origin="here", **parts), NOW)
    assert said in found
    assert bool(said) == bool(found)


async def test_a_refused_certificate_that_ran_out_is_logged(tmp_path, caplog):
    """When the server has answered 401 and the kubeconfig has nothing newer."""
    user = {"client-certificate-data": base64.b64encode(_certificate(NOW - timedelta(days=1))).decode()}
    document = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "https://one.example"}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(document), "utf-8")
    source = KubeconfigSource([path], now=lambda: NOW)
    await source.current()
    assert not caplog.records
    await source.refresh()
    (record,) = caplog.records
    assert "the client certificate of kubeconfig" in record.error
