"""Kubectl, where a program needs what only it can do, such as logins by plugin or building kustomizations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import TOOL_MISSING
from pykb.tools.process import Finished, check, find_program, run

NAME = "kubectl"
FIELD_MANAGER = "pykb"


@dataclass(frozen=True, slots=True)
class Kubectl:
    """A kubectl and the cluster it talks to.

    Attributes:
        program: The executable.
        kubeconfig: The cluster; kubectl's own choice when ``None``.
        context: The context in the kubeconfig; the current one when empty.
    """

    program: Path
    kubeconfig: Path | None = None
    context: str = ""

    @classmethod
    def find(cls, *, kubeconfig: Path | None = None, context: str = "", folders: Sequence[Path] = ()) -> Kubectl:
        """The kubectl in ``folders`` (a control plane's binaries), else the one on PATH.

        Raises:
            EnvironmentProblem: There is none.
        """
        program = find_program(NAME, folders=folders)
        if program is None:
            raise EnvironmentProblem(
                TOOL_MISSING.at(
                    None,
                    "`kubectl` is not installed",
                    help=(
                        "pykb envtest use       # brings kubectl along",
                        "or see https://kubernetes.io/docs/tasks/tools/",
                    ),
                )
            )
        return cls(program, kubeconfig, context)

    def __call__(self, *arguments: str, stdin: str | None = None, timeout: timedelta | None = None) -> str:
        """Run kubectl and return what it printed.

        Raises:
            EnvironmentProblem: It failed; its own words are quoted.
        """
        return self.run(*arguments, stdin=stdin, timeout=timeout).stdout

    def run(self, *arguments: str, stdin: str | None = None, timeout: timedelta | None = None) -> Finished:
        """Run kubectl, which must succeed."""
        return check(self._command(arguments), stdin=stdin, timeout=timeout)

    def attempt(self, *arguments: str) -> Finished:
        """Run kubectl, which may fail."""
        return run(self._command(arguments))

    def _command(self, arguments: Sequence[str]) -> tuple[str | Path, ...]:
        cluster = ("--kubeconfig", str(self.kubeconfig)) if self.kubeconfig else ()
        context = ("--context", self.context) if self.context else ()
        return (self.program, *cluster, *context, *arguments)

    def apply(self, manifests: str) -> str:
        """Apply manifests on the server's side, so that no size limit of an annotation counts; returns what changed."""
        flags = ("--server-side", "--force-conflicts", f"--field-manager={FIELD_MANAGER}")
        return self("apply", *flags, "--filename=-", stdin=manifests)
