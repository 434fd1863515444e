"""The operator that runs kopf's handlers in a manager, at its start and at its end."""

import asyncio

import kopf
import pytest

from pykb.runtime import ManagerOptions
from pykb.runtime._kopf.handlers import operators


class NeverLogsIn:
    """Credentials that do not come, so that nothing reaches for a server."""

    async def current(self):
        """Wait for ever."""
        await asyncio.Event().wait()

    refresh = current


@pytest.mark.parametrize("turns", range(8))
async def test_whenever_it_is_stopped_kopf_ends_with_it(turns):
    """Each turn of the event loop finds kopf at another step of its start. Nobody would end a task that is left."""
    registry = kopf.OperatorRegistry()

    @kopf.on.event("v1", "secrets", registry=registry)
    def seen(**_):
        """Want a watch."""

    (operator,) = operators(
        NeverLogsIn(), None, [registry], ManagerOptions(namespaces=("default",)), webhooks=None, started=list
    )
    before = asyncio.all_tasks()
    running = asyncio.create_task(operator.run())
    for _ in range(turns):
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, 20)
    left = asyncio.all_tasks() - before
    # kopf names its tasks. Without a name are the reads of its discovery, which it leaves to the end of the event loop.
    assert [task.get_name() for task in left if not task.get_name().startswith("Task-")] == []
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
