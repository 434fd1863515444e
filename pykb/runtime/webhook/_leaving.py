"""Leaving without a lost request.

Once a pod is told to stop it takes some moments until its Service sends nobody there any more, and API servers keep
connections open to ask again on them. A server that closes at once fails these requests, and with them the users' (a
webhook's ``failurePolicy`` is mostly ``Fail``). So it goes on answering while it is asked, and lets go of each
connection with the answer.
"""

from __future__ import annotations

from datetime import timedelta

from pykb.runtime.clock import Clock

SPREAD = timedelta(seconds=3)
"""How long it takes at most until all nodes know that the pod goes; nobody promises it. Where it is asked seldom, that
nobody asks tells nothing of that."""

QUIET = timedelta(seconds=1)
"""When nobody has asked for so long after that, nobody will."""

RECENT = timedelta(minutes=1)
"""Who was not asked for so long need not wait for more: a manager that nobody calls stops at once."""


class Leaving:
    """When a server may close."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked: float | None = None
        self._begun: float | None = None

    def asked(self) -> None:
        """Note a request."""
        self._asked = self._clock.now()

    def begin(self) -> None:
        """The server is to stop."""
        if self._begun is None:
            self._begun = self._clock.now()

    @property
    def begun(self) -> bool:
        """Whether answers are to close their connections."""
        return self._begun is not None

    async def quiet(self) -> None:
        """Wait until nobody asks any more."""
        self.begin()
        if self._begun is None or self._asked is None or self._since(self._asked) > RECENT:
            return
        while (left := max(SPREAD - self._since(self._begun), QUIET - self._since(self._asked))) > timedelta():
            await self._clock.sleep(left)

    def _since(self, moment: float) -> timedelta:
        return timedelta(seconds=self._clock.now() - moment)
