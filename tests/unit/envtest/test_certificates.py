"""Certificates pass the strictest verification and their files are private."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from pathlib import Path

import pytest
from cryptography import x509

from pykb.envtest.components import Authority, KeyPair, write_kubeconfig, write_private
from pykb.envtest.rest import Rest

STRICT = ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
"""What ``ssl.create_default_context`` demands from Python 3.13 on."""


def handshake(authority: Authority, server: KeyPair, client: KeyPair, folder: Path) -> dict[str, object]:
    """Both sides verify each other; gives the client's certificate as the server saw it."""
    (folder / "ca.crt").write_bytes(authority.pair.certificate)
    contexts = []
    for protocol, pair, name in (
        (ssl.PROTOCOL_TLS_SERVER, server, "server"),
        (ssl.PROTOCOL_TLS_CLIENT, client, "client"),
    ):
        context = ssl.SSLContext(protocol)
        context.verify_flags |= STRICT
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(folder / "ca.crt")
        context.load_cert_chain(*pair.write(folder, name))
        contexts.append(context)
    near, far = socket.socketpair()
    seen: dict[str, object] = {}

    def serve() -> None:
        with contexts[0].wrap_socket(far, server_side=True) as tls:
            seen.update(tls.getpeercert() or {})

    thread = threading.Thread(target=serve)
    thread.start()
    with contexts[1].wrap_socket(near, server_hostname="127.0.0.1"):
        thread.join()
    return seen


def test_strict_verification_passes_both_ways(tmp_path: Path) -> None:
    """Python 3.13's default: keyUsage in the authority, authorityKeyIdentifier in the leaf."""
    authority = Authority()
    pair = authority.client("jane", ["dev", "ops"])
    seen = handshake(authority, authority.server(["127.0.0.1", "localhost"]), pair, tmp_path)
    assert seen["subject"] == (
        (("organizationName", "dev"),),
        (("organizationName", "ops"),),
        (("commonName", "jane"),),
    )


def test_a_client_certificate_is_none_for_a_server(tmp_path: Path) -> None:
    """A user cannot pose as the apiserver."""
    certificate = x509.load_pem_x509_certificate(Authority().client("jane").certificate)
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [x509.ExtendedKeyUsageOID.CLIENT_AUTH]


@pytest.mark.parametrize("existing", [None, 0o666])
def test_private_files_are_private_from_the_first_byte(tmp_path: Path, existing: int | None) -> None:
    """Also where a readable file was there before."""
    path = tmp_path / "key"
    if existing is not None:
        path.write_text("old and longer than the new one")
        path.chmod(existing)
    write_private(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600


def test_kubeconfigs_are_private_and_complete(tmp_path: Path) -> None:
    """One context, current, with everything inside."""
    authority = Authority()
    path = write_kubeconfig(
        tmp_path / "kubeconfig",
        server="https://127.0.0.1:1",
        authority=authority.pair.certificate,
        user="admin",
        credentials=authority.client("admin"),
    )
    assert path.stat().st_mode & 0o777 == 0o600
    content = json.loads(path.read_text())
    assert content["current-context"] == content["contexts"][0]["name"]
    assert set(content["users"][0]["user"]) == {"client-certificate-data", "client-key-data"}
    assert Rest.from_kubeconfig(path).server == "https://127.0.0.1:1"


def test_kubeconfigs_with_tokens_have_no_certificate(tmp_path: Path) -> None:
    """A ServiceAccount logs in by token."""
    path = write_kubeconfig(
        tmp_path / "k", server="https://x", authority=Authority().pair.certificate, user="sa", credentials="secret"
    )
    assert json.loads(path.read_text())["users"][0]["user"] == {"token": "secret"}
