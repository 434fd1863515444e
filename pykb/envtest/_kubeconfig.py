"""Writes kubeconfig files of a local control plane, as JSON. Every client reads YAML, and JSON is YAML."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from pykb.envtest.certificates import KeyPair, write_private

CONTEXT = "pykb"


def write_kubeconfig(path: Path, *, server: str, authority: bytes, user: str, credentials: KeyPair | str) -> Path:
    """Write a private kubeconfig with one context.

    Args:
        path: The file; its folder must exist.
        server: URL of the API server.
        authority: The PEM certificate that signed the server's certificate.
        user: Name of the user entry.
        credentials: A client certificate, or a bearer token.
    """
    if isinstance(credentials, str):
        login = {"token": credentials}
    else:
        login = {
            "client-certificate-data": _encode(credentials.certificate),
            "client-key-data": _encode(credentials.key),
        }
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": CONTEXT, "cluster": {"server": server, "certificate-authority-data": _encode(authority)}},
        ],
        "users": [{"name": user, "user": login}],
        "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": user, "namespace": "default"}}],
        "current-context": CONTEXT,
    }
    write_private(path, json.dumps(content, indent=2).encode() + b"\n")
    return path


def _encode(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
