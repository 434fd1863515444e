"""Calls of an API server without an event loop: JSON in, JSON out, with the rights of a kubeconfig."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl

from pykb.diagnostics import EnvironmentProblem
from pykb.reading import read_json

if TYPE_CHECKING:
    from pykb.client.connection import Call, Method
    from pykb.client.login.credentials import CredentialSource

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
FIELD_MANAGER = "pykb"
_ATTEMPTS = 10
_BACKOFF = timedelta(milliseconds=100)

T = TypeVar("T")


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

    def __init__(self, source: CredentialSource) -> None:
        self._source = source
        credentials = _finished(source.current())
        self.server = credentials.server
        self.namespace = credentials.namespace

    @classmethod
    def from_kubeconfig(cls, path: Path) -> Rest:
        """Use the current context of a kubeconfig.

        Raises:
            EnvironmentProblem: The file cannot be read or is incomplete.
        """
        from pykb.client.login import KubeconfigSource

        return cls(KubeconfigSource([path]))

    def call(
        self,
        method: Method,
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
        from pykb.client.connection import Call  # what does not call a server starts without the client
        from pykb.client.json_text import readable_as_yaml

        data = None if body is None else json.dumps(body, ensure_ascii=False).encode(errors="surrogatepass")
        if data is not None and content_type == APPLY:
            data = readable_as_yaml(data)
        route, _, query = path.partition("?")
        pairs = tuple(parse_qsl(query, keep_blank_values=True))
        call = Call(method, route, pairs, data, content_type, accept, timeout=timeout)
        return _finished(self._answer(call))

    async def _answer(self, call: Call) -> Answer:
        from pykb.client.errors import ApiError
        from pykb.client.options import TransportOptions
        from pykb.client.transport import Transport

        codes: list[int] = []
        transport = Transport(
            self._source,
            TransportOptions(attempts=_ATTEMPTS, max_backoff=_BACKOFF),
            observer=lambda record: codes.append(record.code),
        )
        async with transport:
            try:
                body = _decode(await transport.request(call))
            except ApiError as error:
                causes = [asdict(cause) for cause in error.causes]
                body = {"reason": error.reason, "message": error.message, "details": {"causes": causes}}
        return Answer(codes[-1], body)


def _decode(content: bytes) -> dict[str, Any]:
    try:
        value = read_json(content) if content else {}
    except ValueError:
        value = {"message": content.decode("utf-8", "replace").strip()}
    return value if isinstance(value, dict) else {"items": value}


def _finished(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also in a thread whose event loop runs."""
    from pykb.client.guard import running_loop

    def run() -> T:
        with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
            return runner.run(coroutine)

    if running_loop() is None:
        return run()
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(run).result()


def is_ready(kubeconfig: Path) -> bool:
    """Whether the apiserver reports that it is ready, and has created the namespace `default`."""
    rest = Rest.from_kubeconfig(kubeconfig)
    try:
        return rest.call("GET", "/readyz").ok and rest.call("GET", "/api/v1/namespaces/default").ok
    except EnvironmentProblem:
        return False
