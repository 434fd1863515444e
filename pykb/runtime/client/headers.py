"""The headers and the proxy of a request. Shared with kopf's session."""

from __future__ import annotations

import base64
import urllib.request
from urllib.parse import quote, urlsplit

from multidict import CIMultiDict

from pykb import __version__
from pykb.runtime.client.connection import Call
from pykb.runtime.login.credentials import Credentials, Impersonation

USER_AGENT = f"pykb/{__version__}"


def environment_proxy(server: str) -> str | None:
    """The proxy that the environment (``HTTPS_PROXY``, ``NO_PROXY``) sets for a server."""
    # Not aiohttp's trust_env: it would also send the passwords of ~/.netrc.
    parts = urlsplit(server)
    proxies = urllib.request.getproxies_environment()
    proxy = proxies.get(parts.scheme)
    if not proxy or urllib.request.proxy_bypass(parts.netloc):
        return None
    return proxy


def request_headers(call: Call, credentials: Credentials) -> CIMultiDict[str]:
    """The headers of a request: credentials, media types and impersonation."""
    headers = CIMultiDict({"User-Agent": USER_AGENT, "Accept": call.accept})
    if call.body is not None:
        headers["Content-Type"] = call.content_type
    if credentials.token:
        headers["Authorization"] = f"Bearer {credentials.token}"
    elif credentials.username:
        headers["Authorization"] = _basic(credentials.username, credentials.password or "")
    if whom := call.impersonate or credentials.impersonate:
        _impersonate(headers, whom)
    return headers


def _basic(username: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


def _impersonate(headers: CIMultiDict[str], whom: Impersonation) -> None:
    headers["Impersonate-User"] = whom.user
    if whom.uid:
        headers["Impersonate-Uid"] = whom.uid
    for group in whom.groups:
        headers.add("Impersonate-Group", group)
    for key, values in whom.extra:
        for value in values:
            headers.add(f"Impersonate-Extra-{quote(key, safe='')}", value)
