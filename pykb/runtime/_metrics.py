"""Metrics under controller-runtime's names and labels, so that its dashboards and alerts work.

Source: https://book.kubebuilder.io/reference/metrics-reference
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from pykb.meta.gvk import GroupVersionKind
from pykb.runtime.requests.queue import QueueObserver

if TYPE_CHECKING:
    from pykb.client.transport import RequestRecord
    from pykb.runtime.cache.informer import Informer
    from pykb.runtime.requests.queue import WorkQueue

RECONCILE_SECONDS = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    *(1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0),
    *(50.0, 60.0),
)
QUEUE_SECONDS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0)
THROTTLED_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)  # client-go's

_PREFIX = "controller_runtime"
RESULTS = ("success", "error", "requeue", "requeue_after")


class Tally:
    """A counter that goes up and down, for events that happen thousands of times per second.

    prometheus_client's counters take a lock for each change, since any thread may make it. This is
    for one event loop, and becomes a metric only on a scrape.
    """

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def inc(self) -> None:
        """Add one."""
        self.value += 1

    def dec(self) -> None:
        """Subtract one."""
        self.value -= 1


class Distribution:
    """A histogram, made like :class:`Tally`: how many values fell into each bucket, and the sum of all values."""

    __slots__ = ("_bounds", "_counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(self._bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        """Count a value in the first bucket whose bound is not less."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    def buckets(self) -> list[tuple[str, float]]:
        """How many values are at most each bound, in Prometheus' form, infinity last."""
        total = 0
        found: list[tuple[str, float]] = []
        for bound, count in zip((*map(str, self._bounds), "+Inf"), self._counts, strict=True):
            total += count
            found.append((bound, total))
        return found


class Metrics:
    """All metrics of one manager, in a registry of its own. Add your own metrics to :attr:`registry`.

    ::

        started = Counter("machines_started", "Machines that were started", registry=manager.metrics.registry)
        started.inc()
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry)
        self._workers = gauge(
            f"{_PREFIX}_max_concurrent_reconciles", "Maximum number of concurrent reconciliations", ("controller",)
        )
        self._controllers = _Controllers()
        self.registry.register(self._controllers)
        self._watches = _Watches()
        self.registry.register(self._watches)
        self._seen_requests: dict[tuple[int, str, str], Counter] = {}
        self._requests = counter("rest_client_requests_total", "Requests to the API server", ("code", "method", "host"))
        self._throttled = histogram(
            "rest_client_rate_limiter_duration_seconds",
            "Time that requests waited for the client's rate limit",
            ("verb", "host"),
            buckets=THROTTLED_SECONDS,
        )
        self._unreadable = counter(
            "pykb_unreadable_objects",
            "Objects that did not fit their class",
            ("group", "version", "kind"),
        )
        self._stalled = counter(
            "pykb_event_loop_blocked_seconds", "Seconds for which a coroutine blocked the event loop", ()
        )
        self.leader = gauge("leader_election_master_status", "1 on the leader", ("name",))
        webhook = ("webhook",)
        self.webhook_seconds = histogram(
            f"{_PREFIX}_webhook_latency_seconds", "Duration of an admission request", webhook, buckets=RECONCILE_SECONDS
        )
        self.webhook_requests = counter(
            f"{_PREFIX}_webhook_requests_total", "Admission requests by HTTP code", (*webhook, "code")
        )
        self.webhook_in_flight = gauge(
            f"{_PREFIX}_webhook_requests_in_flight", "Admission requests being served", webhook
        )
        self._webhook_blocked = counter(
            "pykb_webhook_blocked_seconds", "Seconds for which an async webhook blocked the event loop", webhook
        )
        self.webhook_panics = counter(f"{_PREFIX}_webhook_panics_total", "Admission requests that ended with a bug", ())
        self.conversion_panics = counter(
            f"{_PREFIX}_conversion_webhook_panics_total", "Conversions that ended with a bug", ()
        )
        self.certificate_reads = counter("certwatcher_read_certificate_total", "Certificates read", ())
        self.certificate_errors = counter(
            "certwatcher_read_certificate_errors_total", "Certificates that could not be read", ()
        )
        self.certificate_end = gauge(
            "pykb_certificate_expiration_timestamp_seconds", "When the certificate of a server expires", ("server",)
        )

    def controller(self, name: str, queue: Callable[[], WorkQueue[Any]], *, workers: int) -> ControllerMetrics:
        """The metrics of one controller. They start at 0, so that rates are right from the first event."""
        self._workers.labels(name).set(workers)
        return self._controllers.add(name, queue)

    def remove_controller(self, name: str) -> None:
        """Forget the series of a controller."""
        self._workers.remove(name)
        self._controllers.remove(name)

    def observe_request(self, record: RequestRecord) -> None:
        """Count a request of the client. The code ``<error>`` means that there was no answer."""
        key = (record.code, record.method, record.host)
        counter = self._seen_requests.get(key)
        if counter is None:
            code = str(record.code) if record.code else "<error>"
            counter = self._seen_requests[key] = self._requests.labels(code, record.method, record.host)
        counter.inc()
        if record.waited is not None:
            self._throttled.labels(record.method, record.host).observe(record.waited)

    def add_watches(self, informers: Callable[[], Iterable[Informer[Any]]]) -> None:
        """Export the state of these informers' lists and watches."""
        self._watches.sources.append(informers)

    def observe_unreadable(self, gvk: GroupVersionKind) -> None:
        """Count an object that does not fit its class."""
        self._unreadable.labels(gvk.group, gvk.version, gvk.kind).inc()

    def observe_stall(self, seconds: float) -> None:
        """Count seconds for which the event loop was blocked."""
        self._stalled.inc(seconds)

    def observe_blocking_webhook(self, webhook: str, seconds: float) -> None:
        """Count seconds for which a coroutine of a webhook blocked the event loop."""
        self._webhook_blocked.labels(webhook).inc(seconds)

    def render(self) -> tuple[bytes, str]:
        """Return all metrics, including those in prometheus_client's default registry, and the content type."""
        text = generate_latest(self.registry)
        if self.registry is not REGISTRY:
            text += generate_latest(REGISTRY)
        return text, CONTENT_TYPE_LATEST


