"""Putting a controller together: what the builder takes for granted, and what it refuses."""

from datetime import timedelta

import pytest

from pykb.api.apps.v1 import Deployment
from pykb.api.core.v1 import ConfigMap, Pod
from pykb.diagnostics import EnvironmentProblem
from pykb.runtime import ControllerBuilder, ControllerOptions, Manager, ManagerOptions, Reconciler, WorkQueue
from pykb.runtime.fake import fake_client
from pykb.runtime.requests.queue import ItemExponentialLimiter


class Idle(Reconciler):
    """Does nothing."""

    async def reconcile(self, request):
        """Do nothing."""


@pytest.fixture
def manager():
    """A manager that never runs."""
    return Manager(ManagerOptions(group_kind_concurrency={"Deployment.apps": 7}), client=fake_client())


@pytest.fixture
def idle(manager):
    """A reconciler."""
    return Idle(manager.client)


def test_a_controller_is_called_after_its_kind_and_names_are_unique(manager, idle):
    """A name labels metrics and logs, so it means one controller."""
    assert ControllerBuilder(manager).for_(Pod).complete(idle).name == "pod"
    with pytest.raises(EnvironmentProblem, match="there is already a controller `pod`"):
        ControllerBuilder(manager).for_(Pod).complete(idle)
    assert ControllerBuilder(manager).for_(Pod).named("other").complete(idle).name == "other"


def test_incomplete_controllers_are_refused(manager, idle):
    """Without a name, without anything to watch, with children of nobody, or with two kinds."""
    with pytest.raises(EnvironmentProblem, match=r"needs `for_\(Kind\)`, or a name"):
        ControllerBuilder(manager).complete(idle)
    with pytest.raises(EnvironmentProblem, match="`empty` watches nothing"):
        ControllerBuilder(manager).named("empty").complete(idle)
    with pytest.raises(EnvironmentProblem, match="`owns` needs an owner kind"):
        ControllerBuilder(manager).named("orphans").watches(Pod, lambda _: []).owns(ConfigMap).complete(idle)
    with pytest.raises(ValueError, match="reconciles one kind"):
        ControllerBuilder(manager).for_(Pod).for_(ConfigMap)


@pytest.mark.parametrize(
    ("said", "workers"),
    [
        ({}, 7),
        ({"timeout": timedelta(seconds=5)}, 7),
        ({"max_concurrent_reconciles": 2}, 2),
        ({"options": ControllerOptions(max_concurrent_reconciles=3)}, 3),
    ],
)
def test_concurrency_is_that_of_the_kind_unless_the_controller_says_otherwise(manager, idle, said, workers):
    """The manager's `group_kind_concurrency` fills in what was not said, whatever else was."""
    controller = ControllerBuilder(manager).for_(Deployment).with_options(**said).complete(idle)
    assert controller.options.max_concurrent_reconciles == workers
    assert controller.options.timeout == said.get("timeout")


def test_a_kind_without_concurrency_has_one_worker(manager, idle):
    """Like a controller's default."""
    assert ControllerBuilder(manager).for_(Pod).complete(idle).options.max_concurrent_reconciles == 1


async def test_a_controller_may_bring_its_rate_limiter(manager, idle):
    """In place of 5 ms to 1000 s and 10 a second."""
    limiter = ItemExponentialLimiter(base=timedelta(seconds=2), limit=timedelta(seconds=8))
    controller = ControllerBuilder(manager).for_(Pod).with_options(rate_limiter=lambda: limiter).complete(idle)
    assert isinstance(controller.queue, WorkQueue)
    controller.queue.add_rate_limited("a")
    assert limiter.failures("a") == 1


def test_a_class_in_the_place_of_a_reconciler_is_refused(manager):
    """Each call would fail for want of an argument; what to write is said."""
    with pytest.raises(TypeError, match=r"got the class `Idle`: `Idle\(manager.client\)`"):
        ControllerBuilder(manager).for_(Pod).complete(Idle)
