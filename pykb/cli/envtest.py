"""``pykb envtest``: the programs of a local control plane."""

from __future__ import annotations

import shlex
from enum import StrEnum
from typing import Annotated

import typer

from pykb.cli import console


class Print(StrEnum):
    """The values of ``--print``, as setup-envtest has them."""

    PATH = "path"
    ENV = "env"


Version = Annotated[
    str, typer.Argument(metavar="[VERSION]", help="Kubernetes version: 1.36.1, or 1.36 for its newest patch.")
]
ControllerManager = Annotated[
    bool,
    typer.Option("--controller-manager/--no-controller-manager", help="Also get kube-controller-manager."),
]
PrintOption = Annotated[Print, typer.Option("--print", "-p", help="Print only the folder, or a line for the shell.")]


def use(version: Version = "", controller_manager: ControllerManager = True, output: PrintOption = Print.PATH) -> None:
    """Download etcd, kube-apiserver, kubectl and kube-controller-manager once, and print their folder.

    They come from the official envtest archive, whose checksum is verified, or are built from their Go modules. If
    KUBEBUILDER_ASSETS is set, nothing is downloaded and its folder is printed.

    Examples:
      pykb envtest use
      pykb envtest use 1.35 --print env
      eval "$(pykb envtest use --print env)"
    """
    from pykb.cli.progress import ProgressReporter
    from pykb.envtest.assets import get_assets
    from pykb.envtest.versions import KUBERNETES, parse_version

    with ProgressReporter() as reporter:
        assets = get_assets(
            parse_version(version or KUBERNETES), kubectl=True, controller_manager=controller_manager, reporter=reporter
        )
    _print(str(assets.folder), output)


def path(version: Version = "", output: PrintOption = Print.PATH) -> None:
    """Print the folder of a version in the cache. Downloads nothing.

    Examples:
      pykb envtest path
      KUBEBUILDER_ASSETS="$(pykb envtest path 1.36)" make test
    """
    from pykb.cli.errors import finish
    from pykb.diagnostics.codes.environment import ASSETS_MISSING
    from pykb.envtest.assets import find_assets
    from pykb.envtest.versions import KUBERNETES, parse_version

    wanted = parse_version(version or KUBERNETES)
    assets = find_assets(wanted)
    if assets is None:
        finish(
            [ASSETS_MISSING.at(None, f"Kubernetes {wanted} is not in the cache", help=(f"pykb envtest use {wanted}",))]
        )
        return
    _print(str(assets.folder), output)


def list_() -> None:
    """List the versions in the cache, newest first, with the programs that each has.

    Examples:
      pykb envtest list
      pykb envtest list --format json
    """
    from pykb.envtest.assets import PROGRAMS, VARIABLE, is_program, named_by_environment
    from pykb.envtest.cache import Cache
    from pykb.envtest.versions import KUBERNETES

    if named := named_by_environment():
        console.say(f"note: {VARIABLE} is set, so pykb uses {named.folder}")
    cache = Cache.of_user()
    versions = {
        version: [name for name in PROGRAMS if is_program(cache.place(version) / name)] for version in cache.versions()
    }
    rows = [{"version": v, "programs": names, "default": v == KUBERNETES} for v, names in versions.items()]
    if console.data(rows):
        return
    for version, programs in versions.items():
        default = "  (default)" if version == KUBERNETES else ""
        console.out(f"{version}  {', '.join(programs)}{default}")
    if not versions:
        console.say(f"no version is in the cache; `pykb envtest use` gets {KUBERNETES}")


def _print(folder: str, output: Print) -> None:
    console.out(folder if output is Print.PATH else f"export KUBEBUILDER_ASSETS={shlex.quote(folder)}")
