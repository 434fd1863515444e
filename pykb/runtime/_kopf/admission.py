"""Serves kopf's admission handlers at the manager's webhook server."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Collection
from typing import TYPE_CHECKING, Any

from pykb.reading import json_text
from pykb.runtime._kopf.internals import AmbiguousResourceError, UnknownResourceError, WebhookError
from pykb.runtime.serving import HttpError, HttpRequest, HttpResponse

if TYPE_CHECKING:
    from pykb.runtime.webhook.server import WebhookServer
    from pykb.runtime.webhook.steps import Steps


class AdmissionServer:
    """The admission server for kopf. It gives kopf the address of the handlers, each at the path of its id."""

    def __init__(self, server: WebhookServer, handlers: Collection[str]) -> None:
        """Make a server for these handlers, by their ids."""
        self._server = server
        self._paths = {f"/{handler}": handler for handler in handlers}

    async def __call__(self, ask: Any) -> AsyncIterator[dict[str, str]]:
        """Serve until cancelled. Yield the webhooks' client configuration to kopf, again after each renewal.

        Raises:
            EnvironmentProblem: One of the paths is registered already.
        """
        mounted: list[str] = []
        try:
            for path, handler in self._paths.items():
                self._server.mount(path, _Endpoint(ask, handler, self._server.steps(path)))
                mounted.append(path)
            await self._server.listening()
            certificate = self._server.certificate
            while True:
                authority = base64.b64encode(certificate.authority).decode("ascii")
                yield {"url": self._server.url, "caBundle": authority}
                async with certificate.renewed:
                    await certificate.renewed.wait()
        finally:
            self._server.unmount(mounted)


class _Endpoint:
    """Calls one handler through kopf."""

    def __init__(self, ask: Any, handler: str, steps: Steps) -> None:
        self._ask = ask
        self._handler = handler
        self._steps = steps

    async def answer(self, request: HttpRequest) -> HttpResponse:
        """Return kopf's answer."""
        peer = request.peer_certificate or None
        headers = {name.title(): value for name, value in request.headers.items()}
        try:
            asking = self._ask(json_text.loads(request.body), webhook=self._handler, sslpeer=peer, headers=headers)
            answer = await self._steps.follow(asking, self._handler)
        except AmbiguousResourceError as error:
            raise HttpError(409, f"{error}\n") from None
        except UnknownResourceError as error:
            raise HttpError(404, f"{error}\n") from None
        except (WebhookError, ValueError) as error:
            raise HttpError(400, f"{error}\n") from None
        return HttpResponse.json(answer)
