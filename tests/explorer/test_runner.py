"""What histories cost."""

from __future__ import annotations

import gc
import tracemalloc

from pykb.explore._history import Fault, FaultKind, History, Step, Verb
from pykb.explore._runner import Runner
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime import ControllerBuilder, Manager, Reconciler, Request, Result
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import SAMPLE, subject_of


def test_kinds_of_other_projects_are_served():
    """Their definitions are not in this project. Without them, the manager would end after two minutes."""

    class Nothing(Reconciler):
        async def reconcile(self, request: Request) -> Result:
            return Result()

    def register(manager: Manager) -> None:
        Keeper(manager.client).setup(manager)
        ControllerBuilder(manager).for_(GroupVersionKind("certs.example.org", "v1", "Issuer")).complete(
            Nothing(manager.client)
        )

    with Runner(subject_of(register), 0) as runner:
        outcome = runner.run(History((Step(Verb.CREATE, SAMPLE),), idle=600))
    assert outcome.broken == ""
    assert outcome.reconciles


def test_memory_does_not_grow_with_the_number_of_histories():
    """Neither objects nor bytes are left of a history, with and without a crash."""

    def register(manager: Manager) -> None:
        Keeper(manager.client).setup(manager)

    steps = (Step(Verb.CREATE, SAMPLE), Step(Verb.DELETE, SAMPLE))
    histories = (History(steps), History(steps, Fault(FaultKind.CRASH_AFTER, 1)))
    with Runner(subject_of(register), 0) as runner:

        def left_after(rounds: int) -> tuple[int, int]:
            for _ in range(rounds):
                for history in histories:
                    runner.run(history)
            gc.collect()
            return len(gc.get_objects()), tracemalloc.get_traced_memory()[0]

        tracemalloc.start()
        try:
            left_after(5)  # fills what is kept of the first ones
            objects, size = left_after(5)
            more_objects, more_size = left_after(20)
        finally:
            tracemalloc.stop()
    assert more_objects - objects < 200
    assert more_size - size < 50_000


def test_the_world_is_not_at_rest_before_late_events_have_come():
    """Even if nothing changes for longer than a rest takes."""

    def register(manager: Manager) -> None:
        Keeper(manager.client).setup(manager)

    steps = (Step(Verb.CREATE, SAMPLE),)
    with Runner(subject_of(register), 0) as runner:
        usual, late = (runner.run(History(steps, fault)) for fault in (None, Fault(FaultKind.LAG, seconds=100)))
    assert usual.states == late.states != [{}]
