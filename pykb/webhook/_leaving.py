"""Stops a webhook server without losing requests.

After a pod gets the signal to stop, its Service still sends it requests for a short time, and API
servers keep their connections open. If the server closed at once, these requests would fail, and
with them the users' requests (``failurePolicy`` is usually ``Fail``). The server therefore keeps
answering, and closes each connection with its answer.
"""

from __future__ import annotations

from datetime import timedelta

from pykb.client.clock import Clock

SPREAD = timedelta(seconds=3)
"""How long it usually takes until all nodes know that the pod stops. If requests are rare, silence proves nothing."""

QUIET = timedelta(seconds=1)
"""After this time without requests, no more are expected."""

RECENT = timedelta(minutes=1)
"""After this time without requests before the stop, the server does not wait: an unused manager stops at once."""


class Leaving:
    """Decides when a server may close."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked: float | None = None
        self._begun: float | None = None

    def asked(self) -> None:
        """Record a request."""
        self._asked = self._clock.now()

    def begin(self) -> None:
        """Begin to stop."""
        if self._begun is None:
            self._begun = self._clock.now()

    @property
    def begun(self) -> bool:
        """Whether each answer should close its connection."""
        return self._begun is not None

    async def quiet(self) -> None:
        """Wait until no more requests arrive."""
        self.begin()
        if self._begun is None or self._asked is None or self._since(self._asked) > RECENT:
            return
        while (left := max(SPREAD - self._since(self._begun), QUIET - self._since(self._asked))) > timedelta():
            await self._clock.sleep(left)

    def _since(self, moment: float) -> timedelta:
        return timedelta(seconds=self._clock.now() - moment)