class ControllerMetrics(QueueObserver):
    """The counts of one controller. It also observes the controller's queue."""

    def __init__(self) -> None:
        self.results = {result: Tally() for result in RESULTS}
        self.errors, self.terminal, self.panics, self.timeouts, self.active = (Tally() for _ in range(5))
        self.loops, self.handlers = Tally(), Tally()
        self.seconds = Distribution(RECONCILE_SECONDS)
        self.adds, self.retries = Tally(), Tally()
        self.waited, self.worked = Distribution(QUEUE_SECONDS), Distribution(QUEUE_SECONDS)

    def added(self, priority: int) -> None:  # noqa: ARG002 - depth by priority is read at scrape time
        """A key was added."""
        self.adds.inc()

    def started(self, priority: int, waited: float) -> None:  # noqa: ARG002
        """A key was handed out."""
        self.waited.observe(waited)

    def finished(self, worked: float) -> None:
        """A worker finished a key."""
        self.worked.observe(worked)

    def retried(self) -> None:
        """A key will be retried."""
        self.retries.inc()

    def handler_failed(self) -> None:
        """An event handler, a map function or a predicate failed."""
        self.handlers.inc()


_COUNTERS: tuple[tuple[str, str, Callable[[ControllerMetrics], Tally]], ...] = (
    (f"{_PREFIX}_reconcile_errors", "Reconciliations that raised", lambda of: of.errors),
    (f"{_PREFIX}_terminal_reconcile_errors", "Reconciliations that raised TerminalError", lambda of: of.terminal),
    (
        f"{_PREFIX}_reconcile_panics",
        "Reconciliations that ended with a bug (TypeError and similar)",
        lambda of: of.panics,
    ),
    (f"{_PREFIX}_reconcile_timeouts", "Reconciliations that hit their timeout", lambda of: of.timeouts),
    (
        "pykb_event_handler_failures",
        "Calls of event handlers, map functions and predicates that failed",
        lambda of: of.handlers,
    ),
    ("pykb_reconcile_loops", "Hot loops, and again after each 30 reconciles of one", lambda of: of.loops),
)
_QUEUE_COUNTERS: tuple[tuple[str, str, Callable[[ControllerMetrics], Tally]], ...] = (
    ("workqueue_adds", "Keys added", lambda of: of.adds),
    ("workqueue_retries", "Keys added with a delay by the rate limiter", lambda of: of.retries),
)
_QUEUE_TIMES: tuple[tuple[str, str, Callable[[ControllerMetrics], Distribution]], ...] = (
    ("workqueue_queue_duration_seconds", "Time a key waits in the queue", lambda of: of.waited),
    ("workqueue_work_duration_seconds", "Time spent on a key", lambda of: of.worked),
)


