"""``pykb inspect``: the page of ``pykb dev`` for a manager in a cluster, or for a recording."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pykb.cli import console
from pykb.cli.deploy import Context, Kubeconfig
from pykb.cli.dev import Port, Record

if TYPE_CHECKING:
    from pykb.deployment.manifests import Object

_KINDS = {"deployment": "deployment", "deploy": "deployment", "pod": "pod"}


def inspect(
    what: Annotated[
        str, typer.Argument(metavar="[FILE|deployment/NAME|pod/NAME]", help="What to show.", show_default=False)
    ] = "",
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", metavar="NS", help="The namespace of the manager.", show_default=False)
    ] = "",
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    service_account: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The account that reads the records.  [default: that of config/records]",
            show_default=False,
        ),
    ] = "",
    port: Port = 0,
    record: Record = None,
) -> None:
    """Show what a manager in a cluster does, or a recording, on the page of `pykb dev`, read-only.

    Shows the leader of a Deployment: the one that you name, else the only one of the project or the namespace. Its
    records come over `kubectl port-forward`, and must be switched on (`pykb explain records-off`). Objects are read
    with your own permissions. A lost connection is made again. `--record` of this command and of `pykb dev` makes a
    recording. Only you can open the page at the printed address. Ctrl-C stops everything.

    Examples:
      pykb inspect
      pykb inspect deployment/shop-controller-manager --namespace shop-system
      pykb inspect --record bug.jsonl
      pykb inspect bug.jsonl
    """
    kind, _, name = what.partition("/")
    if what and kind not in _KINDS:
        if namespace or kubeconfig or context or service_account or record:
            raise typer.BadParameter("it takes only `--port`; a manager is `deployment/NAME`", param_hint="a recording")
        _show_recording(Path(what), port)
        return

    from pykb.cli.deploy import connect
    from pykb.client.login import DiscoveredCredentials
    from pykb.dev.inspection import Inspection
    from pykb.dev.pods import Subject, find_subject
    from pykb.dev.project import DevProject
    from pykb.envtest.rest import Rest
    from pykb.project import find_root
    from pykb.project.file import read

    root = find_root()
    deployments = _deployments(root) if root is not None else []
    kubectl = connect(root or Path.cwd(), kubeconfig, context).kubectl
    if name:
        namespaces = [each["metadata"].get("namespace", "") for each in deployments]
        within = namespace or next(iter(namespaces), "")
        subject = Subject(kubectl, _KINDS[kind], name, within, service_account)
    else:
        subject = find_subject(kubectl, deployments, namespace=namespace, account=service_account)
    rest = Rest(DiscoveredCredentials(kubeconfig=kubectl.kubeconfig, context=context or None, master=None))
    project = None if root is None else DevProject(root, read(root)[0].package)
    title = subject.name if project is None else project.package
    inspection = Inspection(subject, rest, title, console.out)
    asyncio.run(inspection.show(port, tuple if project is None else project.kinds, record))


def _deployments(root: Path) -> list[Object]:
    """The Deployments that the project renders."""
    from pykb.deployment import IMAGE
    from pykb.deployment.manifests import objects_of, of_kind, render_operator

    return of_kind(objects_of(render_operator(root, IMAGE)), "Deployment")


def _show_recording(path: Path, port: int) -> None:
    from pykb.cli.errors import report
    from pykb.dev.inspection import show_recording
    from pykb.dev.page.recording import read_recording

    history, notes = read_recording(path)
    report(notes)
    asyncio.run(show_recording(history, port, console.out))
