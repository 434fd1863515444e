"""Finds out whether the API server filters lists and watches by shard."""

from __future__ import annotations

from pykb.runtime.client.client import Client
from pykb.runtime.client.connection import Call
from pykb.runtime.errors import ApiError
from pykb.runtime.sharding.ranges import Ranges


async def filters_by_shard(client: Client, namespace: str) -> bool:
    """Ask for a list with a wrong selector, which a server refuses only if it reads it, and with a right one.

    Raises:
        ApiError: The list is forbidden, or the server has another problem.
        ServerUnreachable: It does not answer.
    """
    return not await _accepts(client, namespace, "wrong") and await _accepts(client, namespace, Ranges(1).selector(0))


async def _accepts(client: Client, namespace: str, selector: str) -> bool:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    exchange = client.live._exchange  # noqa: SLF001 - a part of the client
    call = Call(
        "GET",
        path,
        query=(("limit", "1"), ("shardSelector", selector)),
        impersonate=exchange.options.impersonate,
    )
    try:
        await exchange.connection.request(call)
    except ApiError as error:
        # 400 by the documentation, and 500 from Kubernetes 1.36.1.
        if "shard selector" not in error.message:
            raise
        return False
    return True