class _Controllers(Collector):
    """Makes metrics of the controllers' counts on each scrape."""

    def __init__(self) -> None:
        self._by_name: dict[str, ControllerMetrics] = {}
        self._queues: dict[str, Callable[[], WorkQueue[Any]]] = {}

    def add(self, controller: str, queue: Callable[[], WorkQueue[Any]]) -> ControllerMetrics:
        self._queues[controller] = queue
        return self._by_name.setdefault(controller, ControllerMetrics())

    def remove(self, controller: str) -> None:
        self._by_name.pop(controller, None)
        self._queues.pop(controller, None)

    def collect(self) -> Iterator[Metric]:
        label, labels = ["controller"], ["name", "controller"]
        total = CounterMetricFamily(f"{_PREFIX}_reconcile", "Reconciliations by result", labels=[*label, "result"])
        seconds = HistogramMetricFamily(
            f"{_PREFIX}_reconcile_time_seconds", "Duration of a reconciliation", labels=label
        )
        active = GaugeMetricFamily(f"{_PREFIX}_active_workers", "Reconciliations running now", labels=label)
        for name, counts in self._by_name.items():
            for result, tally in counts.results.items():
                total.add_metric([name, result], tally.value)
            seconds.add_metric([name], counts.seconds.buckets(), counts.seconds.sum)
            active.add_metric([name], counts.active.value)
        yield from (total, seconds, active)
        for counters, names in ((_COUNTERS, label), (_QUEUE_COUNTERS, labels)):
            for metric, text, tally_of in counters:
                counter = CounterMetricFamily(metric, text, labels=names)
                for name, counts in self._by_name.items():
                    counter.add_metric([name] * len(names), tally_of(counts).value)
                yield counter
        for metric, text, times_of in _QUEUE_TIMES:
            times = HistogramMetricFamily(metric, text, labels=labels)
            for name, counts in self._by_name.items():
                times.add_metric([name, name], times_of(counts).buckets(), times_of(counts).sum)
            yield times
        yield from self._of_queues(labels)

    def _of_queues(self, labels: list[str]) -> Iterator[Metric]:
        depth = GaugeMetricFamily("workqueue_depth", "Keys ready to be worked on", labels=[*labels, "priority"])
        unfinished = GaugeMetricFamily(
            "workqueue_unfinished_work_seconds", "Time spent on keys not yet done, summed", labels=labels
        )
        longest = GaugeMetricFamily(
            "workqueue_longest_running_processor_seconds", "Time spent on the oldest key not yet done", labels=labels
        )
        for name, queue in self._queues.items():
            for priority, count in ({0: 0} | queue().ready_by_priority()).items():
                depth.add_metric([name, name, str(priority)], count)
            running = queue().running_since()
            unfinished.add_metric([name, name], sum(running))
            longest.add_metric([name, name], max(running, default=0.0))
        yield from (depth, unfinished, longest)


class _Watches(Collector):
    """Makes metrics of the informers' state on each scrape."""

    def __init__(self) -> None:
        self.sources: list[Callable[[], Iterable[Informer[Any]]]] = []

    def collect(self) -> Iterator[Metric]:
        labels = ["group", "version", "kind"]
        failures = CounterMetricFamily(
            "pykb_watch_failures", "Lists and watches that ended with an error", labels=labels
        )
        functions = CounterMetricFamily(
            "pykb_cache_function_failures", "Calls of transforms and index functions that failed", labels=labels
        )
        silence = GaugeMetricFamily(
            "pykb_watch_silence_seconds", "Time since the API server last sent something about a kind", labels=labels
        )
        counted: dict[GroupVersionKind, tuple[int, int, float]] = {}
        for informer in (informer for source in self.sources for informer in source()):
            failed, called, silent = counted.get(informer.gvk, (0, 0, 0.0))
            silent = max(silent, informer.silent_for.total_seconds())
            counted[informer.gvk] = (failed + informer.failures, called + informer.function_failures, silent)
        for gvk, (failed, called, silent) in counted.items():
            failures.add_metric([gvk.group, gvk.version, gvk.kind], failed)
            functions.add_metric([gvk.group, gvk.version, gvk.kind], called)
            silence.add_metric([gvk.group, gvk.version, gvk.kind], silent)
        yield from (failures, functions, silence)
