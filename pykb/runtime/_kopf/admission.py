"""The server of admission handlers: kopf's, with the manager's certificate and metrics."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import aiohttp.web
import kopf

from pykb.runtime.certificates import self_signed
from pykb.runtime.metrics import Metrics


class AdmissionServer(kopf.WebhookServer):
    """Makes its own certificate as the manager does, without the packages that kopf would need for it, and counts."""

    def __init__(self, metrics: Metrics, webhooks: Collection[str], **options: Any) -> None:
        super().__init__(**options)
        self._metrics = metrics
        self._webhooks = frozenset(webhooks)

    @staticmethod
    def build_certificate(hostnames: Collection[str], password: str | None = None) -> tuple[bytes, bytes]:
        """A self-signed certificate and its key."""
        del password  # only for keys that lie in files
        return self_signed(tuple(dict.fromkeys(hostnames)))

    async def _serve(self, fn: Any, request: aiohttp.web.Request) -> aiohttp.web.Response:  # type: ignore[override]
        asked = request.match_info.get("id", "")
        # Anybody may ask for any path; metrics know those that exist.
        webhook = f"/{asked}" if asked in self._webhooks else "other"
        code = 500
        with (
            self._metrics.webhook_in_flight.labels(webhook).track_inprogress(),
            self._metrics.webhook_seconds.labels(webhook).time(),
        ):
            try:
                response = await super()._serve(fn, request)
                code = response.status
            except aiohttp.web.HTTPException as error:
                code = error.status
                raise
            finally:
                self._metrics.webhook_requests.labels(webhook, str(code)).inc()
        return response
