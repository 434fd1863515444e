"""What is counted of webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pykb.serving.tls import CertificateMetrics

if TYPE_CHECKING:
    from prometheus_client import Counter, Gauge, Histogram


class WebhookMetrics(CertificateMetrics, Protocol):
    """The manager's metrics, as far as webhooks need them."""

    webhook_seconds: Histogram
    webhook_requests: Counter
    webhook_in_flight: Gauge
    webhook_panics: Counter
    conversion_panics: Counter

    def observe_blocking_webhook(self, webhook: str, seconds: float) -> None:
        """Count seconds for which a coroutine of a webhook blocked the event loop."""
