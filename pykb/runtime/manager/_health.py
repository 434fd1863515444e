"""Liveness and readiness: named checks behind ``/healthz`` and ``/readyz``, in the API server's format.

Source: https://kubernetes.io/docs/reference/using-api/health-checks/
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TypeAlias

from pykb.runtime.serving import HttpError, HttpRequest, HttpResponse, Routes

logger = logging.getLogger(__name__)

TIMEOUT = timedelta(seconds=10)
"""A check that takes longer than this fails. By default, the kubelet waits for 1 s."""

Check: TypeAlias = Callable[[], Awaitable[None] | None]
"""Returns if the program is healthy and raises if not. Plain or async."""


def ping() -> None:
    """Always pass: the process answers."""


class Checks:
    """The checks behind one path."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._checks: dict[str, Check] = {}

    @property
    def names(self) -> frozenset[str]:
        """The names of the checks."""
        return frozenset(self._checks)

    def add(self, name: str, check: Check) -> None:
        """Add a check.

        Raises:
            ValueError: A check of this name exists, or the name cannot be part of a path.
        """
        if name in self._checks:
            raise ValueError(f"there is a check `{name}` at {self.path} already")
        if not name or "/" in name:
            raise ValueError(f"`{name}` is not a valid name of a check: it becomes part of a path")
        self._checks[name] = check

    def add_to(self, routes: Routes) -> None:
        """Serve all checks together at the path, and each check at its name below the path."""
        routes.add(self.path, self._all)
        routes.add(self.path + "/*", self._one)

    async def _all(self, request: HttpRequest) -> HttpResponse:
        excluded = set(request.query.get("exclude", ()))
        lines, healthy = [], True
        for name, check in sorted((self._checks or {"ping": ping}).items()):
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
                continue
            passed = await self._passes(name, check)
            healthy = healthy and passed
            lines.append(f"[+]{name} ok" if passed else f"[-]{name} failed: reason withheld")
        verdict = f"{self.path.lstrip('/')} check {'passed' if healthy else 'failed'}"
        if healthy and "verbose" not in request.query:
            return HttpResponse.text("ok")
        return HttpResponse.text("\n".join([*lines, verdict]) + "\n", 200 if healthy else 500)

    async def _one(self, request: HttpRequest) -> HttpResponse:
        name = request.path.rpartition("/")[2]
        check = self._checks.get(name) or ({"ping": ping}.get(name) if not self._checks else None)
        if check is None:
            raise HttpError(404, f"no check `{name}`\n")
        if await self._passes(name, check):
            return HttpResponse.text("ok")
        return HttpResponse.text(f"{name} failed: reason withheld\n", 500)

    async def _passes(self, name: str, check: Check) -> bool:
        # The reason goes only to the log: anybody in the cluster may read the probe.
        try:
            answer = check()
            if inspect.isawaitable(answer):
                async with asyncio.timeout(TIMEOUT.total_seconds()) as limit:
                    await answer
        except TimeoutError as error:
            # The kubelet has given up by then. Its repeated probes must not pile up here.
            reason = f"no answer within {TIMEOUT.total_seconds():g} s" if limit.expired() else str(error)
            logger.warning("check failed", extra={"path": self.path, "check": name, "error": reason})
            return False
        except Exception as error:  # noqa: BLE001 - a check says no by raising anything
            logger.warning("check failed", extra={"path": self.path, "check": name, "error": str(error)})
            return False
        return True
