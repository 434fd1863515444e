"""Serves HTTP/1.1 in a manager: probes, metrics, webhooks and the debug server.

httptools does the parsing, and the event loop does TLS. A web framework would bring routes,
sessions and streams that are not needed here. aiohttp's took 10 MiB of every manager and most of
the CPU time of a webhook.
"""

from pykb.serving._connections import Limits
from pykb.serving._message import (
    JSON,
    Handler,
    HttpError,
    HttpRequest,
    HttpResponse,
    Middleware,
    Routes,
    passing,
)
from pykb.serving._server import BindAddress, HttpServer

__all__ = [
    "JSON",
    "BindAddress",
    "Handler",
    "HttpError",
    "HttpRequest",
    "HttpResponse",
    "HttpServer",
    "Limits",
    "Middleware",
    "Routes",
    "passing",
]
