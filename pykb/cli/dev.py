"""``pykb dev``: runs control plane, CRDs and manager, and follows changes of files.

``pykb cluster`` is the control plane alone, in the background.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pykb.cli import console
from pykb.cli.options import taking
from pykb.project.options import option

if TYPE_CHECKING:
    from pykb.dev.loop import Source, Target
    from pykb.envtest.cluster import Cluster, Status
    from pykb.envtest.reporter import Reporter


_COLOURS = {"pykb": "1;34", "generate": "1;35", "manager": "1;32", "explore": "1;33"}

Port = Annotated[int, typer.Option(metavar="PORT", min=0, max=65535, help="Port of the page. 0 is a free one.")]
Record = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also write what the page shows to a new file, for `pykb inspect`.")
]

_EDITOR = "vscode://file{path}:{line}"
_RUNS = ("javascript", "data", "vbscript", "blob")
"""Schemes that run code in the page instead of opening a program."""


def _editor(url: str) -> str:
    """Check the address that opens an editor."""
    if "{path}" not in url or not (scheme := re.match(r"([a-z][a-z0-9+.-]*):\S+\Z", url, re.IGNORECASE)):
        raise typer.BadParameter(f"this opens no file, expected e.g. `{_EDITOR}`")
    if scheme[1].lower() in _RUNS:
        raise typer.BadParameter(f"`{scheme[1]}:` opens no editor, expected e.g. `{_EDITOR}`")
    return url


def dev(
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[-- FLAGS]", help="Flags for the manager.", show_default=False)
    ] = None,
    kubeconfig: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Use a real cluster instead of a local control plane.")
    ] = None,
    port: Port = 0,
    record: Record = None,
    explore: Annotated[
        bool, typer.Option("--explore", help="Look for faults with the explorer after each start of the manager.")
    ] = False,
    page: Annotated[bool, typer.Option("--page/--no-page", help="Show the page at the printed address.")] = True,
    editor_url: Annotated[
        str,
        typer.Option(
            metavar="URL",
            envvar="PYKB_EDITOR_URL",
            callback=_editor,
            help="What lines of code on the page link to, with {path} and {line}.",
        ),
    ] = _EDITOR,
) -> None:
    """Run control plane, CRDs and manager. After a change, generate, apply and restart what changed.

    Uses the control plane of `pykb cluster up` if it runs. Otherwise it starts one, which stops with this command. The
    API server calls the project's webhooks on this machine. Each reconcile is a line: why it ran, what it wrote, how it
    ended, and where. Errors in the code are shown, and the next save tries again. The page at the printed address shows
    objects and reconciles live; only this user can open it. Ctrl-C stops everything.

    Examples:
      pykb dev
      pykb dev -- --log-level=debug
      pykb dev --explore
      pykb dev --port 8000
      pykb dev --record bug.jsonl
      pykb dev --editor-url 'idea://open?file={path}&line={line}'
      pykb dev --kubeconfig ~/.kube/config
    """
    import asyncio

    from pykb.cli.console import ProgressReporter
    from pykb.cli.project import existing_kubeconfig, require_project
    from pykb.dev.loop import DevLoop, open_target
    from pykb.dev.page.history import History
    from pykb.dev.page.server import Page
    from pykb.dev.project import DevProject

    if record is not None and not page:
        raise typer.BadParameter("it records the page: leave `--no-page` out", param_hint="`--record`")
    root, project = require_project(writes=True)
    given = existing_kubeconfig(kubeconfig)
    if page:
        Page(History(), port=port).check()
    colour = sys.stdout.isatty() and console.colour_on_stderr()
    output = Lines(colour=colour)
    with ProgressReporter() as reporter, open_target(root, given, reporter) as target:
        reporter.stop()
        _introduce(target, output)
        loop = DevLoop(
            DevProject(root, project.package),
            target,
            output,
            arguments=tuple(arguments or ()),
            colour=colour,
            port=port if page else None,
            record=record,
            explores=explore,
            editor=editor_url,
        )
        asyncio.run(loop.run())


def _introduce(target: Target, output: Lines) -> None:
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


Name = Annotated[
    str,
    typer.Option(metavar="NAME", help="Name of the control plane.  [default: the project's own, else `default`]"),
]

WITHOUT_CONTROLLER_MANAGER = (
    "owned objects are not garbage-collected",
    "Deployments and Jobs make no pods",
    "deleted namespaces stay Terminating, new ones get no default ServiceAccount",
)


@dataclass(frozen=True, slots=True)
class Start:
    """The options of ``cluster up``."""

    version: str = option("Kubernetes version, such as 1.37.", "VERSION")
    controller_manager: bool = option("Also run kube-controller-manager.", default=True, has_opposite=True)
    port: int | None = option(
        "Port of the API server.  [default: a free one]", "PORT", default=None, least=0, most=65535
    )
    feature_gates: str = option(
        "Features of the API server to switch on or off, such as ShardedListAndWatch=true.", "GATE=true[,...]"
    )


@taking(Start)
def up(name: Name = "", *, options: Start) -> None:
    """Start a control plane in the background: etcd, kube-apiserver and kube-controller-manager, without Docker.

    Prints a line that sets KUBECONFIG. Run this line in every terminal that uses the control plane. `make` in the
    project finds it without. If the control plane already runs, the command only prints the line again. The control
    plane has no nodes, so pods stay pending. Programs that are not in the cache are downloaded (`pykb envtest use`).

    Examples:
      pykb cluster up
      eval "$(pykb cluster up)"
      pykb cluster up --name other --port 6443
      pykb cluster up --feature-gates ShardedListAndWatch=true
    """
    from pykb.cli.console import ProgressReporter
    from pykb.envtest.assets import get_assets
    from pykb.envtest.cache import KUBERNETES, parse_version

    cluster = _find_cluster(name)
    wanted = parse_version(options.version or KUBERNETES)
    gates, port = _gates_of(options.feature_gates), options.port or 0
    _refuse_other(cluster.status(), port=port, version=wanted if options.version else "", feature_gates=gates)
    with ProgressReporter() as reporter:
        assets = get_assets(wanted, reporter=reporter)
        adds = options.controller_manager
        status = cluster.up(assets, controller_manager=adds, port=port, feature_gates=gates, reporter=reporter)
        console.say("run this line in every terminal that uses it:")
        console.out(export_line(status.kubeconfig))
        if shutil.which("kubectl") is None and assets.kubectl is None:
            get_assets(wanted, kubectl=True, reporter=reporter)
        if adds and not status.has_controller_manager:
            _add_controller_manager(cluster, wanted, reporter)


def _refuse_other(running: Status, *, port: int, version: str, feature_gates: Mapping[str, bool]) -> None:
    """End the command if the control plane already runs, and in another way than the options say."""
    from urllib.parse import urlsplit

    from pykb.cli.errors import EXIT_USAGE, finish
    from pykb.diagnostics.codes.cli import USAGE
    from pykb.envtest.cache import Cache, matches

    if not running.alive:
        return
    others = []
    present = urlsplit(running.url).port
    if port and present != port:
        others.append((f"--port {port}", f"on port {present}"))
    cache = Cache.of_user()
    if version and running.assets is not None and running.assets.parent == cache.folder:  # not of KUBEBUILDER_ASSETS
        kept = cache.version_of(running.assets)
        if not matches(version, kept):
            others.append((f"--version {version}", f"with Kubernetes {kept}"))
    if any(running.feature_gates.get(gate) is not on for gate, on in feature_gates.items()):
        gates = _as_text(running.feature_gates)
        others.append((f"--feature-gates {_as_text(feature_gates)}", f"with {gates or 'the default features'}"))
    helps = ("pykb cluster down      # deletes its data, then start it again",)
    finish(
        [USAGE.at(None, f"`{given}`: the control plane already runs {how}", *helps) for given, how in others],
        code=EXIT_USAGE,
    )


def _as_text(gates: Mapping[str, bool]) -> str:
    return ",".join(f"{gate}={str(on).lower()}" for gate, on in gates.items())


def _gates_of(text: str) -> dict[str, bool]:
    """Read feature gates as kube-apiserver does."""
    gates = {}
    for part in filter(None, text.split(",")):
        gate, _, value = part.strip().partition("=")
        if not gate.isalnum() or value not in ("true", "false"):
            raise typer.BadParameter(f"`{part}` is not a feature gate, expected e.g. `ShardedListAndWatch=true`")
        gates[gate] = value == "true"
    return gates


def _add_controller_manager(cluster: Cluster, version: str, reporter: Reporter) -> None:
    """Get the controller manager while the control plane is already in use. Ctrl-C skips it."""
    from pykb.envtest.assets import get_assets

    reporter.note("the control plane is ready; getting kube-controller-manager next (Ctrl-C to skip it)")
    try:
        assets = get_assets(version, controller_manager=True, reporter=reporter)
    except KeyboardInterrupt:
        _tell_without_controller_manager()
        raise
    if assets.kube_controller_manager is None:
        _tell_without_controller_manager()
        return
    cluster.up(assets)


def _tell_without_controller_manager() -> None:
    """Warn which features need the controller manager."""
    from pykb.cli.errors import report
    from pykb.diagnostics import Severity
    from pykb.diagnostics.codes.environment import CONTROLLER_MANAGER_MISSING

    message = "the control plane runs without kube-controller-manager"
    helps = ("pykb envtest use       # gets it", "pykb cluster up        # adds it to the running one")
    notes = WITHOUT_CONTROLLER_MANAGER
    report([CONTROLLER_MANAGER_MISSING.at(None, message, *helps, notes=notes, severity=Severity.WARNING)])


def status(name: Name = "") -> None:
    """Show whether the control plane runs, and where. Exit 1 if it does not run or lacks a part.

    Examples:
      pykb cluster status
      pykb cluster status --format json
    """
    from pykb.diagnostics.render import Format

    cluster = _find_cluster(name)
    found = cluster.status()
    if console.settings.format is Format.JSON:
        console.out(as_json(found))
    else:
        for line in describe(found) if found.alive else ["not running"]:
            console.out(line)
    up = f"pykb cluster up{f' --name {name}' if name else ''}"
    if not found.alive and found.kubeconfig.exists():
        console.say("note: it ended without `pykb cluster down`; the next start deletes its data")
    for part in found.exited:
        console.say(f"note: the log of {part} is {cluster.log(part)}")
    if not found.alive or found.exited:
        console.say(f"help: `{up}` starts {'what has ended' if found.alive else 'it'}")
    if not found.complete:
        raise typer.Exit(1)


def describe(found: Status) -> list[str]:
    """Describe a running cluster in a few lines."""
    from pykb.tools.process import describe_exit

    lines = [f"server      {found.url}", f"kubeconfig  {found.kubeconfig}"]
    lines += [f"{name:<24}process {pid}" for name, pid in found.running.items()]
    lines += [f"{name:<24}ended with {describe_exit(code)}" for name, code in found.exited.items()]
    return lines


def as_json(found: Status) -> str:
    """Describe a cluster as JSON: its addresses, and the process id or exit code of each part."""
    import json

    facts = {
        "alive": found.alive,
        "complete": found.complete,
        "server": found.url or None,
        "kubeconfig": str(found.kubeconfig) if found.alive else None,
        "running": dict(found.running),
        "exited": dict(found.exited),
    }
    return json.dumps(facts, indent=2)


def down(name: Name = "") -> None:
    """Stop it and throw its data away.

    Examples:
      pykb cluster down
    """
    stopped = _find_cluster(name).down()
    console.say("the control plane is stopped" if stopped else "there is no control plane to stop")


def _find_cluster(name: str) -> Cluster:
    """Find the cluster with a name.

    Without a name: that of the project, else the user's default one.
    """
    from pykb.cli.errors import refuse
    from pykb.diagnostics.codes.environment import CLUSTER_NAME
    from pykb.envtest.cluster import NAME, Cluster, named_folder
    from pykb.files.state import STATE
    from pykb.project import find_root

    root = find_root()
    if not name and root is not None:
        return Cluster(root / STATE / "cluster")
    if name and not NAME.fullmatch(name):
        message = f"`{name}` is not a valid cluster name, expected lower-case letters, digits and `-`"
        refuse(message, kind=CLUSTER_NAME)
    return Cluster(named_folder(name or "default"))


def export_line(kubeconfig: Path) -> str:
    """The line to type (or ``eval``) so that kubectl uses the cluster."""
    return f"export KUBECONFIG={shlex.quote(str(kubeconfig))}"
