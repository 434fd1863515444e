"""Serves HTTP/1.1 in a manager: probes, metrics, webhooks and the debug server.

httptools does the parsing, and the event loop does TLS. A web framework would bring routes,
sessions and streams that are not needed here. aiohttp's took 10 MiB of every manager and most of
the CPU time of a webhook.
"""

from pykb.serving._connections import FEW_CLIENTS as FEW_CLIENTS
from pykb.serving._connections import Limits as Limits
from pykb.serving._message import JSON as JSON
from pykb.serving._message import Handler as Handler
from pykb.serving._message import HttpError as HttpError
from pykb.serving._message import HttpRequest as HttpRequest
from pykb.serving._message import HttpResponse as HttpResponse
from pykb.serving._message import Middleware as Middleware
from pykb.serving._message import Routes as Routes
from pykb.serving._message import passing as passing
from pykb.serving._server import BindAddress as BindAddress
from pykb.serving._server import HttpServer as HttpServer
