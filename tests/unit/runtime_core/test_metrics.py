"""Metrics carry controller-runtime's names and labels."""

from datetime import timedelta

from prometheus_client import Counter
from prometheus_client.parser import text_string_to_metric_families

from pykb.client.clock import VirtualClock
from pykb.client.transport import RequestRecord
from pykb.runtime._metrics import Metrics
from pykb.runtime.cache.informer import Informer
from pykb.runtime.controller.controller import Controller
from pykb.runtime.requests.queue import LOW_PRIORITY
from pykb.runtime.requests.reconcile import Request

from .conftest import WIDGET, Script, listed, refused, target, turn  # noqa: TID252 - shared by this folder only

CONTROLLER_RUNTIME = {
    "controller_runtime_reconcile_total": {"controller", "result"},
    "controller_runtime_reconcile_errors_total": {"controller"},
    "controller_runtime_terminal_reconcile_errors_total": {"controller"},
    "controller_runtime_reconcile_panics_total": {"controller"},
    "controller_runtime_reconcile_timeouts_total": {"controller"},
    "controller_runtime_reconcile_time_seconds_bucket": {"controller", "le"},
    "controller_runtime_max_concurrent_reconciles": {"controller"},
    "controller_runtime_active_workers": {"controller"},
    "workqueue_depth": {"name", "controller", "priority"},
    "workqueue_adds_total": {"name", "controller"},
    "workqueue_queue_duration_seconds_bucket": {"name", "controller", "le"},
    "workqueue_work_duration_seconds_bucket": {"name", "controller", "le"},
    "workqueue_unfinished_work_seconds": {"name", "controller"},
    "workqueue_longest_running_processor_seconds": {"name", "controller"},
    "workqueue_retries_total": {"name", "controller"},
    "rest_client_requests_total": {"code", "method", "host"},
    "leader_election_master_status": {"name"},
    "controller_runtime_webhook_latency_seconds_bucket": {"webhook", "le"},
    "controller_runtime_webhook_requests_total": {"webhook", "code"},
    "controller_runtime_webhook_requests_in_flight": {"webhook"},
    "controller_runtime_conversion_webhook_panics_total": set(),
    "certwatcher_read_certificate_total": set(),
    "certwatcher_read_certificate_errors_total": set(),
}


def samples(metrics):
    """What a scrape gives, by name."""
    text, _ = metrics.render()
    found = {}
    for family in text_string_to_metric_families(text.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample)
    return found


async def test_a_scrape_has_controller_runtimes_metrics_with_its_labels():
    """Dashboards and alerts made for Go operators find what they ask for."""
    metrics = Metrics()
    Controller("widget", reconciler=None, metrics=metrics)
    metrics.observe_request(RequestRecord("GET", "h:6443", 200, 0.1))
    metrics.leader.labels("id").set(1)
    metrics.webhook_seconds.labels("/x").observe(1)
    metrics.webhook_requests.labels("/x", "200").inc()
    metrics.webhook_in_flight.labels("/x").set(0)
    found = samples(metrics)
    for name, labels in CONTROLLER_RUNTIME.items():
        assert name in found, name
        assert set(found[name][0].labels) == labels, name


async def test_counters_exist_before_their_first_event():
    """Rates are right from the first event on."""
    metrics = Metrics()
    Controller("widget", reconciler=None, metrics=metrics)
    results = {s.labels["result"]: s.value for s in samples(metrics)["controller_runtime_reconcile_total"]}
    assert results == {"success": 0, "error": 0, "requeue": 0, "requeue_after": 0}


async def test_the_queue_is_read_when_scraped():
    """Depth by priority, age of what runs."""
    metrics, clock = Metrics(), VirtualClock()
    queue = Controller("widget", reconciler=None, metrics=metrics, clock=clock).queue
    queue.add(Request("d", "running"))
    await queue.get()
    queue.add(Request("d", "a"))
    queue.add(Request("d", "b"), priority=LOW_PRIORITY)
    queue.add(Request("d", "later"), after=timedelta(minutes=1))
    clock.advance(timedelta(seconds=7))
    found = samples(metrics)
    assert {s.labels["priority"]: s.value for s in found["workqueue_depth"]} == {"0": 1, "-100": 1}
    assert found["workqueue_longest_running_processor_seconds"][0].value == 7
    assert found["workqueue_unfinished_work_seconds"][0].value == 7
    assert found["workqueue_adds_total"][0].value == 4


async def test_failures_and_silence_of_watches_are_read_when_scraped(running):
    """By kind; the longest silence where a kind has several watches."""
    metrics, clock = Metrics(), VirtualClock()
    mirrors = [Informer(WIDGET, lambda raw: raw, clock=clock) for _ in range(2)]
    metrics.add_watches(lambda: mirrors)
    running(mirrors[0].run(Script([refused()], [*listed(), Script.HANG]), [target()]))
    await turn()
    clock.advance(timedelta(seconds=40))
    await turn()
    clock.advance(timedelta(seconds=7))
    found = samples(metrics)
    labels = {"group": "example.com", "version": "v1", "kind": "Widget"}
    (failures,), (silence,) = found["pykb_watch_failures_total"], found["pykb_watch_silence_seconds"]
    assert (failures.value, failures.labels) == (1, labels)
    assert (silence.value, silence.labels) == (7, labels)


def test_requests_without_an_answer_are_counted_as_errors():
    """As client-go labels them."""
    metrics = Metrics()
    metrics.observe_request(RequestRecord("GET", "h", 0, 0.1))
    assert samples(metrics)["rest_client_requests_total"][0].labels["code"] == "<error>"


def test_metrics_of_the_program_are_served_too():
    """From the manager's registry as from prometheus_client's default one."""
    metrics = Metrics()
    Counter("my_widgets", "mine", registry=metrics.registry).inc(3)
    found = samples(metrics)
    assert found["my_widgets_total"][0].value == 3
    assert "python_info" in found


def test_two_managers_do_not_share_metrics():
    """Tests, and programs with several managers, count apart."""
    one, other = Metrics(), Metrics()
    one.leader.labels("x").set(1)
    assert "leader_election_master_status" not in samples(other)
