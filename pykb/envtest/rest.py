"""A minimal HTTP client for an API server: JSON in, JSON out, with a client certificate or a token.

Operators and their tests use ``pykb.runtime.Client``. envtest needs its own client, since it is in a layer below the
runtime and works without an event loop.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import ssl
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import CLUSTER_UNREACHABLE, KUBECONFIG_UNUSABLE
from pykb.reading import read_json, yaml_text

APPLY = "application/apply-patch+yaml"
FIELD_MANAGER = "pykb"
_MOST_TRIES = 10
_LONGEST_PAUSE = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Answer:
    """A response of the API server."""

    status: int
    body: dict[str, Any]

    @property
    def ok(self) -> bool:
        """Whether the call was successful."""
        return 200 <= self.status < 300

    @property
    def message(self) -> str:
        """The server's message, or the status code when there is none."""
        return str(self.body.get("message") or f"HTTP {self.status}")


class Rest:
    """A client for one API server with one identity."""

    def __init__(self, server: str, context: ssl.SSLContext, *, token: str | None = None) -> None:
        self.server = server.rstrip("/")
        self._context = context
        self._token = token

    @classmethod
    def from_kubeconfig(cls, path: Path) -> Rest:
        """Read the current context of a kubeconfig. Supports certificates (as data or files) and static tokens.

        Raises:
            EnvironmentProblem: The file cannot be read or is incomplete. Logins by a plugin (``exec``) need
                kubectl.
        """
        try:
            return cls._read(path)
        except (OSError, yaml.MarkedYAMLError, LookupError, TypeError, AttributeError, ValueError) as error:
            reason = yaml_text.reason(error) if isinstance(error, yaml.MarkedYAMLError) else repr(error)
            raise EnvironmentProblem(
                KUBECONFIG_UNUSABLE.at(None, f"cannot use the kubeconfig `{path}`", notes=(reason,))
            ) from error

    @classmethod
    def _read(cls, path: Path) -> Rest:
        config = yaml_text.load(path.read_bytes())
        context = _named(config["contexts"], config["current-context"])["context"]
        cluster = _named(config["clusters"], context["cluster"])["cluster"]
        user = _named(config["users"], context["user"])["user"]
        authority = _content(cluster, "certificate-authority", path.parent)
        tls = ssl.create_default_context(cadata=authority.decode("ascii") if authority else None)
        if cluster.get("insecure-skip-tls-verify"):
            tls.check_hostname = False
            tls.verify_mode = ssl.CERT_NONE
        certificate = _content(user, "client-certificate", path.parent)
        key = _content(user, "client-key", path.parent)
        if certificate and key:
            _load_pair(tls, certificate, key)
        return cls(cluster["server"], tls, token=user.get("token"))

    def call(
        self,
        method: str,
        path: str,
        body: object | None = None,
        *,
        content_type: str = "application/json",
        accept: str = "application/json",
        timeout: timedelta = timedelta(seconds=30),
    ) -> Answer:
        """Make a call. An error status is an answer and not an exception.

        A server that is busy, or that exchanges the definition of the kind at this moment, says when to try again. The
        call is repeated then, as client-go does (https://pkg.go.dev/k8s.io/client-go/rest#Request.MaxRetries).

        Raises:
            EnvironmentProblem: The server does not answer.
        """
        headers = {"Accept": accept, "Content-Type": content_type}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.server + path, data=data, method=method, headers=headers)  # noqa: S310
        answer, pause = self._send(request, timeout)
        for _ in range(_MOST_TRIES - 1):
            if pause is None:
                break
            time.sleep(pause.total_seconds())
            answer, pause = self._send(request, timeout)
        return answer

    def _send(self, request: urllib.request.Request, timeout: timedelta) -> tuple[Answer, timedelta | None]:
        """Make a call once. Returns how long to wait before the next try too, if the server asks for one."""
        handlers = (urllib.request.HTTPSHandler(context=self._context), urllib.request.ProxyHandler({}))
        try:
            with urllib.request.build_opener(*handlers).open(request, timeout=timeout.total_seconds()) as response:
                return Answer(response.status, _decode(response.read())), None
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, _decode(error.read())), _pause(error)
        except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: an invalid URL
            reason = getattr(error, "reason", error)
            raise EnvironmentProblem(
                CLUSTER_UNREACHABLE.at(None, f"`{self.server}` does not answer", notes=(str(reason),))
            ) from error


def _pause(error: urllib.error.HTTPError) -> timedelta | None:
    asked = error.headers.get("Retry-After", "")
    if (error.code != 429 and error.code < 500) or not asked.isdecimal():
        return None
    return min(timedelta(seconds=int(asked[:9])), _LONGEST_PAUSE)


def _decode(content: bytes) -> dict[str, Any]:
    try:
        value = read_json(content) if content else {}
    except ValueError:
        value = {"message": content.decode("utf-8", "replace").strip()}
    return value if isinstance(value, dict) else {"items": value}


def _named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    found = next((entry for entry in entries if entry["name"] == name), None)
    if found is None:
        raise LookupError(f"there is no entry `{name}`")
    return found


def _content(entry: dict[str, Any], key: str, folder: Path) -> bytes | None:
    if data := entry.get(f"{key}-data"):
        return base64.b64decode(data)
    if name := entry.get(key):
        return (folder / str(name)).read_bytes()  # relative paths start at the kubeconfig's folder
    return None


def _load_pair(tls: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    # The ssl module loads key pairs only from files. This private file is removed after reading.
    handle, name = tempfile.mkstemp(prefix="pykb-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(certificate + b"\n" + key)
        tls.load_cert_chain(name)
    finally:
        Path(name).unlink()


def is_ready(kubeconfig: Path) -> bool:
    """Whether the apiserver reports that it is ready, and has created the namespace `default`."""
    rest = Rest.from_kubeconfig(kubeconfig)
    try:
        return rest.call("GET", "/readyz").ok and rest.call("GET", "/api/v1/namespaces/default").ok
    except EnvironmentProblem:
        return False
