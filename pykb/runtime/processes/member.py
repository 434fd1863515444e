"""What differs in a process that a parent has started."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from typing import TYPE_CHECKING

from pykb.runtime.processes.channel import HEALTHY, METRICS, READY, Place, answer
from pykb.runtime.serving import BindAddress

if TYPE_CHECKING:
    from pykb.runtime.manager.manager import Manager
    from pykb.runtime.manager.options import ManagerOptions


def options_in(place: Place, options: ManagerOptions) -> ManagerOptions:
    """The options of one process. The parent serves probes and metrics; debug servers have ports in a row."""
    pprof = BindAddress.parse(options.pprof_bind_address)
    if pprof is not None and pprof.port:
        host = f"[{pprof.host}]" if ":" in (pprof.host or "") else pprof.host or ""
        options = replace(options, pprof_bind_address=f"{host}:{pprof.port + place.number - 1}")
    return replace(options, processes=1, health_probe_bind_address="0", metrics_bind_address="0")


async def answer_parent(place: Place, manager: Manager) -> None:
    """Answer the parent. Stop when it has ended."""

    async def scrape() -> str:
        return (await manager.metrics.scrape())[0].decode()

    await answer(place, {METRICS: scrape, HEALTHY: manager.healthz.pass_all, READY: manager.readyz.pass_all})
    # As if it had passed on the signal. If this process stops already, it ends at once.
    os.kill(os.getpid(), signal.SIGTERM)
