"""``pykb run``, ``install``, ``uninstall``, ``deploy``, ``undeploy`` and ``build-installer``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pykb.cli import console
from pykb.cli.errors import EXIT_FINDINGS
from pykb.deployment import IMAGE

if TYPE_CHECKING:
    from pykb.deployment.cluster import Cluster

Kubeconfig = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="The cluster.  [default: KUBECONFIG, the project's own control plane, ~/.kube/config]"
    ),
]
Context = Annotated[str, typer.Option(metavar="NAME", help="The context in the kubeconfig.", show_default=False)]
Image = Annotated[str, typer.Option(metavar="IMG", help="The image of the manager.")]
Diff = Annotated[bool, typer.Option("--diff", help="Show what would change in the cluster; apply nothing.")]
Timeout = Annotated[int, typer.Option(min=1, metavar="SECONDS", help="How long to wait for each object.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

_OWN_CHOICE = ("--kubeconfig", "--context", "--master")


def run(
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[-- FLAGS]", help="Flags for the manager.", show_default=False)
    ] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Run the manager on this machine against a cluster, until Ctrl-C.

    The CRDs must be there (`pykb install`). To have everything at once on a local control plane, use `pykb dev`.

    Examples:
      pykb run
      pykb run --kubeconfig ~/.kube/config -- --log-level=debug
    """
    from pykb.cli.project import require_project

    root, project = require_project(writes=True)  # by the pykb of the project, which has its dependencies
    words = [sys.executable, "-m", project.package, *(arguments or ())]
    environment = dict(os.environ)
    if not any(word.partition("=")[0] in _OWN_CHOICE for word in words):
        chosen = connect(root, kubeconfig, context).kubectl.kubeconfig
        environment |= {"KUBECONFIG": str(chosen.absolute())} if chosen is not None else {}
        words += [f"--context={context}"] if context else []
    if project.converted_kinds:
        console.say(_unconverted(map(str, sorted(project.converted_kinds, key=str))))
    sys.stdout.flush()
    os.chdir(root)
    os.execve(sys.executable, words, environment)  # noqa: S606 - the manager gets signals and gives the exit code


def _unconverted(names: Iterable[str]) -> str:
    """Says what conversion needs, which a manager on this machine does not have."""
    return (
        f"note: the API server converts {', '.join(names)} by the webhook of the deployed manager; without it, "
        "requests for other versions than the stored one fail (`pykb dev` converts on this machine)"
    )


def install(kubeconfig: Kubeconfig = None, context: Context = "", diff: Diff = False) -> None:
    """Install the project's CRDs in a cluster, and wait until they are served.

    It applies config/crd as it is: run `pykb generate` first, or `make install`, which does.

    Examples:
      pykb install
      pykb install --diff
      pykb install --kubeconfig ~/.kube/config --context staging
    """
    from pykb.cli.console import ProgressReporter
    from pykb.deployment import apply
    from pykb.deployment.manifests import is_converted, render_crds

    root = _root()
    cluster = connect(root, kubeconfig, context, applies=True)
    crds = render_crds(root)
    if not crds:
        console.say("there are no CRDs to install: `pykb create api` makes the first")
        return
    if diff:
        _show(apply.diff(cluster, crds))
        return
    with ProgressReporter() as reporter:
        _tell(apply.install(cluster, crds, reporter))
    if converted := [crd["metadata"]["name"] for crd in crds if is_converted(crd)]:
        console.say(_unconverted(converted))


