"""What tests of operators need: fixtures on a real control plane, by the pytest plugin of this package.

==================  =======  =====================================================================================
fixture             scope    what it gives
==================  =======  =====================================================================================
``control_plane``   session  a control plane (``kubeconfig``, ``url``, ...), or the existing cluster that was asked for
``crds``            session  the project's ``config/crd/bases``, installed; the names of the definitions
``client``          test     a :class:`pykb.runtime.Client` as the administrator
``namespace``       test     the name of a new namespace; its deletion is not waited for
``run_manager``     test     runs reconcilers and webhooks: ``async with run_manager(register) as manager: ...``
``virtual_clock``   test     a clock that stands still until it is told to advance
==================  =======  =====================================================================================

Without a cluster there are ``pykb.runtime.fake.fake_client``, ``Manager(client=fake_client(...))``, and here:
``RecordedEvents`` for a reconciler's recorder, ``call_handler`` for one kopf handler, ``eventually``, ``VirtualClock``,
``assert_round_trips`` for a converter, ``objects_of`` for whatever shall hold for every object of a kind.

The async fixtures work under pytest-asyncio (both modes) and, without it, under anyio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pykb.runtime.clock import VirtualClock
    from pykb.testing.handlers import HandlerOutcome, call_handler
    from pykb.testing.managers import RunManager, running
    from pykb.testing.objects import UnsatisfiableFieldError, objects_of
    from pykb.testing.recorded_events import RecordedEvent, RecordedEvents
    from pykb.testing.round_trips import assert_round_trips
    from pykb.testing.waiting import eventually

_PLACES = {
    "HandlerOutcome": "pykb.testing.handlers",
    "RecordedEvent": "pykb.testing.recorded_events",
    "RecordedEvents": "pykb.testing.recorded_events",
    "call_handler": "pykb.testing.handlers",
    "RunManager": "pykb.testing.managers",
    "UnsatisfiableFieldError": "pykb.testing.objects",
    "VirtualClock": "pykb.runtime.clock",
    "assert_round_trips": "pykb.testing.round_trips",
    "eventually": "pykb.testing.waiting",
    "objects_of": "pykb.testing.objects",
    "running": "pykb.testing.managers",
}

__all__ = [
    "HandlerOutcome",
    "RecordedEvent",
    "RecordedEvents",
    "RunManager",
    "UnsatisfiableFieldError",
    "VirtualClock",
    "assert_round_trips",
    "call_handler",
    "eventually",
    "objects_of",
    "running",
]


if not TYPE_CHECKING:  # a type checker would take any name

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        place = _PLACES.get(name)
        if place is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(place), name)
