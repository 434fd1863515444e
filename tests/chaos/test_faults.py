"""Whatever goes wrong while objects are created, changed and deleted: in the end every object is right."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from pykb.envtest import ControlPlane, get_assets
from tests.chaos.cluster import Cluster
from tests.chaos.faults import ALL, QUICK, SHARDED
from tests.chaos.play import FULL, SMALL, Fault, play

pytestmark = pytest.mark.apiserver


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A control plane that may be broken."""
    # Namespaces are emptied by kube-controller-manager, which only that fault starts.
    with ControlPlane(assets=get_assets(controller_manager=True)) as running:
        yield running


@pytest.fixture
async def cluster(plane, tmp_path) -> AsyncIterator[Cluster]:
    """The same, ready for operators."""
    async with Cluster(plane, tmp_path) as cluster:
        yield cluster


@pytest.mark.timeout(300)
@pytest.mark.parametrize("fault", [*ALL, *QUICK], ids=lambda fault: fault.name)
async def test_a_fault_costs_no_object(fault: Fault, cluster):
    """A few objects, one strike: none is lost, none is left over, none is worked on twice, no error is kept quiet."""
    verdict = await play(fault, cluster, SMALL)
    assert verdict.good, verdict


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("fault", [*ALL, *SHARDED], ids=lambda fault: fault.name)
async def test_a_fault_costs_no_object_of_many(fault: Fault, cluster):
    """The same with many objects, repeated strikes and the operators' own time limits."""
    verdict = await play(fault, cluster, FULL)
    assert verdict.good, verdict