def deploy(
    image: Image = IMAGE,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait until replicas and webhooks are available.")
    ] = True,
    timeout: Annotated[
        int, typer.Option(min=1, metavar="SECONDS", help="How long to wait for the replicas, then for the webhooks.")
    ] = 180,
    diff: Diff = False,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Deploy the operator to a cluster: CRDs, roles, webhooks, the manager with its image.

    It applies config/default as it is: run `pykb generate` first, or `make deploy`, which does. Before anything is
    applied, the API server is asked whether it is as new as the project requires (`kubernetes` in `[tool.pykb]`),
    serves each kind and accepts each object. Then the rollout is followed.
    If the manager does not start, pykb says why: an image that cannot be pulled, Pod Security, a crash with its last
    lines, no room on the nodes, a missing Secret. At the end, the API server must reach the webhooks.

    Examples:
      pykb deploy --image registry.example.com/team/operator:v1.2.0
      pykb deploy --image registry.example.com/team/operator:v1.2.0 --diff
      pykb deploy --image operator:dev --no-wait
    """
    from pykb.cli.console import ProgressReporter
    from pykb.deployment import apply
    from pykb.deployment.cluster import has_nodes
    from pykb.deployment.manifests import objects_of, render_operator, render_samples

    root = _root()
    operator = objects_of(render_operator(root, image))
    cluster = connect(root, kubeconfig, context, needs_nodes=True, applies=True)
    if diff:
        _show(apply.diff(cluster, operator))
        return
    with ProgressReporter() as reporter:
        follows = wait and has_nodes(cluster)
        if wait and not follows:
            reporter.note("this cluster has no nodes, so the manager's pod cannot start")
        given = timedelta(seconds=timeout) if follows else None
        samples = render_samples(root) if follows else []
        _tell(apply.deploy(cluster, operator, reporter, timeout=given, samples=samples))


def uninstall(kubeconfig: Kubeconfig = None, context: Context = "", timeout: Timeout = 60, yes: Yes = False) -> None:
    """Delete the project's CRDs from a cluster, and so every object of their kinds.

    Examples:
      pykb uninstall
      pykb uninstall --yes --timeout 600
    """
    from pykb.cli.console import ProgressReporter
    from pykb.deployment.apply import custom_objects, delete
    from pykb.deployment.manifests import render_crds

    root = _root()
    cluster = connect(root, kubeconfig, context)
    crds = render_crds(root)
    if not crds:
        console.say("there are no CRDs to delete")
        return
    _confirm(custom_objects(cluster, crds), yes=yes)
    with ProgressReporter() as reporter:
        said = delete(cluster, crds, reporter, timeout=timedelta(seconds=timeout))
    _tell_deleted(said)


def undeploy(
    kubeconfig: Kubeconfig = None,
    context: Context = "",
    timeout: Timeout = 60,
    force: Annotated[
        bool, typer.Option("--force", help="Delete the manager even if objects still wait for its clean-up.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Delete the operator from a cluster, with its CRDs and every object of their kinds.

    The objects go first, while the manager can still remove its finalizers.

    Examples:
      pykb undeploy
      pykb undeploy --yes --timeout 600
    """
    from pykb.cli.console import ProgressReporter
    from pykb.deployment import apply
    from pykb.deployment.manifests import objects_of, render_crds, render_operator

    root = _root()
    cluster = connect(root, kubeconfig, context)
    crds = render_crds(root)
    operator = objects_of(render_operator(root, IMAGE))
    held = apply.custom_objects(cluster, crds)
    _confirm(held, yes=yes)
    with ProgressReporter() as reporter:
        given = timedelta(seconds=timeout)
        said = apply.undeploy(cluster, operator, held, reporter, timeout=given, force=force)
    _tell_deleted(said)


def build_installer(
    image: Image = IMAGE,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The file.")] = "dist/install.yaml",
) -> None:
    """Write everything that `pykb deploy` applies to one file, for `kubectl apply -f`.

    Examples:
      pykb build-installer --image registry.example.com/team/operator:v1.2.0
    """
    from pykb.cli.changes import write
    from pykb.cli.errors import finish
    from pykb.deployment.manifests import installer, render_operator
    from pykb.diagnostics import Diagnostics
    from pykb.files.plan import plan_of

    root = _root(writes=True)
    text, notes = installer(render_operator(root, image))
    for note in notes:
        console.say(f"note: {output}: {note}")
    diagnostics = Diagnostics()
    place = os.path.relpath(Path.cwd() / output, root)
    plan = plan_of(root, {Path(place).as_posix(): text}, diagnostics)
    finish(diagnostics)
    write(plan, seen_from=root)


def _root(*, writes: bool = False) -> Path:
    from pykb.cli.project import require_project

    return require_project(writes=writes)[0]


def connect(
    root: Path, kubeconfig: Path | None, context: str, *, needs_nodes: bool = False, applies: bool = False
) -> Cluster:
    """Choose the cluster and check that it answers, and that it is not too old to apply something to it."""
    from pykb.cli.project import existing_kubeconfig
    from pykb.deployment.cluster import check_answers, check_can_have_nodes, choose
    from pykb.project.settings import oldest_supported

    cluster = choose(root, kubeconfig=existing_kubeconfig(kubeconfig), context=context, environment=os.environ)
    if needs_nodes:
        check_can_have_nodes(cluster)
    if cluster.own:
        console.say(
            f"note: using the project's own control plane ({cluster.own}); `--kubeconfig` chooses another cluster"
        )
    check_answers(cluster, oldest_supported(root) if applies else None)
    return cluster


def _confirm(held: dict[str, int], *, yes: bool) -> None:
    """Ask before objects are deleted."""
    if yes or not held:
        return
    listed = ", ".join(f"{count} {kind}" for kind, count in held.items())
    if not console.confirm(f"This deletes {listed} in all namespaces. Go on?", default=False):
        console.say("nothing was deleted; `--yes` does not ask")
        raise typer.Exit(EXIT_FINDINGS)


def _show(diff: str) -> None:
    if diff:
        console.raw(diff)
    else:
        console.say("nothing would change")


def _tell_deleted(lines: Sequence[str]) -> None:
    _tell(lines)
    if not lines:
        console.say("there was nothing to delete")


def _tell(lines: Iterable[str]) -> None:
    for line in lines:
        console.out(line)
