"""``pykb dev``: runs control plane, CRDs and manager, and follows changes of files."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pykb.cli import console

if TYPE_CHECKING:
    from pykb.dev.loop import Source
    from pykb.dev.target import Target

_COLOURS = {"pykb": "1;34", "generate": "1;35", "manager": "1;32"}


def dev(
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[-- FLAGS]", help="Flags for the manager.", show_default=False)
    ] = None,
    kubeconfig: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Use a real cluster instead of a local control plane.")
    ] = None,
) -> None:
    """Run control plane, CRDs and manager. After a change, generate, apply and restart what changed.

    Uses the control plane of `pykb cluster up` if it runs. Otherwise it starts one, which stops with this command. The
    API server calls the project's webhooks on this machine. Errors in the code are shown, and the next save tries
    again. Ctrl-C stops everything.

    Examples:
      pykb dev
      pykb dev -- --log-level=debug
      pykb dev --kubeconfig ~/.kube/config
    """
    import asyncio

    from pykb.cli.console import ProgressReporter
    from pykb.cli.project import existing_kubeconfig, require_project
    from pykb.dev.loop import DevLoop
    from pykb.dev.project import DevProject
    from pykb.dev.target import open_target

    root, project = require_project(writes=True)
    given = existing_kubeconfig(kubeconfig)
    colour = sys.stdout.isatty() and console.colour_on_stderr()
    output = Lines(colour=colour)
    with ProgressReporter() as reporter, open_target(root, given, reporter) as target:
        reporter.stop()
        _introduce(target, output)
        loop = DevLoop(
            DevProject(root, project.package), target, output, arguments=tuple(arguments or ()), colour=colour
        )
        asyncio.run(loop.run())


def _introduce(target: Target, output: Lines) -> None:
    from pykb.cli.cluster import export_line
    from pykb.dev.loop import Source

    output.line(Source.PYKB, f"cluster: {target.title}")
    output.line(Source.PYKB, f"run this line in every terminal that uses it: {export_line(target.kubeconfig)}")
    bundled = target.own.assets.kubectl if target.own is not None else None
    if shutil.which("kubectl") is None and bundled is not None:
        output.line(Source.PYKB, f"kubectl is here: {bundled}")


class Lines:
    """Prints lines to stdout, each with its source."""

    def __init__(self, *, colour: bool) -> None:
        self._colour = colour

    def line(self, source: Source, text: str) -> None:
        """Print one line."""
        name = f"{source:<8} |"
        head = f"\x1b[{_COLOURS[source]}m{name}\x1b[0m" if self._colour else name
        sys.stdout.write(f"{head} {text}".rstrip() + "\n")
        sys.stdout.flush()

    def error(self, text: str) -> None:
        """Print a diagnostic."""
        sys.stdout.flush()
        console.warn_raw(text)
