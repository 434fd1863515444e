"""The client: typed reads and writes of an API server, with or without a manager."""

from pykb.runtime.client._reader import Reader
from pykb.runtime.client._subresource import StatusWriter, SubresourceClient
from pykb.runtime.client._watch import EventType, Watch, WatchEvent
from pykb.runtime.client.client import Client
from pykb.runtime.client.connection import Call, Connection, ExecResult
from pykb.runtime.client.options import ClientOptions, FieldValidation, Propagation, TransportOptions
from pykb.runtime.client.patches import JsonPatch, MergePatch, Patch, StrategicMergePatch, merge_from
from pykb.runtime.client.transport import RequestObserver, RequestRecord, Transport
from pykb.runtime.client.writer import Writer

__all__ = [
    "Call",
    "Client",
    "ClientOptions",
    "Connection",
    "EventType",
    "ExecResult",
    "FieldValidation",
    "JsonPatch",
    "MergePatch",
    "Patch",
    "Propagation",
    "Reader",
    "RequestObserver",
    "RequestRecord",
    "StatusWriter",
    "StrategicMergePatch",
    "SubresourceClient",
    "Transport",
    "TransportOptions",
    "Watch",
    "WatchEvent",
    "Writer",
    "merge_from",
]
