"""A Grafana dashboard and Prometheus alerts for the metrics of the manager."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pykb.plugins import PluginKey
from pykb.plugins.request import ApiRequest, EditRequest, InitRequest
from pykb.project.file import Project
from pykb.scaffold.insert import Member
from pykb.scaffold.plan import OnExists, PlanBuilder
from pykb.scaffold.template import render_file

DASHBOARD = "grafana/operator.json"
ALERTS = "config/prometheus/alerts.yaml"
_KUSTOMIZATION = "config/prometheus/kustomization.yaml"


class GrafanaV1:
    """A dashboard and alerts."""

    key = PluginKey("grafana.pykb.dev", "v1")
    summary = "a Grafana dashboard and Prometheus alerts"

    def init(self, request: InitRequest, plan: PlanBuilder) -> None:
        """Add the files to a new project."""
        _write(request.project, plan, OnExists.REFUSE)

    def create_api(self, request: ApiRequest, plan: PlanBuilder) -> None:
        """Nothing: the dashboard finds the controllers by their metrics."""

    def edit(self, request: EditRequest, plan: PlanBuilder) -> None:
        """Add the files. Those that the user edited stay, unless forced."""
        _write(request.project, plan, OnExists.OVERWRITE if request.force else OnExists.KEEP)


def _write(project: Project, plan: PlanBuilder, on_exists: OnExists) -> None:
    name = project.project_name
    namespace, job = f"{name}-system", f"{name}-controller-manager-metrics-service"
    plan.create(DASHBOARD, _dashboard(name, namespace, job).encode(), on_exists=on_exists)
    alerts = render_file("grafana/alerts.yaml.j2", {"project": project, "namespace": namespace, "job": job})
    plan.create(ALERTS, alerts.encode(), on_exists=on_exists)
    plan.extend(_KUSTOMIZATION, Member("resources", "alerts.yaml"))


_OF = 'namespace="$namespace", job="$job"'
_CONTROLLER = f'{_OF}, controller=~"$controller"'
_RATE = "$__rate_interval"
_WIDTH, _HEIGHT = 12, 8

Query = tuple[str, str]
"""A query of Prometheus, and the legend of its lines."""


class _Panel(NamedTuple):
    """A graph: its title, the unit of its axis, and its queries."""

    title: str
    unit: str
    queries: Sequence[Query]


def _legend(by: str, what: str) -> str:
    return " ".join([*(f"{{{{{label}}}}}" for label in by.split(", ")), *([what] if what else [])])


def _rate(metric: str, by: str, what: str = "", *, labels: str = _OF) -> Query:
    return f"sum by ({by}) (rate({metric}{{{labels}}}[{_RATE}]))", _legend(by, what)


def _own(metric: str, what: str = "") -> Query:
    """The rate of each chosen controller."""
    return _rate(metric, "controller", what, labels=_CONTROLLER)


def _value(how: str, metric: str, by: str, what: str = "", *, labels: str = _OF) -> Query:
    return f"{how} by ({by}) ({metric}{{{labels}}})", _legend(by, what)


def _of_own(how: str, metric: str, what: str = "") -> Query:
    """A value of each chosen controller."""
    return _value(how, metric, "controller", what, labels=_CONTROLLER)


def _times(metric: str, by: str, labels: str = _OF) -> list[Query]:
    """Half of the times, and the 99th percentile."""
    buckets = f"sum by ({by}, le) (rate({metric}_bucket{{{labels}}}[{_RATE}]))"
    return [(f"histogram_quantile({share}, {buckets})", _legend(by, f"p{share * 100:g}")) for share in (0.5, 0.99)]


_VALID, _VALID_FOR = _value("min", "pykb_certificate_expiration_timestamp_seconds", "server", "valid for")

_ROWS: dict[str, tuple[_Panel, ...]] = {
    "Controllers": (
        _Panel(
            "Reconciles",
            "ops",
            [_rate("controller_runtime_reconcile_total", "controller, result", labels=_CONTROLLER)],
        ),
        _Panel(
            "Reconciles that failed",
            "ops",
            [
                _own("controller_runtime_reconcile_errors_total", "errors"),
                _own("controller_runtime_terminal_reconcile_errors_total", "terminal"),
                _own("controller_runtime_reconcile_panics_total", "bugs"),
                _own("controller_runtime_reconcile_timeouts_total", "timeouts"),
            ],
        ),
        _Panel("Event handlers that failed", "ops", [_own("pykb_event_handler_failures_total")]),
        _Panel("Hot loops", "ops", [_own("pykb_reconcile_loops_total")]),
        _Panel(
            "Duration of a reconcile",
            "s",
            _times("controller_runtime_reconcile_time_seconds", "controller", _CONTROLLER),
        ),
        _Panel(
            "Workers",
            "short",
            [
                _of_own("sum", "controller_runtime_active_workers", "active"),
                _of_own("sum", "controller_runtime_max_concurrent_reconciles", "limit"),
            ],
        ),
    ),
    "Work queues": (
        _Panel("Depth", "short", [_of_own("sum", "workqueue_depth")]),
        _Panel(
            "Keys added and retried",
            "ops",
            [_own("workqueue_adds_total", "added"), _own("workqueue_retries_total", "retried")],
        ),
        _Panel("Time in the queue", "s", _times("workqueue_queue_duration_seconds", "controller", _CONTROLLER)),
        _Panel(
            "Time of work",
            "s",
            [
                *_times("workqueue_work_duration_seconds", "controller", _CONTROLLER),
                _of_own("max", "workqueue_longest_running_processor_seconds", "longest"),
                _of_own("sum", "workqueue_unfinished_work_seconds", "unfinished"),
            ],
        ),
    ),
    "API server": (
        _Panel("Requests", "ops", [_rate("rest_client_requests_total", "method, code")]),
        _Panel("Wait for the client's own limit", "s", _times("rest_client_rate_limiter_duration_seconds", "verb")),
        _Panel(
            "Lists and watches that failed",
            "ops",
            [
                _rate("pykb_watch_failures_total", "group, kind"),
                _rate("pykb_cache_function_failures_total", "group, kind", "functions"),
            ],
        ),
        _Panel("Silence of watches", "s", [_value("max", "pykb_watch_silence_seconds", "group, kind")]),
        _Panel("Objects that do not fit their class", "short", [_rate("pykb_unreadable_objects_total", "group, kind")]),
        _Panel("Leader", "short", [_value("max", "leader_election_master_status", "pod, name")]),
    ),
    "Webhooks": (
        _Panel(
            "Requests",
            "ops",
            [
                _rate("controller_runtime_webhook_requests_total", "webhook, code"),
                _value("sum", "controller_runtime_webhook_requests_in_flight", "webhook", "in flight"),
            ],
        ),
        _Panel("Duration of a request", "s", _times("controller_runtime_webhook_latency_seconds", "webhook")),
        _Panel(
            "Bugs",
            "ops",
            [
                _rate("controller_runtime_webhook_panics_total", "pod", "admission"),
                _rate("controller_runtime_conversion_webhook_panics_total", "pod", "conversion"),
            ],
        ),
        _Panel(
            "Certificates",
            "s",
            [
                (f"{_VALID} - time()", _VALID_FOR),
                _rate("certwatcher_read_certificate_total", "pod", "read"),
                _rate("certwatcher_read_certificate_errors_total", "pod", "errors"),
            ],
        ),
    ),
    "Process": (
        _Panel(
            "Event loop blocked",
            "percentunit",
            [
                _rate("pykb_event_loop_blocked_seconds_total", "pod"),
                _rate("pykb_webhook_blocked_seconds_total", "webhook"),
            ],
        ),
        _Panel("Processor", "short", [_rate("process_cpu_seconds_total", "pod", "cores")]),
        _Panel("Memory", "bytes", [_value("max", "process_resident_memory_bytes", "pod")]),
        _Panel("Open files", "short", [_value("max", "process_open_fds", "pod")]),
    ),
}
"""The graphs by row."""

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def _dashboard(project: str, namespace: str, job: str) -> str:
    """The dashboard of a project in JSON, to import into Grafana."""
    content: dict[str, Any] = {
        "title": f"{project}: operator",
        "uid": f"pykb-{project}"[:40],
        "tags": ["pykb", "operator"],
        "editable": True,
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": _variables(namespace, job)},
        "panels": list(_panels()),
    }
    return json.dumps(content, indent=2) + "\n"


def _variables(namespace: str, job: str) -> list[dict[str, Any]]:
    controllers = f"label_values(controller_runtime_reconcile_total{{{_OF}}}, controller)"
    return [
        {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"},
        _constant("namespace", namespace),
        _constant("job", job),
        {
            "name": "controller",
            "type": "query",
            "datasource": _SOURCE,
            "query": controllers,
            "refresh": 2,
            "includeAll": True,
            "multi": True,
            "current": {"text": "All", "value": "$__all"},
        },
    ]


def _constant(name: str, value: str) -> dict[str, Any]:
    option = {"text": value, "value": value, "selected": True}
    return {"name": name, "type": "textbox", "query": value, "current": option, "options": [option]}


def _panels() -> Iterator[dict[str, Any]]:
    number, top = 0, 0
    for row, panels in _ROWS.items():
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": row,
            "collapsed": False,
            "panels": [],
            "gridPos": _at(0, top, 24, 1),
        }
        top += 1
        for index, panel in enumerate(panels):
            number += 1
            yield _panel(number, panel, _at(index % 2 * _WIDTH, top + index // 2 * _HEIGHT, _WIDTH, _HEIGHT))
        top += (len(panels) + 1) // 2 * _HEIGHT


def _panel(number: int, panel: _Panel, place: dict[str, int]) -> dict[str, Any]:
    return {
        "id": number,
        "type": "timeseries",
        "title": panel.title,
        "datasource": _SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": _SOURCE, "expr": query, "legendFormat": legend}
            for index, (query, legend) in enumerate(panel.queries)
        ],
    }


def _at(x: int, y: int, width: int, height: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": width, "h": height}
