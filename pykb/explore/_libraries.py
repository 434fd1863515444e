"""Client libraries of operators in the world: their requests go to the API server in memory, in virtual time.

``kubernetes`` and pykube send theirs with urllib3, ``kubernetes_asyncio`` with aiohttp, lightkube with httpx. They
learn from a kubeconfig, or from what a pod is told, of a server that exists nowhere else. So whatever is not replaced
here fails, and no real cluster is ever reached.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import importlib
import io
import os
import sys
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, Self
from unittest import mock
from urllib.parse import parse_qsl, urlsplit

import orjson

from pykb.client.bridge import await_in_thread
from pykb.client.connection import Call
from pykb.client.errors import ApiError, ServerUnreachable, status_of
from pykb.client.guard import running_loop
from pykb.explore._gate import Gate, next_line, place_in, whence
from pykb.explore._time import real_datetime, stack_of
from pykb.files.durable import temporary

HOST = "kubernetes.explorer.invalid"

_KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "explorer",
    "contexts": [{"name": "explorer", "context": {"cluster": "explorer", "user": "explorer", "namespace": "default"}}],
    "clusters": [{"name": "explorer", "cluster": {"server": f"https://{HOST}", "insecure-skip-tls-verify": True}}],
    "users": [{"name": "explorer", "user": {"token": "explorer"}}],
}
_HTTPX = ("httpx", "httpx2")
_JSON = {"Content-Type": "application/json"}
_LIBRARIES = ("kubernetes", "kubernetes_asyncio")
_FILES = {"token": "explorer", "namespace": "default"}
_LOADERS = {
    "kubernetes.config.incluster_config": {"SERVICE_TOKEN_FILENAME": "token", "SERVICE_CERT_FILENAME": "ca.crt"},
    "kubernetes_asyncio.config.incluster_config": {
        "SERVICE_TOKEN_FILENAME": "token",
        "SERVICE_CERT_FILENAME": "ca.crt",
    },
    "kubernetes.config.kube_config": {"KUBE_CONFIG_DEFAULT_LOCATION": "config"},
    "kubernetes_asyncio.config.kube_config": {"KUBE_CONFIG_DEFAULT_LOCATION": "config"},
}
"""Where libraries look for what they are told, as variables of their modules."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What a process of the operator reaches.

    Attributes:
        gate: Its connection.
        root: The folder of the user's code.
    """

    gate: Gate
    root: Path | None


reach: contextvars.ContextVar[Reach | None] = contextvars.ContextVar("reach", default=None)
"""What the present process of the operator reaches."""


@contextlib.contextmanager
def told_of_the_world() -> Iterator[None]:
    """Tell client libraries of the API server in memory, and of no other. Forked processes inherit it."""
    if any(isinstance(finder, _Telling) for finder in sys.meta_path):  # a process that was started has none
        yield
        return
    with temporary("explore") as folder, contextlib.ExitStack() as stack:
        for name, content in {**_FILES, "config": orjson.dumps(_KUBECONFIG).decode()}.items():
            (folder / name).write_text(content, encoding="utf-8")
        variables = {
            "KUBECONFIG": str(folder / "config"),
            "KUBERNETES_SERVICE_HOST": HOST,
            "KUBERNETES_SERVICE_PORT": "443",
        }
        stack.enter_context(mock.patch.dict(os.environ, variables))

        def tell(module: ModuleType) -> None:
            if not (authority := folder / "ca.crt").exists():
                _write_authority(authority)
            for variable, name in _LOADERS[module.__name__].items():
                if hasattr(module, variable):
                    stack.enter_context(mock.patch.object(module, variable, str(folder / name)))

        for name in _LOADERS:
            if name in sys.modules:
                tell(sys.modules[name])
        # The operator imports the others only later, and may ask them at once.
        telling = _Telling(tell)
        sys.meta_path.insert(0, telling)
        stack.callback(sys.meta_path.remove, telling)
        yield


def _write_authority(path: Path) -> None:
    """Write a certificate that an operator in a pod trusts."""
    from pykb.tools.x509 import Validity, make, pem_of  # with cryptography, which few operators need

    authority = make("explorer", Validity.of(timedelta(days=1), datetime.now(UTC)), signs=True)
    path.write_text(pem_of(authority.certificate), encoding="utf-8")


class _Telling(MetaPathFinder):
    """Tells modules of libraries of the world when they are imported."""

    def __init__(self, tell: Callable[[ModuleType], None]) -> None:
        self._tell = tell

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find one of them as Python does."""
        spec = PathFinder.find_spec(fullname, path, target) if fullname in _LOADERS else None
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                self._tell(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


@contextlib.contextmanager
def answered_here() -> Iterator[None]:
    """Answer what the libraries send that are imported by now."""
    with contextlib.ExitStack() as stack:
        for module, of, name, make in _SENDERS:
            if module in sys.modules:
                owner = getattr(sys.modules[module], of)
                stack.enter_context(mock.patch.object(owner, name, make(getattr(owner, name))))
        for library in _LIBRARIES:
            if library not in sys.modules:
                continue
            # A library may import these only when it makes its first client.
            client = importlib.import_module(f"{library}.client.api_client")
            if hasattr(client, "datetime"):  # it asks whether a type `is datetime.datetime`
                stack.enter_context(mock.patch.object(client, "datetime", real_datetime()))
            configuration = importlib.import_module(f"{library}.client.configuration").Configuration
            stack.enter_context(_configured(configuration))
        yield


@contextlib.contextmanager
def _configured(configuration: Any) -> Iterator[None]:
    """Log a library in, as kopf's login does on its way: `kubernetes.client.CoreV1Api()` has no other hint."""
    before = configuration._default  # noqa: SLF001
    default = configuration()
    default.host, default.verify_ssl, default.proxy = f"https://{HOST}", False, None
    configuration.set_default(default)
    try:
        yield
    finally:
        configuration._default = before  # noqa: SLF001


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    content: bytes


def _is_watch(url: str) -> bool:
    """Whether an answer comes line by line, and has no end of its own."""
    return "watch" in dict(parse_qsl(urlsplit(url).query))


class _Watch:
    """A watch of a library: lines as they come, until the API server ends it."""

    def __init__(self, process: Reach, call: Call) -> None:
        self._stream = process.gate.stream(call)
        self._seconds = float(dict(call.query).get("timeoutSeconds") or _WATCH_SECONDS)

    async def open(self) -> Self:
        """Send it.

        Raises:
            ApiError: The API server refuses it.
        """
        self._lines = await self._stream.__aenter__()
        self._until = asyncio.get_running_loop().time() + self._seconds
        return self

    async def next(self) -> bytes:
        """The next line; empty at the end."""
        try:
            async with asyncio.timeout_at(self._until):  # each line may be read by another task
                line = await next_line(self._lines)
        except TimeoutError:
            line = None
        return b"" if line is None else line + b"\n"

    async def close(self) -> None:
        """Leave it. The process may have ended."""
        with contextlib.suppress(Exception):
            await self._stream.__aexit__(None, None, None)


_WATCH_SECONDS = 1800.0
"""How long a watch lasts, as with an API server's ``--min-request-timeout``."""


def _open_watch(url: str, headers: Mapping[str, str]) -> tuple[int, Iterator[bytes]]:
    """Open a watch from a plain function in a thread. Returns the status and the lines.

    Raises:
        NotImplementedError: The event loop would stand until an event comes, so that none comes.
    """
    process, call = _prepared("GET", url, headers, None)
    if running_loop() is not None:
        raise NotImplementedError(
            "a watch of a library that blocks the event loop sees nothing: watch in a plain function or with "
            "`kubernetes_asyncio`, or read the object again"
        )
    token = whence.set(place_in(process.root, stack_of(sys._getframe(1))))  # noqa: SLF001 - the caller
    try:
        watch = await_in_thread(_Watch(process, call).open())
    except ApiError as error:
        return error.status, iter([orjson.dumps(status_of(error))])
    finally:
        whence.reset(token)

    def read() -> Generator[bytes]:
        try:
            while line := await_in_thread(watch.next()):
                yield line
        finally:
            await_in_thread(watch.close())

    return 200, read()


def _send(method: str, url: str, headers: Mapping[str, str], body: Any) -> _Answer:
    """Send a request from a plain function: in a thread of the operator, or in its event loop, which then stands.

    Raises:
        ServerUnreachable: There is no answer.
    """
    process, call = _prepared(method, url, headers, body)
    token = whence.set(place_in(process.root, stack_of(sys._getframe(1))))  # noqa: SLF001 - the caller
    try:
        loop = running_loop()
        content = process.gate.request_now(call) if loop is not None else await_in_thread(process.gate.request(call))
    except ApiError as error:
        return _Answer(error.status, orjson.dumps(status_of(error)))
    finally:
        whence.reset(token)
    return _Answer(200, content)


async def _send_async(method: str, url: str, headers: Mapping[str, str], body: Any) -> _Answer:
    """The same from a coroutine."""
    process, call = _prepared(method, url, headers, body)
    try:
        return _Answer(200, await process.gate.request(call))
    except ApiError as error:
        return _Answer(error.status, orjson.dumps(status_of(error)))


def _prepared(method: str, url: str, headers: Mapping[str, str], body: Any) -> tuple[Reach, Call]:
    process = reach.get()
    if process is None:
        raise ConnectionRefusedError("only the operator reaches the API server of the explorer, while a history runs")
    parts = urlsplit(url)
    if "follow" in dict(parse_qsl(parts.query)):
        raise NotImplementedError("the explorer has no logs of pods")
    named = {name.lower(): value for name, value in headers.items()}
    content = body.encode() if isinstance(body, str) else body
    query = tuple(parse_qsl(parts.query, keep_blank_values=True))
    return process, Call(
        method.upper(),  # type: ignore[arg-type]
        parts.path,
        query,
        body=content or None,
        content_type=named.get("content-type", "application/json"),
    )


def _urlopen(original: Callable[..., Any]) -> Callable[..., Any]:
    import urllib3

    class Watched(urllib3.HTTPResponse):
        """An answer that comes line by line."""

        def __init__(self, lines: Iterator[bytes], status: int) -> None:
            super().__init__(headers=_JSON, status=status, reason=HTTPStatus(status).phrase, preload_content=False)
            self._lines = lines

        def stream(self, *_: Any, **__: Any) -> Generator[bytes, None, None]:
            with _ending_by(urllib3.exceptions.ProtocolError):
                yield from self._lines

        def read(self, *_: Any, **__: Any) -> bytes:
            return b"".join(self.stream())

        @property
        def data(self) -> bytes:
            return self.read()

        def close(self) -> None:
            if isinstance(self._lines, Generator):
                self._lines.close()

    def urlopen(pool: Any, method: str, url: str, body: Any = None, headers: Any = None, **options: Any) -> Any:
        if pool.host != HOST:
            return original(pool, method, url, body, headers, **options)
        if _is_watch(url):
            status, lines = _open_watch(url, headers or {})
            return Watched(lines, status)
        with _ending_by(urllib3.exceptions.ProtocolError):
            answer = _send(method, url, headers or {}, body)
        return urllib3.HTTPResponse(
            io.BytesIO(answer.content),
            headers=_JSON,
            status=answer.status,
            reason=HTTPStatus(answer.status).phrase,
            preload_content=options.get("preload_content", True),
            request_method=method,
            request_url=url,
        )

    return urlopen


def _aiohttp_request(original: Callable[..., Any]) -> Callable[..., Any]:
    import aiohttp

    async def request(session: Any, method: str, url: Any, **options: Any) -> Any:
        if urlsplit(str(url)).hostname != HOST:
            return await original(session, method, url, **options)
        data, headers = options.get("data"), options.get("headers") or {}
        if options.get("json") is not None:
            data = orjson.dumps(options["json"])
        if _is_watch(str(url)):
            return await _aiohttp_watch(str(url), headers, aiohttp.ClientPayloadError)
        with _ending_by(aiohttp.ServerDisconnectedError):
            return _AiohttpAnswer(await _send_async(method, str(url), headers, data))

    return request


async def _aiohttp_watch(url: str, headers: Mapping[str, str], ends_by: Callable[[str], Exception]) -> _AiohttpAnswer:
    try:
        watch = await _Watch(*_prepared("GET", url, headers, None)).open()
    except ApiError as error:
        return _AiohttpAnswer(_Answer(error.status, orjson.dumps(status_of(error))))
    return _AiohttpAnswer(_Answer(200, b""), _Lines(watch, ends_by))


class _Lines:
    """The lines of a watch, as aiohttp gives them."""

    def __init__(self, watch: _Watch, ends_by: Callable[[str], Exception]) -> None:
        self._watch = watch
        self._ends_by = ends_by

    async def readline(self) -> bytes:
        """The next line; empty at the end."""
        with _ending_by(self._ends_by):
            return await self._watch.next()


class _AiohttpAnswer:
    """What clients use of an answer of aiohttp."""

    def __init__(self, answer: _Answer, lines: _Lines | None = None) -> None:
        self.status = answer.status
        self.reason = HTTPStatus(answer.status).phrase
        self.headers = _JSON
        self.ok = answer.status < HTTPStatus.BAD_REQUEST
        self.content = lines
        self._content = answer.content

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def read(self) -> bytes:
        return self._content

    async def text(self, encoding: str = "utf-8") -> str:
        return self._content.decode(encoding)

    async def json(self, **_: Any) -> Any:
        return orjson.loads(self._content)

    def getheaders(self) -> Mapping[str, str]:
        return self.headers

    def release(self) -> None:
        pass

    def close(self) -> None:
        pass


def _httpx_handle(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        httpx: Any = sys.modules[name]

        class Watched(httpx.SyncByteStream):  # type: ignore[misc] # its module may not be there
            """An answer that comes line by line."""

            def __init__(self, lines: Iterator[bytes]) -> None:
                self._lines = lines

            def __iter__(self) -> Iterator[bytes]:
                with _ending_by(httpx.RemoteProtocolError):
                    yield from self._lines

            def close(self) -> None:
                if isinstance(self._lines, Generator):
                    self._lines.close()

        def handle_request(transport: Any, request: Any) -> Any:
            url = str(request.url)
            if request.url.host != HOST:
                return original(transport, request)
            with _ending_by(httpx.RemoteProtocolError):
                if _is_watch(url):
                    status, lines = _open_watch(url, request.headers)
                    return httpx.Response(status, headers=_JSON, stream=Watched(lines))
                answer = _send(request.method, url, request.headers, request.read())
            return httpx.Response(answer.status, headers=_JSON, content=answer.content)

        return handle_request

    return make


def _httpx_handle_async(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        httpx: Any = sys.modules[name]

        class Watched(httpx.AsyncByteStream):  # type: ignore[misc] # likewise
            """An answer that comes line by line."""

            def __init__(self, watch: _Watch) -> None:
                self._watch = watch

            async def __aiter__(self) -> AsyncIterator[bytes]:
                with _ending_by(httpx.RemoteProtocolError):
                    while line := await self._watch.next():
                        yield line

            async def aclose(self) -> None:
                await self._watch.close()

        async def handle_async_request(transport: Any, request: Any) -> Any:
            url = str(request.url)
            if request.url.host != HOST:
                return await original(transport, request)
            with _ending_by(httpx.RemoteProtocolError):
                if not _is_watch(url):
                    answer = await _send_async(request.method, url, request.headers, await request.aread())
                    return httpx.Response(answer.status, headers=_JSON, content=answer.content)
                try:
                    watch = await _Watch(*_prepared("GET", url, request.headers, None)).open()
                except ApiError as error:
                    return httpx.Response(error.status, headers=_JSON, content=orjson.dumps(status_of(error)))
                return httpx.Response(200, headers=_JSON, stream=Watched(watch))

        return handle_async_request

    return make


@contextlib.contextmanager
def _ending_by(kind: Callable[[str], Exception]) -> Iterator[None]:
    """Raise what a library does if there is no answer, or no further part of it."""
    try:
        yield
    except ServerUnreachable as error:
        raise kind(str(error)) from error


_SENDERS: tuple[tuple[str, str, str, Callable[[Callable[..., Any]], Callable[..., Any]]], ...] = (
    ("urllib3.connectionpool", "HTTPConnectionPool", "urlopen", _urlopen),
    ("aiohttp", "ClientSession", "_request", _aiohttp_request),
    *((name, "HTTPTransport", "handle_request", _httpx_handle(name)) for name in _HTTPX),
    *((name, "AsyncHTTPTransport", "handle_async_request", _httpx_handle_async(name)) for name in _HTTPX),
)
"""The functions that send a request: a module, a class in it, a method, and what makes its replacement."""
