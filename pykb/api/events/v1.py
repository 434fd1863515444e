"""Built-in types of events.k8s.io/v1.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

# ruff: noqa: D101

from datetime import datetime
from typing import Annotated

from pykb.api.annotations import Int32, SchemaRequired
from pykb.api.core import v1 as core_v1
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.api.time import MicroTime
from pykb.meta.gvk import GroupVersion, namespaced

GROUP_VERSION = GroupVersion("events.k8s.io", "v1")


class EventSeries(Struct):
    count: Int32
    last_observed_time: Annotated[MicroTime | None, SchemaRequired()] = None


class Event(Object, group_version=GROUP_VERSION, resource=namespaced("events")):
    event_time: Annotated[MicroTime | None, SchemaRequired()] = None
    action: str | None = None
    deprecated_count: Int32 | None = None
    deprecated_first_timestamp: datetime | None = None
    deprecated_last_timestamp: datetime | None = None
    deprecated_source: core_v1.EventSource | None = None
    note: str | None = None
    reason: str | None = None
    regarding: core_v1.ObjectReference | None = None
    related: core_v1.ObjectReference | None = None
    reporting_controller: str | None = None
    reporting_instance: str | None = None
    series: EventSeries | None = None
    type: str | None = None
