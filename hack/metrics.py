"""Renders the metrics of a manager as a page of the reference."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from pykb.runtime import Manager, ManagerOptions

_INTRODUCTION = """\
# Metrics

What a manager exports at `/metrics`. The names and labels are controller-runtime's, so its
dashboards and alerts work; names that begin with `pykb_` are pykb's own. The metrics of Python and
of the process (`process_cpu_seconds_total`, `process_resident_memory_bytes`, ...) are
prometheus_client's. Add your own to `manager.metrics.registry`, or to prometheus_client's default
registry. A histogram has the series `_bucket`, `_sum` and `_count`.

The server is off until [`--metrics-bind-address`](flags.md#servers) is set, as the scaffolded
manifests do. [A dashboard and alerts](../how-to/grafana.md) are written by
`pykb edit --plugins grafana`.
"""
_AREAS = {
    "controller_runtime_webhook": "Webhooks",
    "controller_runtime_conversion": "Webhooks",
    "pykb_webhook": "Webhooks",
    "controller_runtime": "Controllers",
    "pykb_reconcile": "Controllers",
    "workqueue": "Work queues",
    "rest_client": "API server",
    "pykb_watch": "API server",
    "pykb_unreadable": "API server",
    "pykb_shard": "Shards",
    "": "Process and certificates",
}


class Row(NamedTuple):
    """One metric."""

    area: str
    name: str
    kind: str
    labels: tuple[str, ...]
    text: str


def render() -> str:
    """The page."""
    order = list(dict.fromkeys(("Controllers", "Work queues", "API server", "Webhooks", *_AREAS.values())))
    rows = sorted(set(_rows()), key=lambda row: (order.index(row.area), row.name))
    parts = [_INTRODUCTION.rstrip()]
    for area, found in groupby(rows, key=lambda row: row.area):
        parts += ["", f"## {area}", "", "| metric | type | labels | |", "|---|---|---|---|"]
        parts += [f"| `{r.name}` | {r.kind} | {', '.join(f'`{n}`' for n in r.labels)} | {r.text} |" for r in found]
    return "\n".join(parts) + "\n"


def _rows() -> Iterator[Row]:
    registry = Manager(ManagerOptions(shards=1)).metrics.registry
    for collector in registry._collector_to_names:  # noqa: SLF001 - those without samples are not collected
        for family in collector.collect():
            of: Any = collector if hasattr(collector, "_labelnames") else family
            name = family.name + ("_total" if family.type == "counter" else "")
            area = next(area for prefix, area in _AREAS.items() if name.startswith(prefix))
            yield Row(area, name, family.type, tuple(of._labelnames), family.documentation)  # noqa: SLF001
