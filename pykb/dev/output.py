"""What the loop says, and to whom it does not matter how it is shown."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol


class Source(StrEnum):
    """Who speaks."""

    PYKB = "pykb"
    GENERATE = "generate"
    MANAGER = "manager"


class Output(Protocol):
    """Shows lines; the command line brings one."""

    def line(self, source: Source, text: str) -> None:
        """Show one line (it may hold ANSI colours of the program that wrote it)."""

    def error(self, text: str) -> None:
        """Show a diagnostic, which may be several lines."""
