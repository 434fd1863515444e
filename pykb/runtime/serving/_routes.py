"""Routes requests to handlers by path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from pykb.runtime.serving._message import Handler, HttpError, HttpRequest, HttpResponse

Middleware: TypeAlias = Callable[[HttpRequest, Handler], Awaitable[HttpResponse]]
"""A middleware: passes a request to the next handler or answers it."""


def passing(middlewares: Sequence[Middleware], handler: Handler) -> Handler:
    """Wrap a handler in middlewares. The first one gets requests first."""
    for middleware in reversed(middlewares):
        handler = _behind(middleware, handler)
    return handler


def _behind(middleware: Middleware, handler: Handler) -> Handler:
    return lambda request: middleware(request, handler)


class Routes:
    """A handler that calls others by path and method. A path that ends in ``/*`` matches all paths below it."""

    def __init__(self, middlewares: Sequence[Middleware] = ()) -> None:
        """Start without paths.

        Args:
            middlewares: The middlewares of every request, in order.
        """
        self._paths: dict[str, dict[str, Handler]] = {}
        self._handler = passing(middlewares, self._route)

    def add(self, path: str, handler: Handler, *, method: str = "GET") -> None:
        """Add a handler for a path."""
        self._paths.setdefault(path, {})[method] = handler

    async def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer a request."""
        return await self._handler(request)

    async def _route(self, request: HttpRequest) -> HttpResponse:
        methods = self._paths.get(request.path) or self._paths.get(request.path.rpartition("/")[0] + "/*")
        if methods is None:
            raise HttpError(404, f"there is nothing at {request.path}\n")
        handler = methods.get("GET" if request.method == "HEAD" else request.method)
        if handler is None:
            allowed = ", ".join(sorted(methods))
            raise HttpError(405, f"{request.path} accepts only {allowed}\n", {"Allow": allowed})
        return await handler(request)
