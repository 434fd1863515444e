"""Addresses to listen on, as Go writes them: ``:8081``, ``127.0.0.1:8081``, ``[::1]:8081``; ``0`` for nowhere."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address


@dataclass(frozen=True, slots=True)
class BindAddress:
    """The address of a server. It listens on all interfaces if the host is ``None``."""

    host: str | None
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return self.host is not None and ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @classmethod
    def parse(cls, text: str) -> BindAddress | None:
        """Parse an address. ``None`` means that the server is off (``0`` or empty).

        Raises:
            ValueError: The text is not an address.
        """
        if text in ("", "0"):
            return None
        host, colon, port = text.rpartition(":")
        if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise ValueError(
                f"`{text}` is not an address to listen on; expected `:8081`, `127.0.0.1:8081` or `0` for none"
            )
        return cls(host.removeprefix("[").removesuffix("]") or None, int(port))
