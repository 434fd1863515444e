"""The async fixtures for pytest-asyncio. Its own decorator makes them work in its strict mode, too."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest_asyncio

if TYPE_CHECKING:
    from pykb.envtest import ControlPlane
    from pykb.envtest.existing import ExistingCluster
    from pykb.runtime import Client


@pytest_asyncio.fixture
async def client(control_plane: ControlPlane | ExistingCluster) -> AsyncIterator[Client]:
    """A client of the control plane as its administrator. Every read is a request."""
    from pykb.runtime import Client

    async with Client.from_kubeconfig(control_plane.kubeconfig) as client:
        yield client
