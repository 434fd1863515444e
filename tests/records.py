"""Records as managers send them, for tests of the page of `pykb dev`."""

from __future__ import annotations

from typing import Any

ENDING: dict[str, Any] = {
    "moreCauses": 0,
    "queued": 0,
    "seconds": 0.5,
    "outcome": "ok",
    "requeueAfter": None,
    "error": None,
    "failures": 0,
    "nextTry": None,
    "sent": [],
    "moreSent": 0,
    "logs": [],
    "moreLogs": 0,
}
"""What the record of a reconcile that has ended says, unless a test says otherwise."""
