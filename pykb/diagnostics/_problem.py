"""The exceptions that remain: broken environments and our own bugs. A mistake of the user is a Diagnostic."""

from __future__ import annotations

from pykb.diagnostics.model import Diagnostic


class PykbError(Exception):
    """Root of everything that pykb raises on purpose."""


class EnvironmentProblem(PykbError):  # noqa: N818 - not every problem is an error of the program
    """Something outside the project stands in the way: a tool is missing, a cluster cannot be reached.

    The command line prints its diagnostic and exits with 1.
    """

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic


class InternalError(PykbError):
    """A bug in pykb. The command line says so, asks for a report, and exits with 70."""
