"""Reserves ports of the loopback interface."""

from __future__ import annotations

import socket

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import CONTROL_PLANE_PORT

LOOPBACK = "127.0.0.1"


def reserve_port(port: int = 0) -> socket.socket:
    """Bind a loopback port and keep it, without listening, until the socket is closed.

    The apiserver binds the same port (``--permit-port-sharing`` sets SO_REUSEPORT, as this function does). Only the
    apiserver listens, so it gets every connection. To find a free port and release it would be a race between two
    control planes that start at once. With a reservation, a restarted apiserver always gets its port back.

    Args:
        port: The port wanted; 0 for any free one.

    Raises:
        EnvironmentProblem: The port is taken.
    """
    reserved = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if port and _answers(port):
            # With SO_REUSEPORT, binding the port of another control plane of the same user would succeed and share
            # its traffic.
            raise OSError("something listens there")  # noqa: TRY301 - one way out for both refusals
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        reserved.bind((LOOPBACK, port))
    except OSError as error:
        reserved.close()
        raise EnvironmentProblem(
            CONTROL_PLANE_PORT.at(
                None,
                f"port {port} of {LOOPBACK} is in use",
                help=("choose another port, or omit it to get a free one",),
            )
        ) from error
    return reserved


def port_of(reserved: socket.socket) -> int:
    """The number of a reserved port."""
    port: int = reserved.getsockname()[1]
    return port


def _answers(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        return probe.connect_ex((LOOPBACK, port)) == 0
