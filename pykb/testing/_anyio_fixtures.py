"""The async fixtures for anyio's pytest plugin, with its asyncio backend."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pykb.envtest import ControlPlane
    from pykb.envtest.existing import ExistingCluster
    from pykb.runtime import Client


@pytest.fixture
async def client(
    anyio_backend: object,  # noqa: ARG001 - asking for it is what makes anyio run an async fixture
    control_plane: ControlPlane | ExistingCluster,
) -> AsyncIterator[Client]:
    """A client of the control plane as its administrator. Every read is a request."""
    from pykb.runtime import Client

    async with Client.from_kubeconfig(control_plane.kubeconfig) as client:
        yield client
