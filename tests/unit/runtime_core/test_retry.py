"""What is tried again after a conflict."""

import asyncio
from datetime import timedelta

import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import Conflict, NotFound, VirtualClock, retry_on_conflict
from pykb.runtime.fake import fake_client


async def test_writers_that_meet_all_get_their_turn():
    """Ten of them count up one number."""
    client = fake_client(ConfigMap(metadata=ObjectMeta(name="n", namespace="default"), data={"n": "0"}))

    async def count_up():
        found = await client.live.get(ConfigMap, "default/n")
        found.data = {"n": str(int(found.data["n"]) + 1)}
        await client.update(found)

    await asyncio.gather(*(retry_on_conflict(count_up, attempts=20) for _ in range(10)))
    assert (await client.get(ConfigMap, "default/n")).data == {"n": "10"}


async def test_the_last_conflict_is_raised_and_pauses_lie_between():
    """Five attempts, four pauses of ten milliseconds and a little."""
    clock, attempts = VirtualClock(), []

    async def refused():
        attempts.append(clock.now())
        raise Conflict(409, "Conflict", "another was faster")

    task = asyncio.create_task(retry_on_conflict(refused, clock=clock))
    for _ in range(4):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        clock.advance(timedelta(milliseconds=11))
    with pytest.raises(Conflict):
        await task
    assert len(attempts) == 5
    assert attempts == sorted(set(attempts))


async def test_other_errors_are_not_tried_again():
    """Nor is a number of attempts that makes none."""
    client = fake_client()
    with pytest.raises(NotFound):
        await retry_on_conflict(lambda: client.get(ConfigMap, "default/none"))
    with pytest.raises(ValueError, match="at least one attempt"):
        await retry_on_conflict(lambda: client.get(ConfigMap, "default/none"), attempts=0)
