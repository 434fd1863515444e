"""A reserved port is nobody else's, and the apiserver can still bind it."""

from __future__ import annotations

import socket

import pytest

from pykb.diagnostics import EnvironmentProblem
from pykb.envtest.components import port_of, reserve_port


def test_many_reservations_are_all_different() -> None:
    """However many control planes start at once."""
    reserved = [reserve_port() for _ in range(50)]
    assert len({port_of(r) for r in reserved}) == 50
    for each in reserved:
        each.close()


def test_a_reserved_port_is_refused_to_strangers() -> None:
    """A program that does not share ports cannot take it, even while nobody listens."""
    with reserve_port() as reserved, socket.socket() as stranger, pytest.raises(OSError):
        stranger.bind(("127.0.0.1", port_of(reserved)))


def test_the_apiserver_can_bind_it_and_gets_every_connection() -> None:
    """Of two sockets on a port only the one that listens is connected to."""
    with reserve_port() as reserved, socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        server.bind(("127.0.0.1", port_of(reserved)))
        server.listen()
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", port_of(reserved)), timeout=60):
                server.accept()[0].close()


@pytest.mark.parametrize("shares", [False, True])
def test_a_port_that_is_served_is_a_problem(shares: bool) -> None:
    """Also when its owner would share it: another control plane of ours does."""
    with socket.socket() as other:
        if shares:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(EnvironmentProblem, match=f"port {port} of 127.0.0.1 is in use"):
            reserve_port(port)
