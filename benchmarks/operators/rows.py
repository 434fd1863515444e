"""The rows of the comparison, and their goals."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.operators.bulk import apply, first_list, status, sync
from benchmarks.operators.churn import busy, churn
from benchmarks.operators.quiet import idle, latency
from benchmarks.operators.results import Goal
from benchmarks.operators.reviews import SIZES, webhook
from benchmarks.operators.run import GO, Run
from benchmarks.operators.scale import scale
from benchmarks.operators.shards import shards

GOALS = (
    Goal("sync", "CPU", "s", 1.0, GO),
    Goal("sync", "peak", "MiB", 1.0, GO),
    Goal("sync", "CPU", "s", 1 / 3, "kopf"),
    Goal("status", "throughput", "objects/s", 1.0, GO, at_least=True),
    Goal("status", "CPU", "s", 1.0, GO),
    Goal("status", "peak", "MiB", 0.7, GO),
    Goal("status", "throughput", "objects/s", 2.5, "kopf", at_least=True),
    Goal("apply", "throughput", "objects/s", 1.0, GO, at_least=True),
    Goal("apply", "CPU at rest", "s", 1.0, GO),
    Goal("apply", "peak", "MiB", 1.0, GO),
    Goal("churn", "CPU per change", "ms", 1.0, GO),
    Goal("churn", "peak", "MiB", 1.0, GO),
    Goal("busy", "CPU per change", "ms", 1.0, GO),
    Goal("busy", "peak", "MiB", 1.0, GO),
    Goal("list", "CPU", "s", 1.0, GO),
    Goal("list", "wall", "s", 1.0, GO),
    Goal("list", "peak", "MiB", 1.0, GO),
    *(
        goal
        for size in SIZES
        for goal in (
            Goal("webhook", f"CPU per review of {size}", "ms", 1.0, GO),
            Goal("webhook", f"reviews of {size}", "a second", 1.0, GO, at_least=True),
        )
    ),
    Goal("scale", "growth of memory per object", "ratio", 1.15),
    Goal("scale", "growth of CPU per object", "ratio", 1.15),
    Goal("idle", "RSS", "MiB", 70.0),
    Goal("idle", "other requests", "", 0.0),
    Goal("latency", "p50", "ms", 5.0),
    Goal("latency", "p99", "ms", 25.0),
)

ROWS: dict[str, Callable[[Run], None]] = {
    "sync": sync,
    "status": status,
    "apply": apply,
    "churn": churn,
    "busy": busy,
    "list": first_list,
    "webhook": webhook,
    "scale": scale,
    "idle": idle,
    "latency": latency,
    "shards": shards,
}
ALONE = ("scale", "shards")
"""The rows without a peer, which have one round."""
