"""Derives TLS, proxy and headers from credentials, once for all requests. kopf's session uses them too."""

from __future__ import annotations

import base64
import contextlib
import ipaddress
import os
import re
import ssl
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

from multidict import CIMultiDict

from pykb import __version__
from pykb.client._pool import Peer, Proxy
from pykb.client.connection import Call
from pykb.client.login.credentials import Credentials, Impersonation
from pykb.diagnostics.codes.environment import KUBECONFIG

_OWN_DESCRIPTORS = Path("/proc/self/fd")
USER_AGENT = f"pykb/{__version__}"
_TARGET = re.compile(r"/[!-~]*")
_HEADS = 64


@contextlib.contextmanager
def secret_file(content: bytes) -> Iterator[str]:
    """Yield the path of a file with this content. Only this process can read it, and it exists during the block.

    On Linux it is a file in memory: the root file system of a pod may be read-only, without a
    writable ``/tmp``. Elsewhere it is a temporary file with mode 0600.
    """
    if hasattr(os, "memfd_create") and _OWN_DESCRIPTORS.is_dir():
        with os.fdopen(os.memfd_create("pykb-secret"), "wb") as file:
            file.write(content)
            file.flush()
            yield str(_OWN_DESCRIPTORS / str(file.fileno()))
        return
    handle, name = tempfile.mkstemp(prefix="pykb-", suffix=".pem")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        yield name
    finally:
        Path(name).unlink(missing_ok=True)


class Server:
    """An API server and the credentials for it.

    Attributes:
        host: Name and port, as in the URL.
        tls: The TLS context; ``None`` for plain HTTP.
        proxy_url: The URL of the proxy, from the credentials or the environment.
        peer: The peer to connect to.
    """

    def __init__(self, credentials: Credentials, before: Server | None = None) -> None:
        """Derive everything from the credentials.

        Args:
            credentials: The server's URL, and how to log in.
            before: The server with the previous credentials. A new token does not need new TLS
                contexts, neither of the server nor of its proxy.

        Raises:
            EnvironmentProblem: The certificates cannot be used.
            ValueError: The URL of the proxy is invalid.
        """
        self.credentials = credentials
        same = before if before is not None and _TLS_PARTS(before.credentials) == _TLS_PARTS(credentials) else None
        parts = urlsplit(credentials.server)
        self._prefix = parts.path.rstrip("/")
        self.host = host_of(credentials.server)
        plain = parts.scheme == "http"
        self.tls: ssl.SSLContext | None = None if plain else same.tls if same else tls_context(credentials)
        port = parts.port or (80 if plain else 443)
        self.proxy_url = credentials.proxy_url or environment_proxy(credentials.server)
        if before is not None and before.proxy_url == self.proxy_url:
            proxy = before.peer.proxy
        else:
            proxy = Proxy.of(self.proxy_url) if self.proxy_url else None
        self.peer: Peer = Peer(parts.hostname or "", port, self.tls, credentials.tls_server_name, proxy)
        self._heads: dict[tuple[str, str | None, Impersonation | None, bool], bytes] = {}

    def url_of(self, call: Call) -> str:
        """The whole URL of a request."""
        return f"{self.credentials.server.rstrip('/')}{target_of(call)}"

    def request(self, call: Call, *, stream: bool = False, headers: Mapping[str, str] | None = None) -> bytes:
        """Encode a request for the wire. The answer may be compressed, unless it is a stream.

        Raises:
            ValueError: The path or a header contains characters that could inject another header or
                request.
        """
        target = f"{self._prefix}{target_of(call)}"
        if not _TARGET.fullmatch(target):
            raise ValueError(f"a path is percent-encoded and begins with a slash, found {target!r}")
        key = (call.accept, None if call.body is None else call.content_type, call.impersonate, stream)
        head = self._heads.get(key)
        if head is None:
            if len(self._heads) >= _HEADS:
                self._heads.clear()
            head = self._heads[key] = self._head(call, stream=stream)
        if headers:
            head += _lines(headers).encode()
        start = f"{call.method} {target} HTTP/1.1\r\n".encode("ascii")
        if call.body is None:
            return b"%b%b\r\n" % (start, head)
        return b"%b%bContent-Length: %d\r\n\r\n%b" % (start, head, len(call.body), call.body)

    def _head(self, call: Call, *, stream: bool) -> bytes:
        first = f"Host: {self.host}\r\nAccept-Encoding: {'identity' if stream else 'gzip'}\r\n"
        return (first + _lines(request_headers(call, self.credentials))).encode()


def _lines(headers: Mapping[str, str]) -> str:
    for name, value in headers.items():
        if any(each in value for each in "\r\n\0"):
            raise ValueError(f"the header `{name}` would hold a line break")  # not the value: it may be a token
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


def host_of(server: str) -> str:
    """Host and port of a server's URL, as used in metrics of requests. kopf's session uses them too."""
    return urlsplit(server).netloc.rpartition("@")[2]


def target_of(call: Call) -> str:
    """The path and the query."""
    return f"{call.path}{_query(call.query)}"


@lru_cache(maxsize=256)
def _query(pairs: tuple[tuple[str, str], ...]) -> str:
    return f"?{urlencode(pairs)}" if pairs else ""


_TLS_PARTS = attrgetter("server", "ca_data", "insecure", "client_certificate", "client_key")


def tls_context(credentials: Credentials) -> ssl.SSLContext:
    """Make a context that trusts the server's authority and sends the client's certificate.

    Raises:
        EnvironmentProblem: The certificates or the key are not valid PEM, or do not match.
    """
    authority = credentials.ca_data.decode("ascii", "replace") if credentials.ca_data else None
    try:
        context = ssl.create_default_context(cadata=authority)
        if credentials.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if credentials.client_certificate and credentials.client_key:
            _load_client(context, credentials.client_certificate, credentials.client_key)
    except (ssl.SSLError, ValueError) as error:
        message = f"the certificates of {credentials.origin or credentials.server} cannot be used: {error}"
        help_text = ("check `certificate-authority`, `client-certificate` and `client-key`: PEM, with a matching key",)
        raise KUBECONFIG.problem(message, *help_text) from error
    return context


def _load_client(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    # The ssl module reads key pairs from files only.
    with secret_file(certificate.rstrip() + b"\n" + key) as name:
        context.load_cert_chain(name)


def environment_proxy(server: str) -> str | None:
    """The proxy that the environment (``HTTPS_PROXY``, ``NO_PROXY``) sets for a server.

    As for kubectl, there is none to this machine (https://pkg.go.dev/net/http#ProxyFromEnvironment).
    """
    # Not aiohttp's trust_env: it would also send the passwords of ~/.netrc.
    parts = urlsplit(server)
    proxies = urllib.request.getproxies_environment()
    proxy = proxies.get(parts.scheme)
    if not proxy or _is_this_machine(parts.hostname or "") or urllib.request.proxy_bypass(parts.netloc):
        return None
    return proxy


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
