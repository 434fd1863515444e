"""The output of the loop, independent of how it is shown."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol


class Source(StrEnum):
    """The source of a line."""

    PYKB = "pykb"
    GENERATE = "generate"
    MANAGER = "manager"


class Output(Protocol):
    """Shows lines. The command line implements it."""

    def line(self, source: Source, text: str) -> None:
        """Show one line, which may contain ANSI colours of the program that wrote it."""

    def error(self, text: str) -> None:
        """Show a diagnostic, which may be several lines."""
