"""Every test here runs twice: against the in-memory API server and against the real one."""

from __future__ import annotations

import secrets

import pytest

from pykb.api.core.v1 import Namespace
from pykb.api.meta.v1 import ObjectMeta
from pykb.project.settings import NEWEST
from pykb.runtime import Client
from pykb.runtime.fake import fake_client


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.apiserver)])
def server(request: pytest.FixtureRequest) -> str:
    """Which of the two."""
    return str(request.param)


@pytest.fixture
def minor(server: str, request: pytest.FixtureRequest) -> int:
    """The minor version of Kubernetes that it is. The one in memory is as the newest."""
    return NEWEST[1] if server == "fake" else request.getfixturevalue("server_minor")


@pytest.fixture
async def client(server: str, request: pytest.FixtureRequest):
    """A client of either."""
    if server == "fake":
        yield fake_client()
        return
    async with Client.from_kubeconfig(request.getfixturevalue("control_plane").kubeconfig) as real:
        yield real


@pytest.fixture
async def namespace(client: Client) -> str:
    """A namespace for one test."""
    name = f"conformance-{secrets.token_hex(6)}"
    await client.create(Namespace(metadata=ObjectMeta(name=name)))
    return name
