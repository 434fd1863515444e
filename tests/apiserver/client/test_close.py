"""What a client leaves behind."""

import os

import pytest

from pykb.api.core.v1 import Namespace
from pykb.runtime import Client

pytestmark = pytest.mark.apiserver


def _sockets():
    """The sockets that this process has open."""
    found = set()
    for each in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{each}")
        except FileNotFoundError:  # the listing's own
            continue
        if target.startswith("socket:"):
            found.add(target)
    return found


async def test_no_socket_is_open_once_close_returned(control_plane):
    """A program may end its loop at once: TLS has been shut down."""
    before = _sockets()
    client = Client.from_kubeconfig(control_plane.kubeconfig)
    await client.get(Namespace, "default")
    assert _sockets() - before
    await client.close()
    assert not _sockets() - before
