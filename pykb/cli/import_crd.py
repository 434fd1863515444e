"""``pykb import crd``: typed Python packages from CustomResourceDefinitions."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pykb.cli import console
from pykb.cli.errors import EXIT_FINDINGS, finish
from pykb.cli.options import Preview, taking
from pykb.project.options import option

if TYPE_CHECKING:
    from pykb.importer.definition import Definition


@dataclass(frozen=True, slots=True)
class Options(Preview):
    """The options of ``import crd``."""

    kubeconfig: Path | None = option("The cluster.  [default: kubectl's own]", "FILE", default=None)
    context: str = option("The context in the kubeconfig.", "NAME")
    force: bool = option("Overwrite edited modules. Keeps the old ones in .pykb/backup.", default=False)


@taking(Options)
def crd(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="Files, folders, `-` for stdin, or `cluster://NAME`: a CRD or an API group. `cluster://` is all CRDs.",
        ),
    ],
    output: Annotated[str, typer.Option("--output", "-o", metavar="DIR", help="The package to write.")],
    *,
    options: Options,
) -> None:
    """Make typed Python classes from CRDs: one module for each version of each API group.

    Kubernetes' own types (PodTemplateSpec, Condition, ...) are recognised and used. `pykb generate crd --paths DIR
    --allow-dangerous-types` makes the same schemas again, and the classes work with the typed client.

    Examples:
      pykb import crd https-routes.yaml --output sealvm/external
      pykb import crd vendor/crds other.yaml --output sealvm/external --diff
      pykb import crd cluster://cert-manager.io --output sealvm/external
      kubectl get crd certificates.cert-manager.io -o yaml | pykb import crd - --output sealvm/external
    """
    from pykb.cli.changes import carry_out
    from pykb.cli.project import settle
    from pykb.diagnostics import Diagnostics
    from pykb.importer.definition import CLUSTER, find_definitions, read_sources
    from pykb.importer.plan import plan_import
    from pykb.project import find_root
    from pykb.tools.kubectl import Kubectl

    diagnostics = Diagnostics()
    kubectl = None
    if any(source.startswith(CLUSTER) for source in sources):
        kubectl = Kubectl.find(kubeconfig=options.kubeconfig, context=options.context)
    stdin = sys.stdin.buffer.read().decode("utf-8", "replace") if "-" in sources else ""
    documents = read_sources(sources, stdin=stdin, kubectl=kubectl, diagnostics=diagnostics)
    definitions = find_definitions(documents, diagnostics)
    finish(diagnostics)
    root = find_root() or Path.cwd()
    settle(root, writes=options.writes)
    folder = Path(os.path.relpath(Path.cwd() / output, root)).as_posix()
    result = Diagnostics()
    # To compare imports the new modules. Who only looks wants to read them before anything runs them.
    plan = plan_import(definitions, root, folder, force=options.force, compare=options.writes, diagnostics=result)
    finish(result)
    if plan is None:
        raise typer.Exit(EXIT_FINDINGS)
    if carry_out(plan, options):
        _say_next(definitions, folder)


def _say_next(definitions: list[Definition], folder: str) -> None:
    from pykb.importer.shape import group_folder, kind_class, version_module

    first = definitions[0]
    package = ".".join(Path(folder).parts)
    module = f"{package}.{group_folder(first.group)}.{version_module(first.versions[0].name)}"
    console.say(f"next: from {module} import {kind_class(first.kind)}")
