"""The dashboard and the alerts ask for metrics that a manager has, and for all of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from pykb.cli import app
from pykb.client.transport import RequestRecord
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime._metrics import Metrics
from pykb.runtime.controller.controller import Controller

_METRIC = re.compile(r"([a-z_]+)\{")
_OURS = ("controller_runtime_", "workqueue_", "rest_client_", "leader_election_", "certwatcher_", "pykb_")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Path:
    """A new project with the plugin."""
    root = tmp_path / "fleet"
    root.mkdir()
    monkeypatch.chdir(root)
    assert app.run(["init", "--domain", "example.com", "--plugins", "grafana"]) == 0
    capfd.readouterr()
    return root


def scraped() -> dict[str, set[str]]:
    """The metrics of a manager with their labels, by the names that a query uses."""
    metrics = Metrics()
    Controller("widget", reconciler=None, metrics=metrics)  # type: ignore[arg-type]
    metrics.observe_request(RequestRecord("GET", "h:6443", 200, 0.1, waited=0.1))
    metrics.leader.labels("id").set(1)
    metrics.webhook_seconds.labels("/x").observe(1)
    metrics.webhook_requests.labels("/x", "200").inc()
    metrics.webhook_in_flight.labels("/x").set(0)
    metrics.certificate_end.labels("webhook").set(1)
    metrics.observe_unreadable(GroupVersionKind("g", "v1", "K"))
    metrics.observe_blocking_webhook("/x", 1)
    found = {"pykb_watch_failures_total": {"group", "version", "kind"}}  # there are none without informers
    for name in ("pykb_watch_silence_seconds", "pykb_cache_function_failures_total"):
        found[name] = found["pykb_watch_failures_total"]
    for family in text_string_to_metric_families(metrics.render()[0].decode()):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def queries_of_dashboard(root: Path) -> list[str]:
    """The queries of all panels."""
    content = json.loads((root / "grafana/operator.json").read_text(encoding="utf-8"))
    return [target["expr"] for panel in content["panels"] for target in panel.get("targets", ())]


def rules(root: Path) -> list[dict[str, object]]:
    """The alerts."""
    content = yaml.safe_load((root / "config/prometheus/alerts.yaml").read_text(encoding="utf-8"))
    return [rule for group in content["spec"]["groups"] for rule in group["rules"]]


def test_every_query_asks_for_metrics_that_there_are(root: Path) -> None:
    """By their names and labels."""
    known = scraped()
    queries = [*queries_of_dashboard(root), *(str(rule["expr"]) for rule in rules(root))]
    assert len(queries) > 40
    for query in queries:
        names = _METRIC.findall(query)
        assert names, query
        assert set(names) <= set(known), query
        labels = {"namespace", "job", "pod", "le"}.union(*(known[name] for name in names))
        grouped = [name for group in re.findall(r"(?:by|on) \(([^)]*)\)", query) for name in group.split(", ")]
        filtered = re.findall(r"[{,] ?([a-z]+)=", query)
        assert set(grouped) | set(filtered) <= labels, query


def test_the_dashboard_has_every_metric(root: Path) -> None:
    """A metric that nobody sees is of no use."""
    shown = {name for query in queries_of_dashboard(root) for name in _METRIC.findall(query)}
    own = {name for name in scraped() if name.startswith(_OURS) and not name.endswith(("_created", "_sum", "_count"))}
    assert own - shown == set()


def test_the_dashboard_is_one_that_grafana_imports(root: Path) -> None:
    """Each panel has its own number and place, and reads from the chosen source."""
    content = json.loads((root / "grafana/operator.json").read_text(encoding="utf-8"))
    panels = content["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in panels]
    assert len(set(places)) == len(places)
    assert {panel["datasource"]["uid"] for panel in panels if panel["type"] != "row"} == {"${datasource}"}
    values = {each["name"]: each.get("query") for each in content["templating"]["list"]}
    assert values["namespace"] == "fleet-system"
    assert values["job"] == "fleet-controller-manager-metrics-service"


def test_alerts_say_what_is_wrong(root: Path) -> None:
    """Errors, queues, hot loops, certificates among them; they belong to config/prometheus."""
    found = {str(rule["alert"]): rule for rule in rules(root)}
    assert {"OperatorReconcileErrors", "OperatorQueueGrows", "OperatorHotLoop", "OperatorCertificateExpires"} <= set(
        found
    )
    for rule in found.values():
        assert set(rule) == {"alert", "expr", "for", "labels", "annotations"}
        assert isinstance(rule["annotations"], dict)
        assert set(rule["annotations"]) == {"summary", "description"}
    assert "- alerts.yaml" in (root / "config/prometheus/kustomization.yaml").read_text(encoding="utf-8")


def test_edited_files_stay(root: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Thresholds and panels are the user's."""
    edit = ["edit", "--plugins", "grafana"]
    before = (root / "grafana/operator.json").read_bytes()
    assert app.run(edit) == 0
    (root / "grafana/operator.json").write_text("{}")
    assert app.run(edit) == 0
    assert (root / "grafana/operator.json").read_text() == "{}"
    assert app.run([*edit, "--force"]) == 0
    assert (root / "grafana/operator.json").read_bytes() == before
    capfd.readouterr()
